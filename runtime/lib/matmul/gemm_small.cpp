// Products too small for a library call: a register tile of up to 4 rows by 2 vectors, an FMA chain over k for each
// element. The chain makes the bits independent of the tile, the layout and the instruction set. Many tiny ones, such
// as rotations of points, share a loop: a row of a result is one vector, the rows of b stay in others. Small results of
// long sums have vectors of chains.
#include <algorithm>
#include <immintrin.h>
#include <type_traits>

#include "runtime/lib/matmul/gemm_kernel.h"

// The instruction set all our kernels need at least.
#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

// clang-format off
#include "runtime/lib/vectors_avx2.h"
#include "runtime/lib/matmul/gemm_blocks.h"
// clang-format on

/// The first elements of a vector. Stores by masks take some CPUs longer than the product.
struct Part {
  __m256i mask{};
  std::int64_t lanes = 0;
};

/// The same, and parts of them.
struct FloatParts : Floats {
  using Floats::load, Floats::store;
  static Part part(std::int64_t lanes) {
    const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes)), places), lanes};
  }
  static Vector load(const float* p, const Part& part) { return _mm256_maskload_ps(p, part.mask); }
  static void store(float* p, const Part& part, Vector v) {
    __m128 rest = _mm256_castps256_ps128(v);
    if (part.lanes & 4) {
      _mm_storeu_ps(p, rest);
      rest = _mm256_extractf128_ps(v, 1);
      p += 4;
    }
    if (part.lanes & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
      rest = _mm_movehl_ps(rest, rest);
      p += 2;
    }
    if (part.lanes & 1) _mm_store_ss(p, rest);
  }
};
struct DoubleParts : Doubles {
  using Doubles::load, Doubles::store;
  static Part part(std::int64_t lanes) {
    return {_mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_setr_epi64x(0, 1, 2, 3)), lanes};
  }
  static Vector load(const double* p, const Part& part) { return _mm256_maskload_pd(p, part.mask); }
  static void store(double* p, const Part& part, Vector v) {
    __m128d rest = _mm256_castpd256_pd128(v);
    if (part.lanes & 2) {
      _mm_storeu_pd(p, rest);
      rest = _mm256_extractf128_pd(v, 1);
      p += 2;
    }
    if (part.lanes & 1) _mm_store_sd(p, rest);
  }
};

/// c[Rows, columns] where columns fill `Vectors` vectors, the last by `part`.
template <class V, int Rows, int Vectors, bool Full>
inline void tile(std::int64_t k, Matrix<typename V::Scalar> a, const typename V::Scalar* b, std::int64_t ldb,
                 typename V::Scalar* c, std::int64_t ldc, const Part& part) {
  typename V::Vector acc[Rows][Vectors];
  for (auto& row : acc)
    for (auto& v : row) v = V::zero();
  for (std::int64_t p = 0; p < k; ++p) {
    typename V::Vector bv[Vectors];
    for (int j = 0; j < Vectors; ++j) {
      const auto* at = b + p * ldb + j * V::kLanes;
      bv[j] = Full || j + 1 < Vectors ? V::load(at) : V::load(at, part);
    }
    for (int i = 0; i < Rows; ++i) {
      auto x = V::broadcast(a.data[i * a.rowStride + p * a.columnStride]);
      for (int j = 0; j < Vectors; ++j) acc[i][j] = V::fma(x, bv[j], acc[i][j]);
    }
  }
  constexpr int whole = Full ? Vectors : Vectors - 1;
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < whole; ++j) V::store(c + i * ldc + j * V::kLanes, acc[i][j]);
  if constexpr (Full) return;
  typename V::Vector last[Rows];
  for (int i = 0; i < Rows; ++i) last[i] = acc[i][Vectors - 1];
#pragma GCC unroll 1
  for (int i = 0; i < Rows; ++i) V::store(c + i * ldc + whole * V::kLanes, part, last[i]);
}

template <class V, int Vectors, bool Full>
void columns(std::int64_t m, std::int64_t k, Matrix<typename V::Scalar> a, const typename V::Scalar* b,
             std::int64_t ldb, typename V::Scalar* c, std::int64_t ldc, const Part& part) {
  for (; m >= 4; m -= 4, a.data += 4 * a.rowStride, c += 4 * ldc) tile<V, 4, Vectors, Full>(k, a, b, ldb, c, ldc, part);
  if (m == 3) tile<V, 3, Vectors, Full>(k, a, b, ldb, c, ldc, part);
  if (m == 2) tile<V, 2, Vectors, Full>(k, a, b, ldb, c, ldc, part);
  if (m == 1) tile<V, 1, Vectors, Full>(k, a, b, ldb, c, ldc, part);
}

