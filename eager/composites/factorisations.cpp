// Factorisations of matrices as users know them, and what follows from one: least squares, exponentials.
#include <array>

#include "eager/batch.h"
#include "eager/composites/matrices.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "runtime/base/warn.h"

namespace tandem::ops {

// ---- LU -------------------------------------------------------------------------------------------------------------

namespace {

bool isDifferentiated(const Tensor& a) { return a.requiresGrad() && gradEnabled(); }

/// What a derivative is going to read, apart from memory that may be written until then.
Tensor readLater(const Tensor& a) { return isDifferentiated(a) ? clone(a) : a; }

void needPivot(const char* op, bool pivot) {
  if (!pivot) fail(op, ": LU without pivoting is not implemented on the CPU");
}

}  // namespace

std::array<Tensor, 3> linalg_lu(const Tensor& a, bool pivot) {
  needMatrices("linalg.lu", a, "A");
  needPivot("linalg.lu", pivot);
  auto [lu, swaps, order] = lu_plain(a);
  std::int64_t m = a.size(-2);
  std::int64_t k = std::min(m, a.size(-1));
  Tensor l = add(tril(narrow(lu, -1, 0, k), -1), eye(m, k, a.dtype()));
  // Column i of P has its one in row order[i].
  Tensor p = toDType(eq(unsqueeze(order, -2), unsqueeze(arange(std::int64_t{0}, m), -1)), a.dtype());
  return {p, l, triu(narrow(lu, -2, 0, k), 0)};
}

namespace {

std::array<Tensor, 3> luFactors(const char* op, const Tensor& a, bool pivot, bool check, std::int64_t detail) {
  needMatrices(op, a, "A");
  needPivot(op, pivot);
  auto [lu, swaps, order] = lu_plain(a);
  Tensor info = zeroPivotOf(detached(lu));
  if (check) lu = expected(lu, eq(info, 0), Expectation::NonZeroPivot, toDType(info, DType::Int64), detail);
  return {lu, swaps, info};
}

}  // namespace

std::array<Tensor, 3> linalg_lu_factor_ex(const Tensor& a, bool pivot, bool check) {
  return luFactors("torch.linalg.lu_factor_ex", a, pivot, check, 1);
}
std::array<Tensor, 2> linalg_lu_factor(const Tensor& a, bool pivot) {
  auto [lu, swaps, info] = luFactors("torch.linalg.lu_factor", a, pivot, true, 0);
  return {lu, swaps};
}

Tensor linalg_lu_solve(const Tensor& lu, const Tensor& swaps, const Tensor& b, bool left, bool adjoint) {
  needSquare("linalg.lu_solve", lu, "LU");
  if (!left) return transpose(linalg_lu_solve(lu, swaps, transpose(b, -2, -1), true, !adjoint), -2, -1);
  std::int64_t n = lu.size(-1);
  Dims batch = broadcastShapes("linalg.lu_solve", batchOf(lu), batchOf(b));
  Tensor factors = expandBatch(lu, batch);
  Tensor right = expandBatch(b, batch);
  Dims rowShape = batch;
  rowShape.push_back(n);
  if (swaps.dtype() != DType::Int32) fail("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  Tensor checked = expected(swaps, within(swaps, 1, n), Expectation::PivotOfLU, toDType(swaps, DType::Int64), n);
  Tensor order = expand(lu_order(checked), rowShape);
  if (!isDifferentiated(lu) && !isDifferentiated(b)) return lu_solve_plain(factors, order, right, adjoint);
  Tensor rows = adjoint ? argsort(order, -1, false, false) : order;
  auto permuted = [&](const Tensor& x) { return gather(x, -2, expand(unsqueeze(rows, -1), x.shape())); };
  if (!adjoint) {
    Tensor y = linalg_solve_triangular(factors, permuted(right), false, true, true);
    return linalg_solve_triangular(factors, y, true, true, false);
  }
  Tensor turned = transpose(factors, -2, -1);
  Tensor y = linalg_solve_triangular(turned, right, false, true, false);
  return permuted(linalg_solve_triangular(turned, y, true, true, true));
}

// ---- L D L^T --------------------------------------------------------------------------------------------------------

namespace {

std::array<Tensor, 3> ldlFactors(const char* op, const Tensor& a, bool check) {
  needSquare(op, a, "A");
  auto [factors, pivots, info] = ldl_plain(a);
  if (check) factors = expected(factors, eq(info, 0), Expectation::NonZeroBlock, toDType(info, DType::Int64));
  return {factors, pivots, info};
}

}  // namespace

// Of real matrices symmetric and Hermitian are one.
std::array<Tensor, 3> linalg_ldl_factor_ex(const Tensor& a, bool, bool check) {
  return ldlFactors("torch.linalg.ldl_factor_ex", a, check);
}
std::array<Tensor, 2> linalg_ldl_factor(const Tensor& a, bool) {
  auto [factors, pivots, info] = ldlFactors("torch.linalg.ldl_factor", a, true);
  return {factors, pivots};
}

namespace {

/// The pivots of matrices of `n` rows, int64, each checked to name a row, and the negative ones to stand in pairs.
Tensor checkedPivots(const Tensor& pivots, std::int64_t n) {
  if (pivots.numel() == 0) return pivots;
  Tensor checked = expected(pivots, within(abs(pivots), 1, n), Expectation::PivotOfLDL, pivots, n);
  // In a run of negative pivots each one at an odd place, counted from 1, is the first of a pair.
  Tensor negative = lt(checked, 0);
  Tensor place = expand(arange(std::int64_t{1}, n + 1), checked.shape());
  Tensor inRun = sub(place, cummax(where(negative, 0, place), -1)[0]);
  Tensor next = roll(checked, Dims{-1}, Dims{-1});
  Tensor paired = logical_and(eq(next, checked), ne(place, n));
  Tensor good = logical_or(eq(remainder(inRun, 2), 0), paired);
  return expected(checked, good, Expectation::PivotTwice, checked, n);
}

}  // namespace

Tensor linalg_ldl_solve(const Tensor& factors, const Tensor& pivots, const Tensor& b, bool) {
  needSquare("torch.linalg.ldl_solve", factors, "A");
  if (b.dim() < 2) fail("torch.linalg.ldl_solve: The input tensor B must have at least 2 dimensions.");
  if (factors.size(-1) != b.size(-2))
    fail("Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is ", factors.size(-1), " by ",
         factors.size(-1), " but each b matrix is ", b.size(-2), " by ", b.size(-1));
  Dims rows = batchOf(factors);
  rows.push_back(factors.size(-1));
  if (!(pivots.shape() == rows))
    fail("torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
         shapeText(pivots.shape()), " instead");
  if (!isInteger(pivots.dtype()))
    fail("torch.linalg.ldl_solve: Expected pivots to be integers. Got ", dtypeClassName(pivots.dtype()));
  if (factors.dtype() != b.dtype())
    fail("torch.linalg.ldl_solve: Expected LD and B to have the same dtype, but found B of type ",
         dtypeClassName(b.dtype()), " and LD of type ", dtypeClassName(factors.dtype()), " instead.");
  Dims batch = broadcastShapes("linalg.ldl_solve", batchOf(factors), batchOf(b));
  rows = batch;
  rows.push_back(factors.size(-1));
  Tensor checked = toDType(checkedPivots(toDType(pivots, DType::Int64), factors.size(-1)), DType::Int32);
  return ldl_solve_plain(expandBatch(factors, batch), expand(checked, rows), expandBatch(b, batch));
}

// ---- QR -------------------------------------------------------------------------------------------------------------

std::array<Tensor, 2> linalg_qr(const Tensor& a, std::string_view mode) {
  needMatrices("linalg.qr", a, "A");
  if (mode == "r") {
    // Without a Q there is no derivative.
    const Tensor packed = geqrf(detached(a))[0];
    return {zeros(Dims{0}, a.dtype()), triu(narrow(packed, -2, 0, std::min(a.size(-2), a.size(-1))), 0)};
  }
  if (mode != "reduced" && mode != "complete")
    fail("qr received unrecognized mode '", mode, "' but expected one of 'reduced' (default), 'r', or 'complete'");
  return qr_plain(a, mode == "complete");
}
std::array<Tensor, 2> qr(const Tensor& a, bool some) {
  warnOnce("qr is deprecated in favor of linalg.qr, whose mode is 'reduced' for some=True, else 'complete'.");
  return linalg_qr(a, some ? "reduced" : "complete");
}

Tensor linalg_householder_product(const Tensor& a, const Tensor& tau) {
  needMatrices("torch.linalg.householder_product", a, "input");
  std::int64_t m = a.size(-2);
  std::int64_t n = a.size(-1);
  if (m < n) fail("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]");
  std::int64_t k = tau.size(-1);
  if (n < k) fail("torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]");
  if (a.dtype() != tau.dtype())
    fail("torch.linalg.householder_product: tau dtype ", dtypeClassName(tau.dtype()), " does not match input dtype ",
         dtypeClassName(a.dtype()));
  const Tensor both[] = {a, tau};
  if (k == 0) return constantIn(expandBatch(eye(m, n, a.dtype()), batchOf(a)), both);
  Dims tauShape = batchOf(a);
  tauShape.push_back(k);
  if (!isDifferentiated(a) && !isDifferentiated(tau)) return householder_product_plain(a, expand(tau, tauShape));
  return householder_product_plain(clone(a), clone(expand(tau, tauShape)));
}
Tensor orgqr(const Tensor& a, const Tensor& tau) { return linalg_householder_product(a, tau); }

// ---- singular values and eigenvalues --------------------------------------------------------------------------------

namespace {

bool upperOf(const char* op, std::string_view uplo) {
  if (uplo == "L" || uplo == "l") return false;
  if (uplo == "U" || uplo == "u") return true;
  fail("Expected UPLO argument to be 'L' or 'U', but got ", uplo, " (", op, ")");
}

void needNoDriver(const char* op, const Tensor& a, const std::optional<std::string_view>& driver) {
  if (!driver) return;
  if (a.device().isCpu())
    fail(op, ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
  fail<NotImplementedError>(op, ": `driver=` is not implemented: sizes decide which routine of cuSOLVER is taken");
}

}  // namespace

Tensor singularValuesOf(const Tensor& a) { return svdvals_plain(readLater(a)); }

std::array<Tensor, 3> linalg_svd(const Tensor& a, bool full, std::optional<std::string_view> driver) {
  needMatrices("linalg.svd", a, "A");
  needNoDriver("linalg.svd", a, driver);
  return svd_plain(a, full);
}
std::array<Tensor, 3> svd(const Tensor& a, bool some, bool vectors) {
  needMatrices("linalg.svd", a, "A");
  if (vectors) {
    auto [u, s, vh] = svd_plain(a, !some);
    return {u, s, transpose(vh, -2, -1)};
  }
  auto square = [&](std::int64_t n) {
    Dims shape = batchOf(a);
    shape.push_back(n);
    shape.push_back(n);
    return zeros(shape, a.dtype());
  };
  return {square(a.size(-2)), singularValuesOf(a), square(a.size(-1))};
}
Tensor linalg_svdvals(const Tensor& a, std::optional<std::string_view> driver) {
  needMatrices("linalg.svdvals", a, "A");
  needNoDriver("linalg.svdvals", a, driver);
  return singularValuesOf(a);
}

std::array<Tensor, 2> linalg_eigh(const Tensor& a, std::string_view uplo) {
  needSquare("linalg.eigh", a, "A");
  return eigh_plain(a, upperOf("linalg.eigh", uplo));
}
Tensor linalg_eigvalsh(const Tensor& a, std::string_view uplo) {
  needSquare("linalg.eigvalsh", a, "A");
  bool upper = upperOf("linalg.eigvalsh", uplo);
  return eigvalsh_plain(readLater(a), upper);
}

Tensor matrix_exp(const Tensor& a) {
  if (isHalf(a.dtype())) return toDType(matrix_exp(toDType(a, DType::Float32)), a.dtype());
  needSquare("linalg.matrix_exp", a, "A");
  return matrix_exp_plain(a);
}

// ---- Cholesky and least squares -------------------------------------------------------------------------------------

std::array<Tensor, 2> linalg_cholesky_ex(const Tensor& a, bool upper, bool check) {
  needSquare("linalg.cholesky", a, "A");
  if (check) return {linalg_cholesky(a, upper), zeros(batchOf(a), DType::Int32)};
  auto [l, info] = cholesky_plain(a, false);
  return {upper ? transpose(l, -2, -1) : l, info};
}

std::array<Tensor, 4> linalg_lstsq(const Tensor& a, const Tensor& b, std::optional<Scalar> rcond,
                                   std::optional<std::string_view> driver) {
  needMatrices("torch.linalg.lstsq", a, "input");
  if (a.dtype() != b.dtype())
    fail("torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype ",
         dtypeClassName(a.dtype()), " and other's dtype ", dtypeClassName(b.dtype()));
  std::string_view way = driver.value_or("gelsy");
  if (way != "gels" && way != "gelsy" && way != "gelsd" && way != "gelss")
    fail("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  if (a.dim() < b.dim() || a.dim() - b.dim() > 1)
    fail("torch.linalg.lstsq: other must have as many dims as input, or one less, but got input of shape ",
         shapeText(a.shape()), " and other of shape ", shapeText(b.shape()));
  const DimsRef rows = DimsRef(a.shape()).first(static_cast<std::size_t>(a.dim() - 1));
  const bool vector = b.dim() == 1 || std::ranges::equal(b.shape(), rows);
  Tensor right = vector ? unsqueeze(b, -1) : b;
  if (right.dim() < 2 || right.size(-2) != a.size(-2))
    fail("torch.linalg.lstsq: input.size(-2) should match other.size(-", vector ? 1 : 2, ")");
  std::int64_t m = a.size(-2);
  std::int64_t n = a.size(-1);
  double eps = (a.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23) * static_cast<double>(std::max(m, n));
  // LAPACK's drivers by singular values take their precision for a cutoff below 0, gelsd for any that is no proper
  // part.
  const bool byValues = way == "gelsd" || way == "gelss";
  const double part = rcond ? rcond->asDouble() : 0.5;
  if (byValues && (part < 0 || (way == "gelsd" && (part == 0 || part >= 1))))
    rcond = (a.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23) * (way == "gelsd" ? 0.5 : 1);
  Tensor s;
  Tensor rank;
  Tensor x;
  if (way == "gels" && m >= n) {
    auto [q, r] = qr_plain(a, false);
    x = linalg_solve_triangular(r, matmul(transpose(q, -2, -1), right), true, true, false);
  } else {
    Dims batch = broadcastShapes("linalg.lstsq", batchOf(a), batchOf(right));
    Tensor factor = full(Dims{}, rcond && way != "gels" ? *rcond : Scalar(eps), a.dtype());
    auto whole = [&](const Tensor& solution) {
      return least_squares(expandBatch(a, batch), expandBatch(right, batch), solution);
    };
    if (byValues || !a.device().isCpu()) {
      auto [u, values, vh] = svd_plain(detached(a), false);
      s = values;
      Tensor kept = gt(s, mul(a.numel() == 0 ? zeros(Dims{1}, a.dtype()) : narrow(s, -1, 0, 1), factor));
      rank = sum(kept, Dims{-1});
      Tensor inverted = where(kept, reciprocal(where(kept, s, 1)), 0);
      Tensor inside = mul(unsqueeze(inverted, -1), matmul(transpose(u, -2, -1), detached(right)));
      x = whole(matmul(transpose(vh, -2, -1), inside));
    } else {
      auto found = lstsq_plain(detached(expandBatch(a, batch)), detached(expandBatch(right, batch)), factor);
      x = whole(found[0]);
      // A rank of each matrix, however many right-hand sides it has.
      if (!(batch == batchOf(a))) {
        Dims nothing = batchOf(a);
        nothing.push_back(m);
        nothing.push_back(0);
        found = lstsq_plain(detached(a), zeros(nothing, a.dtype()), factor);
      }
      rank = found[1];
    }
  }
  Tensor none = zeros(Dims{0}, a.dtype());
  bool overdetermined = m > n && way != "gelsy";
  if (overdetermined && byValues) {
    // Of all examples of a vmap, as of all matrices.
    Tensor deficient = sum(lt(isBatched(rank) ? allExamples(rank, activeAxes(), false) : rank, n));
    overdetermined = learnSize(deficient) == 0;
  }
  const Tensor both[] = {a, b};
  Tensor residuals = overdetermined ? sum(square(sub(matmul(a, x), right)), Dims{-2}) : constantIn(none, both);
  return {vector ? squeeze_dims(x, Dims{-1}) : x, residuals, way == "gels" ? zeros(Dims{0}, DType::Int64) : rank,
          byValues ? s : none};
}

Tensor least_squares(const Tensor& a, const Tensor& b, const Tensor& solution) {
  std::array<Tensor, 1> result{solution};
  const Operand operands[] = {a, b, solution};
  tapeWhole(OpCode::least_squares, operands, {}, result);
  return result[0];
}

}  // namespace tandem::ops
