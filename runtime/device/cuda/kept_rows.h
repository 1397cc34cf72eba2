// Rows that are kept. A kernel that passes over its rows several times (a softmax: maximum, sum, quotient) reads a
// row's inputs from memory once. A short row stays in registers of a warp; of another one the threads bring what
// several passes read to shared memory, a whole row at once in flight, and all passes read it there. Rows that find no
// room in it are read by each pass; so are inputs that do not move with the rows (the weight of a norm), which meet in
// the caches. What is kept changes no bit.
//
// Which inputs a kernel can keep follows from its signature, what is kept from the launch: dynamic shared memory, for
// each row of a block one area after the other, in the order of the inputs, of 16-byte lines, and then the rooms for
// what is computed of them, which are left out where a row does not fit with them. A kernel that is launched without
// any keeps none there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/base/small_vector.h"
#include "runtime/kernel/schedule.h"

namespace tandem::cuda {

/// Rows up to so many elements are kept in registers, if a kernel can keep some: by a function of their own, which is
/// called as the kernel is with this behind it.
inline constexpr std::int64_t kBriefRow = 256;
inline constexpr const char* kBriefSuffix = "_brief";
/// Rows of a block there.
inline constexpr unsigned kBriefRows = 8;

/// An input that a kernel can keep: the bytes of an element, and of one of the room behind the row for what is computed
/// of it. Elements as wide as that make room themselves.
struct KeptInput {
  std::size_t input;
  std::int64_t bytes;
  std::int64_t room;
};
using KeptInputs = SmallVector<KeptInput, 4>;

/// Dense inputs that several passes read; of a kernel that has such, also those that a reduction reads once, whose
/// elements would come one by one. Where passes build on each other's reductions, the first one of a half type has
/// room.
inline KeptInputs keptInputs(const KernelSignature& s, const Schedule& schedule) {
  KeptInputs kept;
  if (s.kind != KernelKind::Row || s.outerRank == 0) return kept;
  SmallVector<int, 8> passes;
  SmallVector<bool, 8> reduced;
  passes.resize(s.inputs.size());
  reduced.resize(s.inputs.size());
  int reducing = 0;
  bool again = false;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const bool reduces = !schedule.reductions(stage).empty();
    reducing += reduces ? 1 : 0;
    for (std::size_t id : schedule.varyingBehind(schedule.targets(stage))) {
      if (id >= s.inputs.size() || s.inputs[id].access != Access::Unit) continue;
      reduced[id] = reduced[id] || reduces;
      again = ++passes[id] > 1 || again;
    }
  }
  bool room = reducing > 1;
  for (std::size_t k = 0; again && k < s.inputs.size(); ++k) {
    if (passes[k] < 2 && !reduced[k]) continue;
    const bool here = room && isHalf(s.inputs[k].dtype);
    kept.push_back({k, static_cast<std::int64_t>(itemSize(s.inputs[k].dtype)), here ? 4 : 0});
    room = room && !here;
  }
  return kept;
}

/// The shared memory of a block beside its rows, at most: what the system takes, and results of blocks of a row, of
/// each reduction in three texts.
inline std::int64_t besideKept(const KernelSignature& s) {
  const auto reductions = std::ranges::count(s.steps, KernelStep::Kind::Reduce, &KernelStep::kind);
  return (std::int64_t{1} << 10) + reductions * 3 * kTrailingLanes * 8;
}

/// The bytes of a row's area of an input, and of its room: none where it is the same for all rows.
struct KeptBytes {
  std::int64_t row, room;
};
inline KeptBytes keptBytes(const KeptInput& kept, const ArgLayout& layout, const std::int64_t* args) {
  std::int64_t moves = 0;
  for (int d = 0; d < layout.outerRank; ++d) moves |= args[layout.outerStride(kept.input, d)];
  const std::int64_t n = args[layout.innerSize()];
  if (moves == 0) return {0, 0};
  const auto lines = [](std::int64_t bytes) { return (bytes + 15) / 16 * 16; };
  return {lines(n * kept.bytes), lines(n * kept.room)};
}

}  // namespace tandem::cuda
