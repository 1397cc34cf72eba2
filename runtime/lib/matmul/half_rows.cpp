#include "runtime/lib/matmul/half_rows.h"

#include <immintrin.h>

#pragma GCC target("avx2,f16c")  // which generated code needs too

namespace tandem::lib {

void widen(const Half* from, float* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  for (; i < n; ++i) to[i] = _cvtsh_ss(from[i].bits);
}
void widen(const BFloat16* from, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = toFloat(from[i]);
}
void narrow(const float* from, Half* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; ++i) to[i] = {_cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT)};
}
void narrow(const float* from, BFloat16* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = toBFloat16(from[i]);
}

}  // namespace tandem::lib
