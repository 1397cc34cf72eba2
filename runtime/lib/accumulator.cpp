#include "runtime/lib/accumulator.h"

#include <immintrin.h>

#include "runtime/device/thread_pool.h"

#pragma GCC target("avx2,f16c")  // which generated code needs too

namespace tandem::lib {
namespace {

template <class From, class To, class Each>
void convertEach(const From* from, To* to, std::int64_t n, Each each) {
  parallelFor(n, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = each(from[i]);
  });
}

/// The same by `block(from, to)`, which converts kBlock elements.
constexpr std::int64_t kBlock = 8;
template <class From, class To, class Block>
void convertBlocks(const From* from, To* to, std::int64_t n, Block block) {
  const std::int64_t blocks = n / kBlock;
  parallelFor(blocks, kSerialElements / kBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * kBlock; i < end * kBlock; i += kBlock) block(from + i, to + i);
  });
  if (blocks * kBlock == n) return;
  From last[kBlock] = {};
  To converted[kBlock];
  std::copy(from + blocks * kBlock, from + n, last);
  block(last, converted);
  std::copy_n(converted, n - blocks * kBlock, to + blocks * kBlock);
}

}  // namespace

void convert(const Half* from, float* to, std::int64_t n) {
  convertBlocks(from, to, n, [](const Half* x, float* y) {
    _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
  });
}
void convert(const float* from, Half* to, std::int64_t n) {
  convertBlocks(from, to, n, [](const float* x, Half* y) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
  });
}
void convert(const BFloat16* from, float* to, std::int64_t n) {
  convertEach(from, to, n, [](BFloat16 x) { return toFloat(x); });
}
void convert(const float* from, BFloat16* to, std::int64_t n) {
  convertEach(from, to, n, [](float x) { return toBFloat16(x); });
}

}  // namespace tandem::lib
