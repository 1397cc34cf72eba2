// Elements as vectors of float32, half types widened in registers: for what is compiled for AVX2.
#pragma once

#include <immintrin.h>

#include "runtime/lib/half.h"

// Of all that is inlined where half types are widened, between there and the function that is compiled for a processor.
#define TANDEM_IN_AVX2 __attribute__((always_inline, target("avx2,f16c")))

namespace tandem::lib {

// Eight of them.
TANDEM_IN_AVX2 inline __m256 floatsAt(const float* from) { return _mm256_loadu_ps(from); }
TANDEM_IN_AVX2 inline __m256 floatsAt(const Half* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
TANDEM_IN_AVX2 inline __m256 floatsAt(const BFloat16* from) {
  const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
}

}  // namespace tandem::lib
