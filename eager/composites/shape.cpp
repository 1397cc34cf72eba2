// Composites of views and copies in other shapes: reshape, flatten, split, stack. By name and side:
// pieces.cpp, joining.cpp, rearranging.cpp.
#include <algorithm>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/kernels.h"
#include "eager/memory_format.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "runtime/base/attrs.h"

namespace tandem::ops {

Tensor flatten(const Tensor& x, std::int64_t start, std::int64_t end) {
  start = wrapDim(start, x.dim());
  end = wrapDim(end, x.dim());
  if (start > end) fail("flatten() has invalid args: start_dim cannot come after end_dim (", start, ", ", end, ")");
  if (x.dim() == 0) return reshape(x, Dims{1});
  if (start == end) return x;
  Dims shape;
  std::int64_t n = 1;
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if (d < start || d > end) {
      shape.push_back(x.shape()[d]);
      continue;
    }
    n = sizeProduct("flatten", n, x.shape()[d]);
    if (d == end) shape.push_back(n);
  }
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, std::int64_t dim, DimsRef sizes) {
  dim = wrapDim(dim, x.dim());
  if (sizes.empty()) fail("unflatten: sizes must be non-empty");
  if (x.dim() == 0) fail("unflatten: the input has no dims, of which ", shapeText(sizes), " could be made");
  Dims part(sizes);
  std::int64_t known = 1;
  for (auto s : part) known *= s == -1 ? 1 : s;
  for (auto& s : part)
    if (s == -1 && known > 0) s = x.shape()[dim] / known;
  if (numelOf(part) != x.shape()[dim])
    fail("unflatten: Provided sizes ", shapeText(sizes), " don't multiply up to the size of dim ", dim, " (",
         x.shape()[dim], ") in the input tensor");
  Dims shape(x.shape().begin(), x.shape().begin() + dim);
  shape.append(part.begin(), part.end());
  shape.append(x.shape().begin() + dim + 1, x.shape().end());
  return view(x, shape);
}

Tensor t(const Tensor& x) {
  if (x.dim() > 2) fail("t() expects a tensor with <= 2 dimensions, but self is ", x.dim(), "D");
  return x.dim() < 2 ? alias(x) : transpose(x, 0, 1);
}

Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  if (x.dim() == 0) fail("narrow() cannot be applied to a 0-dim tensor.");
  dim = wrapDim(dim, x.dim());
  std::int64_t n = x.shape()[dim];
  if (length < 0) fail("narrow(): length must be non-negative.");
  if (start < -n || start > n)
    fail<IndexError>("start out of range (expected to be in range of [", -n, ", ", n, "], but got ", start, ")");
  if (start < 0) start += n;
  if (length > n - start) fail("start (", start, ") + length (", length, ") exceeds dimension size (", n, ").");
  return slice(x, dim, start, start + length, 1);
}

Tensor narrow_tensor(const Tensor& x, std::int64_t dim, const Tensor& start, std::int64_t length) {
  if (start.dim() != 0 || isFloating(start.dtype()) || start.dtype() == DType::Bool)
    fail("narrow(): start must be a 0-dim integral Tensor, got ", dtypeName(start.dtype()), " ",
         shapeText(start.shape()));
  if (length < 0) fail("narrow(): length must be non-negative.");
  // Not a view: where it begins is known only when it runs.
  Tensor first = view(toDType(toDevice(start, x.device()), DType::Int64), Dims{1});
  first = add(first, mul(lt(first, 0), x.size(dim)));
  return index_select(x, dim, add(first, arange(std::int64_t{0}, length)));
}

Tensor movedim(const Tensor& x, DimsRef source, DimsRef destination) {
  if (source.size() != destination.size())
    fail("movedim: Invalid source or destination dims: source ", shapeText(source), " and destination ",
         shapeText(destination), " should contain the same number of dims");
  Dims order(static_cast<std::size_t>(x.dim()), -1);
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::int64_t from = wrapDim(source[i], x.dim());
    std::int64_t to = wrapDim(destination[i], x.dim());
    if (x.dim() == 0) continue;
    if (order[to] != -1 || (taken >> from & 1) != 0)
      fail("movedim: repeated dim in ", shapeText(source), " or ", shapeText(destination));
    order[to] = from;
    taken |= std::uint64_t{1} << from;
  }
  std::int64_t next = 0;
  for (auto& o : order) {
    if (o != -1) continue;
    while ((taken >> next & 1) != 0) ++next;
    o = next++;
  }
  return permute(x, order);
}

