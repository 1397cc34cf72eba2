// View operations: each computes its window (shape, strides, offset) and hands it to `applyView`, with its attributes,
// from which its derivative follows.
#include <algorithm>
#include <utility>

#include "eager/dispatch.h"
#include "eager/ops.h"
#include "runtime/base/attrs.h"

namespace tandem::ops {
namespace {

std::int64_t offsetOf(const Tensor& t) { return t.impl()->offset; }

[[noreturn]] void failCount(const char* op, DimsRef shape) {
  fail(op, ": a tensor of shape ", shapeText(shape), " has too many elements to count");
}

/// Error where a view has more elements than a number says; it may have more than memory holds.
void needCount(const char* op, DimsRef shape) {
  std::int64_t n = 1;
  for (std::int64_t size : shape)
    if (__builtin_mul_overflow(n, size, &n)) failCount(op, shape);
}

/// Where a slice begins. What begins behind a dim's only element is empty, and may be told to begin beyond all memory.
std::int64_t sliceOffset(const Tensor& x, std::int64_t dim, std::int64_t start) {
  const std::int64_t stride = x.strides()[dim];
  const std::size_t elements = x.impl()->storage->bytes() / itemSize(x.dtype());
  const bool beyond = start > 0 && x.shape()[dim] == 1 && static_cast<std::uint64_t>(stride) > elements;
  return beyond ? offsetOf(x) : offsetOf(x) + start * stride;
}

/// Sizes with one -1 replaced by what is left of `n` elements.
Dims inferSize(const char* op, DimsRef size, std::int64_t n) {
  Dims out(size);
  std::int64_t known = 1;
  std::int64_t unknown = -1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      if (unknown >= 0) fail(op, ": only one dimension can be inferred, got ", shapeText(size));
      unknown = static_cast<std::int64_t>(i);
    } else if (out[i] < 0) {
      fail(op, ": invalid shape dimension ", out[i], " in ", shapeText(size));
    } else if (__builtin_mul_overflow(known, out[i], &known)) {
      failCount(op, size);
    }
  }
  if (unknown >= 0 && known == 0)
    fail(op, ": cannot reshape tensor of ", n, " elements into shape ", shapeText(size),
         " because the unspecified dimension size -1 can be any value and is ambiguous");
  const bool fits = unknown >= 0 ? n % known == 0 : n == known;
  if (!fits) fail(op, ": shape '", shapeText(size), "' is invalid for input of size ", n);
  if (unknown >= 0) out[unknown] = n / known;
  return out;
}

}  // namespace

Tensor view(const Tensor& x, DimsRef size) {
  Dims shape = inferSize("view", size, x.numel());
  Dims strides;
  if (!viewStrides(x.shape(), x.strides(), shape, strides))
    fail("view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
         "contiguous subspaces). Use .reshape(...) instead. (view of shape ",
         shapeText(x.shape()), ", strides ", shapeText(x.strides()), " as ", shapeText(shape), ")");
  AttrWriter w;
  w.list(shape);
  return applyView(OpCode::view, x, shape, strides, offsetOf(x), w.span());
}

Tensor reshape(const Tensor& x, DimsRef size) {
  Dims shape = inferSize("reshape", size, x.numel());
  Dims strides;
  if (!viewStrides(x.shape(), x.strides(), shape, strides)) {
    Tensor copied = view(clone(x), shape);
    copied.impl()->viewBase = nullptr;  // no one else has the copy
    return copied;
  }
  AttrWriter w;
  w.list(shape);
  return applyView(OpCode::view, x, shape, strides, offsetOf(x), w.span());
}

Tensor expand(const Tensor& x, DimsRef size) {
  std::int64_t lead = static_cast<std::int64_t>(size.size()) - x.dim();
  if (lead < 0)
    fail("expand: the number of sizes provided (", size.size(),
         ") must be greater or equal to the number of dimensions in the tensor (", x.dim(), ")");
  Dims shape(size);
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) {
    std::int64_t own = d < lead ? 1 : x.shape()[d - lead];
    if (shape[d] == -1) {
      if (d < lead)
        fail("expand: The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", d);
      shape[d] = own;
    }
    if (shape[d] < 0 || (own != 1 && own != shape[d]))
      fail("expand: The expanded size of the tensor (", shape[d], ") must match the existing size (", own,
           ") at non-singleton dimension ", d, ". Target sizes: ", shapeText(size),
           ". Tensor sizes: ", shapeText(x.shape()));
  }
  needCount("expand", shape);
  Dims strides = broadcastStrides(x.shape(), x.strides(), shape);
  // A new dim of size 1 steps over all that follow it, as in a contiguous tensor.
  for (std::int64_t d = lead - 1; d >= 0; --d) {
    const bool last = d + 1 == static_cast<std::int64_t>(shape.size());
    strides[d] = shape[d] != 1 ? 0 : last ? 1 : shape[d + 1] * strides[d + 1];
  }
  AttrWriter w;
  w.list(shape);
  return applyView(OpCode::expand, x, shape, strides, offsetOf(x), w.span());
}

