// The product of bfloat16 matrices by AVX-512's instruction for pairs, which is twice as fast as multiply-adds of
// float32.
//
// For each lane it adds the products of two pairs of elements, the odd one first, each with one rounding. Pairs are
// packed with their elements exchanged, so that chains run in the order of k: with blocks as in gemm_kernel.h the bits
// are those of the float32 product. It takes subnormal numbers for zeros, though: matrices whose elements are so small
// that one could appear are left to float32.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <immintrin.h>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/gemm.h"
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
#include "runtime/lib/matmul/pairs_body.h"
// clang-format on

constexpr std::int64_t kPanel = 32;  // columns
constexpr int kRows = 12;            // of a register tile
constexpr std::int64_t kTileRows = 8 * kRows;
constexpr std::int64_t kTileColumns = 256;
constexpr std::int64_t kMinTileWork = std::int64_t{1} << 20;
constexpr std::int64_t kBlockPairs = kBlockK / 2;
constexpr std::int64_t kShortRow = 64;
constexpr std::int64_t kRowGap = 16;  // so that rows of pairs do not collide in the cache
__m512i widened(__m256i elements) { return _mm512_maskz_cvtepu16_epi32(kAll, elements); }

/// The panel of b from column j on: [pairs][kPanel].
void packPanel(const Matrix<BFloat16>& b, std::int64_t k, std::int64_t j, std::int64_t columns, Pair* to,
               std::atomic<int>& exponent) {
  Smallest smallest;
  std::int64_t p = 0;
  if (b.rowStride == 1 && b.columnStride % 2 == 0 && columns == kPanel) {
    // Pairs lie side by side: whole pairs are transposed.
    const auto* from = reinterpret_cast<const float*>(b.data + j * b.columnStride);
    alignas(64) float block[8 * kPanel];
    for (; p + 16 <= k; p += 16) {
      for (std::int64_t y = 0; y < kPanel; y += 8)
        transposeBlock(from + y * b.columnStride / 2 + p / 2, b.columnStride / 2, block + y, kPanel);
      for (std::int64_t x = 0; x < 8 * kPanel; x += 16) {
        const __m512i v = _mm512_load_si512(block + x);
        smallest.add(v);
        _mm512_storeu_si512(to + p / 2 * kPanel + x, exchanged(v));
      }
    }
  }
  for (; p < k; p += 2)
    for (std::int64_t x = 0; x < kPanel; x += 16) {
      const std::int64_t here = std::clamp<std::int64_t>(columns - x, 0, 16);
      const auto mask = static_cast<__mmask16>((1U << here) - 1);
      auto row = [&](std::int64_t i) {
        const BFloat16* from = b.data + i * b.rowStride + (j + x) * b.columnStride;
        if (b.columnStride == 1) return widened(_mm256_maskz_loadu_epi16(mask, from));
        alignas(64) Pair elements[16] = {};
        for (std::int64_t c = 0; c < here; ++c) elements[c] = from[c * b.columnStride].bits;
        return _mm512_load_si512(elements);
      };
      __m512i v = _mm512_maskz_slli_epi32(kAll, row(p), 16);
      if (p + 1 < k) v = _mm512_or_si512(v, row(p + 1));
      smallest.add(v);
      _mm512_storeu_si512(to + p / 2 * kPanel + x, v);
    }
  smallest.into(exponent);
}

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
  static void chains(std::int64_t rows, const Pair* a, std::int64_t lda, const Pair* panel, float* c, bool add) {
    rowsTimesPairs(rows, kHalf, a, lda, panel, c, kColumns, add);
  }
};

/// Rounds up to kPanel sums of each row, of which none is subnormal, as toBFloat16 does.
void narrowPanel(const float* sums, std::int64_t ld, std::int64_t rows, std::int64_t columns, BFloat16* c,
                 std::int64_t ldc) {
  for (std::int64_t x = 0; x < columns; x += 16) {
    const std::int64_t here = columns - x;
    const auto mask = static_cast<__mmask16>(here >= 16 ? 0xffff : (1U << here) - 1);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto rounded = (__m256i)(_mm512_cvtneps_pbh(_mm512_loadu_ps(sums + i * ld + x)));
      if (here >= 16)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + i * ldc + x), rounded);
      else
        _mm256_mask_storeu_epi16(c + i * ldc + x, mask, rounded);
    }
  }
}

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

