// Composites of arithmetic, reductions and products of matrices.
#include <cmath>

#include "eager/composites/products.h"
#include "eager/compute_flags.h"
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/kernels.h"
#include "eager/memory_format.h"
#include "eager/no_elements.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "eager/scalar_tensor.h"
#include "runtime/base/attrs.h"
#include "runtime/base/warn.h"

namespace tandem::ops {
namespace {

bool isOne(const Scalar& s) { return s.slot < 0 && s.asDouble() == 1; }

void checkAlpha(const char* op, const Operand& x, const Operand& other, const Scalar& alpha) {
  const auto isWhole = [](const Operand& o) {
    return o.isTensor() ? !isFloating(o.tensor().dtype()) : !o.scalar().isFloat();
  };
  if (isWhole(x) && isWhole(other) && alpha.isFloat())
    fail(op, ": For integral input tensors, argument alpha must not be a floating point number.");
  const TensorMeta metas[] = {metaOf(x), metaOf(other)};
  const DType type = resultType(metas);
  if (alpha.kind == Scalar::Kind::Bool && type != DType::Bool)
    fail(op, ": Boolean alpha only supported for Boolean results.");
  needHeld(op, type, alpha);
}

/// What `sub` refuses.
bool hasBool(const Operand& x, const Operand& other) {
  const auto isBool = [](const Operand& o) {
    return o.isTensor() ? o.tensor().dtype() == DType::Bool : o.scalar().kind == Scalar::Kind::Bool;
  };
  return isBool(x) || isBool(other);
}

Tensor scaled(const Operand& x, const Scalar& by) {
  if (isOne(by)) return x.isTensor() ? x.tensor() : makeScalarTensor(x.scalar(), defaultDType());
  return mul(x, by);
}

/// x + alpha * y or x - alpha * y. Half types: alpha in theirs, the sum in float32, rounded
/// once.
template <Tensor (*combine)(const Operand&, const Operand&)>
Tensor plusMultiple(const Operand& x, const Operand& y, const Scalar& alpha) {
  const TensorMeta metas[] = {metaOf(x), metaOf(y)};
  const DType type = resultType(metas);
  auto tensorOf = [&](const Operand& o) { return o.isTensor() ? o.tensor() : makeScalarTensor(o.scalar(), type); };
  FusedScope fused(x.isTensor() ? x.tensor() : tensorOf(y));
  if (type == DType::Bool) return combine(x, mul(tensorOf(y), Scalar(alpha.asInt() != 0)));
  // In the dtype of the result from the start: the product of a narrower y would be rounded, or wrap around.
  if (!isHalf(type)) return combine(x, mul(toDType(tensorOf(y), type), alpha));
  auto wide = [&](const Operand& o) { return toDType(toDType(tensorOf(o), type), DType::Float32); };
  return toDType(combine(wide(x), mul(wide(y), wide(alpha))), type);
}

std::int64_t countOver(const Tensor& x, const Dims& dims) {
  std::int64_t n = 1;
  for (auto d : dims) n *= x.shape()[d];
  return n;
}

void needFloating(const char* op, const Tensor& x) {
  if (!isFloating(x.dtype()))
    fail(op, ": could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ",
         dtypeName(x.dtype()));
}

}  // namespace

Tensor toDType(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return x.isContiguous() || RowMajorResults::active() ? to(x, dtype) : copyIn(x, MemoryFormat::Preserve, dtype, "to");
}

Tensor constantIn(const Tensor& value, std::span<const Tensor> of) {
  Tensor result = value;
  if (!gradEnabled() || !isFloating(value.dtype())) return result;
  for (const Tensor& x : of)
    if (x.requiresGrad()) result = sub(result, toDType(sum(narrow(reshape(x, Dims{-1}), 0, 0, 0)), value.dtype()));
  return result;
}
void needNormDType(const char* op, const Tensor& x, std::initializer_list<const Tensor*> parameters) {
  for (const Tensor* p : parameters)
    if (p->defined() && p->dtype() != x.dtype() && !(isHalf(x.dtype()) && p->dtype() == DType::Float32))
      fail(op, ": mixed dtype: expected parameters of ", dtypeName(x.dtype()), " for an input of ",
           dtypeName(x.dtype()), ", but got ", dtypeName(p->dtype()));
}
void needSameDType(const char* op, const Tensor& x, const Tensor& y) {
  if (x.dtype() != y.dtype())
    fail(op, ": expected scalar type ", dtypeClassName(x.dtype()), " but found ", dtypeClassName(y.dtype()));
}
const Tensor& firstSeen(const Tensor& made) {
  made.impl()->storage->version = 0;
  return made;
}
Tensor detached(const Tensor& x) {
  Tensor t = makeAlias(x, x.shape(), x.strides(), x.impl()->offset);
  t.impl()->countWith(*x.impl());
  return t;
}

void fillInto(const Tensor& into, const Operand& value) {
  if (value.isTensor() && value.tensor().dim() > 0)
    fail("fill_ only supports 0-dimension value tensor but got tensor with ", value.tensor().dim(), " dimensions.");
  if (value.isTensor()) return replace(into, value.tensor());
  // A number goes to the dtype of `into` at once, not by way of the default one.
  AttrWriter to;
  to.dtype(into.dtype());
  applyInto(into, OpCode::to, {value}, to.span());
}

Tensor add_alpha(const Operand& x, const Operand& other, Scalar alpha) {
  checkAlpha("add", x, other, alpha);
  return isOne(alpha) ? add(x, other) : plusMultiple<add>(x, other, alpha);
}
Tensor sub_alpha(const Operand& x, const Operand& other, Scalar alpha) {
  checkAlpha("sub", x, other, alpha);
  return isOne(alpha) || hasBool(x, other) ? sub(x, other) : plusMultiple<sub>(x, other, alpha);
}
Tensor rsub(const Tensor& x, const Operand& other, Scalar alpha) {
  checkAlpha("rsub", x, other, alpha);
  return isOne(alpha) || hasBool(x, other) ? sub(other, x) : plusMultiple<sub>(other, x, alpha);
}
Tensor div_rounding(const Operand& x, const Operand& other, std::optional<std::string_view> mode) {
  if (!mode) return div(x, other);
  std::vector<Tensor> of;
  for (const Operand* o : {&x, &other}) {
    if (o->isTensor()) of.push_back(o->tensor());
  }
  if (*mode == "floor") return constantIn(detached(floor_divide(x, other)), of);
  if (*mode == "trunc") return constantIn(trunc_divide(x, other), of);
  fail("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
}

Tensor mean(const Tensor& x, const std::optional<Dims>& dim, bool keepdim, std::optional<DType> dtype) {
  if (!dtype) needFloating("mean()", x);
  if (dtype && !isFloating(*dtype))
    fail("mean(): could not infer output dtype. Optional dtype must be a floating point dtype. Got: ",
         dtypeClassName(*dtype));
  Tensor in = dtype ? toDType(x, *dtype) : x;
  Dims dims = reductionDims(in, dim);
  // Half types are widened as they are added.
  const auto wide = isHalf(in.dtype()) ? std::optional(DType::Float32) : std::nullopt;
  Tensor total = sum(in, dims, keepdim, wide);
  return toDType(div(total, countOver(x, dims)), in.dtype());
}

namespace {
/// The variance, or its square root, which a half type may hold where it does not hold the variance.
Tensor variance(const char* op, const Tensor& x, const std::optional<Dims>& dim, std::optional<Scalar> correction,
                bool keepdim, bool rooted = false) {
  if (!isFloating(x.dtype()))
    fail("std and var only support floating point and complex dtypes, got ", dtypeName(x.dtype()));
  Dims dims = reductionDims(x, dim);
  const std::int64_t count = countOver(x, dims);
  const double taken = correction ? correction->asDouble() : 1.0;
  double n = static_cast<double>(count) - taken;
  // A result without elements is of no numbers, however many each of them would be of.
  const bool empty = x.numel() == 0 && count != 0;
  if ((empty ? -taken : n) <= 0)
    warn(strcat(op,
                "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
                "numel divided by output numel)."));
  FusedScope fused(fusedElements(x, dims));
  Tensor in = widened(x);
  Tensor d = sub(in, mean(in, dims, true));
  Tensor total = sum(square(d), dims, keepdim);
  // Of nothing there is no variance, whatever the correction.
  Tensor v = div(total, count == 0 ? 0.0 : std::max(n, 0.0));
  return toDType(rooted ? root(v) : v, x.dtype());
}
void needFloatingPair(const char* op, const Tensor& x) {
  if (!isFloating(x.dtype())) fail(op, " only support floating point and complex dtypes");
}
}  // namespace

Tensor var(const Tensor& x, const std::optional<Dims>& dim, std::optional<Scalar> correction, bool keepdim) {
  return variance("var", x, dim, correction, keepdim);
}
Tensor var_unbiased(const Tensor& x, const std::optional<Dims>& dim, bool unbiased, bool keepdim) {
  return var(x, dim, Scalar(unbiased ? 1 : 0), keepdim);
}
Tensor var_flag(const Tensor& x, bool unbiased) { return var(x, {}, Scalar(unbiased ? 1 : 0), false); }
Tensor std(const Tensor& x, const std::optional<Dims>& dim, std::optional<Scalar> correction, bool keepdim) {
  return variance("std", x, dim, correction, keepdim, true);
}
Tensor std_unbiased(const Tensor& x, const std::optional<Dims>& dim, bool unbiased, bool keepdim) {
  return std(x, dim, Scalar(unbiased ? 1 : 0), keepdim);
}
std::array<Tensor, 2> var_mean(const Tensor& x, const std::optional<Dims>& dim, std::optional<Scalar> correction,
                               bool keepdim) {
  needFloatingPair("var_mean", x);
  FusedScope fused(fusedElements(x, dim));
  return {variance("var_mean", x, dim, correction, keepdim), mean(x, dim, keepdim)};
}
std::array<Tensor, 2> var_mean_unbiased(const Tensor& x, const std::optional<Dims>& dim, bool unbiased, bool keepdim) {
  return var_mean(x, dim, Scalar(unbiased ? 1 : 0), keepdim);
}
std::array<Tensor, 2> var_mean_flag(const Tensor& x, bool unbiased) {
  return var_mean(x, {}, Scalar(unbiased ? 1 : 0), false);
}
std::array<Tensor, 2> std_mean(const Tensor& x, const std::optional<Dims>& dim, std::optional<Scalar> correction,
                               bool keepdim) {
  needFloatingPair("std_mean", x);
  FusedScope fused(fusedElements(x, dim));
  return {variance("std_mean", x, dim, correction, keepdim, true), mean(x, dim, keepdim)};
}
std::array<Tensor, 2> std_mean_unbiased(const Tensor& x, const std::optional<Dims>& dim, bool unbiased, bool keepdim) {
  return std_mean(x, dim, Scalar(unbiased ? 1 : 0), keepdim);
}
std::array<Tensor, 2> std_mean_flag(const Tensor& x, bool unbiased) {
  return std_mean(x, {}, Scalar(unbiased ? 1 : 0), false);
}

Tensor logsumexp(const Tensor& x, const std::optional<Dims>& dim, bool keepdim) {
  FusedScope fused(fusedElements(x, dim));
  Tensor in = isFloating(x.dtype()) ? x : toDType(x, defaultDType());
  if (countOver(in, reductionDims(in, dim)) == 0) return log(sum(in, dim, keepdim));
  Tensor top = detached(amax(in, dim, true));
  // An infinite maximum would make inf - inf.
  Tensor safe = where(isinf(top), 0.0, top);
  // All dims cannot be meant by none here, as PyTorch adds a maximum that still has them.
  if (dim && dim->empty() && !keepdim && in.dim() > 0)
    fail("logsumexp(): output with shape [] doesn't match the broadcast shape ", shapeText(Dims(in.dim(), 1)),
         ": name the dims");
  Tensor total = log(sum(exp(sub(in, safe)), dim, keepdim));
  return add(total, keepdim ? safe : view(safe, total.shape()));
}

namespace {
/// The largest (or smallest) of all elements; those that are it share its gradient, NaNs too.
Tensor extremeOfAll(const Tensor& x, bool larger) {
  bool shared = gradEnabled() && x.requiresGrad() && x.dim() > 0;
  Tensor y = larger ? amax(x, {}, shared) : amin(x, {}, shared);
  return shared ? reshape(y, Dims{}) : y;
}
}  // namespace

Tensor max_all(const Tensor& x) {
  needElements("max", x);
  return extremeOfAll(x, true);
}
Tensor min_all(const Tensor& x) {
  needElements("min", x);
  return extremeOfAll(x, false);
}
Tensor max_pair(const Tensor& x, const Tensor& y) { return maximum(x, y); }
Tensor min_pair(const Tensor& x, const Tensor& y) { return minimum(x, y); }

namespace {

/// `compute` of the operands, converted to the dtype of the result, in one kernel; of half types in float32, rounded
/// once.
template <class F>
Tensor fusedTernary(DType type, const Tensor& x, const Tensor& a, const Operand& b, F compute) {
  FusedScope fused(x);
  auto converted = [&](const Tensor& t) { return widened(toDType(t, type)); };
  const Tensor second = b.isTensor() ? converted(b.tensor()) : Tensor();  // an Operand refers to it
  return toDType(compute(converted(x), converted(a), b.isTensor() ? Operand(second) : b), type);
}

}  // namespace

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
  if (x.dtype() == DType::Bool && a.dtype() == DType::Bool && b.dtype() == DType::Bool)
    fail<NotImplementedError>("\"addcmul_cpu_out\" not implemented for 'Bool'");
  const TensorMeta metas[] = {metaOf(x), metaOf(a), metaOf(b)};
  const DType type = resultType(metas);
  needHeldFactor("addcmul", type, value);
  if (!isFloating(type)) {
    FusedScope fused(x);
    return add(x, mul(scaled(toDType(a, type), Scalar(value.asInt())), b));
  }
  return fusedTernary(type, x, a, b, [&](const Tensor& sum, const Tensor& left, const Operand& right) {
    return add(sum, mul(scaled(left, value), right));
  });
}
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
  if (!isFloating(a.dtype()) && !isFloating(b.dtype()))
    fail("addcdiv: Integer division with addcdiv is no longer supported, but got tensor1 of ", dtypeName(a.dtype()),
         " and tensor2 of ", dtypeName(b.dtype()), ". Divide with a rounding mode and add, or convert one to floats.");
  const TensorMeta metas[] = {metaOf(x), metaOf(a), metaOf(b)};
  const DType type = resultType(metas);
  needHeldFactor("addcdiv", type, value);
  return fusedTernary(type, x, a, b, [&](const Tensor& sum, const Tensor& top, const Operand& bottom) {
    return add(sum, div(scaled(top, value), bottom));
  });
}
Tensor lerp(const Tensor& x, const Tensor& end, const Operand& weight) {
  if (!isFloating(x.dtype())) fail<NotImplementedError>("lerp: not implemented for ", dtypeName(x.dtype()));
  if (end.dtype() != x.dtype())
    fail("lerp: expected dtype ", dtypeName(x.dtype()), " for `end` but got dtype ", dtypeName(end.dtype()));
  if (weight.isTensor() && weight.tensor().dtype() != x.dtype() && weight.tensor().dim() > 0)
    fail("lerp: expected dtype ", dtypeName(x.dtype()), " for `weight` but got dtype ",
         dtypeName(weight.tensor().dtype()));
  if (!weight.isTensor()) needHeldFactor("lerp", x.dtype(), weight.scalar());
  return fusedTernary(x.dtype(), x, end, weight, lerp_plain);
}

