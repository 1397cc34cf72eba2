// Composites that read and write at indices along one dim: gather, take, put, index_fill, masked_scatter. Several index
// tensors at once (`x[i, j]`) are in advanced_indexing.cpp.
#include <array>
#include <cstdint>
#include <limits>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "eager/scalar_tensor.h"

namespace tandem::ops {
namespace {

/// A 0-d tensor as a vector of one element, for operations along a dim.
Tensor asVector(const Tensor& x) { return x.dim() == 0 ? unsqueeze(x, 0) : x; }

/// One index a slice: a vector of integers.
Tensor indexVector(const char* op, const Tensor& index) {
  if (index.dim() > 1) fail<IndexError>(op, "(): Index should have dimension 1 or 0 (got ", index.dim(), ")");
  if (index.dtype() != DType::Int64) fail<IndexError>(op, "(): Expected dtype int64 for index.");
  return asVector(index);
}

void needLong(const char* op, const Tensor& index) {
  if (index.dtype() != DType::Int64)
    fail(op, "(): Expected a long tensor for index, but got ", dtypeClassName(index.dtype()));
}

}  // namespace

Tensor take(const Tensor& x, const Tensor& index) {
  needLong("take", index);
  if (x.numel() == 0 && index.numel() != 0) fail<IndexError>("take(): tried to take from an empty tensor");
  const Tensor places[] = {index};
  return index_get(reshape(x, Dims{-1}), places, 0, true);
}
Tensor gather_sparse(const Tensor& x, std::int64_t dim, const Tensor& index, bool) { return gather(x, dim, index); }

Tensor scatter_one(const Tensor& source, std::int64_t dim, const Tensor& index, std::int64_t size) {
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    const auto at = static_cast<std::size_t>(wrapDim(dim, source.dim()));
    Dims shape = source.shape();
    shape[at] = size;
    Dims along(shape.size(), 1);
    along[at] = size;
    const FusedScope fused(numelOf(shape));
    // In 32 bits, of which a kernel compares twice as many at a time.
    const DType numbers = size <= std::numeric_limits<std::int32_t>::max() ? DType::Int32 : DType::Int64;
    const Tensor places = view(arange(std::int64_t{0}, size, 1, numbers), along);
    result[0] = where(eq(places, toDType(index, numbers)), source, 0);
  }
  const Operand operands[] = {source, index};
  const std::int64_t attrs[] = {dim, size};
  tapeWhole(OpCode::scatter_one, operands, attrs, result);
  return result[0];
}

std::vector<Tensor> where_true(const Tensor& condition) { return unbind(nonzero(asVector(condition)), 1); }
Tensor where_method(const Tensor& x, const Tensor& condition, const Operand& other) {
  return where(condition, x, other);
}

Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
  needLong("put_", index);
  if (x.dtype() != source.dtype())
    fail("put_(): Expected source and self to have the same dtype, but got self.dtype = ", dtypeName(x.dtype()),
         " and source.dtype = ", dtypeName(source.dtype()));
  if (index.numel() != source.numel())
    fail("put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
         source.numel(), ", index.numel() = ", index.numel());
  if (index.numel() == 0) return clone(x);
  const Tensor places[] = {reshape(index, Dims{-1})};
  const Tensor flat = reshape(x, Dims{-1});
  const Tensor values = reshape(source, Dims{-1});
  const LastStep last(flat);
  return reshape(index_put_plain(flat, values, places, 0, accumulate, true), x.shape());
}

/// `values` written along `dim` of `t`, which has one, at `places`.
static Tensor writtenAt(const Tensor& t, std::int64_t dim, const Tensor& places, const Tensor& values, DimsRef shape) {
  const LastStep last(t);
  return reshape(index_put_plain(t, values, {&places, 1}, dim, false), shape);
}

