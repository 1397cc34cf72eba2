// Cholesky factors and triangular systems, for each matrix of a batch. Sums run in a fixed order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Row by row: l[i][j] from the rows above. 0, or the order of the first leading minor that is not positive-definite.
template <class T>
std::int64_t factor(const T* a, T* l, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      T sum = a[i * n + j];
      for (std::int64_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      if (i == j) {
        if (!(sum > 0)) return i + 1;
        l[i * n + i] = std::sqrt(sum);
      } else {
        l[i * n + j] = sum / l[j * n + j];
      }
    }
    for (std::int64_t j = i + 1; j < n; ++j) l[i * n + j] = 0;
  }
  return 0;
}

/// x = a^-1 b for one matrix a of n rows and b of m columns; x may be b.
template <class T>
void solve(const T* a, T* x, std::int64_t n, std::int64_t m, bool upper, bool unit) {
  for (std::int64_t r = 0; r < n; ++r) {
    std::int64_t i = upper ? n - 1 - r : r;
    for (std::int64_t s = 0; s < r; ++s) {
      std::int64_t k = upper ? n - 1 - s : s;
      T factor = a[i * n + k];
      for (std::int64_t j = 0; j < m; ++j) x[i * m + j] -= factor * x[k * m + j];
    }
    if (!unit)
      for (std::int64_t j = 0; j < m; ++j) x[i * m + j] /= a[i * n + i];
  }
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
      parallelFor(batch, grainOf(n * n * n), [&](std::int64_t begin, std::int64_t end) {
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
  Contiguous a(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  copyArray(call.inputs[1], out);
  AttrReader attrs(call.attrs);
  bool upper = attrs.integer() != 0;
  bool unit = attrs.integer() != 0;
  std::int64_t m = out.shape.back();
  std::int64_t n = out.shape[out.shape.size() - 2];
  if (out.numel() == 0) return;
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_floating_point_v<T>)
      parallelFor(out.numel() / (n * m), grainOf(n * n * m), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          solve(a.as<T>() + i * n * n, out.as<T>() + i * n * m, n, m, upper, unit);
      });
  });
}

}  // namespace tandem::lib
