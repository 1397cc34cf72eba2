// Composites of products of vectors and matrices: sums with them, chains, powers, Kronecker and vector products.
#include "eager/composites/products.h"

#include <limits>
#include <vector>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "runtime/base/warn.h"

namespace tandem::ops {
namespace {

bool isZero(const Scalar& s) { return s.asDouble() == 0; }
/// A run-time scalar of 1 may as well be multiplied by.
bool isOne(const Scalar& s) { return s.slot < 0 && s.asDouble() == 1; }

/// x times a number, in x's dtype: of an integer tensor only the number's integer part counts.
Tensor times(const Tensor& x, const Scalar& by) {
  if (isOne(by)) return x;
  if (!isFloating(x.dtype()) && by.isFloat()) return mul(x, by.asInt());
  return mul(x, by);
}

/// beta * x + alpha * multiply(a, b), x expanded to the product's shape; with beta = 0 what x holds does not matter.
/// Half types are rounded once: with factors all is in float32, without them the product.
template <class Multiply>
Tensor withProduct(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha,
                   Multiply multiply) {
  if (isHalf(a.dtype()) && !(alpha.asDouble() == 1 && (beta.asDouble() == 1 || isZero(beta)))) {
    auto wide = [](const Tensor& t) { return toDType(t, DType::Float32); };
    return toDType(withProduct(wide(x), wide(a), wide(b), beta, alpha, multiply), a.dtype());
  }
  if (isOne(alpha) && isOne(beta))
    if (const Tensor bias = biasOf(a, b, x); bias.defined()) return multiply(a, b, true, bias);
  Tensor product = multiply(a, b, isHalf(a.dtype()) && !isZero(beta), Tensor());
  DimsRef target = product.shape();
  if (!(x.shape() == product.shape())) expand(x, target);  // raises if x does not fit
  Tensor p = times(product, alpha);
  if (!isZero(beta)) return sumOver(p, times(x, beta), a.dtype());
  // x stays in the history, so that its gradient is of zeros and not missing.
  return x.requiresGrad() ? where(full(Dims{}, false, DType::Bool), x, p) : p;
}

void needOneDType(const char* op, const Tensor& x, const Tensor& a, const Tensor& b) {
  if (x.dtype() != a.dtype() || a.dtype() != b.dtype())
    fail(op, ": input and factors must have the same dtype, but got ", dtypeName(x.dtype()), ", ", dtypeName(a.dtype()),
         " and ", dtypeName(b.dtype()));
}

void needHeldFactors(const char* op, DType dtype, const Scalar& beta, const Scalar& alpha) {
  needHeldFactor(op, dtype, beta);
  needHeldFactor(op, dtype, alpha);
}

void needBatches(const char* op, const Tensor& a, const Tensor& b) {
  if (a.dim() != 3) fail("batch1 must be a 3D tensor");
  if (b.dim() != 3) fail("batch2 must be a 3D tensor");
  if (a.size(0) != b.size(0))
    fail("batch1 and batch2 must have same number of batches, got ", a.size(0), " and ", b.size(0));
  if (a.size(2) != b.size(1))
    fail(op, ": Incompatible matrix sizes for bmm (", a.size(1), "x", a.size(2), " and ", b.size(1), "x", b.size(2),
         ")");
}

Tensor crossAlong(const Tensor& x, const Tensor& y, std::int64_t dim) {
  needSameDType("cross", x, y);
  if (x.dim() != y.dim())
    fail("cross: inputs must have the same number of dimensions, but got shapes ", shapeText(x.shape()), " and ",
         shapeText(y.shape()));
  Dims shape = broadcastShapes("linalg.cross", x.shape(), y.shape());
  // Windows of three elements would be worked on one by one: many vectors that lie side by side are turned first.
  constexpr std::int64_t kFew = 8, kMany = 64;
  const std::int64_t behind = numelOf(DimsRef(shape).subspan(static_cast<std::size_t>(dim) + 1));
  if (behind < kFew && numelOf(shape) >= 3 * kMany) {
    auto turned = [&](const Tensor& t) { return contiguous(movedim(t, Dims{dim}, Dims{0})); };
    const Tensor first = turned(x);
    return contiguous(movedim(crossAlong(first, y == x ? first : turned(y), 0), Dims{0}, Dims{dim}));
  }
  Tensor a = expand(x, shape);
  Tensor b = expand(y, shape);
  // Twice in a row, the elements that follow each one are a window.
  auto twice = [&](const Tensor& t) {
    const Tensor both[] = {t, t};
    return cat(both, dim);
  };
  const Tensor aa = twice(a);
  const Tensor bb = twice(b);
  auto from = [&](const Tensor& t, std::int64_t i) { return narrow(t, dim, i, 3); };
  return sub(mul(from(aa, 1), from(bb, 2)), mul(from(aa, 2), from(bb, 1)));
}

/// The product of matrices sizes[0] x sizes[1], sizes[1] x sizes[2], ... in the order of fewest multiplications.
Tensor chain(std::span<const Tensor> all) {
  std::size_t n = all.size();
  std::vector<double> sizes{static_cast<double>(all[0].size(0))};
  for (const auto& t : all) sizes.push_back(static_cast<double>(t.size(1)));
  // cost[i][j] of the product of i .. j, whose last split is after split[i][j].
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> split(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 2; length <= n; ++length) {
    for (std::size_t i = 0; i + length <= n; ++i) {
      std::size_t j = i + length - 1;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i; k < j; ++k) {
        double c = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (c < cost[i][j]) cost[i][j] = c, split[i][j] = k;
      }
    }
  }
  auto product = [&](auto&& self, std::size_t i, std::size_t j) -> Tensor {
    return i == j ? all[i] : mm(self(self, i, split[i][j]), self(self, split[i][j] + 1, j));
  };
  return product(product, 0, n - 1);
}

}  // namespace

