// Where plan_memory puts a value, as lower_to_plan reads it.
#pragma once

#include <cstdint>

namespace tandem::passes {

struct MemoryPlace {
  enum Kind : std::int64_t { Arena, Output, Input } kind = Arena;
  std::int64_t number = 0;  // offset in the arena, or which output or input
};

}  // namespace tandem::passes
