// Factorisations of matrices as users know them, and what follows from one: least squares, exponentials.
#include <array>

#include "eager/composites/matrices.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "runtime/base/warn.h"

namespace tandem::ops {

// ---- LU -------------------------------------------------------------------------------------------------------------

namespace {

void needPivot(const char* op, bool pivot) {
  if (!pivot) fail(op, ": LU without pivoting is not implemented on the CPU");
}

/// The rows that swaps (from 1) bring to each place: one after another, on a matrix of row numbers.
Tensor orderOf(const Tensor& swaps, std::int64_t m) {
  std::int64_t k = swaps.size(-1);
  Dims shape(DimsRef(swaps.shape()).first(swaps.shape().size() - 1));
  shape.push_back(m);
  Tensor order = contiguous(expand(arange(std::int64_t{0}, m), shape));
  for (std::int64_t i = 0; i < k; ++i) {
    Tensor j = sub(toDType(narrow(swaps, -1, i, 1), DType::Int64), 1);
    Tensor here = narrow(order, -1, i, 1);
    Tensor there = gather(order, -1, j);
    order = scatter_plain(order, -1, j, here);
    order = scatter_plain(order, -1, full(j.shape(), i, DType::Int64), there);
  }
  return order;
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

std::array<Tensor, 2> linalg_lu_factor(const Tensor& a, bool pivot) {
  needMatrices("torch.linalg.lu_factor", a, "A");
  needPivot("linalg.lu_factor", pivot);
  auto [lu, swaps, order] = lu_plain(a);
  return {lu, swaps};
}

Tensor linalg_lu_solve(const Tensor& lu, const Tensor& swaps, const Tensor& b, bool left, bool adjoint) {
  needSquare("linalg.lu_solve", lu, "LU");
  if (!left) return transpose(linalg_lu_solve(lu, swaps, transpose(b, -2, -1), true, !adjoint), -2, -1);
  std::int64_t n = lu.size(-1);
  Dims batch = broadcastShapes("linalg.lu_solve", batchOf(lu), batchOf(b));
  Tensor factors = expandBatch(lu, batch);
  Tensor right = expandBatch(b, batch);
  Dims swapShape = batch;
  swapShape.push_back(n);
  Tensor order = orderOf(expand(swaps, swapShape), n);
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

// ---- QR -------------------------------------------------------------------------------------------------------------

std::array<Tensor, 2> linalg_qr(const Tensor& a, std::string_view mode) {
  needMatrices("linalg.qr", a, "A");
  if (mode == "r") {
    // Without a Q there is no derivative.
    Tensor r = qr_plain(detached(a), false)[1];
    return {zeros(Dims{0}, a.dtype()), r};
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
  Tensor vectors = add(tril(a, -1), eye(m, n, a.dtype()));
  Tensor q = expandBatch(eye(m, n, a.dtype()), batchOf(a));
  for (std::int64_t i = k - 1; i >= 0; --i) {
    Tensor v = narrow(vectors, -1, i, 1);
    Tensor scaled = mul(v, unsqueeze(narrow(tau, -1, i, 1), -1));
    q = sub(q, matmul(scaled, matmul(transpose(v, -2, -1), q)));
  }
  return q;
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

bool isDifferentiated(const Tensor& a) { return a.requiresGrad() && gradEnabled(); }

}  // namespace

// Derivatives need the vectors.
Tensor singularValuesOf(const Tensor& a) { return isDifferentiated(a) ? svd_plain(a, false)[1] : svdvals_plain(a); }

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
  return isDifferentiated(a) ? eigh_plain(a, upper)[0] : eigvalsh_plain(a, upper);
}

Tensor matrix_exp(const Tensor& a) {
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
  bool vector = b.dim() == a.dim() - 1;
  Tensor right = vector ? unsqueeze(b, -1) : b;
  if (right.dim() < 2 || right.size(-2) != a.size(-2))
    fail("torch.linalg.lstsq: input.size(-2) should match other.size(-", vector ? 1 : 2, ")");
  std::int64_t m = a.size(-2);
  std::int64_t n = a.size(-1);
  Tensor s = singularValuesOf(detached(a));
  double eps = (a.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23) * static_cast<double>(std::max(m, n));
  Tensor largest = s.size(-1) == 0 ? zeros(batchOf(a), a.dtype()) : select(s, -1, 0);
  // Below 0 a cutoff stands for the precision that LAPACK's drivers by singular values take there.
  bool byValues = way == "gelsd" || way == "gelss";
  if (byValues && rcond && rcond->asDouble() < 0)
    rcond = (a.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23) * (way == "gelsd" ? 0.5 : 1);
  Tensor limit = mul(largest, rcond ? Operand(*rcond) : Operand(eps));
  Tensor rank = sum(gt(s, unsqueeze(limit, -1)), Dims{-1});
  Tensor x;
  if (way == "gels" && m >= n) {
    auto [q, r] = qr_plain(a, false);
    x = linalg_solve_triangular(r, matmul(transpose(q, -2, -1), right), true, true, false);
  } else if (a.numel() == 0) {
    x = matmul(zeros(transpose(a, -2, -1).shape(), a.dtype()), right);
  } else {
    x = matmul(pinv_plain(a, limit), right);
  }
  Tensor none = zeros(Dims{0}, a.dtype());
  bool overdetermined = m > n && way != "gelsy";
  if (overdetermined && byValues) {
    Tensor deficient = sum(lt(rank, n));
    overdetermined = learnSize(deficient) == 0;
  }
  Tensor residuals = overdetermined ? sum(square(sub(matmul(a, x), right)), Dims{-2}) : none;
  return {vector ? squeeze_dims(x, Dims{-1}) : x, residuals, way == "gels" ? zeros(Dims{0}, DType::Int64) : rank,
          byValues ? s : none};
}

}  // namespace tandem::ops
