// Pairs of bfloat16 for AVX-512's instruction that multiplies them (gemm_bfloat16.cpp). Included below the pragma that
// sets the instruction set, in a namespace of its own.

using Pair = std::uint32_t;  // elements 2p, in the upper half, and 2p + 1

// The forms without masks draw false warnings from GCC 12.
constexpr __mmask16 kAll = 0xffff;
__m512i exchanged(__m512i pairs) { return _mm512_maskz_rol_epi32(kAll, pairs, 16); }

/// The smallest magnitude but zero that was packed.
class Smallest {
 public:
  Smallest() : least_(_mm512_set1_epi16(-1)) {}
  void add(__m512i elements) {
    const __m512i magnitude = _mm512_and_si512(elements, _mm512_set1_epi16(0x7fff));
    least_ = _mm512_min_epu16(least_, _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)));  // zero is the largest
  }
  void into(std::atomic<int>& exponent) const {
    alignas(64) std::uint16_t all[32];
    _mm512_store_si512(all, least_);
    const int here = (*std::min_element(all, all + 32) + 1) >> 7;
    int seen = exponent.load();
    while (here < seen && !exponent.compare_exchange_weak(seen, here)) {
    }
  }

 private:
  __m512i least_;
};

/// Rows [begin, end) of a, dense rows, as pairs.
void packRows(const BFloat16* a, std::int64_t stride, std::int64_t k, std::int64_t begin, std::int64_t end, Pair* to,
              std::int64_t ld, std::atomic<int>& exponent) {
  Smallest smallest;
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t p = 0; p < k; p += 32) {
      const auto mask = static_cast<__mmask32>(k - p >= 32 ? ~0U : (1U << (k - p)) - 1);
      const __m512i v = _mm512_maskz_loadu_epi16(mask, a + i * stride + p);
      smallest.add(v);
      if (mask == ~0U)
        _mm512_storeu_si512(to + i * ld + p / 2, exchanged(v));
      else
        _mm512_mask_storeu_epi32(to + i * ld + p / 2, static_cast<__mmask16>((1U << ((k - p + 1) / 2)) - 1),
                                 exchanged(v));
    }
  smallest.into(exponent);
}
