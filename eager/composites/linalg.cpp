// Linear algebra on the factorisations of ir/ops/factorisations.td: inverses, determinants, systems of equations. The
// factorisations themselves as users know them are in factorisations.cpp.
#include <limits>

#include "eager/composites/matrices.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "runtime/base/attrs.h"

namespace tandem::ops {

void needMatrices(const char* op, const Tensor& x, const char* argument) {
  if (x.dim() < 2) fail(op, ": The input tensor ", argument, " must have at least 2 dimensions.");
  if (!isFloating(x.dtype()))
    fail(op, ": Expected a floating point or complex tensor as input. Got ", dtypeClassName(x.dtype()));
  if (isHalf(x.dtype())) fail(op, ": Low precision dtypes not supported. Got ", dtypeClassName(x.dtype()));
}

void needSquare(const char* op, const Tensor& x, const char* argument) {
  needMatrices(op, x, argument);
  if (x.size(-1) != x.size(-2))
    fail(op, ": ", argument, " must be batches of square matrices, but they are ", x.size(-2), " by ", x.size(-1),
         " matrices");
}

Tensor identityLike(const Tensor& x) { return contiguous(expand(eye(x.size(-1), {}, x.dtype()), x.shape())); }

Dims batchOf(const Tensor& x) { return Dims(DimsRef(x.shape()).first(x.shape().size() - 2)); }

Tensor expandBatch(const Tensor& x, const Dims& batch) {
  Dims shape = batch;
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-1));
  return expand(x, shape);
}

Tensor zeroPivotOf(const Tensor& lu) {
  if (std::min(lu.size(-2), lu.size(-1)) == 0) return zeros(batchOf(lu), DType::Int32);
  Tensor zero = eq(diagonal(lu, 0, -2, -1), 0);
  Tensor place = add(argmax(toDType(zero, DType::Int32), -1), 1);
  return toDType(where(any(zero, Dims{-1}), place, 0), DType::Int32);
}

namespace {

/// The LU factors of matrices a, and what they tell.
struct Factored {
  explicit Factored(const Tensor& a) : factors(lu_plain(detached(a))) {}
  std::array<Tensor, 3> factors;  // L and U, swaps, the row that came to each place

  [[nodiscard]] Tensor zeroPivot() const { return zeroPivotOf(factors[0]); }
  /// `x`, after the check that the matrices have inverses.
  [[nodiscard]] Tensor checked(const Tensor& x, Expectation what) const {
    Tensor info = zeroPivot();
    return expected(x, eq(info, 0), what, toDType(info, DType::Int64));
  }
};

/// +1 or -1: of the permutation that the swaps make.
Tensor signOf(const Tensor& swaps, DType dtype) {
  std::int64_t k = swaps.size(-1);
  Tensor moved = ne(swaps, arange(std::int64_t{1}, k + 1));
  Tensor odd = remainder(sum(moved, Dims{-1}), 2);
  return toDType(sub(1, mul(odd, 2)), dtype);
}

/// Is B, beside matrices A, a vector (or a batch of them)?
bool isVector(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (b.dim() == a.dim() - 1 && b.shape() == Dims(DimsRef(a.shape()).first(a.shape().size() - 1)));
}

/// The solution for checked shapes, and what says where there is none.
struct Solution {
  Tensor x, info;
};

/// Shapes are checked, vectors solved as columns; the values of A where `check` says so.
Solution solved(const char* op, const Tensor& a, const Tensor& b, bool left, bool check) {
  needSquare(op, a, "A");
  if (a.dtype() != b.dtype())
    fail(op, ": Expected A and B to have the same dtype, but found A of type ", dtypeClassName(a.dtype()),
         " and B of type ", dtypeClassName(b.dtype()), " instead");
  bool vector = isVector(a, b);
  if (vector && !left)
    fail(op, ": Vector broadcasting of the left hand side is not supported for left=False. In this case ", op,
         " is equivalent to B / A.squeeze(-1)");
  Tensor right = vector ? unsqueeze(b, -1) : b;
  if (right.dim() < 2) fail(op, ": The input tensor B must have at least 2 dimensions.");
  if (left ? a.size(-1) != right.size(-2) : a.size(-1) != right.size(-1))
    fail(op, ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (", a.size(-2), "x",
         a.size(-1), " and ", right.size(-2), "x", right.size(-1), ")");
  const Factored factored(a);
  Tensor matrix = check ? factored.checked(a, Expectation::InvertibleForSolve) : a;
  if (!left) right = transpose(right, -2, -1);
  Dims batch = broadcastShapes(op, batchOf(a), batchOf(right));
  Dims rows = batch;
  rows.push_back(a.size(-1));
  Tensor x = solve_factored(expandBatch(matrix, batch), expandBatch(right, batch),
                            expandBatch(factored.factors[0], batch), expand(factored.factors[2], rows), !left);
  if (!left) x = transpose(x, -2, -1);
  return {vector ? squeeze_dims(x, Dims{-1}) : x, check ? zeros(batchOf(a), DType::Int32) : factored.zeroPivot()};
}

/// A^-1, where there is one.
Tensor inverted(const Tensor& a, const Factored& factored) {
  return solve_factored(a, identityLike(a), factored.factors[0], factored.factors[2], false);
}

}  // namespace

// ---- determinants and inverses --------------------------------------------------------------------------------------

Tensor det(const Tensor& a) {
  needSquare("linalg.det", a, "A");
  auto [lu, swaps, order] = lu_plain(detached(a));
  return det_factored(a, lu, swaps, order);
}

Tensor det_factored(const Tensor& a, const Tensor& lu, const Tensor& swaps, const Tensor& order) {
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    result[0] = mul(prod(diagonal(lu, 0, -2, -1), Dims{-1}), signOf(swaps, a.dtype()));
  }
  const Operand operands[] = {a, lu, swaps, order};
  tapeWhole(OpCode::det_factored, operands, {}, result);
  return result[0];
}

