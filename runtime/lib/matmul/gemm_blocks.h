// Blocks of a matrix, transposed in registers of AVX2, which AVX-512 has as well. Included inside a file's own
// namespace, below the pragma that sets the instruction set.

namespace of_avx2 {
#include "runtime/lib/vectors_avx2.h"
}  // namespace of_avx2

/// Blocks of kBlock x kBlock. `columns`: vector x has element x of each of the rows that begin at row(i).
struct FloatBlocks : of_avx2::Floats {
  static constexpr std::int64_t kBlock = kLanes;
  template <class Row>
  [[gnu::always_inline]] static void columns(Row row, Vector (&to)[kBlock]) {
    __m256 r[8], t[4];
    for (int i = 0; i < 4; ++i) {
      // Halves of rows i and i + 4 side by side, so that what follows stays within 128-bit lanes.
      const float *upper = row(i), *lower = row(i + 4);
      r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper)), _mm_loadu_ps(lower), 1);
      r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper + 4)), _mm_loadu_ps(lower + 4), 1);
    }
    for (int i = 0; i < 8; i += 4) {
      t[0] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      t[1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
      t[2] = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
      t[3] = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
      to[i] = _mm256_shuffle_ps(t[0], t[2], 0x44);
      to[i + 1] = _mm256_shuffle_ps(t[0], t[2], 0xee);
      to[i + 2] = _mm256_shuffle_ps(t[1], t[3], 0x44);
      to[i + 3] = _mm256_shuffle_ps(t[1], t[3], 0xee);
    }
  }
};
struct DoubleBlocks : of_avx2::Doubles {
  static constexpr std::int64_t kBlock = kLanes;
  template <class Row>
  [[gnu::always_inline]] static void columns(Row row, Vector (&to)[kBlock]) {
    __m256d a = _mm256_loadu_pd(row(0)), b = _mm256_loadu_pd(row(1)), c = _mm256_loadu_pd(row(2)),
            d = _mm256_loadu_pd(row(3));
    __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    to[0] = _mm256_permute2f128_pd(ab0, cd0, 0x20);
    to[1] = _mm256_permute2f128_pd(ab1, cd1, 0x20);
    to[2] = _mm256_permute2f128_pd(ab0, cd0, 0x31);
    to[3] = _mm256_permute2f128_pd(ab1, cd1, 0x31);
  }
};

template <class T>
using BlocksOf = std::conditional_t<std::is_same_v<T, float>, FloatBlocks, DoubleBlocks>;

/// Transposes a block: dst[x * dstLd + y] = src[y * srcLd + x].
template <class T>
[[gnu::noinline]] void transposeBlock(const T* src, std::int64_t srcLd, T* dst, std::int64_t dstLd) {
  using B = BlocksOf<T>;
  typename B::Vector columns[B::kBlock];
  B::columns([=](std::int64_t i) { return src + i * srcLd; }, columns);
  for (std::int64_t x = 0; x < B::kBlock; ++x) B::store(dst + x * dstLd, columns[x]);
}

/// dst[x * dstLd + y] = src[y * srcLd + x]
template <class T>
void transposeTo(const T* src, std::int64_t srcLd, T* dst, std::int64_t dstLd, std::int64_t xs, std::int64_t ys) {
  constexpr std::int64_t w = BlocksOf<T>::kBlock;
  std::int64_t y = 0;
  for (; y + w <= ys; y += w) {
    std::int64_t x = 0;
    for (; x + w <= xs; x += w) {
      for (std::int64_t i = 0, half = w / 2; i < half; ++i)
        __builtin_prefetch(src + (y + w + x / w % 2 * half + i) * srcLd + x);
      transposeBlock(src + y * srcLd + x, srcLd, dst + x * dstLd + y, dstLd);
    }
    for (; x < xs; ++x)
      for (std::int64_t i = y; i < y + w; ++i) dst[x * dstLd + i] = src[i * srcLd + x];
  }
  for (; y < ys; ++y)
    for (std::int64_t x = 0; x < xs; ++x) dst[x * dstLd + y] = src[y * srcLd + x];
}
