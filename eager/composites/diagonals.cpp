// Composites about diagonals and triangles, and copies of a tensor with one window replaced: each of the latter is the
// view of its name, found on an array like the input, and one `window_write`.
#include <algorithm>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/host.h"
#include "eager/in_place_form.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

/// `x` with the window that `look` takes of a contiguous tensor replaced by `src`.
template <class Look>
Tensor withWindow(const Tensor& x, const Tensor& src, Look look) {
  Tensor whole = contiguous(x);
  Tensor window = look(detached(whole));
  if (!(src.shape() == window.shape()))
    fail("expected src to have a size equal to the slice of self. src size = ", shapeText(src.shape()),
         ", slice size = ", shapeText(window.shape()));
  std::int64_t offset = window.numel() == 0 ? 0 : window.impl()->offset - whole.impl()->offset;
  return window_write(whole, toDType(src, x.dtype()), window.shape(), window.strides(), offset);
}

/// The dims from the outermost in memory to the innermost.
Dims orderInMemory(const TensorImpl& t) {
  Dims order;
  for (std::size_t d = 0; d < t.shape.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
  if (!t.contiguous)
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return t.strides[a] > t.strides[b]; });
  return order;
}

/// Places (row, column) of a matrix on and below a diagonal, or on and above it, row by row.
Tensor triangleIndices(const char* op, std::int64_t rows, std::int64_t columns, bool lower, std::int64_t offset,
                       std::optional<DType> dtype) {
  if (rows < 0 || columns < 0) fail(op, ": row and col must be non-negative, got ", rows, " and ", columns);
  DType t = dtype.value_or(DType::Int64);
  if (t != DType::Int64 && t != DType::Int32)
    fail<NotImplementedError>("\"", op, "\" not implemented for '", dtypeName(t), "'");
  // Row r is cut at column r + shift: inside it in rows [begin, full), at 0 before them, at its end after them.
  __extension__ using Wide = __int128;
  const Wide shift = std::clamp<Wide>(Wide(offset) + (lower ? 1 : 0), -Wide(rows), columns);
  const Wide begin = std::clamp<Wide>(-shift, 0, rows);
  const Wide full = std::clamp<Wide>(columns - shift, 0, rows);
  const Wide left = (full - begin) * (begin + full - 1 + 2 * shift) / 2 + (rows - full) * columns;
  const Wide all = lower ? left : Wide(rows) * columns - left;
  if (all > INT64_MAX / 16) fail(op, ": the indices of ", rows, " rows and ", columns, " columns are too many");
  const auto count = static_cast<std::int64_t>(all);
  Tensor places = makeEmpty(Dims{2, count}, DType::Int64, Device{});
  auto* row = places.dataAs<std::int64_t>();
  auto* column = row + count;
  const auto end = static_cast<std::int64_t>(lower ? Wide(rows) : full);
  for (auto r = static_cast<std::int64_t>(lower ? begin : 0); count > 0 && r < end; ++r) {
    const auto cut = static_cast<std::int64_t>(std::clamp<Wide>(r + shift, 0, columns));
    for (auto c = lower ? 0 : cut; c < (lower ? cut : columns); ++c) *row++ = r, *column++ = c;
  }
  return toDType(copyTo(places, currentDevice), t);
}

}  // namespace