Tensor clamp(const Tensor& x, const std::optional<Operand>& from, const std::optional<Operand>& to) {
  if (!from && !to) fail("clamp: At least one of 'min' or 'max' must not be None");
  std::vector<TensorMeta> metas{metaOf(x)};
  for (const auto* bound : {&from, &to})
    if (*bound) metas.push_back(metaOf(**bound));
  const DType type = resultType(metas);
  if (type == DType::Bool && from && to) fail<NotImplementedError>("\"clamp_cpu\" not implemented for 'Bool'");
  for (const auto* bound : {&from, &to})
    if (*bound && !(*bound)->isTensor()) needHeld("clamp", type, (*bound)->scalar());
  FusedScope fused(x);
  // All three promote together: a 0-d bound must not widen what the other bound keeps.
  Tensor bounds[2];
  auto promoted = [&](const std::optional<Operand>& bound, Tensor& kept) {
    if (!bound || !bound->isTensor() || bound->tensor().dtype() == type) return bound;
    kept = toDType(bound->tensor(), type);
    return std::optional(Operand(kept));
  };
  const auto low = promoted(from, bounds[0]), high = promoted(to, bounds[1]);
  Tensor y = x.dtype() == type ? x : toDType(x, type);
  if (low && high) return clamp_band(y, *low, *high);
  return low ? clamp_low(y, *low) : clamp_high(y, *high);
}