Tensor expand_as(const Tensor& x, const Tensor& other) { return expand(x, other.shape()); }
Tensor broadcast_to(const Tensor& x, DimsRef size) { return expand(x, size); }
Tensor view_as(const Tensor& x, const Tensor& other) { return view(x, other.shape()); }
Tensor reshape_as(const Tensor& x, const Tensor& other) { return reshape(x, other.shape()); }
Tensor contiguous(const Tensor& x) { return x.isContiguous() ? x : clone(x); }

namespace {

/// Views of x, `count` of them, which `part` makes. They have one history: their gradients go back together, where a
/// gradient of the size of x for each of them would take time by the square of their number.
template <class Part>
std::vector<Tensor> piecesOf(OpCode op, const Tensor& x, std::span<const std::int64_t> attrs, std::size_t count,
                             Part part) {
  const bool recorded = gradEnabled();
  std::vector<Tensor> out;
  {
    NoGrad off;
    for (std::size_t i = 0; i < count; ++i) out.push_back(part(i));
  }
  if (recorded && x.impl()->origin == ViewOrigin::Plain)
    for (const Tensor& t : out) t.impl()->origin = ViewOrigin::Piece;
  const Operand operands[] = {x};
  tapeWhole(op, operands, attrs, out);
  return out;
}

void needSplittable(const Tensor& x) {
  if (x.dim() == 0) fail("split expects at least a 1-dimensional tensor");
}

std::vector<Tensor> splitInto(OpCode op, const Tensor& x, DimsRef sizes, std::int64_t dim,
                              std::span<const std::int64_t> attrs) {
  std::int64_t at = 0;
  return piecesOf(op, x, attrs, sizes.size(), [&](std::size_t i) {
    const std::int64_t first = at;
    at += sizes[i];
    return narrow(x, dim, first, sizes[i]);
  });
}

}  // namespace

std::vector<Tensor> split_sizes(const Tensor& x, DimsRef sizes, std::int64_t dim) {
  dim = wrapDim(dim, x.dim());
  needSplittable(x);
  std::int64_t total = 0;
  for (auto s : sizes) total = sizeSum("split", total, s);
  if (total != x.shape()[dim])
    fail("split_with_sizes expects split_sizes to sum exactly to ", x.shape()[dim],
         " (input tensor's size at dimension ", dim, "), but got split_sizes=", shapeText(sizes));
  std::vector<std::int64_t> attrs{static_cast<std::int64_t>(sizes.size())};
  attrs.insert(attrs.end(), sizes.begin(), sizes.end());
  attrs.push_back(dim);
  return splitInto(OpCode::split_with_sizes, x, sizes, dim, attrs);
}
std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dim) {
  dim = wrapDim(dim, x.dim());
  needSplittable(x);
  std::int64_t n = x.shape()[dim];
  if (size < 0 || (size == 0 && n != 0)) fail("split expects split_size be non-negative, but got split_size=", size);
  Dims sizes;
  for (std::int64_t at = 0; at < n; at += sizes.back()) sizes.push_back(std::min(size, n - at));
  if (sizes.empty()) sizes.push_back(0);
  const std::int64_t attrs[] = {size, dim};
  return splitInto(OpCode::split, x, sizes, dim, attrs);
}
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim) {
  if (chunks <= 0) fail("chunk expects `chunks` to be greater than 0, got: ", chunks);
  dim = wrapDim(dim, x.dim());
  if (x.dim() == 0) fail("chunk expects at least a 1-dimensional tensor");
  std::int64_t n = x.shape()[dim];
  if (n == 0) return split_sizes(x, Dims(pieceCount("chunk", chunks), 0), dim);
  return split(x, (n - 1) / chunks + 1, dim);
}
std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim) {
  dim = wrapDim(dim, x.dim());
  if (x.dim() == 0) fail<IndexError>("unbind: Dimension specified as ", dim, " but tensor has no dimensions");
  const std::int64_t attrs[] = {dim};
  return piecesOf(OpCode::unbind, x, attrs, static_cast<std::size_t>(x.shape()[dim]),
                  [&](std::size_t i) { return select(x, dim, static_cast<std::int64_t>(i)); });
}