Tensor log_abs_det(const Tensor& a, const Tensor& lu, const Tensor& order) {
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    result[0] = sum(log(abs(diagonal(lu, 0, -2, -1))), Dims{-1});
  }
  const Operand operands[] = {a, lu, order};
  tapeWhole(OpCode::log_abs_det, operands, {}, result);
  return result[0];
}

std::array<Tensor, 2> slogdet(const Tensor& a) {
  needSquare("linalg.slogdet", a, "A");
  auto factors = lu_plain(detached(a));
  Tensor pivots = diagonal(factors[0], 0, -2, -1);
  Tensor signs = prod(sign(pivots), Dims{-1});
  return {constantIn(mul(signs, signOf(factors[1], a.dtype())), {&a, 1}), log_abs_det(a, factors[0], factors[2])};
}

Tensor logdet(const Tensor& a) {
  needSquare("logdet", a, "A");
  auto [sign, size] = slogdet(a);
  // The logarithm of a negative number is none.
  return where(lt(sign, 0), std::numeric_limits<double>::quiet_NaN(), size);
}

Tensor linalg_inv(const Tensor& a) {
  needSquare("linalg.inv", a, "A");
  const Factored factored(a);
  return inverted(factored.checked(a, Expectation::InvertibleForInv), factored);
}
Tensor inverse(const Tensor& a) { return linalg_inv(a); }
std::array<Tensor, 2> linalg_inv_ex(const Tensor& a, bool check) {
  if (check) return {linalg_inv(a), zeros(batchOf(a), DType::Int32)};
  needSquare("linalg.inv", a, "A");
  const Factored factored(a);
  return {inverted(a, factored), factored.zeroPivot()};
}

namespace {

/// max(atol, rtol * largest), where what is not given is 0; rtol by default the larger size times the precision.
Tensor cutoff(const Tensor& a, const Tensor& largest, const std::optional<Operand>& atol,
              const std::optional<Operand>& rtol) {
  double eps = a.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23;
  double usual = eps * static_cast<double>(std::max(a.size(-1), a.size(-2)));
  auto number = [&](const std::optional<Operand>& o, double otherwise) {
    return o ? add(zeros(Dims{}, a.dtype()), *o) : full(Dims{}, otherwise, a.dtype());
  };
  Tensor relative = rtol   ? number(rtol, 0)
                    : atol ? where(gt(number(atol, 0), 0), 0.0, full(Dims{}, usual, a.dtype()))
                           : number({}, usual);
  return maximum(number(atol, 0), mul(relative, largest));
}

/// The value of `a`, or where asked for the symmetric matrix of its lower triangle.
Tensor symmetric(const Tensor& a, bool hermitian) {
  Tensor plain = detached(a);
  return hermitian ? add(tril(plain, 0), transpose(tril(plain, -1), -2, -1)) : plain;
}

Tensor largestOf(const Tensor& s) {
  if (s.size(-1) == 0) return zeros(Dims(DimsRef(s.shape()).first(s.shape().size() - 1)), s.dtype());
  return select(s, -1, 0);
}

}  // namespace

