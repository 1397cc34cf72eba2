// What layers and their losses are made of: linear, softmax, dropout, one_hot.
#include <array>
#include <cmath>

#include "eager/batch.h"
#include "eager/composites/products.h"
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/helpers.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::ops {
namespace {

/// What `along` makes of x in the dtype that it is computed in. A 0-d input is one row of one element.
Tensor alongDim(const char* op, const Tensor& x, std::int64_t dim, std::optional<DType> dtype,
                Tensor (*along)(const Tensor&, std::int64_t)) {
  Tensor in = dtype ? toDType(x, *dtype) : x;
  if (!isFloating(in.dtype()))
    fail<NotImplementedError>("\"", op, "\" not implemented for '", dtypeName(in.dtype()), "'");
  in = inRowMajorOrder(in);
  dim = wrapDim(dim, in.dim());
  if (in.numel() == 0) return exp(in);  // whose derivative depends on it, as that of rows does
  if (in.dim() == 0) return reshape(along(reshape(in, Dims{1}), 0), Dims());
  if (in.dim() <= 64) return along(in, dim);
  // Reductions are of at most 64 dims.
  const DimsRef shape = in.shape();
  const Dims three{numelOf(shape.first(dim)), shape[dim], numelOf(shape.subspan(dim + 1))};
  return reshape(along(reshape(in, three), 1), shape);
}

/// What `make` gives in x's dtype, taped as one operation along the dim.
template <class Make>
Tensor tapedAlong(OpCode op, const Tensor& x, std::int64_t dim, const Make& make) {
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    result[0] = toDType(make(), x.dtype());
  }
  const Operand operands[] = {x};
  const std::int64_t attrs[] = {dim};
  tapeWhole(op, operands, attrs, result);
  return result[0];
}

}  // namespace

Tensor softmax(const Tensor& x, std::int64_t dim, std::optional<DType> dtype) {
  FusedScope fused(x);
  return alongDim("softmax", x, dim, dtype, softmax_along);
}

Tensor softmax_along(const Tensor& x, std::int64_t dim) {
  return tapedAlong(OpCode::softmax_along, x, dim, [&] {
    const Tensor wide = widened(x);
    const Tensor greatest = amax(wide, Dims{dim}, true);
    const Tensor e =
        wide.impl() == x.impl() ? exp_sub(x, greatest) : applyOver(wide, OpCode::exp_sub, {wide, greatest});
    const Tensor total = sum(e, Dims{dim}, true);
    // A row's sum is inverted in the kernel that finds it; of columns that would be a kernel more.
    if (dim == e.dim() - 1) return applyOver(e, OpCode::mul, {e, reciprocal(total)});
    return applyOver(e, OpCode::div, {e, total});
  });
}

Tensor log_softmax(const Tensor& x, std::int64_t dim, std::optional<DType> dtype) {
  FusedScope fused(x);
  return alongDim("log_softmax", x, dim, dtype, log_softmax_along);
}

Tensor log_softmax_along(const Tensor& x, std::int64_t dim) {
  return tapedAlong(OpCode::log_softmax_along, x, dim, [&] {
    const Tensor wide = widened(x);
    const Tensor greatest = amax(wide, Dims{dim}, true);
    const Tensor e = exp_sub(wide, greatest);
    return applyOver(e, OpCode::sub_log, {wide, greatest, sum(e, Dims{dim}, true)});
  });
}

std::array<Tensor, 3> log_softmax_at(const Tensor& x, std::int64_t dim, const Tensor& index) {
  std::array<Tensor, 3> results;
  {
    NoGrad noGrad;
    {
      FusedScope fused(x);
      const Tensor wide = widened(x);
      results[1] = amax(wide, Dims{dim}, true);
      results[2] = sum(exp_sub(wide, results[1]), Dims{dim}, true);
    }
    const Tensor there = widened(gather(x, dim, index));
    results[0] = toDType(sub_log(there, results[1], results[2]), x.dtype());
  }
  const Operand operands[] = {x, index};
  const std::int64_t attrs[] = {dim};
  tapeWhole(OpCode::log_softmax_at, operands, attrs, results);
  return results;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() > 2 || x.dim() == 0 || weight.dim() == 0)
    fail("linear: expected a weight of at most 2 dims and an input of at least 1, got weight ",
         shapeText(weight.shape()), " and input ", shapeText(x.shape()));
  if (x.size(-1) != weight.size(-1))
    fail("linear: input of shape ", shapeText(x.shape()), " and weight of shape ", shapeText(weight.shape()),
         ": mat1 and mat2 shapes cannot be multiplied");
  if (bias.defined() && bias.dtype() != x.dtype())
    fail("linear: the bias and the factors must have the same dtype, but got ", dtypeName(bias.dtype()), " and ",
         dtypeName(x.dtype()));
  const bool wide = bias.defined() && isHalf(x.dtype());
  const Tensor w = t(weight);
  if (wide)
    if (const Tensor row = biasOf(x, w, bias); row.defined()) return matmulFor(x, w, true, row);
  const Tensor y = matmulFor(x, w, wide);
  if (wide) return sumOver(y, bias, x.dtype());
  return bias.defined() ? applyOver(y, OpCode::add, {y, bias}) : y;
}

Tensor gelu(const Tensor& x, std::string_view approximate) {
  if (!isFloating(x.dtype())) fail<NotImplementedError>("\"gelu\" not implemented for '", dtypeName(x.dtype()), "'");
  if (approximate == "none") return gelu_erf(x);
  if (approximate != "tanh") fail("approximate argument must be either none or tanh.");
  FusedScope fused(x);
  // x/2 (1 + tanh(u)) is x sigmoid(2u), in which no difference of nearly equal numbers is left.
  const Tensor in = widened(x);
  const Tensor twice = mul(2 * 0.7978845608028654, add(in, mul(0.044715, mul(in, square(in)))));
  return toDType(mul(in, sigmoid(twice)), x.dtype());
}

// ---- dropout, one_hot ----------------------------------------------------------------------------------------------

Tensor dropout(const Tensor& x, double p, bool training) {
  if (!(p >= 0 && p <= 1)) fail<ValueError>("dropout probability has to be between 0 and 1, but got ", p);
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return mul(x, zeros_like(x));
  FusedScope fused(x);
  Tensor keep = ge(uniform_plain(x.shape(), computeType(isFloating(x.dtype()) ? x.dtype() : DType::Float32)), p);
  return mul(mul(x, toDType(keep, x.dtype())), 1.0 / (1.0 - p));
}

Tensor one_hot(const Tensor& x, std::int64_t classes) {
  if (x.dtype() != DType::Int64)
    fail("one_hot is only applicable to index tensor of type LongTensor, got ", dtypeName(x.dtype()));
  if (x.numel() == 0 && classes <= 0) fail("one_hot: Can not infer total number of classes from empty tensor.");
  Tensor named = expected(x, ge(x, 0), Expectation::ClassNonNegative);
  if (classes == -1) {
    Tensor count = add(amax(named), 1);
    classes = learnSize(count);
  } else {
    named = expected(named, lt(x, classes), Expectation::ClassBelowCount);
  }
  return toDType(eq(unsqueeze(named, -1), arange(0, classes)), DType::Int64);
}

}  // namespace tandem::ops