Tensor index_fill(const Tensor& x, std::int64_t dim, const Tensor& index, const Operand& value) {
  if (value.isTensor() && value.tensor().dim() != 0)
    fail("index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.tensor().dim(),
         " dimension(s).");
  if (!value.isTensor()) needHeld("index_fill", x.dtype(), value.scalar());
  Tensor places = indexVector("index_fill_", index);
  Tensor t = asVector(x);
  dim = wrapDim(dim, t.dim());
  if (x.numel() == 0) return clone(x);
  // A few places are written by themselves, in an in-place form in the memory that is there.
  if (places.numel() <= t.shape()[dim] / 4 && !(value.isTensor() && value.tensor().requiresGrad())) {
    const Tensor number =
        value.isTensor() ? toDevice(value.tensor(), t.device()) : makeScalarTensor(value.scalar(), t.dtype());
    Dims filled = t.shape();
    filled[dim] = places.numel();
    return writtenAt(t, dim, places, expand(toDType(number, t.dtype()), filled), x.shape());
  }
  // Through a mask, so that an index that occurs twice counts once in the gradient of `value`.
  Dims along(static_cast<std::size_t>(t.dim()), 1);
  along[dim] = t.shape()[dim];
  const Tensor at[] = {places};
  Tensor mask = index_put_plain(zeros(Dims{along[dim]}, DType::Bool), ones(places.shape(), DType::Bool), at, 0, false);
  return masked_fill(x, reshape(mask, x.dim() == 0 ? Dims{} : along), value);
}

Tensor index_copy(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  Tensor places = indexVector("index_copy_", index);
  if (x.dtype() != source.dtype())
    fail("index_copy_(): self and source expected to have the same dtype, but got (self) ", dtypeName(x.dtype()),
         " and (source) ", dtypeName(source.dtype()));
  Tensor t = asVector(x);
  Tensor values = asVector(source);
  dim = wrapDim(dim, t.dim());
  std::int64_t count = places.numel();
  if (source.dim() == 0 && count != 1)
    fail<IndexError>("index_copy_(): When source is scalar, index should have one element (got ", count, ")");
  if (values.dim() != t.dim())
    fail<IndexError>("index_copy_(): When source and destination are not scalars, their dimensionality must match. "
                     "Source dimensionality (",
                     source.dim(), "), destination dimensionality (", x.dim(), ")");
  if (values.shape()[dim] != count)
    fail<IndexError>("index_copy_(): Number of indices (", count, ") should be equal to source.size(dim) (",
                     values.shape()[dim], ")");
  Dims slices = t.shape();
  slices[dim] = count;
  if (!(values.shape() == slices))
    fail("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: ",
         shapeText(x.shape()), " at dimension ", dim, " and source slice shape: ", shapeText(source.shape()));
  if (x.numel() == 0) return clone(x);
  // What is written at checks that places are below the size; it would count negative ones from the end.
  places = expected(places, ge(places, 0), Expectation::CopiedPlace, toDType(places, DType::Int64), t.shape()[dim]);
  return writtenAt(t, dim, places, values, x.shape());
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  if (mask.dtype() != DType::Bool)
    fail("masked_scatter_ only supports boolean masks, but got mask with dtype ", dtypeClassName(mask.dtype()));
  if (x.dtype() != source.dtype())
    fail("masked_scatter: expected self and source to have same dtypes but got ", dtypeClassName(x.dtype()), " and ",
         dtypeClassName(source.dtype()));
  Dims shape = broadcastShapes("masked_scatter", x.shape(), mask.shape());
  Tensor holds = contiguous(expand(mask, shape));
  Tensor into = expand(x, shape);
  // How many true elements there are up to each: the next after its own place in the source, which a false one reads
  // no more than it is. -1, before the first, is the last place.
  Tensor number = cumsum(reshape(holds, Dims{-1}), 0);
  if (number.numel() > source.numel()) {
    const Tensor all = narrow(number, 0, number.numel() - 1, 1);
    number = expected(number, le(all, source.numel()), Expectation::EnoughToScatter);
  }
  const Tensor places[] = {reshape(sub(number, 1), shape)};
  Tensor from = reshape(source, Dims{-1});
  if (source.numel() == 0) from = sum(from, Dims{0}, true, source.dtype());  // one element, which none will see
  Tensor picked = index_get(from, places, 0);
  return where(holds, picked, into);
}

}  // namespace tandem::ops
