// Products of bfloat16 in groups (gemm_groups.h) by AVX-512's instruction for pairs. For each lane it adds the products
// of two pairs of elements, those of the upper halves first, each with one rounding: pairs of a chain have its next
// element there.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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
constexpr int kRows = 12;            // of a register tile

/// c[Rows][kPanel] = or += a[Rows][pairs] panel[pairs][kPanel].
template <int Rows>
void pairsTile(std::int64_t pairs, const Pair* a, std::int64_t lda, const Pair* panel, float* c, std::int64_t ldc,
               bool add) {
  __m512 acc[Rows][2];
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
  take(std::integral_constant<int, kRows>());
  take(std::integral_constant<int, 6>());
  take(std::integral_constant<int, 3>());
  take(std::integral_constant<int, 1>());
}

/// Chains of pairs, of which each has its first element in the upper half.
struct PairChains {
  using Element = Pair;
  using Floats = avx512::Floats;
  static constexpr std::int64_t kHalf = kGroup / 4, kColumns = kPanel;
  static constexpr int kRows = avx512::kRows;
  [[gnu::noinline]] static void split(const std::uint32_t* words, std::int64_t step, std::int64_t count, Pair* to) {
    for (std::int64_t p = 0; p < kHalf; ++p)
      for (std::int64_t x = 0; x < count; ++x) {
        const std::uint32_t first = words[2 * p * step + x], second = words[(2 * p + 1) * step + x];
        to[p * count + x] = first << 16 | (second & 0xffff);
        to[(kHalf + p) * count + x] = (first & 0xffff0000U) | second >> 16;
      }
  }
  static auto load(const Pair* from) { return (__m512bh)(_mm512_loadu_si512(from)); }
  static auto broadcast(Pair x) { return (__m512bh)(_mm512_set1_epi32(static_cast<int>(x))); }
  static auto multiplyAdd(__m512bh x, __m512bh y, __m512 sum) { return _mm512_dpbf16_ps(sum, x, y); }
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
