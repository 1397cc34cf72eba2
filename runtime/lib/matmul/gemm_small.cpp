// Products too small for a library call: a register tile of up to 4 rows by 2 vectors, an FMA chain over k for each
// element. The chain makes the bits independent of the tile, the layout and the instruction set.
#include <algorithm>
#include <immintrin.h>
#include <type_traits>

#include "runtime/lib/matmul/gemm.h"

// The instruction set all our kernels need at least.
#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

#include "runtime/lib/vectors_avx2.h"

/// The same, and parts of them.
struct FloatParts : Floats {
  using Floats::load, Floats::store;
  static __m256i mask(std::int64_t lanes) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Vector load(const float* p, __m256i mask) { return _mm256_maskload_ps(p, mask); }
  static void store(float* p, __m256i mask, Vector v) { _mm256_maskstore_ps(p, mask, v); }
};
struct DoubleParts : Doubles {
  using Doubles::load, Doubles::store;
  static __m256i mask(std::int64_t lanes) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static Vector load(const double* p, __m256i mask) { return _mm256_maskload_pd(p, mask); }
  static void store(double* p, __m256i mask, Vector v) { _mm256_maskstore_pd(p, mask, v); }
};

/// c[Rows, columns] where columns fill `Vectors` vectors, the last by `lanes`.
template <class V, int Rows, int Vectors, bool Full>
inline void tile(std::int64_t k, Matrix<typename V::Scalar> a, const typename V::Scalar* b, std::int64_t ldb,
                 typename V::Scalar* c, std::int64_t ldc, __m256i mask) {
  typename V::Vector acc[Rows][Vectors];
  for (auto& row : acc)
    for (auto& v : row) v = V::zero();
  for (std::int64_t p = 0; p < k; ++p) {
    typename V::Vector bv[Vectors];
    for (int j = 0; j < Vectors; ++j) {
      const auto* at = b + p * ldb + j * V::kLanes;
      bv[j] = Full || j + 1 < Vectors ? V::load(at) : V::load(at, mask);
    }
    for (int i = 0; i < Rows; ++i) {
      auto x = V::broadcast(a.data[i * a.rowStride + p * a.columnStride]);
      for (int j = 0; j < Vectors; ++j) acc[i][j] = V::fma(x, bv[j], acc[i][j]);
    }
  }
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Vectors; ++j) {
      auto* at = c + i * ldc + j * V::kLanes;
      if (Full || j + 1 < Vectors)
        V::store(at, acc[i][j]);
      else
        V::store(at, mask, acc[i][j]);
    }
}

template <class V, int Vectors, bool Full>
void columns(std::int64_t m, std::int64_t k, Matrix<typename V::Scalar> a, const typename V::Scalar* b,
             std::int64_t ldb, typename V::Scalar* c, std::int64_t ldc, __m256i mask) {
  for (; m >= 4; m -= 4, a.data += 4 * a.rowStride, c += 4 * ldc) tile<V, 4, Vectors, Full>(k, a, b, ldb, c, ldc, mask);
  if (m == 3) tile<V, 3, Vectors, Full>(k, a, b, ldb, c, ldc, mask);
  if (m == 2) tile<V, 2, Vectors, Full>(k, a, b, ldb, c, ldc, mask);
  if (m == 1) tile<V, 1, Vectors, Full>(k, a, b, ldb, c, ldc, mask);
}

template <class V>
void product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<typename V::Scalar> a, Matrix<typename V::Scalar> b,
             typename V::Scalar* c) {
  constexpr int w = V::kLanes;
  alignas(32) typename V::Scalar packed[64 * 64];
  const auto* bp = b.data;
  std::int64_t ldb = b.rowStride;
  if (b.columnStride != 1 && n > 1) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t p = 0; p < k; ++p) packed[p * n + j] = b.data[p * b.rowStride + j * b.columnStride];
    bp = packed;
    ldb = n;
  }
  std::int64_t j = 0;
  for (; j + 2 * w <= n; j += 2 * w) columns<V, 2, true>(m, k, a, bp + j, ldb, c + j, n, __m256i{});
  std::int64_t rest = n - j;
  if (rest > w)
    columns<V, 2, false>(m, k, a, bp + j, ldb, c + j, n, V::mask(rest - w));
  else if (rest == w)
    columns<V, 1, true>(m, k, a, bp + j, ldb, c + j, n, __m256i{});
  else if (rest > 0)
    columns<V, 1, false>(m, k, a, bp + j, ldb, c + j, n, V::mask(rest));
}

}  // namespace

void smallGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c) {
  product<FloatParts>(m, n, k, a, b, c);
}
void smallGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c) {
  product<DoubleParts>(m, n, k, a, b, c);
}

}  // namespace tandem::lib
