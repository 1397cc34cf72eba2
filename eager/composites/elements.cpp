// Composites of single elements: limits, steps, angles, powers of two.
#include <cmath>
#include <limits>
#include <numbers>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/memory_format.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// The largest finite value of a floating dtype.
double largest(DType t) {
  switch (t) {
  case DType::Float16:
    return 65504;
  case DType::BFloat16:
    return 0x1.fep127;
  case DType::Float32:
    return std::numeric_limits<float>::max();
  default:
    return std::numeric_limits<double>::max();
  }
}

DType floatingLike(DType t) { return isFloating(t) ? t : defaultDType(); }

Operand widened(const Operand& x, Tensor& keep) {
  if (!x.isTensor()) return Scalar(x.scalar());
  keep = toDType(x.tensor(), DType::Float64);
  return keep;
}

}  // namespace

Tensor logit(const Tensor& x, std::optional<double> eps) {
  if (!eps) return logit_plain(x);
  return logit_clamped(toDType(x, floatingLike(x.dtype())), *eps, 1 - *eps);
}

// Near 0 the quotient loses what cancels in it, and at 0 it is none: there the series of the derivative,
// sum over k of (-1)^k 2k / (2k + 1)! pi^2k x^(2k - 1), which has all its derivatives.
Tensor sinc_slope(const Tensor& x) {
  constexpr double kNear = 0.4;
  constexpr int kTerms = 14;
  const double pi = std::numbers::pi;
  FusedScope fused(x);
  Tensor near = lt(abs(x), kNear);
  Tensor small = where(near, x, 0);
  Tensor square = mul(small, small);
  double coefficients[kTerms];
  double term = 1;  // (-1)^k pi^2k / (2k + 1)!
  for (int k = 1; k <= kTerms; ++k) {
    term *= -pi * pi / (2.0 * k * (2.0 * k + 1));
    coefficients[k - 1] = term * 2 * k;
  }
  Tensor series = mul(square, coefficients[kTerms - 1]);
  for (int k = kTerms - 2; k > 0; --k) series = mul(add(series, coefficients[k]), square);
  series = mul(add(series, coefficients[0]), small);
  Tensor far = where(near, 1, x);
  return where(near, series, div(sub(cos(mul(far, pi)), sinc(far)), far));
}

Tensor nan_to_num(const Tensor& x, std::optional<Scalar> nan, std::optional<Scalar> posinf,
                  std::optional<Scalar> neginf) {
  if (!isFloating(x.dtype())) return copyIn(x, MemoryFormat::Preserve, x.dtype(), "nan_to_num");
  double most = largest(x.dtype());
  return nan_to_num_plain(x, nan.value_or(0.0), posinf.value_or(most), neginf.value_or(-most));
}

Tensor clamp_min(const Tensor& x, const Operand& min) { return clamp(x, min, {}); }
Tensor clamp_max(const Tensor& x, const Operand& max) { return clamp(x, {}, max); }

Tensor heaviside(const Tensor& x, const Tensor& values) {
  if (x.dtype() != values.dtype()) fail("heaviside is not yet implemented for tensors with different dtypes.");
  return heaviside_plain(x, values);
}

std::array<Tensor, 2> frexp(const Tensor& x) {
  if (!isFloating(x.dtype())) fail("frexp only supports floating-point dtypes");
  // Exponents are small integers, which every floating dtype holds.
  return {frexp_mantissa(x), toDType(frexp_exponent(x), DType::Int32)};
}

Tensor isreal(const Tensor& x) { return filledAs(x, true, DType::Bool); }
// No integer is infinite.
Tensor isposinf(const Tensor& x) { return isFloating(x.dtype()) ? eq(x, kInf) : filledAs(x, false, DType::Bool); }
Tensor isneginf(const Tensor& x) { return isFloating(x.dtype()) ? eq(x, -kInf) : filledAs(x, false, DType::Bool); }
Tensor deg2rad(const Tensor& x) { return mul(x, std::numbers::pi / 180); }
Tensor rad2deg(const Tensor& x) { return mul(x, 180 / std::numbers::pi); }

Tensor ldexp(const Tensor& x, const Tensor& other) {
  FusedScope fused(x);
  // An integer exponent may be out of the default dtype's range and in that of the other operand.
  Tensor exponent = isFloating(other.dtype()) ? other : toDType(other, floatingLike(x.dtype()));
  return mul(x, exp2(exponent));
}

Tensor float_power(const Tensor& x, const Operand& exponent) {
  Tensor wide;
  return pow(toDType(x, DType::Float64), widened(exponent, wide));
}
Tensor expit(const Tensor& x) { return sigmoid(x); }
Tensor entr(const Tensor& x) {
  Tensor in = toDType(x, floatingLike(x.dtype()));
  return entr_plain(in);
}

Tensor rdiv(const Tensor& x, const Operand& other) { return div(other, x); }

Tensor float_power_of(Scalar x, const Tensor& exponent) { return pow(x, toDType(exponent, DType::Float64)); }

}  // namespace tandem::ops