Tensor cat(std::span<const Tensor> tensors, std::int64_t dim) {
  // PyTorch's rules: vectors of no elements are left out, dtypes promote.
  auto isNothing = [](const Tensor& x) { return x.dim() == 1 && x.numel() == 0; };
  std::vector<Tensor> kept;
  kept.reserve(tensors.size());
  bool mixed = false;
  for (const auto& x : tensors) {
    mixed |= x.dtype() != tensors[0].dtype();
    // Those that ask for a gradient get one of no elements.
    if (isNothing(x) && !x.requiresGrad() && tensors.size() > 1) continue;
    kept.push_back(x);
  }
  if (tensors.empty()) fail<ValueError>("cat(): expected a non-empty list of Tensors");
  if (kept.empty()) kept.push_back(tensors[0]);
  if (mixed) {
    std::vector<TensorMeta> metas;
    metas.reserve(tensors.size());
    for (const auto& x : tensors) metas.push_back(metaOf(x));
    const DType dtype = resultType(metas);
    for (auto& x : kept) x = toDType(x, dtype);
  }
  // They have the shape of the others, joined along dims in which those have any size.
  const auto other = std::ranges::find_if_not(kept, isNothing);
  if (other != kept.end() && other->dim() > 1 && std::ranges::any_of(kept, isNothing)) {
    Dims none = other->shape();
    none[static_cast<std::size_t>(wrapDim(dim, other->dim()))] = 0;
    for (auto& x : kept)
      if (isNothing(x)) x = reshape(x, none);
  }
  if (kept[0].dim() == 0) fail("cat(): zero-dimensional tensor (at position 0) cannot be concatenated");
  // Vectors alone are joined along any dim.
  dim = other == kept.end() ? 0 : wrapDim(dim, kept[0].dim());
  const MemoryFormat format = formatOf(tensors[0]);
  if (format == MemoryFormat::Contiguous ||
      !std::ranges::all_of(tensors, [&](const Tensor& x) { return formatOf(x) == format; }))
    return cat_plain(kept, dim);
  // Images whose channels lie beside each other are joined so, as in PyTorch.
  const Dims order = orderOf(format, kept[0].dim());
  const Tensor first = kept[0];
  return laidOut(first, order, [&](const Tensor& t) {
    for (auto& x : kept) x = permute(x, order);
    kept[0] = t;
    return cat_plain(kept, inverseOf(order)[static_cast<std::size_t>(dim)]);
  });
}

namespace {
/// Tensors of one shape that lie one behind the other once they are joined: so joined, without a view of each. Nothing
/// where the result has a history, or is recorded.
Tensor stackedRows(std::span<const Tensor> tensors) {
  if (activeRecorder != nullptr || tensors[0].dim() == 0) return {};
  for (const Tensor& x : tensors)
    if (!x.impl()->contiguous || (x.requiresGrad() && gradEnabled())) return {};
  const Tensor joined = cat(tensors, 0);
  if (joined.requiresGrad()) return {};
  Dims shape;
  shape.push_back(static_cast<std::int64_t>(tensors.size()));
  for (auto n : tensors[0].shape()) shape.push_back(n);
  const std::int64_t offset = joined.impl()->offset;
  if (joined.numel() == 0) return makeAlias(joined, shape, contiguousStrides(shape), offset);
  Dims strides;
  strides.push_back(strideTimes(joined.strides()[0], tensors[0].shape()[0]));
  for (auto s : joined.strides()) strides.push_back(s);
  return makeAlias(joined, shape, strides, offset);
}
}  // namespace

Tensor stack(std::span<const Tensor> tensors, std::int64_t dim) {
  if (tensors.empty()) fail("stack expects a non-empty TensorList");
  dim = wrapDim(dim, tensors[0].dim() + 1);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!(tensors[i].shape() == tensors[0].shape()))
      fail("stack expects each tensor to be equal size, but got ", shapeText(tensors[0].shape()), " at entry 0 and ",
           shapeText(tensors[i].shape()), " at entry ", i);
  if (dim == 0)
    if (Tensor rows = stackedRows(tensors); rows.defined()) return rows;
  std::vector<Tensor> wide;
  wide.reserve(tensors.size());
  for (const auto& x : tensors) wide.push_back(unsqueeze(x, dim));
  // One image behind the other, which stay as they lie.
  if (dim == 0 && formatOf(tensors[0]) != MemoryFormat::Contiguous) {
    Dims shape = wide[0].shape();
    shape[0] = static_cast<std::int64_t>(wide.size());
    return reshape(cat(tensors, 0), shape);
  }
  return cat(wide, dim);
}