/// c[Rows], one column.
template <class V, int Rows>
inline void column(std::int64_t k, Matrix<typename V::Scalar> a, const typename V::Scalar* b, std::int64_t step,
                   typename V::Scalar* c) {
  typename V::Scalar sums[Rows] = {};
  for (std::int64_t p = 0; p < k; ++p)
    for (int i = 0; i < Rows; ++i) sums[i] = V::fma(a.data[i * a.rowStride + p * a.columnStride], b[p * step], sums[i]);
  for (int i = 0; i < Rows; ++i) c[i] = sums[i];
}

template <class V>
void product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<typename V::Scalar> a, Matrix<typename V::Scalar> b,
             typename V::Scalar* c) {
  constexpr int w = V::kLanes;
  if (n == 1) {
    for (; m >= 8; m -= 8, a.data += 8 * a.rowStride, c += 8) column<V, 8>(k, a, b.data, b.rowStride, c);
    for (; m > 0; --m, a.data += a.rowStride, ++c) column<V, 1>(k, a, b.data, b.rowStride, c);
    return;
  }
  alignas(32) typename V::Scalar packed[64 * 64];
  const auto* bp = b.data;
  std::int64_t ldb = b.rowStride;
  if (b.columnStride != 1) {
    if (b.rowStride == 1)
      transposeTo(b.data, b.columnStride, packed, n, k, n);
    else
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t p = 0; p < k; ++p) packed[p * n + j] = b.data[p * b.rowStride + j * b.columnStride];
    bp = packed;
    ldb = n;
  }
  std::int64_t j = 0;
  for (; j + 2 * w <= n; j += 2 * w) columns<V, 2, true>(m, k, a, bp + j, ldb, c + j, n, Part{});
  std::int64_t rest = n - j;
  if (rest > w)
    columns<V, 2, false>(m, k, a, bp + j, ldb, c + j, n, V::part(rest - w));
  else if (rest == w)
    columns<V, 1, true>(m, k, a, bp + j, ldb, c + j, n, Part{});
  else if (rest > 0)
    columns<V, 1, false>(m, k, a, bp + j, ldb, c + j, n, V::part(rest));
}

/// Vectors of four, of which the first `n` are read and written.
struct FourFloats {
  using Scalar = float;
  using Vector = __m128;
  static Vector fma(float x, Vector y, Vector sum) { return _mm_fmadd_ps(_mm_set1_ps(x), y, sum); }
  static Vector load(const float* p, int n) {
    return _mm_maskload_ps(p, _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3)));
  }
  static Vector load(const float* p, std::int64_t step, int n) {
    return _mm_setr_ps(p[0], n > 1 ? p[step] : 0, n > 2 ? p[2 * step] : 0, n > 3 ? p[3 * step] : 0);
  }
  static void store(float* p, Vector v, int n) {
    if (n == 4) return _mm_storeu_ps(p, v);
    if (n == 1) return _mm_store_ss(p, v);
    _mm_storel_pi(reinterpret_cast<__m64*>(p), v);
    if (n == 3) _mm_store_ss(p + 2, _mm_movehl_ps(v, v));
  }
};
struct FourDoubles {
  using Scalar = double;
  using Vector = __m256d;
  static Vector fma(double x, Vector y, Vector sum) { return _mm256_fmadd_pd(_mm256_set1_pd(x), y, sum); }
  static Vector load(const double* p, int n) { return DoubleParts::load(p, DoubleParts::part(n)); }
  static Vector load(const double* p, std::int64_t step, int n) {
    return _mm256_setr_pd(p[0], n > 1 ? p[step] : 0, n > 2 ? p[2 * step] : 0, n > 3 ? p[3 * step] : 0);
  }
  static void store(double* p, Vector v, int n) {
    n == 4 ? _mm256_storeu_pd(p, v) : DoubleParts::store(p, Part{{}, n}, v);
  }
};