Tensor round(const Tensor& x, std::int64_t decimals) {
  if (decimals == 0 || !isFloating(x.dtype())) return round_even(x);
  FusedScope fused(x);
  double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  Tensor wide = widened(x);  // a half type may not hold the scaled number
  Tensor y = decimals > 0 ? div(round_even(mul(wide, scale)), scale) : mul(round_even(div(wide, scale)), scale);
  return y.dtype() == x.dtype() ? y : toDType(y, x.dtype());
}

Tensor isclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equalNan) {
  if (x.dtype() != y.dtype()) fail("isclose: ", dtypeName(x.dtype()), " did not match ", dtypeName(y.dtype()));
  if (!(rtol >= 0)) fail("isclose: rtol must be greater than or equal to zero, but got ", rtol);
  if (!(atol >= 0)) fail("isclose: atol must be greater than or equal to zero, but got ", atol);
  FusedScope fused(x);
  Tensor same = eq(x, y);
  if (equalNan) same = logical_or(same, logical_and(isnan(x), isnan(y)));
  if (rtol == 0 && atol == 0) return same;
  Tensor fx = isFloating(x.dtype()) ? x : toDType(x, DType::Float64);
  Tensor fy = isFloating(y.dtype()) ? y : toDType(y, DType::Float64);
  Tensor near = le(abs(sub(fx, fy)), add(mul(abs(fy), rtol), atol));
  return logical_or(same, logical_and(near, isfinite(fy)));
}