Tensor permute(const Tensor& x, DimsRef dims) {
  if (static_cast<std::int64_t>(dims.size()) != x.dim())
    fail("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
         "ordering of dimensions i.e. input.dim() = ",
         x.dim(), " is not equal to len(dims) = ", dims.size());
  Dims shape;
  Dims strides;
  Dims order;
  std::uint64_t seen = 0;
  for (auto d : dims) {
    std::int64_t k = wrapDim(d, x.dim());
    if ((seen >> k & 1) != 0) fail("permute(): duplicate dims are not allowed, got ", shapeText(dims));
    seen |= std::uint64_t{1} << k;
    order.push_back(k);
    shape.push_back(x.shape()[k]);
    strides.push_back(x.strides()[k]);
  }
  AttrWriter w;
  w.list(order);
  return applyView(OpCode::permute, x, shape, strides, offsetOf(x), w.span());
}

Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  dim0 = wrapDim(dim0, x.dim());
  dim1 = wrapDim(dim1, x.dim());
  Dims shape = x.shape();
  Dims strides = x.strides();
  if (x.dim() > 0) {
    std::swap(shape[dim0], shape[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  AttrWriter w;
  w.integer(dim0);
  w.integer(dim1);
  return applyView(OpCode::transpose, x, shape, strides, offsetOf(x), w.span());
}

Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index) {
  if (x.dim() == 0) fail<IndexError>("select() cannot be applied to a 0-dim tensor.");
  dim = wrapDim(dim, x.dim());
  std::int64_t n = x.shape()[dim];
  if (index < -n || index >= n)
    fail<IndexError>("select(): index ", index, " out of range for tensor of size ", shapeText(x.shape()),
                     " at dimension ", dim);
  if (index < 0) index += n;
  Dims shape = x.shape();
  Dims strides = x.strides();
  std::int64_t offset = offsetOf(x) + index * strides[dim];
  shape.erase(dim);
  strides.erase(dim);
  AttrWriter w;
  w.integer(dim);
  w.integer(index);
  return applyView(OpCode::select, x, shape, strides, offset, w.span());
}

Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (x.dim() == 0) fail<IndexError>("slice() cannot be applied to a 0-dim tensor.");
  dim = wrapDim(dim, x.dim());
  if (step <= 0) fail<ValueError>("slice step must be positive, got ", step);
  std::int64_t n = x.shape()[dim];
  auto clampIndex = [n](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n); };
  start = clampIndex(start);
  end = std::max(clampIndex(end), start);
  Dims shape = x.shape();
  Dims strides = x.strides();
  const std::int64_t offset = sliceOffset(x, dim, start);
  shape[dim] = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  strides[dim] = strideTimes(strides[dim], step);
  AttrWriter w;
  for (auto v : {dim, start, end, step}) w.integer(v);
  return applyView(OpCode::slice, x, shape, strides, offset, w.span());
}

Tensor unsqueeze(const Tensor& x, std::int64_t dim) {
  dim = wrapDim(dim, x.dim() + 1);
  Dims shape = x.shape();
  Dims strides = x.strides();
  std::int64_t step = dim < x.dim() ? shape[dim] * strides[dim] : 1;
  shape.insert(dim, 1);
  strides.insert(dim, step);
  AttrWriter w;
  w.integer(dim);
  return applyView(OpCode::unsqueeze, x, shape, strides, offsetOf(x), w.span());
}

Tensor squeeze_dims(const Tensor& x, DimsRef dims) {
  std::uint64_t drop = 0;
  for (auto d : dims) {
    const std::int64_t k = wrapDim(d, x.dim());
    if (x.dim() > 0 && (drop >> k & 1) != 0) fail("dim ", k, " appears multiple times in the list of dims");
    drop |= std::uint64_t{1} << k;
  }
  Dims shape;
  Dims strides;
  Dims dropped;
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if ((drop >> d & 1) != 0 && x.shape()[d] == 1) {
      dropped.push_back(d);
    } else {
      shape.push_back(x.shape()[d]);
      strides.push_back(x.strides()[d]);
    }
  }
  AttrWriter w;
  w.list(dropped);
  return applyView(OpCode::squeeze_dims, x, shape, strides, offsetOf(x), w.span());
}