Tensor repeat(const Tensor& x, DimsRef repeats) {
  std::int64_t lead = static_cast<std::int64_t>(repeats.size()) - x.dim();
  if (lead < 0)
    fail("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: ",
         shapeText(repeats), " for shape ", shapeText(x.shape()));
  // [r0, s0, r1, s1, ...] by expansion, then every pair as one dim.
  Dims paired;
  Dims wide;
  Dims shape;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    std::int64_t size = static_cast<std::int64_t>(i) < lead ? 1 : x.shape()[i - lead];
    if (repeats[i] < 0) fail("repeat: Trying to create tensor with negative dimension ", repeats[i]);
    paired.push_back(1);
    paired.push_back(size);
    wide.push_back(repeats[i]);
    wide.push_back(size);
    shape.push_back(sizeProduct("repeat", size, repeats[i]));
  }
  return reshape(clone(expand(reshape(x, paired), wide)), shape);
}

namespace {
Tensor forRunning(const Tensor& x, std::optional<DType> dtype) {
  return toDType(x, dtype.value_or(isFloating(x.dtype()) ? x.dtype() : DType::Int64));
}
}  // namespace
Tensor cumsum(const Tensor& x, std::int64_t dim, std::optional<DType> dtype) {
  return cumsum_plain(forRunning(x, dtype), wrapDim(dim, x.dim()));
}
Tensor cumprod(const Tensor& x, std::int64_t dim, std::optional<DType> dtype) {
  return cumprod_plain(forRunning(x, dtype), wrapDim(dim, x.dim()));
}
Tensor argsort(const Tensor& x, std::int64_t dim, bool descending, bool stable) {
  return sort(x, wrapDim(dim, x.dim()), descending, stable)[1];
}

Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, const Operand& src) {
  dim = wrapDim(dim, x.dim());
  if (!src.isTensor()) needHeld("scatter", x.dtype(), src.scalar());
  const Tensor source = src.isTensor() ? src.tensor() : full_like(index, src.scalar(), x.dtype());
  const LastStep last(x);
  return scatter_plain(x, dim, index, source);
}
Tensor index_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha) {
  needHeld("index_add", x.dtype(), alpha);
  if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32)
    fail("index_add_(): Expected dtype int32/int64 for index but got: ", dtypeClassName(index.dtype()));
  bool plain = alpha.slot < 0 && alpha.asDouble() == 1;
  const bool logical = x.dtype() == DType::Bool && source.dtype() == DType::Bool;
  const Tensor added = plain ? source : mul(source, logical ? Scalar(alpha.asInt() != 0) : alpha);
  const LastStep last(x);
  return index_add_plain(x, wrapDim(dim, x.dim()), index, added);
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
  if (mask.dtype() != DType::Bool)
    fail("masked_fill_ only supports boolean masks, but got mask with dtype ", dtypeName(mask.dtype()));
  if (value.isTensor() && value.tensor().dim() != 0)
    fail("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.tensor().dim(),
         " dimension(s).");
  if (!value.isTensor()) needHeld("masked_fill", x.dtype(), value.scalar());
  FusedScope fused(x, FusedScope::When::Writes);
  Tensor y = value.isTensor() ? where(mask, toDType(value.tensor(), x.dtype()), x) : where(mask, value, x);
  return toDType(y, x.dtype());
}
Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<std::int64_t> along) {
  if (indices.dtype() != DType::Int64)
    fail("take_along_dim(): dtype of indices should be Long but got ", dtypeClassName(indices.dtype()));
  if (!along) return take_along_dim(reshape(x, Dims{-1}), reshape(indices, Dims{-1}), 0);
  const std::int64_t dim = wrapDim(*along, x.dim());
  if (x.dim() != indices.dim())
    fail("take_along_dim(): input and indices should have the same number of dimensions, but got ", x.dim(), " and ",
         indices.dim());
  Dims xs = x.shape();
  Dims is = indices.shape();
  xs[dim] = is[dim] = 1;
  Dims shape = broadcastShapes("take_along_dim", xs, is);
  auto spread = [&](const Tensor& a) {
    shape[dim] = a.shape()[dim];
    return expand(a, shape);
  };
  // As NumPy's: negative ones count from the end.
  Tensor places = where(lt(indices, 0), add(indices, x.shape()[dim]), indices);
  return gather(spread(x), dim, spread(places));
}
Tensor fill(const Tensor& x, const Operand& value) {
  if (!value.isTensor()) return constantIn(filledAs(x, value.scalar(), x.dtype()), {&x, 1});
  const Tensor one = expand(toDevice(value.tensor(), x.device(), x.dtype()), x.shape());
  const Dims order = orderOfResult({&x, 1});
  return constantIn(laidOut(one, order, ops::clone), {&x, 1});
}

}  // namespace tandem::ops
