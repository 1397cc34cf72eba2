#include "runtime/lib/cuda/operands.h"

namespace tandem::cuda {

void checkRank(DimsRef merged, DimsRef shape) {
  if (merged.size() > View::kMostDims)
    fail<NotImplementedError>("more than ", View::kMostDims, " dims that do not merge: ", shapeText(shape));
}

Dense::Dense(const ArrayView& from) : view_(from) {
  if (from.contiguous()) return;
  copy_.emplace(static_cast<std::size_t>(from.numel()) * itemSize(from.dtype));
  view_.data = copy_->as<void>();
  view_.strides = contiguousStrides(from.shape);
  copyArray(from, view_);
}

void copyUnlessSame(const ArrayView& from, const ArrayView& to) {
  if (from.numel() == 0 || (from.data == to.data && from.strides == to.strides)) return;
  copyArray(from, to);
}

std::int64_t unitOf(std::int64_t item, std::span<const std::int64_t> counts, std::span<const void* const> addresses) {
  std::uint64_t all = 16;
  for (const std::int64_t count : counts) all |= static_cast<std::uint64_t>(count * item);
  for (const void* address : addresses) all |= reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::int64_t>(all & (~all + 1));
}

std::string unitType(std::int64_t bytes) {
  switch (bytes) {
  case 1:
    return "uint8";
  case 2:
    return "unsigned short";
  case 4:
    return "uint32";
  case 8:
    return "uint64";
  default:
    return "Bytes16";
  }
}

AlongDim::AlongDim(DimsRef shape, std::int64_t dim) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto at = static_cast<std::int64_t>(d);
    (at < dim ? outer : at > dim ? inner : size) *= shape[d];
  }
}

ArrayView atLeast1d(const ArrayView& x) {
  ArrayView v = x;
  if (v.shape.empty()) {
    v.shape = {1};
    v.strides = {1};
  }
  return v;
}

}  // namespace tandem::cuda