Tensor positive(const Tensor& x) {
  if (x.dtype() == DType::Bool) fail("The `+` operator, on a bool tensor is not supported.");
  return x;
}

// ---- products of matrices --------------------------------------------------------------------------------------

Tensor matmulFor(const Tensor& a, const Tensor& b, bool wide, const Tensor& bias) {
  if (a.dim() == 0 || b.dim() == 0)
    fail("matmul: both arguments to matmul need to be at least 1D, but they are ", a.dim(), "D and ", b.dim(), "D");
  Tensor x = a.dim() == 1 ? unsqueeze(a, 0) : a;
  Tensor y = b.dim() == 1 ? unsqueeze(b, 1) : b;
  if (x.size(-1) != y.size(-2))
    fail("matmul: inner dimensions differ: ", shapeText(a.shape()), " @ ", shapeText(b.shape()),
         " (mat1 and mat2 shapes cannot be multiplied)");
  // One product with all rows of the batch: where they lie so, and where the derivative would else have a weight for
  // each example, which costs more than a copy of the rows. Products of matrices have the same bits either way, but
  // those of one row, and of bfloat16, are added in an order that the number of rows decides.
  const bool weighed = y.dim() == 2 && y.size(-1) > 1 && y.requiresGrad() && gradEnabled();
  const bool ordered = x.dim() > 2 && (x.size(-2) == 1 || x.dtype() == DType::BFloat16);
  if (y.dim() == 2 && x.dim() > 2 && x.numel() > 0 && (x.isContiguous() || weighed || ordered)) {
    Tensor z = matrixProduct(reshape(x, Dims{x.numel() / x.size(-1), x.size(-1)}), y, wide, bias);
    Dims shape = x.shape();
    shape[shape.size() - 1] = y.size(-1);
    z = view(z, shape);
    return b.dim() == 1 ? squeeze_dims(z, Dims{-1}) : z;
  }
  if (x.dim() > 2 || y.dim() > 2) {
    Dims bx(x.shape().begin(), x.shape().end() - 2);
    Dims by(y.shape().begin(), y.shape().end() - 2);
    Dims batch = broadcastShapes("matmul", bx, by);
    auto spread = [&](const Tensor& t) {
      Dims shape = batch;
      shape.push_back(t.size(-2));
      shape.push_back(t.size(-1));
      return shape == t.shape() ? t : expand(t, shape);
    };
    x = spread(x);
    y = spread(y);
  }
  Tensor z = matrixProduct(x, y, wide, bias);
  if (a.dim() == 1) z = squeeze_dims(z, Dims{-2});
  if (b.dim() == 1) z = squeeze_dims(z, Dims{-1});
  return z;
}

