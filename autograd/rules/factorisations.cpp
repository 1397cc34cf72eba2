// Derivatives of factorisations of matrices and of what is made of them whole (ir/ops: factorisations.td, linalg.td).
// All are made of products, triangular systems and the factorisations themselves, so every order follows. Sources:
// Giles, "Collected matrix derivative results", 2008; Townsend, "Differentiating the singular value decomposition",
// 2016; Walter, Lehmann, "Algorithmic differentiation of linear algebra functions", 2010.
#include <vector>

#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::rules {
namespace {

Tensor transposed(const Tensor& x) { return ops::transpose(x, -2, -1); }
Tensor product(const Tensor& a, const Tensor& b) { return ops::matmul(a, b); }
Tensor columns(const Tensor& x, std::int64_t from, std::int64_t count) { return ops::narrow(x, -1, from, count); }
Tensor rows(const Tensor& x, std::int64_t from, std::int64_t count) { return ops::narrow(x, -2, from, count); }

/// a^-1 b and b a^-1 for a triangular a.
Tensor solveLeft(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  return ops::linalg_solve_triangular(a, b, upper, true, unit);
}
Tensor solveRight(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  return ops::linalg_solve_triangular(a, b, upper, false, unit);
}

/// a + b, where either may be undefined.
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : ops::add(a, b); }

Tensor diagonalMatrix(const Tensor& d) { return ops::diag_embed(d, 0, -2, -1); }

/// The gradient's rows where the rows of the input were before `order` moved them.
Tensor unordered(const Tensor& x, const Tensor& order) {
  Tensor back = ops::argsort(order, -1, false, false);
  return ops::gather(x, -2, ops::expand(ops::unsqueeze(back, -1), x.shape()));
}

}  // namespace

// With P^T A = L U square: P L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T. The rest of a wide U is L^-1 times the rest
// of A, that of a tall L the rest of A times U^-1.
void lu(RuleContext& c) {
  const Tensor& lu = c.output(0);
  const Tensor& g = c.grad();
  std::int64_t m = lu.size(-2);
  std::int64_t n = lu.size(-1);
  std::int64_t k = std::min(m, n);
  Tensor square = rows(columns(lu, 0, k), 0, k);
  Tensor squareGrad = rows(columns(g, 0, k), 0, k);
  Tensor gL = ops::tril(squareGrad, -1);
  Tensor gU = ops::triu(squareGrad, 0);
  Tensor rest;
  if (n > m) {
    rest = solveLeft(transposed(square), columns(g, k, n - k), true, true);
    gL = ops::sub(gL, ops::tril(product(rest, transposed(columns(lu, k, n - k))), -1));
  } else if (m > n) {
    rest = solveRight(transposed(square), rows(g, k, m - k), false, false);
    gU = ops::sub(gU, ops::triu(product(transposed(rows(lu, k, m - k)), rest), 0));
  }
  Tensor l = ops::add(ops::tril(square, -1), ops::eye(k, {}, lu.dtype()));
  Tensor u = ops::triu(square, 0);
  Tensor inner = ops::add(ops::tril(product(transposed(l), gL), -1), ops::triu(product(gU, transposed(u)), 0));
  Tensor outer = solveRight(transposed(u), solveLeft(transposed(l), inner, true, true), false, false);
  if (rest.defined()) {
    const Tensor parts[] = {outer, rest};
    outer = ops::cat(parts, n > m ? -1 : -2);
  }
  c.set(0, unordered(outer, c.output(2)));
}

void solve(RuleContext& c) {
  Tensor g = ops::solve_plain(ops::contiguous(transposed(c.input(0))), c.grad());
  if (c.needs(0)) c.set(0, ops::neg(product(g, transposed(c.output(0)))));
  if (c.needs(1)) c.set(1, g);
}

// Of X = A^-1 B: dX = A^-1 (dB - dA X); of X = A^-T B: dX = A^-T (dB - dA^T X).
void solveFactored(RuleContext& c) {
  const bool adjoint = c.attrs().boolean();
  const Tensor& x = c.output(0);
  Tensor g = ops::solve_factored(c.input(0), c.grad(), c.input(2), c.input(3), !adjoint);
  if (c.needs(0)) c.set(0, ops::neg(adjoint ? product(x, transposed(g)) : product(g, transposed(x))));
  if (c.needs(1)) c.set(1, g);
}

void ldl(RuleContext&) { fail("linalg.ldl_factor: the derivative is not implemented"); }
void ldlSolve(RuleContext&) { fail("linalg.ldl_solve: the derivative is not implemented"); }

