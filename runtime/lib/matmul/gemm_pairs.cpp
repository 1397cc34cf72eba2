// Products of bfloat16 in groups (gemm_groups.h) by AVX-512's instruction for pairs. For each lane it adds the products
// of two pairs of elements, those of the upper halves first, each with one rounding: pairs of a chain have its next
// element there.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "runtime/lib/matmul/gemm_groups.h"
#include "runtime/lib/matmul/gemm_kernel.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")

namespace tandem::lib::avx512 {
namespace {

// clang-format off
#include "runtime/lib/matmul/gemm_body.h"
#include "runtime/lib/matmul/groups_body.h"
#include "runtime/lib/vectors_avx512.h"
// clang-format on

constexpr std::int64_t kPanel = 32;  // columns
constexpr int kRows = 4;             // of a register tile, for both chains

/// c[Rows][kPanel] = or += a[Rows][pairs] panel[pairs][kPanel].
template <int Rows>
void pairsTile(std::int64_t pairs, const Pair* a, std::int64_t lda, const Pair* panel, float* c, std::int64_t ldc,
               bool add) {
  __m512 acc[Rows][2];
#pragma GCC unroll 16
  for (auto& row : acc) row[0] = row[1] = _mm512_setzero_ps();
  for (std::int64_t p = 0; p < pairs; ++p) {
    const auto b0 = (__m512bh)(_mm512_loadu_si512(panel + p * kPanel));
    const auto b1 = (__m512bh)(_mm512_loadu_si512(panel + p * kPanel + 16));
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const auto x = (__m512bh)(_mm512_set1_epi32(static_cast<int>(a[i * lda + p])));
      acc[i][0] = _mm512_dpbf16_ps(acc[i][0], x, b0);
      acc[i][1] = _mm512_dpbf16_ps(acc[i][1], x, b1);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
    for (int v = 0; v < 2; ++v) {
      float* to = c + i * ldc + v * 16;
      _mm512_storeu_ps(to, add ? _mm512_add_ps(_mm512_loadu_ps(to), acc[i][v]) : acc[i][v]);
    }
}

[[gnu::noinline]] void rowsTimesPairs(std::int64_t rows, std::int64_t pairs, const Pair* a, std::int64_t lda,
                                      const Pair* panel, float* c, std::int64_t ldc, bool add) {
  const auto take = [&]<int Rows>(std::integral_constant<int, Rows>) {
    for (; rows >= Rows; rows -= Rows, a += Rows * lda, c += Rows * ldc)
      pairsTile<Rows>(pairs, a, lda, panel, c, ldc, add);
  };
  take(std::integral_constant<int, 2>());
  take(std::integral_constant<int, 1>());
}

/// Chains of pairs, of which each has its first element in the upper half.
struct PairChains {
  using Element = Pair;
  static constexpr std::int64_t kHalf = kGroup / 4, kColumns = kPanel;
  static constexpr int kRows = avx512::kRows;
  using Words __attribute__((vector_size(64))) = std::uint32_t;
  static constexpr __mmask32 kLow = 0x55555555;  // halves of words
  static void split(const std::uint32_t* words, std::int64_t step, std::int64_t count, Pair* to) {
    for (std::int64_t p = 0; p < kHalf; ++p)
      for (std::int64_t x = 0; x < count; x += 16) {
        Words first, second;
        std::memcpy(&first, words + 2 * p * step + x, sizeof first);
        std::memcpy(&second, words + (2 * p + 1) * step + x, sizeof second);
        const auto put = [&](std::int64_t place, Words upper, Words lower) {
          _mm512_storeu_si512(to + place * count + x, _mm512_mask_blend_epi16(kLow, (__m512i)upper, (__m512i)lower));
        };
        put(p, first << 16, second);
        put(kHalf + p, first, second >> 16);
      }
  }
  static void splitRow(const BFloat16* from, Pair* to) {
    // Of words 2p and 2p + 1 the lower halves, and then the upper ones.
    alignas(64) static constexpr std::array<std::uint16_t, kGroup> kPlaces = [] {
      std::array<std::uint16_t, kGroup> places{};
      for (std::uint16_t i = 0; i < kGroup; ++i)
        places[i] = static_cast<std::uint16_t>(i % (kGroup / 2) / 2 * 4 + (i % 2 == 0 ? 2 : 0) + i / (kGroup / 2));
      return places;
    }();
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(kPlaces.data()), _mm512_loadu_si512(from)));
  }
  /// Both chains of a group side by side, so that neither waits in memory for the other.
  [[gnu::noinline]] static void tile(std::int64_t groups, std::int64_t last, const Pair* a, std::int64_t lda,
                                     const Pair* panel, float* c, std::int64_t ldc, bool add) {
    for (std::int64_t g = 0; g < groups; ++g, a += 2 * kHalf, panel += 2 * kHalf * kPanel) {
      __m512 acc[kRows][2][2];  // by chain and vector
#pragma GCC unroll 16
      for (auto& row : acc)
#pragma GCC unroll 2
        for (auto& chain : row) chain[0] = chain[1] = _mm512_setzero_ps();
      const std::int64_t steps = g + 1 < groups ? kHalf : last;
      for (std::int64_t p = 0; p < steps; ++p) {
        const Pair* const odd = panel + kHalf * kPanel;
        const auto at = [&](const Pair* from) { return (__m512bh)(_mm512_loadu_si512(from + p * kPanel)); };
        const __m512bh b[2][2] = {{at(panel), at(panel + 16)}, {at(odd), at(odd + 16)}};
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
          for (int chain = 0; chain < 2; ++chain) {
            const auto x = (__m512bh)(_mm512_set1_epi32(static_cast<int>(a[i * lda + chain * kHalf + p])));
            acc[i][chain][0] = _mm512_dpbf16_ps(acc[i][chain][0], x, b[chain][0]);
            acc[i][chain][1] = _mm512_dpbf16_ps(acc[i][chain][1], x, b[chain][1]);
          }
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          float* const to = c + i * ldc + v * 16;
          const __m512 sum = _mm512_add_ps(acc[i][0][v], acc[i][1][v]);
          _mm512_storeu_ps(to, g == 0 && !add ? sum : _mm512_add_ps(_mm512_loadu_ps(to), sum));
        }
    }
  }
  static void chains(std::int64_t rows, std::int64_t half, const Pair* a, std::int64_t lda, const Pair* panel, float* c,
                     bool add) {
    rowsTimesPairs(rows, half, a, lda, panel, c, kColumns, add);
  }
};

}  // namespace

bool pairsInOrder() {
  auto value = [](Pair bits) { return std::bit_cast<float>(bits << 16); };
  alignas(64) float sums[16];
  alignas(64) float got[16];
  alignas(64) Pair a[16];
  alignas(64) Pair b[16];
  for (Pair i = 0; i < 16; ++i) {
    sums[i] = std::bit_cast<float>(0x3f812345 + i * 0x00871235);
    a[i] = (0x3f81 + i * 0x13) << 16 | (0xbf93 + i * 0x17);
    b[i] = (0x3fab + i * 0x1d) << 16 | (0x3fa7 + i * 0x0b);
  }
  _mm512_store_ps(
      got, _mm512_dpbf16_ps(_mm512_load_ps(sums), (__m512bh)(_mm512_load_si512(a)), (__m512bh)(_mm512_load_si512(b))));
  for (Pair i = 0; i < 16; ++i) {
    const float first = std::fma(value(a[i] >> 16), value(b[i] >> 16), sums[i]);
    if (got[i] != std::fma(value(a[i] & 0xffff), value(b[i] & 0xffff), first)) return false;
  }
  return true;
}

void pairsGroupTile(const GroupTile& t) { chainsOfGroups<PairChains>(t); }

}  // namespace tandem::lib::avx512