Tensor squeeze(const Tensor& x, const std::optional<Dims>& dims) {
  if (dims) return squeeze_dims(x, *dims);
  Dims all;
  for (std::int64_t d = 0; d < x.dim(); ++d) all.push_back(d);
  return squeeze_dims(x, all);
}

Tensor diagonal(const Tensor& x, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  dim1 = wrapDim(dim1, x.dim());
  dim2 = wrapDim(dim2, x.dim());
  if (dim1 == dim2 || x.dim() < 2)
    fail("diagonal dimensions cannot be identical ", dim1, ", ", dim2, " for shape ", shapeText(x.shape()));
  Dims shape;
  Dims strides;
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if (d == dim1 || d == dim2) continue;
    shape.push_back(x.shape()[d]);
    strides.push_back(x.strides()[d]);
  }
  std::int64_t s1 = x.strides()[dim1];
  std::int64_t s2 = x.strides()[dim2];
  std::int64_t length = offset >= 0 ? std::min(x.shape()[dim1], x.shape()[dim2] - offset)
                                    : std::min(x.shape()[dim1] + offset, x.shape()[dim2]);
  std::int64_t start = offsetOf(x);
  if (length > 0) start += offset >= 0 ? offset * s2 : -offset * s1;
  shape.push_back(std::max<std::int64_t>(length, 0));
  strides.push_back(s1 + s2);
  AttrWriter w;
  for (auto v : {offset, dim1, dim2}) w.integer(v);
  return applyView(OpCode::diagonal, x, shape, strides, start, w.span());
}

Tensor as_strided(const Tensor& x, DimsRef size, DimsRef stride, std::optional<std::int64_t> storageOffset) {
  if (size.size() != stride.size())
    fail("as_strided: mismatch in length of strides and shape: ", shapeText(size), ", ", shapeText(stride));
  std::int64_t offset = storageOffset.value_or(offsetOf(x));
  std::int64_t last = offset;
  bool empty = false;
  bool beyond = false;  // of what can be counted
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 0 || stride[d] < 0)
      fail("as_strided: negative sizes and strides are not supported, got ", shapeText(size), ", ", shapeText(stride));
    empty |= size[d] == 0;
    std::int64_t reach = 0;
    beyond |= size[d] > 1 &&
              (__builtin_mul_overflow(size[d] - 1, stride[d], &reach) || __builtin_add_overflow(last, reach, &last));
  }
  needCount("as_strided", size);
  auto room = static_cast<std::int64_t>(x.impl()->storage->bytes() / itemSize(x.dtype()));
  if (offset < 0 || (!empty && (beyond || last >= room)))
    fail("as_strided: setStorage: sizes ", shapeText(size), ", strides ", shapeText(stride), ", storage offset ",
         offset, " are out of bounds for storage of ", room, " elements");
  AttrWriter w;
  w.list(size);
  w.list(stride);
  w.optionalInteger(offset);
  return applyView(OpCode::as_strided, x, size, stride, offset, w.span());
}

Tensor unfold(const Tensor& x, std::int64_t dim, std::int64_t size, std::int64_t step) {
  dim = wrapDim(dim, x.dim());
  std::int64_t n = x.dim() == 0 ? 1 : x.shape()[dim];
  if (size < 0 || size > n)
    fail("unfold: maximum size for tensor at dimension ", dim, " is ", n, " but size is ", size);
  if (step <= 0) fail("unfold: step is ", step, " but must be > 0");
  Dims shape = x.shape();
  Dims strides = x.strides();
  std::int64_t unit = x.dim() == 0 ? 1 : strides[dim];
  if (x.dim() > 0) {
    shape[dim] = (n - size) / step + 1;
    strides[dim] = strideTimes(unit, step);
  }
  shape.push_back(size);
  needCount("unfold", shape);
  strides.push_back(unit);
  AttrWriter w;
  for (auto v : {dim, size, step}) w.integer(v);
  return applyView(OpCode::unfold, x, shape, strides, offsetOf(x), w.span());
}

Tensor alias(const Tensor& x) { return applyView(OpCode::alias, x, x.shape(), x.strides(), offsetOf(x), {}); }

}  // namespace tandem::ops