Tensor sumOver(const Tensor& product, const Tensor& x, DType dtype) {
  if (product.dtype() == x.dtype()) return applyOver(product, OpCode::add, {x, product});
  FusedScope fused(product);
  return toDType(applyOver(product, OpCode::add, {toDType(x, product.dtype()), product}), dtype);
}

Tensor biasOf(const Tensor& a, const Tensor& b, const Tensor& x) {
  if (!isHalf(a.dtype()) || x.dtype() != a.dtype() || b.dim() < 2 || x.dim() == 0) return {};
  if (x.size(-1) != b.size(-1) || x.numel() != x.size(-1) || !targetOf(a.device()).productsAddBias) return {};
  // With more dims than the product has, x is what says the shape of the sum, or is an error.
  const std::int64_t dims = a.dim() == 1 ? b.dim() - 1 : std::max(a.dim(), b.dim());
  if (x.dim() > dims) return {};
  return x.dim() == 1 ? x : view(x, Dims{x.numel()});
}

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  needOneDType("addmm", x, a, b);
  needHeldFactors("addmm", x.dtype(), beta, alpha);
  return withProduct(x, a, b, beta, alpha, mmFor);
}
Tensor addmv(const Tensor& x, const Tensor& matrix, const Tensor& v, Scalar beta, Scalar alpha) {
  if (matrix.dim() != 2 || v.dim() != 1 || x.dim() > 1)
    fail("vector + matrix @ vector expected, got ", x.dim(), ", ", matrix.dim(), ", ", v.dim());
  if (matrix.size(1) != v.size(0) || (x.numel() != 1 && x.size(0) != matrix.size(0)))
    fail("size mismatch, got input (", x.numel(), "), mat (", matrix.size(0), "x", matrix.size(1), "), vec (",
         v.size(0), ")");
  needOneDType("addmv", x, matrix, v);
  needHeldFactors("addmv", x.dtype(), beta, alpha);
  return withProduct(x, matrix, v, beta, alpha, matmulFor);
}
Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  if (a.dim() != 1 || b.dim() != 1)
    fail("addr: Expected 1-D argument vec1 and vec2, but got ", a.dim(), "-D and ", b.dim(), "-D");
  const TensorMeta metas[] = {metaOf(x), metaOf(a), metaOf(b)};
  const DType type = resultType(metas);
  for (Scalar* factor : {&beta, &alpha}) {
    const char* name = factor == &beta ? "beta" : "alpha";
    if (factor->isFloat() && !isFloating(type))
      fail("addr: For integral input tensors, argument ", name, " must not be a floating point number.");
    if (factor->kind == Scalar::Kind::Bool && type != DType::Bool)
      fail("addr: Boolean ", name, " only supported for Boolean results.");
    if (type == DType::Bool) *factor = Scalar(factor->asInt() != 0);
  }
  needHeldFactors("addr", type, beta, alpha);
  FusedScope fused(x);
  return withProduct(toDType(x, type), toDType(a, type), toDType(b, type), beta, alpha,
                     [](const Tensor& left, const Tensor& right, bool, const Tensor&) { return outer(left, right); });
}
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  needBatches("baddbmm", a, b);
  needOneDType("baddbmm", x, a, b);
  needHeldFactors("baddbmm", x.dtype(), beta, alpha);
  return withProduct(x, a, b, beta, alpha, bmmFor);
}
Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  needBatches("addbmm", a, b);
  needOneDType("addbmm", x, a, b);
  needHeldFactors("addbmm", x.dtype(), beta, alpha);
  // One product, the batches side by side in the summed dim.
  Tensor left = reshape(permute(a, Dims{1, 0, 2}), Dims{a.size(1), a.size(0) * a.size(2)});
  Tensor right = reshape(b, Dims{b.size(0) * b.size(1), b.size(2)});
  return withProduct(x, left, right, beta, alpha, mmFor);
}