Tensor matmul(const Tensor& a, const Tensor& b) { return matmulFor(a, b, false); }

Tensor mmFor(const Tensor& a, const Tensor& b, bool wide, const Tensor& bias) {
  if (a.dim() != 2 || b.dim() != 2)
    fail("mm: expected matrices, but got shapes ", shapeText(a.shape()), " and ", shapeText(b.shape()));
  if (a.size(1) != b.size(0))
    fail("mm: mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1), " and ", b.size(0), "x",
         b.size(1), ")");
  return matrixProduct(a, b, wide, bias);
}
Tensor mm(const Tensor& a, const Tensor& b) { return mmFor(a, b, false); }
Tensor bmmFor(const Tensor& a, const Tensor& b, bool wide, const Tensor& bias) {
  if (a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0) || a.size(2) != b.size(1))
    fail("bmm: batches of matrices do not fit: ", shapeText(a.shape()), " @ ", shapeText(b.shape()));
  return matrixProduct(a, b, wide, bias);
}
Tensor bmm(const Tensor& a, const Tensor& b) { return bmmFor(a, b, false); }
Tensor mv(const Tensor& a, const Tensor& v) {
  if (a.dim() != 2 || v.dim() != 1)
    fail("mv: expected a matrix and a vector, but got shapes ", shapeText(a.shape()), " and ", shapeText(v.shape()));
  return matmul(a, v);
}
Tensor dot(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || b.dim() != 1) fail("dot: 1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  if (a.numel() != b.numel())
    fail("dot: inconsistent tensor size, expected tensor [", a.numel(), "] and src [", b.numel(),
         "] to have the same number of elements");
  return matmul(a, b);
}
Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || b.dim() != 1)
    fail("outer: expected vectors, but got shapes ", shapeText(a.shape()), " and ", shapeText(b.shape()));
  return mul(unsqueeze(a, 1), b);
}

}  // namespace tandem::ops