namespace {
/// The pseudo-inverse of `a` with these factors, of its values above `limit`.
Tensor pseudoInverse(const std::array<Tensor, 3>& factors, const Tensor& a, const Tensor& limit) {
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    const auto& [u, s, vh] = factors;
    Tensor kept = gt(s, unsqueeze(limit, -1));
    Tensor inverted = where(kept, reciprocal(where(kept, s, 1)), 0);
    result[0] = matmul(mul(transpose(vh, -2, -1), unsqueeze(inverted, -2)), transpose(u, -2, -1));
  }
  const Operand operands[] = {a, limit};
  tapeWhole(OpCode::pinv_plain, operands, {}, result);
  return result[0];
}
}  // namespace

Tensor pinv_plain(const Tensor& a, const Tensor& limit) {
  return pseudoInverse(svd_plain(detached(a), false), a, limit);
}

Tensor linalg_pinv(const Tensor& a, const std::optional<Operand>& atol, const std::optional<Operand>& rtol,
                   bool hermitian) {
  if (hermitian)
    needSquare("linalg.pinv", a, "A");
  else
    needMatrices("linalg.pinv", a, "A");
  if (a.numel() == 0) return clone(transpose(a, -2, -1));
  // The values by themselves, of another algorithm, may differ from these in the last bit.
  const auto factors = svd_plain(detached(symmetric(a, hermitian)), false);
  const Tensor limit = cutoff(a, largestOf(factors[1]), atol, rtol);
  return pseudoInverse(factors, a, expand(limit, batchOf(a)));
}
Tensor linalg_pinv_rcond(const Tensor& a, const Operand& rcond, bool hermitian) {
  return linalg_pinv(a, Operand(0.0), rcond, hermitian);
}
Tensor pinverse(const Tensor& a, const Operand& rcond) { return linalg_pinv(a, Operand(0.0), rcond, false); }

// ---- what singular values tell --------------------------------------------------------------------------------------

Tensor linalg_matrix_rank(const Tensor& a, const std::optional<Operand>& atol, const std::optional<Operand>& rtol,
                          bool hermitian) {
  if (hermitian)
    needSquare("linalg.matrix_rank", a, "A");
  else
    needMatrices("linalg.matrix_rank", a, "A");
  Tensor s = singularValuesOf(symmetric(detached(a), hermitian));
  Tensor limit = cutoff(a, largestOf(s), atol, rtol);
  return sum(gt(s, unsqueeze(limit, -1)), Dims{-1});
}
Tensor linalg_matrix_rank_tol(const Tensor& a, const Operand& tol, bool hermitian) {
  return linalg_matrix_rank(a, tol, Operand(0.0), hermitian);
}

Tensor linalg_cond(const Tensor& a, std::optional<double> p) {
  needMatrices("linalg.cond", a, "A");
  if (a.numel() == 0) return zeros(batchOf(a), a.dtype());
  if (!p || std::abs(*p) == 2) {
    Tensor s = singularValuesOf(a);
    Tensor largest = select(s, -1, 0);
    Tensor smallest = select(s, -1, -1);
    return p && *p < 0 ? div(smallest, largest) : div(largest, smallest);
  }
  needSquare("linalg.cond", a, "A");
  auto [inverse, info] = linalg_inv_ex(a, false);
  Tensor product = mul(matrix_norm_of(a, *p, {}, false, {}), matrix_norm_of(inverse, *p, {}, false, {}));
  return where(eq(info, 0), product, std::numeric_limits<double>::infinity());
}
Tensor linalg_cond_named(const Tensor& a, std::string_view p) {
  needMatrices("linalg.cond", a, "A");
  needSquare("linalg.cond", a, "A");
  if (a.numel() == 0) return zeros(batchOf(a), a.dtype());
  auto [inverse, info] = linalg_inv_ex(a, false);
  Tensor product = mul(matrix_norm(a, p, {}, false, {}), matrix_norm(inverse, p, {}, false, {}));
  return where(eq(info, 0), product, std::numeric_limits<double>::infinity());
}

