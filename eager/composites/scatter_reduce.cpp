// Composites that scatter with a reduction. Sources with the same index are combined in row-major order, so the results
// are the same in every mode and with any number of threads.
#include <limits>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

// Kinds of `scatter_combine`.
constexpr std::int64_t kProduct = 0;
constexpr std::int64_t kSmaller = 1;
constexpr std::int64_t kLarger = 2;

/// What changes nothing when combined with elements of `t`.
Scalar identityOf(std::int64_t kind, DType t) {
  if (kind == kProduct) return 1;
  bool largest = kind == kSmaller;
  if (isFloating(t))
    return largest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (t == DType::Bool) return largest ? 1 : 0;
  if (t == DType::UInt8) return largest ? 255 : 0;
  std::int64_t top = std::numeric_limits<std::int64_t>::max() >> (64 - 8 * itemSize(t));
  return largest ? top : -top - 1;
}

/// `x` with `value` wherever `index` points.
Tensor withoutSelf(const Tensor& x, std::int64_t dim, const Tensor& index, Scalar value) {
  return scatter_plain(x, dim, index, full(index.shape(), value, x.dtype()));
}

/// How many sources go to each element of `x`, and one more with `includeSelf`; along a dim of which all have the same
/// indices, as of an expanded tensor, one for all.
Tensor countsOf(const Tensor& x, std::int64_t dim, const Tensor& index, bool includeSelf) {
  Dims shape = x.shape();
  Tensor one = index;
  for (std::int64_t d = 0; d < index.dim(); ++d)
    if (d != dim && index.strides()[d] == 0 && index.shape()[d] == shape[d] && shape[d] > 1) {
      one = narrow(one, d, 0, 1);
      shape[d] = 1;
    }
  const Tensor none = includeSelf ? ones(shape, x.dtype()) : zeros(shape, x.dtype());
  return scatter_add(none, dim, one, ones(one.shape(), x.dtype()));
}

Tensor scatterMean(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& src, bool includeSelf) {
  Tensor sums = scatter_add(includeSelf ? x : withoutSelf(x, dim, index, 0), dim, index, src);
  Tensor terms = countsOf(x, dim, index, includeSelf);
  if (!includeSelf) terms = maximum(terms, 1);
  return isFloating(x.dtype()) ? div(sums, terms) : floor_divide(sums, terms);
}

Tensor reduced(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
               bool includeSelf) {
  if (reduce == "mean") return scatterMean(x, dim, index, src, includeSelf);
  std::int64_t kind = reduce == "prod" ? kProduct : reduce == "amin" ? kSmaller : kLarger;
  const Scalar nothing = reduce == "sum" ? Scalar(0) : identityOf(kind, x.dtype());
  const Tensor into = includeSelf ? x : withoutSelf(x, dim, index, nothing);
  const LastStep last(into);
  return reduce == "sum" ? scatter_add(into, dim, index, src) : scatter_combine(into, dim, index, src, kind);
}

}  // namespace

Tensor scatter_reduce(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool includeSelf) {
  if (reduce != "sum" && reduce != "prod" && reduce != "mean" && reduce != "amin" && reduce != "amax")
    fail("reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  return reduced(x, wrapDim(dim, x.dim()), index, src, reduce, includeSelf);
}

Tensor scatter_with(const Tensor& x, std::int64_t dim, const Tensor& index, const Operand& src,
                    std::string_view reduce) {
  if (reduce != "add" && reduce != "multiply") fail("reduce argument must be either add or multiply.");
  Tensor source = src.isTensor() ? src.tensor() : full_like(index, src.scalar(), x.dtype());
  return reduced(x, wrapDim(dim, x.dim()), index, source, reduce == "add" ? "sum" : "prod", true);
}

Tensor index_reduce(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool includeSelf) {
  if (reduce != "prod" && reduce != "mean" && reduce != "amin" && reduce != "amax")
    fail("index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce, ".");
  if (index.dim() > 1)
    fail<IndexError>("index_reduce_(): Index is supposed to be a vector, but got dim: ", index.dim());
  dim = wrapDim(dim, x.dim());
  if (x.dim() != source.dim() || (source.dim() > 0 && source.shape()[dim] != index.numel()))
    fail("index_reduce_(): Number of indices (", index.numel(), ") should be equal to source.size(dim), for source ",
         shapeText(source.shape()), " and input ", shapeText(x.shape()));
  if (x.dim() == 0) return reduced(x, dim, reshape(index, Dims{}), source, reduce, includeSelf);
  Dims along(static_cast<std::size_t>(x.dim()), 1);
  along[dim] = index.numel();
  return reduced(x, dim, expand(reshape(index, along), source.shape()), source, reduce, includeSelf);
}

}  // namespace tandem::ops
