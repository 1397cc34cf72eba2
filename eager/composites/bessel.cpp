// Composites around Bessel functions and the normal distribution, and orthogonal polynomials.
#include <cmath>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "runtime/lib/functions/polynomials.h"

namespace tandem::ops {
namespace {

// I1(x) / x and its derivatives lose what cancels near 0: there their power series, which has all its derivatives.
constexpr double kNear = 3;
constexpr int kTerms = 20;

struct NearZero {
  Tensor near;   // where the series is for
  Tensor small;  // the arguments there, 0 elsewhere
  Tensor far;    // the arguments elsewhere, 1 there
  Tensor series;
};
/// I1'(x) = sum over k of (2k + 1) / (2 k! (k + 1)!) (x / 2)^2k.
NearZero i1Series(const Tensor& x) {
  double coefficients[kTerms];
  double term = 0.5;  // 1 / (2 k! (k + 1)!) / 4^k
  for (int k = 0; k < kTerms; ++k) {
    coefficients[k] = (2 * k + 1) * term;
    term /= 4.0 * (k + 1) * (k + 2);
  }
  Tensor near = lt(abs(x), kNear);
  Tensor small = where(near, x, 0);
  Tensor square = mul(small, small);
  Tensor series = mul(square, coefficients[kTerms - 1]);
  for (int k = kTerms - 2; k > 0; --k) series = mul(add(series, coefficients[k]), square);
  return {near, small, where(near, 1, x), add(series, coefficients[0])};
}

/// The polynomials of a family at `x`, of degree `n`.
Tensor polynomial(const char* op, const Operand& x, const Operand& n, Polynomial family, bool shifted = false) {
  const TensorMeta metas[] = {metaOf(x), metaOf(n)};
  const DType common = resultType(metas);
  const bool narrow = common == DType::Float32 && x.isTensor() && x.tensor().dtype() == common;
  auto converted = [](const Operand& o, DType dtype) {
    return o.isTensor() ? toDType(detached(o.tensor()), dtype) : full_plain(o.scalar(), Dims(), dtype);
  };
  // A number on the CPU goes along before it is expanded.
  const Operand both[] = {x, n};
  const Placement place(op, both);
  const Tensor a = converted(place.operands()[0], narrow ? common : DType::Float64);
  const Tensor b = converted(place.operands()[1], DType::Float64);
  Dims shape = broadcastShapes(op, a.shape(), b.shape());
  const auto plain = [&](const Tensor& at, const Tensor& degree) {
    return orthogonal_polynomial_plain(at, degree, static_cast<std::int64_t>(family), shifted);
  };
  const Tensor y = laidOutAs(expand(a, shape), expand(b, shape), plain);
  return toDType(y, isFloating(common) ? common : defaultDType());
}

}  // namespace

Tensor modified_bessel_i0(const Tensor& x) { return i0(x); }
Tensor modified_bessel_i1(const Tensor& x) { return i1(x); }

Tensor i1_slope(const Tensor& x) {
  FusedScope fused(x);
  auto [near, small, far, series] = i1Series(x);
  return where(near, series, sub(i0(far), div(i1(far), far)));
}
Tensor i1e_slope(const Tensor& x) {
  FusedScope fused(x);
  auto [near, small, far, series] = i1Series(x);
  Tensor scaled = where(near, mul(series, exp(neg(abs(small)))), sub(i0e(far), div(i1e(far), far)));
  return sub(scaled, mul(sign(x), i1e(x)));
}

// The density over the distribution function: below 0 by way of erfcx, which does not underflow; above, where that
// overflows, as it is.
Tensor log_ndtr_slope(const Tensor& x) {
  FusedScope fused(x);
  Tensor left = lt(x, 0);
  Tensor below = where(left, x, 0);
  Tensor above = where(left, 0, x);
  Tensor density = mul(exp(mul(square(above), -0.5)), 0.5 * M_2_SQRTPI * M_SQRT1_2);
  return where(left, div(M_2_SQRTPI * M_SQRT1_2, erfcx(mul(below, -M_SQRT1_2))), div(density, ndtr(above)));
}

Tensor chebyshev_polynomial_t(const Operand& x, const Operand& n) {
  return polynomial("chebyshev_polynomial_t", x, n, Polynomial::ChebyshevT);
}
Tensor chebyshev_polynomial_u(const Operand& x, const Operand& n) {
  return polynomial("chebyshev_polynomial_u", x, n, Polynomial::ChebyshevU);
}
Tensor chebyshev_polynomial_v(const Operand& x, const Operand& n) {
  return polynomial("chebyshev_polynomial_v", x, n, Polynomial::ChebyshevV);
}
Tensor chebyshev_polynomial_w(const Operand& x, const Operand& n) {
  return polynomial("chebyshev_polynomial_w", x, n, Polynomial::ChebyshevW);
}
Tensor shifted_chebyshev_polynomial_t(const Operand& x, const Operand& n) {
  return polynomial("shifted_chebyshev_polynomial_t", x, n, Polynomial::ChebyshevT, true);
}
Tensor shifted_chebyshev_polynomial_u(const Operand& x, const Operand& n) {
  return polynomial("shifted_chebyshev_polynomial_u", x, n, Polynomial::ChebyshevU, true);
}
Tensor shifted_chebyshev_polynomial_v(const Operand& x, const Operand& n) {
  return polynomial("shifted_chebyshev_polynomial_v", x, n, Polynomial::ChebyshevV, true);
}
Tensor shifted_chebyshev_polynomial_w(const Operand& x, const Operand& n) {
  return polynomial("shifted_chebyshev_polynomial_w", x, n, Polynomial::ChebyshevW, true);
}
Tensor hermite_polynomial_h(const Operand& x, const Operand& n) {
  return polynomial("hermite_polynomial_h", x, n, Polynomial::HermiteH);
}
Tensor hermite_polynomial_he(const Operand& x, const Operand& n) {
  return polynomial("hermite_polynomial_he", x, n, Polynomial::HermiteHe);
}
Tensor laguerre_polynomial_l(const Operand& x, const Operand& n) {
  return polynomial("laguerre_polynomial_l", x, n, Polynomial::Laguerre);
}
Tensor legendre_polynomial_p(const Operand& x, const Operand& n) {
  return polynomial("legendre_polynomial_p", x, n, Polynomial::Legendre);
}

}  // namespace tandem::ops