Tensor nuclear_norm(const Tensor& x, bool keepdim) {
  if (x.dim() != 2)
    fail("Expected a tensor with 2 dimensions, but got a tensor with ", x.dim(), " dimensions instead.");
  return matrix_norm(x, "nuc", {}, keepdim, {});
}
Tensor nuclear_norm_dims(const Tensor& x, DimsRef dim, bool keepdim) {
  return matrix_norm(x, "nuc", Dims(dim), keepdim, {});
}

// ---- systems of equations -------------------------------------------------------------------------------------------

Tensor solve_factored(const Tensor& a, const Tensor& b, const Tensor& lu, const Tensor& order, bool adjoint) {
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    result[0] = lu_solve_plain(lu, order, b, adjoint);
  }
  const Operand operands[] = {a, b, lu, order};
  const std::int64_t attrs[] = {adjoint ? 1 : 0};
  tapeWhole(OpCode::solve_factored, operands, attrs, result);
  return result[0];
}

Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) { return solved("linalg.solve", a, b, left, true).x; }
std::array<Tensor, 2> linalg_solve_ex(const Tensor& a, const Tensor& b, bool left, bool check) {
  auto [x, info] = solved("linalg.solve", a, b, left, check);
  return {x, info};
}

Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  needSquare("cholesky_solve", factor, "A");
  std::array<Tensor, 1> result;
  {
    NoGrad noGrad;
    Tensor first = upper ? transpose(factor, -2, -1) : factor;
    Tensor y = linalg_solve_triangular(first, b, false, true, false);
    result[0] = linalg_solve_triangular(transpose(first, -2, -1), y, true, true, false);
  }
  const Operand operands[] = {b, factor};
  const std::int64_t attrs[] = {upper ? 1 : 0};
  tapeWhole(OpCode::cholesky_solve, operands, attrs, result);
  return result[0];
}
Tensor cholesky_inverse(const Tensor& factor, bool upper) {
  needSquare("cholesky_inverse", factor, "A");
  const Tensor entries = diagonal(factor, 0, -2, -1);
  const Tensor places = expand(arange(std::int64_t{1}, factor.size(-1) + 1), entries.shape());
  const Tensor good = expected(factor, ne(detached(entries), 0), Expectation::CholeskyFactor, places);
  return cholesky_solve(identityLike(factor), good, upper);
}

Tensor linalg_tensorinv(const Tensor& a, std::int64_t ind) {
  if (ind <= 0) fail("Expected a strictly positive integer for 'ind'");
  Dims shape = a.shape();
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  Dims turned;
  for (std::int64_t d = ind; d < a.dim(); ++d) columns *= shape[d], turned.push_back(shape[d]);
  for (std::int64_t d = 0; d < std::min(ind, a.dim()); ++d) rows *= shape[d], turned.push_back(shape[d]);
  if (rows != columns)
    fail("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ", columns,
         " != ", rows);
  return reshape(linalg_inv(reshape(a, Dims{rows, rows})), turned);
}

Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, const std::optional<Dims>& dims) {
  Tensor x = a;
  if (dims) {
    Dims last;
    for (std::size_t i = 0; i < dims->size(); ++i)
      last.push_back(a.dim() - static_cast<std::int64_t>(dims->size() - i));
    x = movedim(a, *dims, last);
  }
  Dims result;
  std::int64_t columns = 1;
  for (std::int64_t d = b.dim(); d < x.dim(); ++d) columns *= x.size(d), result.push_back(x.size(d));
  std::int64_t rows = columns == 0 ? 0 : x.numel() / columns;
  if (rows != columns)
    fail("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
         "got ",
         columns, " != ", rows);
  return reshape(linalg_solve(reshape(x, Dims{rows, columns}), reshape(b, Dims{-1}), true), result);
}

}  // namespace tandem::ops