Tensor diag_embed(const Tensor& x, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  std::int64_t rank = x.dim() + 1;
  if (x.dim() == 0) fail("diag_embed: input must have at least 1 dim");
  dim1 = wrapDim(dim1, rank);
  dim2 = wrapDim(dim2, rank);
  if (dim1 == dim2) fail("diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  const std::int64_t n = x.shape().back() + std::abs(offset);
  Dims shape = x.shape();
  shape.erase(shape.size() - 1);
  shape.insert(std::min(dim1, dim2), n);
  shape.insert(std::max(dim1, dim2), n);
  const Dims steps = contiguousStrides(shape);
  Dims strides = steps;
  strides.erase(std::max(dim1, dim2));
  strides.erase(std::min(dim1, dim2));
  strides.push_back(steps[dim1] + steps[dim2]);
  // One zero for all: the copy that is written to is the only array of the size.
  const Tensor whole = expand(zeros(Dims{}, x.dtype()), shape);
  return window_write(whole, x, x.shape(), strides, offset >= 0 ? offset * steps[dim2] : -offset * steps[dim1]);
}
Tensor diag(const Tensor& x, std::int64_t diagonalNumber) {
  if (x.dim() != 1 && x.dim() != 2) fail("diag(): Supports 1D or 2D tensors. Got ", x.dim(), "D");
  return x.dim() == 1 ? diag_embed(x, diagonalNumber) : clone(diagonal(x, diagonalNumber));
}
Tensor diagflat(const Tensor& x, std::int64_t offset) { return diag_embed(reshape(x, Dims{-1}), offset); }

Tensor diagonal_scatter(const Tensor& x, const Tensor& src, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  return withWindow(x, src, [&](const Tensor& t) { return diagonal(t, offset, dim1, dim2); });
}
Tensor select_scatter(const Tensor& x, const Tensor& src, std::int64_t dim, std::int64_t index) {
  return withWindow(x, src, [&](const Tensor& t) { return select(t, dim, index); });
}
Tensor slice_scatter(const Tensor& x, const Tensor& src, std::int64_t dim, std::optional<std::int64_t> start,
                     std::optional<std::int64_t> end, std::int64_t step) {
  return withWindow(x, src,
                    [&](const Tensor& t) { return slice(t, dim, start.value_or(0), end.value_or(INT64_MAX), step); });
}
Tensor as_strided_scatter(const Tensor& x, const Tensor& src, DimsRef size, DimsRef stride,
                          std::optional<std::int64_t> storageOffset) {
  // Strides and offset count the memory of `x`: in its order its dims are those of a contiguous tensor.
  const TensorImpl* t = x.impl();
  std::int64_t first = storageOffset.value_or(t->offset);
  Dims order = orderInMemory(*t);
  Tensor dense = permute(x, order);
  if (!dense.isContiguous() || first < t->offset) {
    if (gradEnabled() && x.requiresGrad())
      fail("as_strided_scatter: an input that requires grad must have no gaps and the window lie inside it, got shape ",
           shapeText(x.shape()), ", strides ", shapeText(x.strides()), ", offset ", t->offset, " and a window from ",
           first);
    std::int64_t span = t->offset + (x.numel() == 0 ? 0 : 1);
    for (std::int64_t d = 0; d < x.dim(); ++d) span += std::max<std::int64_t>(x.size(d) - 1, 0) * x.strides()[d];
    Tensor memory = as_strided(x, Dims{span}, Dims{1}, 0);
    Tensor all = withWindow(memory, src, [&](const Tensor& whole) {
      return as_strided(whole, size, stride, whole.impl()->offset + first);
    });
    return clone(as_strided(all, x.shape(), x.strides(), all.impl()->offset + t->offset));
  }
  Tensor written = withWindow(dense, src, [&](const Tensor& whole) {
    return as_strided(whole, size, stride, whole.impl()->offset + first - t->offset);
  });
  Dims back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return permute(written, back);
}

namespace {
/// Do the elements of the last two dims lie on the diagonal of a number, or below it? With `above` those that lie on it
/// or above.
Tensor besideDiagonal(const Tensor& x, std::int64_t diagonal, bool above) {
  auto ramp = [](std::int64_t start, std::int64_t n) {
    AttrWriter w;
    w.list(Dims{n});
    w.dtype(DType::Int64);
    return apply(OpCode::ramp, {Operand(start), Operand(std::int64_t{1})}, w.span());
  };
  // Those of more are empty or whole.
  const std::int64_t rows = x.size(-2), columns = x.size(-1);
  const Tensor last = unsqueeze(ramp(std::clamp(diagonal, -rows, columns), rows), 1);
  return above ? ge(ramp(0, columns), last) : le(ramp(0, columns), last);
}

/// Taped as one operation, so that its derivative keeps no mask.
Tensor triangle(OpCode op, const Tensor& x, std::int64_t diagonal, bool above) {
  if (x.dim() < 2)
    fail(facts(op).name, ": input tensor must have at least 2 dimensions, got shape ", shapeText(x.shape()));
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    FusedScope fused(x);
    // A zero that leaves bool what it is.
    const Scalar zero = x.dtype() == DType::Bool ? Scalar(false) : Scalar(0);
    result[0] = where(besideDiagonal(x, diagonal, above), x, zero);
  }
  const Operand operands[] = {x};
  const std::int64_t attrs[] = {diagonal};
  tapeWhole(op, operands, attrs, result);
  return result[0];
}
}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) { return triangle(OpCode::tril, x, diagonal, false); }
Tensor triu(const Tensor& x, std::int64_t diagonal) { return triangle(OpCode::triu, x, diagonal, true); }

Tensor tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset, std::optional<DType> dtype) {
  return triangleIndices("tril_indices", rows, columns, true, offset, dtype);
}
Tensor triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset, std::optional<DType> dtype) {
  return triangleIndices("triu_indices", rows, columns, false, offset, dtype);
}

Tensor vander(const Tensor& x, std::optional<std::int64_t> columns, bool increasing) {
  if (x.dim() != 1) fail("x must be a one-dimensional tensor.");
  std::int64_t n = columns.value_or(x.numel());
  if (n < 0) fail("N must be non-negative.");
  DType t = isFloating(x.dtype()) ? x.dtype() : DType::Int64;
  Tensor powers = ones(Dims{x.numel(), std::min<std::int64_t>(n, 1)}, t);
  if (n > 1) {
    const Tensor parts[] = {powers, cumprod(expand(unsqueeze(x, 1), Dims{x.numel(), n - 1}), 1)};
    powers = cat(parts, 1);
  }
  return increasing ? powers : flip(powers, Dims{1});
}

Tensor fill_diagonal(const Tensor& x, Scalar value, bool wrap) {
  if (x.dim() < 2) fail("dimensions must larger than 1");
  std::int64_t least = x.size(0);
  std::int64_t step = 0;
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if (x.dim() > 2 && x.size(d) != x.size(0)) fail("all dimensions of input must be of equal length");
    least = std::min(least, x.size(d));
    step = step * x.size(d) + 1;
  }
  const std::int64_t count = wrap && x.dim() == 2 ? (x.numel() + step - 1) / step : least;
  const Tensor t = contiguous(x);
  const Tensor values = full(Dims{count}, value, x.dtype());
  const LastStep last(t);
  return window_write(t, values, Dims{count}, Dims{step}, 0);
}

}  // namespace tandem::ops