template <class V, int K, class T = typename V::Scalar>
void tiny(std::int64_t count, std::int64_t m, int n, Matrix<T> a, std::int64_t aStep, Matrix<T> b, std::int64_t bStep,
          T* c) {
  typename V::Vector rows[K] = {};
  const T* const end = c + count * m * n;
  for (std::int64_t i = 0; i < count; ++i, a.data += aStep, b.data += bStep) {
    if (i == 0 || bStep != 0)
      for (int p = 0; p < K; ++p)
        rows[p] = b.columnStride == 1 ? V::load(b.data + p * b.rowStride, n)
                                      : V::load(b.data + p * b.rowStride, b.columnStride, n);
    const T* row = a.data;
    for (std::int64_t r = 0; r < m; ++r, row += a.rowStride, c += n) {
      typename V::Vector sum{};
      for (int p = 0; p < K; ++p) sum = V::fma(row[p * a.columnStride], rows[p], sum);
      // What is written behind a row is written again.
      V::store(c, sum, n == 3 && c + 4 <= end ? 4 : n);
    }
  }
}
template <class V, class T = typename V::Scalar>
void tinyProducts(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, std::int64_t aStep,
                  Matrix<T> b, std::int64_t bStep, T* c) {
  // With one b the rows of all are those of one.
  if (bStep == 0 && aStep == m * a.rowStride) m *= count, count = 1;
  const auto of = k == 1 ? tiny<V, 1> : k == 2 ? tiny<V, 2> : k == 3 ? tiny<V, 3> : tiny<V, 4>;
  of(count, m, static_cast<int>(n), a, aStep, b, bStep, c);
}

/// Lanes q of vector x: element q * kBlockK + x of a line of numbers that lie `along` apart.
template <class T, class B = BlocksOf<T>>
[[gnu::noinline]] void blocksSideBySide(const T* line, std::int64_t along, typename B::Vector (&to)[B::kBlock]) {
  constexpr std::int64_t w = B::kBlock;
  if (along == 1) return B::columns([=](std::int64_t q) { return line + q * kBlockK; }, to);
  alignas(32) T lanes[w][w];
  for (std::int64_t q = 0; q < w; ++q)
    for (std::int64_t x = 0; x < w; ++x) lanes[x][q] = line[(q * kBlockK + x) * along];
  for (std::int64_t x = 0; x < w; ++x) to[x] = B::load(lanes[x]);
}

template <class T>
std::int64_t sideBySide(const GemmTile<T>& t) {
  using B = BlocksOf<T>;
  constexpr std::int64_t w = B::kBlock;
  std::int64_t k0 = 0;
  for (; k0 + w * kBlockK <= t.k; k0 += w * kBlockK) {
    typename B::Vector chains[kVeryFew][kVeryFew];
    for (auto& row : chains)
      for (auto& chain : row) chain = B::zero();
    for (std::int64_t p = k0; p < k0 + kBlockK; p += w) {
      typename B::Vector rows[kVeryFew][w], columns[kVeryFew][w];
      for (std::int64_t i = 0; i < t.m; ++i)
        blocksSideBySide(t.a.data + i * t.a.rowStride + p * t.a.columnStride, t.a.columnStride, rows[i]);
      for (std::int64_t j = 0; j < t.n; ++j)
        blocksSideBySide(t.b.data + p * t.b.rowStride + j * t.b.columnStride, t.b.rowStride, columns[j]);
      for (std::int64_t i = 0; i < t.m; ++i)
        for (std::int64_t j = 0; j < t.n; ++j) {
          auto chain = chains[i][j];
          for (std::int64_t x = 0; x < w; ++x) chain = B::fma(rows[i][x], columns[j][x], chain);
          chains[i][j] = chain;
        }
    }
    for (std::int64_t i = 0; i < t.m; ++i)
      for (std::int64_t j = 0; j < t.n; ++j) {
        alignas(32) T sums[w];
        B::store(sums, chains[i][j]);
        T& element = t.c[i * t.ldc + j];
        for (std::int64_t q = 0; q < w; ++q) element = k0 + q == 0 ? sums[0] : element + sums[q];
      }
  }
  return k0;
}

}  // namespace

std::int64_t fewTimesFew(const GemmTile<float>& t) { return sideBySide(t); }
std::int64_t fewTimesFew(const GemmTile<double>& t) { return sideBySide(t); }
void tinyGemms(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, std::int64_t aStep,
               Matrix<float> b, std::int64_t bStep, float* c) {
  tinyProducts<FourFloats>(count, m, n, k, a, aStep, b, bStep, c);
}
void tinyGemms(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, std::int64_t aStep,
               Matrix<double> b, std::int64_t bStep, double* c) {
  tinyProducts<FourDoubles>(count, m, n, k, a, aStep, b, bStep, c);
}
void smallGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c) {
  product<FloatParts>(m, n, k, a, b, c);
}
void smallGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c) {
  product<DoubleParts>(m, n, k, a, b, c);
}

}  // namespace tandem::lib