namespace {

/// For the first k = min(m, n) columns, Q R1: (gQ + Q copyltu(R1 gR1^T - gQ^T Q)) R1^-T, copyltu the lower triangle and
/// its mirror image.
Tensor qrSquare(const Tensor& q, const Tensor& r, const Tensor& gQ, const Tensor& gR) {
  Tensor inner = gR.defined() ? product(r, transposed(gR)) : Tensor();
  if (gQ.defined()) {
    Tensor other = ops::neg(product(transposed(gQ), q));
    inner = plus(inner, other);
  }
  Tensor mirrored = ops::add(ops::tril(inner, 0), transposed(ops::tril(inner, -1)));
  return solveRight(transposed(r), plus(gQ, product(q, mirrored)), false, false);
}

}  // namespace

void qr(RuleContext& c) {
  const Tensor& q = c.output(0);
  const Tensor& r = c.output(1);
  std::int64_t m = q.size(-2);
  std::int64_t n = r.size(-1);
  if (q.size(-1) > n)
    fail("linalg.qr: the QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  Tensor gQ = c.grad(0);
  Tensor gR = c.grad(1);
  if (n <= m) return c.set(0, qrSquare(q, r, gQ, gR));
  // The rest of a wide R is Q^T times the rest of A.
  Tensor rest = columns(c.input(0), m, n - m);
  Tensor gRest = ops::zeros(rest.shape(), rest.dtype());
  if (gR.defined()) {
    Tensor tail = columns(gR, m, n - m);
    gQ = plus(gQ, product(rest, transposed(tail)));
    gRest = product(q, tail);
    gR = columns(gR, 0, m);
  }
  const Tensor parts[] = {qrSquare(q, columns(r, 0, m), gQ, gR), gRest};
  c.set(0, ops::cat(parts, -1));
}

namespace {

/// x - x^T.
Tensor skew(const Tensor& x) { return ops::sub(x, transposed(x)); }

/// 1 / (v_j - v_i) off the diagonal, 0 on it.
Tensor inverseGaps(const Tensor& values) {
  Tensor gaps = ops::sub(ops::unsqueeze(values, -2), ops::unsqueeze(values, -1));
  Tensor none = ops::eye(values.size(-1), {}, DType::Bool);
  return ops::where(none, 0, ops::reciprocal(ops::where(none, 1, gaps)));
}

}  // namespace

void svd(RuleContext& c) {
  Tensor u = c.output(0);
  const Tensor& s = c.output(1);
  Tensor vh = c.output(2);
  Tensor gU = c.grad(0);
  Tensor gV = c.grad(2);
  std::int64_t k = s.size(-1);
  if (numelOf(c.inputShape(0)) == 0) return c.set(0, ops::zeros(c.inputShape(0), s.dtype()));
  // With full matrices, which no derivative tells the rest of: as in PyTorch that is taken for constant.
  if (gU.defined()) gU = columns(gU, 0, k);
  if (gV.defined()) gV = rows(gV, 0, k);
  u = columns(u, 0, k);
  vh = rows(vh, 0, k);
  Tensor inner = c.hasGrad(1) ? diagonalMatrix(c.grad(1)) : Tensor();
  if (!gU.defined() && !gV.defined()) return c.set(0, product(product(u, inner), vh));
  Tensor gaps = inverseGaps(ops::square(s));
  Tensor row = ops::unsqueeze(s, -2);
  Tensor column = ops::unsqueeze(s, -1);
  if (gU.defined()) inner = plus(inner, ops::mul(ops::mul(skew(product(transposed(u), gU)), gaps), row));
  if (gV.defined()) inner = plus(inner, ops::mul(column, ops::mul(skew(product(vh, transposed(gV))), gaps)));
  Tensor grad = product(product(u, inner), vh);
  // What of gU and gV lies outside the spans of U and V.
  std::int64_t m = u.size(-2);
  std::int64_t n = vh.size(-1);
  if (gU.defined() && m > k) {
    Tensor outside = ops::sub(gU, product(u, product(transposed(u), gU)));
    grad = ops::add(grad, product(ops::div(outside, row), vh));
  }
  if (gV.defined() && n > k) {
    Tensor outside = ops::sub(gV, product(product(gV, transposed(vh)), vh));
    grad = ops::add(grad, product(u, ops::div(outside, column)));
  }
  c.set(0, grad);
}

// Symmetric, as the matrix is that the one triangle stands for.
void eigh(RuleContext& c) {
  const Tensor& v = c.output(1);
  Tensor inner = c.hasGrad(0) ? diagonalMatrix(c.grad(0)) : Tensor();
  if (c.hasGrad(1)) {
    const Tensor turned = ops::mul(skew(product(transposed(v), c.grad(1))), inverseGaps(c.output(0)));
    inner = plus(inner, ops::mul(turned, 0.5));
  }
  c.set(0, product(product(v, inner), transposed(v)));
}

// Of the values alone. The forward result does not depend on whether a gradient is needed, so the vectors are found
// here.
void singularValues(RuleContext& c) {
  auto [u, s, vh] = ops::svd_plain(c.input(0), false);
  c.set(0, product(product(u, diagonalMatrix(c.grad())), vh));
}

void eigenvalues(RuleContext& c) {
  auto [values, v] = ops::eigh_plain(c.input(0), c.attrs().boolean());
  c.set(0, product(product(v, diagonalMatrix(c.grad())), transposed(v)));
}

// Q_i = H_i Q_i+1 with H = 1 - tau v v^T, from the last reflection to the first: the products are made again, and
// their derivatives go back through them.
void householderProduct(RuleContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& tau = c.input(1);
  const std::int64_t k = tau.size(-1);
  const Tensor unit = ops::eye(a.size(-2), a.size(-1), a.dtype());
  const Tensor vectors = ops::add(ops::tril(a, -1), unit);
  auto vector = [&](std::int64_t i) { return columns(vectors, i, 1); };
  auto factor = [&](std::int64_t i) { return ops::unsqueeze(ops::narrow(tau, -1, i, 1), -1); };
  std::vector<Tensor> after(static_cast<std::size_t>(k));  // Q_i+1
  Tensor q = ops::expand(unit, a.shape());
  for (std::int64_t i = k - 1; i >= 0; --i) {
    after[i] = q;
    q = ops::sub(q, product(ops::mul(vector(i), factor(i)), product(transposed(vector(i)), q)));
  }
  Tensor g = c.grad();
  std::vector<Tensor> ofVectors;
  std::vector<Tensor> ofTau;
  for (std::int64_t i = 0; i < k; ++i) {
    const Tensor v = vector(i);
    const Tensor vq = product(transposed(v), after[i]);  // 1 x n
    const Tensor vg = product(transposed(v), g);
    const Tensor ofVector = ops::add(product(g, transposed(vq)), product(after[i], transposed(vg)));
    ofVectors.push_back(ops::neg(ops::mul(ofVector, factor(i))));
    ofTau.push_back(ops::neg(ops::squeeze(product(vg, transposed(vq)), Dims{-1})));
    g = ops::sub(g, product(ops::mul(v, factor(i)), vg));
  }
  if (c.needs(0)) {
    if (k < a.size(-1)) ofVectors.push_back(ops::zeros_like(columns(a, k, a.size(-1) - k)));
    c.set(0, ops::tril(ops::cat(ofVectors, -1), -1));
  }
  if (c.needs(1)) c.set(1, ops::cat(ofTau, -1));
}

// exp([[A^T, g], [0, A^T]]) = [[., d], [0, .]]: d is the derivative along g of exp at A^T, the adjoint of that at A.
void matrixExp(RuleContext& c) {
  Tensor a = transposed(c.input(0));
  std::int64_t n = a.size(-1);
  const Tensor upper[] = {a, c.grad()};
  const Tensor lower[] = {ops::zeros(a.shape(), a.dtype()), a};
  const Tensor both[] = {ops::cat(upper, -1), ops::cat(lower, -1)};
  c.set(0, columns(rows(ops::matrix_exp_plain(ops::contiguous(ops::cat(both, -2))), 0, n), n, n));
}

namespace {

Tensor unitMatrices(const Tensor& a) { return ops::expand(ops::eye(a.size(-1), {}, a.dtype()), a.shape()); }
Tensor overMatrices(const Tensor& x) { return ops::unsqueeze(ops::unsqueeze(x, -1), -1); }

/// A^-T of an A that was factored.
Tensor inverseTransposed(const Tensor& a, const Tensor& lu, const Tensor& order) {
  return ops::solve_factored(a, unitMatrices(a), lu, order, true);
}

/// det(A) A^-T of an invertible A.
Tensor cofactors(const Tensor& a) {
  return ops::mul(overMatrices(ops::det(a)), transposed(ops::solve_plain(a, unitMatrices(a))));
}

}  // namespace

// The cofactors. Of a singular A they are a limit: those of A with its zero pivots a little off. That is too coarse to
// be differentiated again: the cofactors of A + t E, where E moves k pivots, are a polynomial in t of degree at most k,
// and the four points t = +-1, +-2 give its value at 0 for k <= 3. Where four pivots vanish, the cofactors do with
// their first two derivatives.
void det(RuleContext& c) {
  const Tensor& a = c.input(0);
  std::int64_t n = a.size(-1);
  if (a.numel() == 0) return c.set(0, ops::zeros(a.shape(), a.dtype()));
  if (n == 1) return c.set(0, overMatrices(c.grad()));
  const Tensor& lu = c.input(1);
  const Tensor& order = c.input(3);
  Tensor pivots = ops::diagonal(lu, 0, -2, -1);
  // Enough to change every element that it comes to.
  double eps = a.dtype() == DType::Float64 ? 0x1p-48 : 0x1p-19;
  Tensor size = ops::amax(ops::abs(ops::detached(a)), Dims{-2, -1}, false);
  size = ops::unsqueeze(ops::where(ops::gt(size, 0), size, 1), -1);
  if (!gradEnabled()) {
    Tensor off = ops::where(ops::eq(pivots, 0), ops::mul(size, eps), 0);
    Tensor moved = ops::add(lu, diagonalMatrix(off));
    Tensor determinant = ops::det_factored(a, moved, c.input(2), order);
    return c.set(0, ops::mul(overMatrices(ops::mul(c.grad(), determinant)), inverseTransposed(a, moved, order)));
  }
  Tensor off;
  Tensor far;
  Tensor vanishing;
  {
    NoGrad noGrad;
    Tensor l = ops::add(ops::tril(lu, -1), ops::eye(n, {}, a.dtype()));
    auto moved = [&](const Tensor& by) { return unordered(product(l, diagonalMatrix(by)), order); };
    Tensor tiny = ops::le(ops::abs(pivots), ops::mul(size, eps / 8));
    off = moved(ops::where(tiny, ops::mul(size, eps), 0));
    far = moved(ops::where(tiny, size, 0));
    vanishing = overMatrices(ops::sum(tiny, Dims{-1}));
  }
  auto at = [&](double t) { return cofactors(ops::add(a, ops::mul(far, t))); };
  Tensor near = ops::mul(ops::add(at(1), at(-1)), 2.0 / 3);
  Tensor between = ops::sub(near, ops::mul(ops::add(at(2), at(-2)), 1.0 / 6));
  Tensor found =
      ops::where(ops::eq(vanishing, 0), cofactors(ops::add(a, off)), ops::where(ops::lt(vanishing, 4), between, 0));
  c.set(0, ops::mul(overMatrices(c.grad()), found));
}

// A^-T. It has no derivative where A is singular, which is then an error.
void logAbsDet(RuleContext& c) {
  const Tensor& a = c.input(0);
  Tensor inverse =
      gradEnabled() ? transposed(ops::linalg_solve(a, unitMatrices(a))) : inverseTransposed(a, c.input(1), c.input(2));
  c.set(0, ops::mul(overMatrices(c.grad()), inverse));
}

// Golub, Pereyra, 1973: dP = -P dA P + P P^T dA^T (1 - A P) + (1 - P A) dA^T P^T P.
namespace {

/// The gradient of A, of which p is the pseudo-inverse and g its gradient.
Tensor pseudoInverseGrad(const Tensor& a, const Tensor& p, const Tensor& g) {
  Tensor pt = transposed(p);
  Tensor gt = transposed(g);
  Tensor grad = ops::neg(product(product(pt, g), pt));
  Tensor outsideRows = product(gt, product(p, pt));
  Tensor outsideColumns = product(product(pt, p), gt);
  grad = ops::add(grad, ops::sub(outsideRows, product(a, product(p, outsideRows))));
  return ops::add(grad, ops::sub(outsideColumns, product(product(outsideColumns, p), a)));
}

}  // namespace

void pinv(RuleContext& c) { c.set(0, pseudoInverseGrad(c.input(0), c.output(0), c.grad())); }

// X = P B with the pseudo-inverse P of A.
void leastSquares(RuleContext& c) {
  const Tensor& a = c.input(0);
  Tensor p = ops::linalg_pinv(a, {}, {}, false);
  if (c.needs(0)) c.set(0, pseudoInverseGrad(a, p, product(c.grad(), transposed(c.input(1)))));
  if (c.needs(1)) c.set(1, product(transposed(p), c.grad()));
}

// Of A = L L^T, whose derivative is symmetric: dX = A^-1 (dB - dA X). As PyTorch, L counts as a whole matrix.
void choleskySolve(RuleContext& c) {
  bool upper = c.attrs().boolean();
  const Tensor& l = c.input(1);
  Tensor b = ops::cholesky_solve(c.grad(), l, upper);
  if (c.needs(0)) c.set(0, b);
  if (!c.needs(1)) return;
  Tensor half = product(b, transposed(c.output(0)));
  Tensor whole = ops::neg(ops::add(half, transposed(half)));
  c.set(1, upper ? product(l, whole) : product(whole, l));
}

}  // namespace tandem::rules
