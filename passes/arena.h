// Where the memories of a plan lie: temporaries in one arena, each at a place that is free from the operation that
// makes it to the last that reads it. What lives when does not follow from sizes, where it lies does: a plan for other
// sizes has the same lives and is laid out again (shape_program.h).
#pragma once

#include <cstdint>
#include <span>

#include "passes/places.h"

namespace tandem::passes {

struct MemoryLife {
  MemoryPlace place;       // of a temporary, once it is placed: its offset in the arena
  std::int64_t bytes = 0;  // as `alignedBytes` has them
  int made = -1;           // by the operation at this place in the order; -1: it is there before the first
  int lastUse = -1;
  int inherits = -1;  // takes the place of this memory, which is as large and is read last by what makes it
};

std::int64_t alignedBytes(std::int64_t bytes);

/// Places the temporaries among memories in the order in which they are made; gives the size of the arena. Without
/// `reuse` no place is used twice.
std::int64_t placeTemporaries(std::span<MemoryLife> memories, bool reuse);

}  // namespace tandem::passes