Tensor inner(const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0) return mul(a, b);
  if (a.size(-1) != b.size(-1))
    fail("inner() the last dimension must match on both input tensors but got shapes ", shapeText(a.shape()), " and ",
         shapeText(b.shape()));
  return tensordot(a, b, Dims{-1}, Dims{-1});
}
Tensor vdot(const Tensor& a, const Tensor& b) {
  if (a.dim() != 1 || b.dim() != 1) fail("1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  return dot(a, b);
}
Tensor kron(const Tensor& a, const Tensor& b) {
  std::int64_t rank = std::max(a.dim(), b.dim());
  Dims left;
  Dims right;
  Dims shape;
  auto sizeOf = [&](const Tensor& t, std::int64_t d) {
    std::int64_t own = d - (rank - t.dim());
    return own < 0 ? 1 : t.shape()[own];
  };
  for (std::int64_t d = 0; d < rank; ++d) {
    left.push_back(sizeOf(a, d));
    left.push_back(1);
    right.push_back(1);
    right.push_back(sizeOf(b, d));
    shape.push_back(sizeOf(a, d) * sizeOf(b, d));
  }
  Tensor first = reshape(a, left), second = reshape(b, right);
  constexpr std::int64_t kShortRow = 8;
  if (rank > 0 && right.back() > 1 && right.back() <= kShortRow && left.end()[-2] > 1) {
    // Rows that are shorter than vectors are repeated first, elements of the other likewise.
    const Dims row{left.end()[-2], right.back()};
    auto repeated = [&](const Tensor& t, Dims sizes) {
      std::copy(row.begin(), row.end(), sizes.end() - 2);
      const Tensor all = expand(t, sizes);
      sizes.pop_back();
      sizes.back() = row[0] * row[1];
      return reshape(all, sizes);
    };
    first = repeated(first, left);
    second = repeated(second, right);
  }
  return reshape(mul(first, second), shape);
}
Tensor trace(const Tensor& x) {
  if (x.dim() != 2) fail("trace: expected a matrix, but got tensor with dim ", x.dim());
  if (x.dtype() == DType::Bool) fail<NotImplementedError>("\"trace\" not implemented for 'Bool'");
  return sum(diagonal(x));
}

Tensor chain_matmul(std::span<const Tensor> matrices) {
  warnOnce("chain_matmul is deprecated. Use linalg.multi_dot, which takes a list of matrices.");
  if (matrices.empty()) fail("chain_matmul(): Expected one or more matrices");
  for (const auto& m : matrices)
    if (m.dim() != 2) fail("Tensor dimension is ", m.dim(), ", expected 2 instead.");
  return chain(matrices);
}
Tensor multi_dot(std::span<const Tensor> tensors) {
  std::size_t n = tensors.size();
  if (n < 2) fail("multi_dot(): expected at least 2 tensors but got ", n);
  std::vector<Tensor> all(tensors.begin(), tensors.end());
  bool row = all[0].dim() == 1;
  bool column = all[n - 1].dim() == 1;
  if (row) all[0] = unsqueeze(all[0], 0);
  if (column) all[n - 1] = unsqueeze(all[n - 1], 1);
  for (std::size_t i = 0; i < n; ++i)
    if (all[i].dim() != 2)
      fail("multi_dot(): tensor ", i, " must be ", i == 0 || i + 1 == n ? "1D or 2D" : "2D", " but got ",
           tensors[i].dim(), "D");
  for (std::size_t i = 1; i < n; ++i)
    if (all[i - 1].size(1) != all[i].size(0))
      fail("multi_dot(): tensors ", i - 1, " and ", i, " with shapes ", shapeText(tensors[i - 1].shape()), " and ",
           shapeText(tensors[i].shape()), " cannot be multiplied");
  Tensor y = chain(all);
  if (row) y = squeeze_dims(y, Dims{0});
  return column ? squeeze_dims(y, Dims{-1}) : y;
}

Tensor matrix_power(const Tensor& x, std::int64_t n) {
  if (x.dim() < 2) fail("linalg.matrix_power: The input tensor A must have at least 2 dimensions.");
  if (x.size(-1) != x.size(-2))
    fail("linalg.matrix_power: A must be batches of square matrices, but they are ", x.size(-2), " by ", x.size(-1),
         " matrices");
  if (n == 0) return constantIn(clone(expand(eye(x.size(-1), {}, x.dtype()), x.shape())), {&x, 1});
  Tensor power = n < 0 ? linalg_inv(x) : x;
  Tensor result;
  for (auto rest = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);;
       power = matmul(power, power)) {
    if ((rest & 1) != 0) result = result.defined() ? matmul(result, power) : power;
    rest >>= 1;
    if (rest == 0) break;
  }
  return result == x ? clone(x) : result;
}

