#include "runtime/kernel/collapse.h"

#include <cstdlib>
#include <utility>

#include "runtime/base/error.h"

namespace tandem {

namespace {

// Compacts the dims [begin, end) to [out, returned) of the same lists: size-1 dims dropped, neighbours merged where
// every operand allows.
std::size_t mergeGroup(Dims& shape, std::span<Dims> strides, std::size_t begin, std::size_t end, std::size_t out) {
  std::size_t first = out;
  for (std::size_t d = begin; d < end; ++d) {
    if (shape[d] == 1) continue;
    bool merges = out > first;
    for (const Dims& s : strides) {
      if (!merges) break;
      merges = s[out - 1] == s[d] * shape[d];
    }
    if (merges) {
      shape[out - 1] *= shape[d];
      for (Dims& s : strides) s[out - 1] = s[d];
    } else {
      shape[out] = shape[d];
      for (Dims& s : strides) s[out] = s[d];
      ++out;
    }
  }
  return out;
}

void resizeAll(Dims& shape, std::span<Dims> strides, std::size_t rank) {
  shape.resize(rank, 1);
  for (Dims& s : strides) s.resize(rank, 0);
}

void insertUnitDim(Dims& shape, std::span<Dims> strides, std::size_t at) {
  shape.insert(at, 1);
  for (Dims& s : strides) s.insert(at, 0);
}

}  // namespace

void collapsePointwise(Dims& shape, std::span<Dims> strides) {
  std::size_t rank = mergeGroup(shape, strides, 0, shape.size(), 0);
  resizeAll(shape, strides, rank);
  if (rank == 0) insertUnitDim(shape, strides, 0);
}

void orderAsLies(Dims& shape, std::span<Dims> strides, std::size_t by) {
  for (std::size_t d = 1; d < shape.size(); ++d) {
    for (std::size_t at = d; at > 0 && std::abs(strides[by][at - 1]) < std::abs(strides[by][at]); --at) {
      std::swap(shape[at - 1], shape[at]);
      for (Dims& s : strides) std::swap(s[at - 1], s[at]);
    }
  }
}

bool collapseRow(Dims& shape, std::span<Dims> strides, std::size_t kept) {
  std::size_t outer = mergeGroup(shape, strides, 0, kept, 0);
  std::size_t rank = mergeGroup(shape, strides, kept, shape.size(), outer);
  if (rank > outer + 1) return false;
  resizeAll(shape, strides, rank);
  if (rank == outer) insertUnitDim(shape, strides, rank);
  if (outer == 0) insertUnitDim(shape, strides, 0);
  return true;
}

bool collapseColumn(Dims& shape, std::span<Dims> strides, std::size_t begin, std::size_t end) {
  std::size_t outer = mergeGroup(shape, strides, 0, begin, 0);
  std::size_t reduced = mergeGroup(shape, strides, begin, end, outer);
  if (reduced > outer + 1) return false;
  std::size_t rank = mergeGroup(shape, strides, end, shape.size(), reduced);
  resizeAll(shape, strides, rank);
  if (reduced == outer) insertUnitDim(shape, strides, outer);
  if (rank == reduced) insertUnitDim(shape, strides, shape.size());
  // The reduced dim goes just before the innermost; which of the kept dims around it are "outer" does not matter to
  // a column's sum.
  for (std::size_t at = outer; at + 2 < shape.size(); ++at) {
    std::swap(shape[at], shape[at + 1]);
    for (Dims& s : strides) std::swap(s[at], s[at + 1]);
  }
  return true;
}

void bringDenseNext(Dims& shape, std::span<Dims> strides) {
  constexpr std::int64_t kManyRows = 16;
  std::size_t rank = shape.size();
  if (rank < 3) return;
  for (const Dims& s : strides) {
    if (s[rank - 1] == 0 || s[rank - 1] == 1 || s[rank - 2] == 1) continue;
    for (std::size_t d = 0; d + 2 < rank; ++d) {
      if (s[d] != 1 || shape[d] < kManyRows) continue;
      std::swap(shape[d], shape[rank - 2]);
      for (Dims& other : strides) std::swap(other[d], other[rank - 2]);
      return;
    }
  }
}

}  // namespace tandem
