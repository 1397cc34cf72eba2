// Arguments of operations on the last one to three dims of a tensor.
#pragma once

#include <algorithm>

#include "eager/memory_format.h"
#include "eager/ops.h"
#include "runtime/base/error.h"

namespace tandem::ops {

/// One number a spatial dim: `values` holds one for all, or `n`.
inline Dims spatialList(const char* op, const char* what, DimsRef values, std::size_t n) {
  if (values.size() == 1) return Dims(n, values[0]);
  if (values.size() != n)
    fail(op, ": expected ", what, " to be a single integer value or a list of ", n, " values, but got ", what, "=",
         shapeText(values));
  return Dims(values);
}

/// `x` with `dims` dims: a batch of one where it has one fewer.
struct Batched {
  Tensor x;
  bool added;

  Batched(const Tensor& from, std::int64_t dims) : x(from), added(from.dim() == dims - 1) {
    if (added) x = unsqueeze(from, 0);
  }
  [[nodiscard]] Tensor undo(const Tensor& y) const { return added ? squeeze_dims(y, Dims{0}) : y; }
};

inline std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
inline std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return -floorDiv(-a, b); }

/// What `f` gives for `x` and the first of its spatial dims; of images whose channels lie beside each other it is given
/// them so, with the channels behind the spatial dims, and the result lies so, as in PyTorch.
template <class F>
Tensor inChannelOrder(const Tensor& x, F f) {
  const MemoryFormat format = formatOf(x);
  if (format == MemoryFormat::Contiguous) return f(x, std::int64_t{2});
  return laidOut(x, orderOf(format, x.dim()), [&](const Tensor& t) { return f(t, std::int64_t{1}); });
}

/// Images [N, *, C] as [N, C, *], which lie with the channels innermost and stand for themselves.
inline Tensor channelsSecond(const Tensor& images) {
  Tensor y = permute(images, images.dim() == 4 ? Dims{0, 3, 1, 2} : Dims{0, 4, 1, 2, 3});
  y.impl()->viewBase = nullptr;
  return y;
}
/// The same where they are so at all.
inline Tensor channelsSecond(const Tensor& images, bool areLast) { return areLast ? channelsSecond(images) : images; }

}  // namespace tandem::ops
