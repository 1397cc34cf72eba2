// Cholesky factors and triangular systems, for each matrix of a batch (blocks.h).
#include <algorithm>
#include <limits>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/linalg/blocks.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kColumns = 32;  // of a factor that are found together

/// The lower triangle of a, rows n apart, by blocks of columns: what those before take from the block, its triangle,
/// and the rows below, turned, as a triangular system. 0, or the order of the first leading minor that is not
/// positive-definite.
template <class T>
std::int64_t factor(const T* a, T* l, std::int64_t n) {
  T triangle[kColumns * kColumns];
  Scratch<T> turned(kColumns * n);
  Scratch<T> taken(n > kColumns ? kColumns * n : 0);
  for (std::int64_t at = 0; at < n; at += kColumns) {
    const std::int64_t columns = std::min(kColumns, n - at);
    const std::int64_t rows = n - at;
    const T* block = a + at * n + at;
    const T* source = block;
    std::int64_t apart = n;
    if (at > 0) {
      gemm(rows, columns, at, {l + at * n, n, 1}, {l + at * n, 1, n}, taken.data());
      parallelFor(rows, grainOf(columns), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          for (std::int64_t j = 0; j < columns && j <= i; ++j)
            taken[i * columns + j] = block[i * n + j] - taken[i * columns + j];
      });
      source = taken.data();
      apart = columns;
    }
    for (std::int64_t i = 0; i < columns; ++i)
      for (std::int64_t j = 0; j <= i; ++j) triangle[j * kColumns + i] = source[i * apart + j];
    if (const std::int64_t failed = factorTriangle(triangle, kColumns, columns)) return at + failed;
    T* to = l + at * n + at;
    for (std::int64_t i = 0; i < columns; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) to[i * n + j] = triangle[j * kColumns + i];
      std::fill(to + i * n + i + 1, to + i * n + rows, T());
    }
    const std::int64_t below = rows - columns;
    if (below == 0) break;
    const DType dtype = floatingDType<T>();
    transposeMatrix(source + columns * apart, apart, turned.data(), below, columns, below, dtype);
    solveTriangular<T>({triangle, 1, kColumns}, columns, {}, turned.data(), below, below);
    transposeMatrix(turned.data(), below, to + columns * n, n, below, columns, dtype);
  }
  return 0;
}

}  // namespace

void cholesky(const LibraryCall& call) {
  Contiguous in(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  std::int64_t n = out.shape.back();
  std::int64_t batch = n == 0 ? 0 : out.numel() / (n * n);
  auto* failed = call.outputs[1].as<std::int32_t>();
  std::fill_n(failed, call.outputs[1].numel(), 0);
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_floating_point_v<T>)
      forEachMatrix(batch, n * n * n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          T* l = out.as<T>() + i * n * n;
          failed[i] = static_cast<std::int32_t>(factor(in.as<T>() + i * n * n, l, n));
          if (failed[i] != 0) std::fill_n(l, n * n, std::numeric_limits<T>::quiet_NaN());
        }
      });
  });
  if (!AttrReader(call.attrs).boolean()) return;
  for (std::int64_t i = 0; i < batch; ++i) {
    std::int64_t minor = failed[i];
    if (minor == 0) continue;
    if (out.shape.size() > 2)
      fail<LinAlgError>(
          "linalg.cholesky: (Batch element ", i, "): The factorization could not be completed because the ",
          "input is not positive-definite (the leading minor of order ", minor, " is not positive-definite).");
    fail<LinAlgError>("linalg.cholesky: The factorization could not be completed because the input is not ",
                      "positive-definite (the leading minor of order ", minor, " is not positive-definite).");
  }
}

void triangular_solve(const LibraryCall& call) {
  const ArrayView& a = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  copyArray(call.inputs[1], out);
  AttrReader attrs(call.attrs);
  const bool upper = attrs.integer() != 0;
  const bool unit = attrs.integer() != 0;
  const std::int64_t m = out.shape.back();
  const std::int64_t n = out.shape[out.shape.size() - 2];
  if (out.numel() == 0) return;
  const DimsRef batch = DimsRef(out.shape).first(out.shape.size() - 2);
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_floating_point_v<T>)
      forEachMatrix(numelOf(batch), n * n * m, [&](std::int64_t begin, std::int64_t end) {
        Walker<1> at(batch, {DimsRef(a.strides).first(batch.size())}, begin);
        for (std::int64_t i = begin; i < end; ++i, at.next())
          solveTriangular<T>({a.as<T>() + at.offset[0], a.strides[batch.size()], a.strides[batch.size() + 1]}, n,
                             {upper, unit}, out.as<T>() + i * n * m, m, m);
      });
  });
}

}  // namespace tandem::lib
