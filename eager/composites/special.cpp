// Composites around the Gamma function, and random draws that need more than a formula an element.
#include <cmath>
#include <limits>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "runtime/base/warn.h"

namespace tandem::ops {
namespace {

void needFloating(const char* op, const Tensor& x) {
  if (!isFloating(x.dtype()))
    fail<NotImplementedError>("\"", op, "\" not implemented for '", dtypeName(x.dtype()), "'");
}
DType floatingType(DType t) { return isFloating(t) ? t : defaultDType(); }

/// Two operands as float64 tensors of one shape, and the dtype of the result.
struct Float64Pair {
  Tensor a, b;
  DType dtype;
};
Float64Pair float64Pair(const char* op, const Operand& x, const Operand& y) {
  const TensorMeta metas[] = {metaOf(x), metaOf(y)};
  auto wide = [](const Operand& o) {
    return o.isTensor() ? toDType(o.tensor(), DType::Float64) : full_plain(o.scalar(), Dims(), DType::Float64);
  };
  Tensor a = wide(x);
  Tensor b = wide(y);
  Dims shape = broadcastShapes(op, a.shape(), b.shape());
  return {expand(a, shape), expand(b, shape), floatingType(resultType(metas))};
}

Tensor incompleteGamma(const Tensor& a, const Tensor& x, bool upper) {
  Float64Pair p = float64Pair("igamma", a, x);
  const auto plain = [&](const Tensor& s, const Tensor& t) { return gammainc_plain(s, t, upper); };
  return toDType(laidOutAs(p.a, p.b, plain), p.dtype);
}

double smallest(DType t) {
  switch (t) {
  case DType::Float16:
    return 0x1p-14;
  case DType::Float64:
    return std::numeric_limits<double>::min();
  default:
    return std::numeric_limits<float>::min();
  }
}

}  // namespace

// ---- special functions ----------------------------------------------------------------------------------------------

Tensor gammaln(const Tensor& x) { return lgamma(x); }
Tensor psi(const Tensor& x) { return digamma(x); }

Tensor zeta(const Operand& x, const Operand& q) {
  Float64Pair p = float64Pair("zeta", x, q);
  return toDType(laidOutAs(p.a, p.b, zeta_plain), p.dtype);
}

Tensor polygamma(std::int64_t n, const Tensor& x) {
  if (n < 0) fail("polygamma(n, x) does not support negative n.");
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  double factor = n % 2 == 0 ? -1 : 1;
  for (std::int64_t k = 2; k <= n && std::isfinite(factor); ++k) factor *= static_cast<double>(k);
  DType dtype = floatingType(x.dtype());
  Tensor wide = toDType(x, DType::Float64);
  return toDType(mul(zeta(static_cast<double>(n) + 1, wide), factor), dtype);
}

Tensor mvlgamma(const Tensor& x, std::int64_t p) {
  constexpr std::int64_t kMost = 1 << 20;  // each is a term of its own
  if (p < 1) fail("p has to be greater than or equal to 1");
  if (p > kMost) fail("mvlgamma: p up to ", kMost, " is supported, got ", p);
  DType dtype = floatingType(x.dtype());
  Tensor sum = full_plain(static_cast<double>(p * (p - 1)) / 4.0 * std::log(M_PI), x.shape(), dtype);
  for (std::int64_t j = 0; j < p; ++j) sum = add(sum, lgamma(sub(toDType(x, dtype), static_cast<double>(j) / 2.0)));
  return sum;
}

Tensor igamma(const Tensor& a, const Tensor& x) { return incompleteGamma(a, x, false); }
Tensor igammac(const Tensor& a, const Tensor& x) { return incompleteGamma(a, x, true); }
Tensor gammainc(const Tensor& a, const Tensor& x) { return incompleteGamma(a, x, false); }
Tensor gammaincc(const Tensor& a, const Tensor& x) { return incompleteGamma(a, x, true); }

Tensor gamma_cdf_slope(const Tensor& a, const Tensor& x) {
  Float64Pair p = float64Pair("igamma", a, x);
  const auto plain = [](const Tensor& s, const Tensor& t) { return gamma_cdf_slope_plain(s, t, 1); };
  return toDType(laidOutAs(p.a, p.b, plain), p.dtype);
}

// ---- random draws ---------------------------------------------------------------------------------------------------

Tensor standard_gamma(const Tensor& alpha, Generator* g) {
  needFloating("gamma", alpha);
  GeneratorScope scope(g);
  Tensor draw = toDType(gamma_draw(contiguous(toDType(detached(alpha), DType::Float64))), alpha.dtype());
  // Small parameters give numbers below the smallest normal one, whose logarithm is asked for next.
  return gamma_sample(alpha, maximum(draw, smallest(alpha.dtype())));
}

Tensor poisson(const Tensor& rate, Generator* g) {
  needFloating("poisson", rate);
  GeneratorScope scope(g);
  Tensor checked = expected(detached(rate), ge(detached(rate), 0), Expectation::PoissonRate);
  const Tensor draw = toDType(poisson_draw(contiguous(toDType(checked, DType::Float64))), rate.dtype());
  return constantIn(draw, {&rate, 1});
}

Tensor binomial(const Tensor& count, const Tensor& prob, Generator* g) {
  needFloating("binomial", prob);
  GeneratorScope scope(g);
  Float64Pair p = float64Pair("binomial", detached(count), detached(prob));
  return toDType(binomial_draw(contiguous(p.a), contiguous(p.b)), p.dtype);
}

// ---- triangular matrices --------------------------------------------------------------------------------------------

namespace {

void needMatrices(const char* op, const Tensor& x) {
  if (x.dim() < 2) fail(op, ": The input tensor ", "A must have at least 2 dimensions.");
  if (x.size(-1) != x.size(-2))
    fail(op, ": A must be batches of square matrices, but they are ", x.size(-2), " by ", x.size(-1), " matrices");
  if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
    fail(op, ": Expected a floating point tensor as input. Got ", dtypeName(x.dtype()));
}

}  // namespace

Tensor linalg_cholesky(const Tensor& x, bool upper) {
  needMatrices("linalg.cholesky", x);
  // The triangle that the factor has is the one that is read.
  Tensor l = cholesky_plain(upper ? transpose(x, -2, -1) : x, true)[0];
  return upper ? transpose(l, -2, -1) : l;
}
Tensor cholesky(const Tensor& x, bool upper) {
  warnOnce("cholesky is deprecated in favor of linalg.cholesky.");
  return linalg_cholesky(x, upper);
}

Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular) {
  if (!left) {
    Tensor x = linalg_solve_triangular(transpose(a, -2, -1), transpose(b, -2, -1), !upper, true, unitriangular);
    return transpose(x, -2, -1);
  }
  needMatrices("linalg.solve_triangular", a);
  if (a.dtype() != b.dtype())
    fail("linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type ", dtypeName(a.dtype()),
         " and B of type ", dtypeName(b.dtype()), " instead");
  if (b.dim() < 2) fail("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.");
  if (a.size(-1) != b.size(-2))
    fail("linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B (", a.size(-2), "x",
         a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  Dims batch = broadcastShapes("linalg.solve_triangular", DimsRef(a.shape()).first(a.shape().size() - 2),
                               DimsRef(b.shape()).first(b.shape().size() - 2));
  Dims shapeA = batch;
  Dims shapeB = batch;
  shapeA.push_back(a.size(-2));
  shapeA.push_back(a.size(-1));
  shapeB.push_back(b.size(-2));
  shapeB.push_back(b.size(-1));
  return triangular_solve_plain(expand(a, shapeA), expand(b, shapeB), upper, unitriangular);
}

Tensor polygamma_of(const Tensor& x, std::int64_t n) { return polygamma(n, x); }

}  // namespace tandem::ops
