// Operands of library functions as kernels get them: walks of several arrays at once, and what is moved at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/error.h"
#include "runtime/device/cuda/queue.h"
#include "runtime/kernel/collapse.h"

namespace tandem::cuda {

/// A shape, and the strides of K operands that are walked in its row-major order: the same struct as in common.cu. Dims
/// of size 1 are left out, neighbours merged where the strides of all operands allow.
template <int K>
struct Walk {
  std::int64_t numel;
  std::int64_t rank;
  std::int64_t shape[View::kMostDims];
  std::int64_t strides[K][View::kMostDims];
};

/// NotImplementedError where dims that do not merge are more than kMostDims.
void checkRank(DimsRef merged, DimsRef shape);
template <int K>
Walk<K> walk(DimsRef shape, const std::array<DimsRef, K>& strides) {
  Dims merged = shape;
  std::array<Dims, K> steps;
  std::copy(strides.begin(), strides.end(), steps.begin());
  collapsePointwise(merged, steps);
  checkRank(merged, shape);
  Walk<K> w{};
  w.numel = numelOf(shape);
  w.rank = static_cast<std::int64_t>(merged.size());
  std::copy(merged.begin(), merged.end(), w.shape);
  for (std::size_t k = 0; k < K; ++k) std::copy(steps[k].begin(), steps[k].end(), w.strides[k]);
  return w;
}

/// A contiguous view of an input: the input itself, or a copy in the device's memory that lives as long as this.
class Dense {
 public:
  explicit Dense(const ArrayView& from);
  [[nodiscard]] const ArrayView& view() const { return view_; }
  [[nodiscard]] void* data() const { return view_.data; }

 private:
  ArrayView view_;
  std::optional<Workspace> copy_;
};

/// A copy of `from` in `to`, which has its shape and dtype; nothing where they are one array already.
void copyUnlessSame(const ArrayView& from, const ArrayView& to);

/// The widest unit, in bytes up to 16, that divides all of `counts` (elements of `item` bytes) and all addresses:
/// blocks are moved in such units.
std::int64_t unitOf(std::int64_t item, std::span<const std::int64_t> counts, std::span<const void* const> addresses);
/// The type in common.cu that moves so many bytes, of 1, 2, 4, 8, 16.
std::string unitType(std::int64_t bytes);
/// That of the elements of a dtype.
inline std::string unitType(DType t) { return unitType(static_cast<std::int64_t>(itemSize(t))); }

/// A shape seen from one of its dims: `outer` x `size` x `inner`. A 0-d shape is one element along its only dim.
struct AlongDim {
  AlongDim(DimsRef shape, std::int64_t dim);
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;
};

/// A 0-d operand as one element along its only dim.
ArrayView atLeast1d(const ArrayView& x);

}  // namespace tandem::cuda