Tensor cross(const Tensor& x, const Tensor& y, std::optional<std::int64_t> dim) {
  if (dim) return linalg_cross(x, y, *dim);
  warnOnce("Using cross without specifying the dim arg is deprecated. Either pass the dim or use linalg.cross, "
           "whose default is the last one.");
  Dims shape = broadcastShapes("cross", x.shape(), y.shape());
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 3) return crossAlong(x, y, static_cast<std::int64_t>(d));
  fail("no dimension of size 3 in input");
}
Tensor linalg_cross(const Tensor& x, const Tensor& y, std::int64_t dim) {
  if (x.dim() != y.dim()) fail("linalg.cross: inputs must have the same number of dimensions.");
  dim = wrapDim(dim, x.dim());
  if (x.size(dim) != 3 || y.size(dim) != 3)
    fail("linalg.cross: inputs dimension ", dim, " must have length 3. Got ", x.size(dim), " and ", y.size(dim));
  return crossAlong(x, y, dim);
}
Tensor vecdot(const Tensor& x, const Tensor& y, std::int64_t dim) {
  FusedScope fused(x);
  return sum(mul(x, y), Dims{dim});
}
Tensor linalg_matmul(const Tensor& a, const Tensor& b) { return matmul(a, b); }
Tensor linalg_diagonal(const Tensor& x, std::int64_t offset, std::int64_t d1, std::int64_t d2) {
  return diagonal(x, offset, d1, d2);
}

}  // namespace tandem::ops
