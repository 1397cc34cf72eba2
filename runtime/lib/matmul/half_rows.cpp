#include "runtime/lib/matmul/half_rows.h"

#include <algorithm>
#include <immintrin.h>

#include "runtime/device/isa.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/half_vectors.h"
#include "runtime/lib/matmul/gemm_kernel.h"

#pragma GCC target("avx2,fma,f16c")  // which generated code needs too
#define TANDEM_WIDE [[gnu::target("avx512f")]]

namespace tandem::lib {
namespace {

// Sixteen at a time, as far as that goes; where it came to.

constexpr __mmask16 kAll = 0xffff;

__m256i halvesAt(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
void storeHalves(void* to, __m256i halves) { _mm256_storeu_si256(static_cast<__m256i*>(to), halves); }

TANDEM_WIDE std::int64_t widenWide(const Half* from, float* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(kAll, halvesAt(from + i)));
  return i;
}
TANDEM_WIDE std::int64_t widenWide(const BFloat16* from, float* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_si512(to + i,
                        _mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, halvesAt(from + i)), 16));
  return i;
}
TANDEM_WIDE std::int64_t narrowWide(const float* from, Half* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    storeHalves(to + i, _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
/// As toBFloat16.
TANDEM_WIDE std::int64_t narrowWide(const float* from, BFloat16* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512 x = _mm512_loadu_ps(from + i);
    const __m512i bits = _mm512_castps_si512(x), high = _mm512_maskz_srli_epi32(kAll, bits, 16);
    const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
    const __m512i rounded =
        _mm512_mask_mov_epi32(_mm512_maskz_srli_epi32(kAll, sum, 16), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), quiet);
    storeHalves(to + i, _mm512_maskz_cvtepi32_epi16(kAll, rounded));
  }
  return i;
}

/// The same by the instruction for it, which takes subnormal numbers for zeros: those are rounded as above. ToMemory:
/// whole lines go past the caches.
template <bool ToMemory>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512bf16")]] std::int64_t narrowByInstruction(const float* from,
                                                                                         BFloat16* to, std::int64_t n) {
  constexpr int kSubnormal = 0x20;
  constexpr std::uintptr_t kLine = 64;
  std::int64_t i = 0;
  if (ToMemory && reinterpret_cast<std::uintptr_t>(to) % kLine != 0) return narrowByInstruction<false>(from, to, n);
  for (; i + 32 <= n; i += 32) {
    const __m512 low = _mm512_loadu_ps(from + i), high = _mm512_loadu_ps(from + i + 16);
    if ((_mm512_fpclass_ps_mask(low, kSubnormal) | _mm512_fpclass_ps_mask(high, kSubnormal)) != 0)
      narrowWide(from + i, to + i, 32);
    else if constexpr (ToMemory)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), (__m512i)(_mm512_cvtne2ps_pbh(high, low)));
    else
      _mm512_storeu_si512(to + i, (__m512i)(_mm512_cvtne2ps_pbh(high, low)));
  }
  return i;
}

}  // namespace

template <class A, class B>
float innerProduct(const A* a, const B* b, std::int64_t n) {
  constexpr std::int64_t kLanes = 8, kVectors = kDotLanes / kLanes;
  __m256 sums[kVectors];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  auto add = [&](const A* x, const B* y) TANDEM_INLINED {
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < kVectors; ++v)
      sums[v] = _mm256_fmadd_ps(floatsAt(x + v * kLanes), floatsAt(y + v * kLanes), sums[v]);
  };
  std::int64_t i = 0;
  for (; i + kDotLanes <= n; i += kDotLanes) add(a + i, b + i);
  if (i < n) {
    A x[kDotLanes] = {};
    B y[kDotLanes] = {};
    std::copy(a + i, a + n, x);
    std::copy(b + i, b + n, y);
    add(x, y);
  }
  alignas(32) float lanes[kLanes];
  _mm256_store_ps(lanes, _mm256_add_ps(_mm256_add_ps(sums[0], sums[2]), _mm256_add_ps(sums[1], sums[3])));
  for (std::int64_t h = kLanes / 2; h >= 1; h /= 2)
    for (std::int64_t j = 0; j < h; ++j) lanes[j] += lanes[j + h];
  return lanes[0];
}
template float innerProduct(const Half*, const Half*, std::int64_t);
template float innerProduct(const float*, const Half*, std::int64_t);
template float innerProduct(const BFloat16*, const BFloat16*, std::int64_t);
template float innerProduct(const float*, const BFloat16*, std::int64_t);

void widen(const Half* from, float* to, std::int64_t n) {
  std::int64_t i = hasAvx512() ? widenWide(from, to, n) : 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(to + i, floatsAt(from + i));
  for (; i < n; ++i) to[i] = _cvtsh_ss(from[i].bits);
}
void widen(const BFloat16* from, float* to, std::int64_t n) {
  for (std::int64_t i = hasAvx512() ? widenWide(from, to, n) : 0; i < n; ++i) to[i] = toFloat(from[i]);
}
void narrow(const float* from, Half* to, std::int64_t n) {
  std::int64_t i = hasAvx512() ? narrowWide(from, to, n) : 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; ++i) to[i] = {_cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT)};
}
void narrow(const float* from, BFloat16* to, std::int64_t n, bool toMemory) {
  static const bool own = hasAvx512BFloat16();
  std::int64_t i = 0;
  if (own) i = toMemory ? narrowByInstruction<true>(from, to, n) : narrowByInstruction<false>(from, to, n);
  if (hasAvx512()) i += narrowWide(from + i, to + i, n - i);
  for (; i < n; ++i) to[i] = toBFloat16(from[i]);
}
void endToMemory() { _mm_sfence(); }

}  // namespace tandem::lib