bool pairsGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<BFloat16> a, Matrix<BFloat16> b, void* c,
               bool wide) {
  const bool copyA = a.columnStride != 1;
  const bool copyB = b.columnStride != 1 && (b.rowStride != 1 || b.columnStride % 2 != 0);
  Scratch<BFloat16> spaceA(copyA ? m * k : 0);
  Scratch<BFloat16> spaceB(copyB ? k * n : 0);
  if (copyA) a = denseRows(a, m, k, spaceA.data(), k);
  if (copyB) b = denseRows(b, k, n, spaceB.data(), n);

  const std::int64_t pairs = (k + 1) / 2;
  // Short rows that lie one behind the other are packed as one.
  const bool oneRow = k <= kShortRow && k % 2 == 0 && (a.rowStride == k || m == 1);
  const std::int64_t ld = oneRow ? pairs : (pairs + 15) / 16 * 16 + kRowGap;
  const std::int64_t panels = (n + kPanel - 1) / kPanel;
  Scratch<Pair> rows(m * ld);
  Scratch<Pair> packed(panels * pairs * kPanel);
  std::atomic<int> exponentA = 255;
  std::atomic<int> exponentB = 255;
  parallelFor(m, grainOf(k), [&](std::int64_t begin, std::int64_t end) {
    if (oneRow)
      packRows(a.data + begin * k, 0, (end - begin) * k, 0, 1, rows.data() + begin * ld, 0, exponentA);
    else
      packRows(a.data, a.rowStride, k, begin, end, rows.data(), ld, exponentA);
  });
  parallelFor(panels, grainOf(k * kPanel), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      packPanel(b, k, p * kPanel, std::min(kPanel, n - p * kPanel), packed.data() + p * pairs * kPanel, exponentB);
  });
  if (exponentA == 0 || exponentB == 0 || exponentA + exponentB < kSafeExponents) return false;

  const std::int64_t height = std::min(m, kTileRows);
  const std::int64_t least = kMinTileWork / (height * k * kPanel) + 1;
  const std::int64_t width = std::min({kTileColumns, least * kPanel, panels * kPanel});
  const std::int64_t across = (n + width - 1) / width;
  parallelTiles((m + height - 1) / height * across, [&](std::int64_t tile) {
    const std::int64_t i0 = tile / across * height;
    const std::int64_t j0 = tile % across * width;
    const std::int64_t columns = std::min(width, n - j0);
    const std::int64_t end = std::min(m, i0 + height);
    // Of one block the sums of a panel stay in the first cache.
    alignas(64) float near[kRows * kPanel];
    const bool once = pairs <= kBlockPairs;
    Scratch<float> sums(once ? 0 : height * width);
    for (std::int64_t p0 = 0; p0 < pairs; p0 += kBlockPairs)
      for (std::int64_t j = 0; j < columns; j += kPanel)
        for (std::int64_t i = i0; i < end; i += kRows) {
          const std::int64_t rowsHere = std::min<std::int64_t>(kRows, end - i);
          const std::int64_t ldc = once ? kPanel : width;
          float* to = once ? near : sums.data() + (i - i0) * width + j;
          rowsTimesPairs(rowsHere, std::min(kBlockPairs, pairs - p0), rows.data() + i * ld + p0, ld,
                         packed.data() + ((j0 + j) * pairs + p0 * kPanel), to, ldc, p0 > 0);
          if (p0 + kBlockPairs < pairs) continue;
          const std::int64_t at = i * n + j0 + j, here = std::min(kPanel, columns - j);
          if (!wide) {
            narrowPanel(to, ldc, rowsHere, here, static_cast<BFloat16*>(c) + at, n);
            continue;
          }
          for (std::int64_t r = 0; r < rowsHere; ++r)
            std::copy_n(to + r * ldc, here, static_cast<float*>(c) + at + r * n);
        }
  });
  return true;
}

}  // namespace tandem::lib::avx512
