// Shape rules of factorisations of matrices.
#include <algorithm>

#include "ir/schema/shape_rules.h"
#include "runtime/base/attrs.h"
#include "runtime/base/error.h"

namespace tandem::rules {
namespace {

using Metas = std::span<const TensorMeta>;
using Attrs = std::span<const std::int64_t>;

/// The shape of a batch of m x n matrices, apart.
struct Matrices {
  Matrices(const OpFacts& op, const TensorMeta& x) : dtype(x.dtype) {
    if (x.shape.size() < 2)
      fail(op.name, ": The input tensor A must have at least 2 dimensions, got shape ", shapeText(x.shape));
    if (dtype != DType::Float32 && dtype != DType::Float64)
      fail(op.name, ": Expected a float32 or float64 tensor as input. Got ", dtypeName(dtype));
    batch = Dims(DimsRef(x.shape).first(x.shape.size() - 2));
    m = x.shape[x.shape.size() - 2];
    n = x.shape.back();
    k = std::min(m, n);
  }
  Dims batch;
  std::int64_t m, n, k;
  DType dtype;

  [[nodiscard]] TensorMeta of(std::initializer_list<std::int64_t> sizes) const {
    TensorMeta meta;
    meta.shape = batch;
    meta.shape.append(sizes.begin(), sizes.end());
    meta.dtype = dtype;
    return meta;
  }
  [[nodiscard]] TensorMeta integers(std::int64_t size, DType t) const {
    TensorMeta meta = of({size});
    meta.dtype = t;
    return meta;
  }
};

}  // namespace

void choleskyFactors(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  cholesky(op, operands, attrs, results);
  results[1].shape = Dims(DimsRef(operands[0].shape).first(operands[0].shape.size() - 2));
  results[1].dtype = DType::Int32;
}

void luFactors(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  Matrices a(op, operands[0]);
  results[0] = a.of({a.m, a.n});
  results[1] = a.integers(a.k, DType::Int32);
  results[2] = a.integers(a.m, DType::Int64);
}

void luOrder(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  if (operands[0].dtype != DType::Int32 || operands[0].shape.empty())
    fail(op.name, ": expected int32 pivots, got ", dtypeName(operands[0].dtype), " of shape ",
         shapeText(operands[0].shape));
  results[0].shape = operands[0].shape;
  results[0].dtype = DType::Int64;
}

namespace {

/// The solution of square systems, whose matrices come with a row of integers each.
void solution(const OpFacts& op, Metas operands, DType integers, std::span<TensorMeta> results) {
  const Matrices a(op, operands[0]);
  const Matrices b(op, operands[2]);
  const TensorMeta row = a.integers(a.n, integers);
  if (a.m != a.n || b.m != a.n || !(a.batch == b.batch) || a.dtype != b.dtype || !(operands[1].shape == row.shape) ||
      operands[1].dtype != integers)
    fail(op.name, ": shapes ", shapeText(operands[0].shape), ", ", shapeText(operands[1].shape), " and ",
         shapeText(operands[2].shape), " of ", dtypeName(operands[0].dtype), ", ", dtypeName(operands[1].dtype),
         " and ", dtypeName(operands[2].dtype), " do not fit");
  results[0] = b.of({b.m, b.n});
}

}  // namespace

void luSolve(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  solution(op, operands, DType::Int64, results);
}
void ldlSolve(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  solution(op, operands, DType::Int32, results);
}

void leastSquares(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  const Matrices a(op, operands[0]);
  const Matrices b(op, operands[1]);
  if (a.m != b.m || !(a.batch == b.batch) || a.dtype != b.dtype || operands[2].dtype != a.dtype ||
      !operands[2].shape.empty())
    fail(op.name, ": shapes ", shapeText(operands[0].shape), " and ", shapeText(operands[1].shape), " of ",
         dtypeName(a.dtype), " and ", dtypeName(b.dtype), " do not fit");
  results[0] = a.of({a.n, b.n});
  results[1].shape = a.batch;
  results[1].dtype = DType::Int64;
}

void ldlFactors(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  Matrices a(op, operands[0]);
  if (a.m != a.n) fail(op.name, ": expected square matrices, got shape ", shapeText(operands[0].shape));
  results[0] = a.of({a.n, a.n});
  results[1] = a.integers(a.n, DType::Int32);
  results[2].shape = a.batch;
  results[2].dtype = DType::Int32;
}

void qrFactors(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  Matrices a(op, operands[0]);
  std::int64_t k = AttrReader(attrs).boolean() ? a.m : a.k;
  results[0] = a.of({a.m, k});
  results[1] = a.of({k, a.n});
}

void geqrf(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  Matrices a(op, operands[0]);
  results[0] = a.of({a.m, a.n});
  results[1] = a.of({a.k});
}

void svdFactors(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  Matrices a(op, operands[0]);
  bool full = AttrReader(attrs).boolean();
  results[0] = a.of({a.m, full ? a.m : a.k});
  results[1] = a.of({a.k});
  results[2] = a.of({full ? a.n : a.k, a.n});
}

void singularValues(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  Matrices a(op, operands[0]);
  results[0] = a.of({a.k});
}

void eigenvalues(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  Matrices a(op, operands[0]);
  if (a.m != a.n) fail(op.name, ": expected square matrices, got shape ", shapeText(operands[0].shape));
  results[0] = a.of({a.n});
}

void eighFactors(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  eigenvalues(op, operands, attrs, results);
  Matrices a(op, operands[0]);
  results[1] = a.of({a.n, a.n});
}

}  // namespace tandem::rules
