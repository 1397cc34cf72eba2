// Packs the matrices and shares out the tiles of a product in groups (gemm_groups.h).
#include "runtime/lib/matmul/gemm_groups.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <immintrin.h>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/gemm_kernel.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

// clang-format off
#include "runtime/lib/matmul/gemm_blocks.h"
// clang-format on

using Pair = std::uint32_t;

// Of fewer rows or columns a product of float32 is faster where there are no tiles.
constexpr std::int64_t kLeastSide = 8;
constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kTilePanels = 8;
constexpr std::int64_t kFewGroups = 8;  // whose tiles wait for their results
constexpr std::int64_t kNearWords = 96 * 1024;
constexpr std::int64_t kMinTileWork = std::int64_t{1} << 22;
// Two exponents, as stored, whose sum is at least this belong to products of which no sum but zero is subnormal: all
// are multiples of 2^(sum - 2 * 127 - 2 * 7).
constexpr int kSafeExponents = 2 * 127 + 2 * 7 - 126;
constexpr int kNoExponent = 255;

GroupTileFn floatTile() { return hasAvx512() ? avx512::groupTile : avx2::groupTile; }

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

/// The smallest exponent, as stored, of any element but zero of rows of whole groups.
int exponentOf(std::int64_t rows, std::int64_t columns, const BFloat16* from, std::int64_t ld) {
  const __m256i magnitude = _mm256_set1_epi16(0x7fff), one = _mm256_set1_epi16(1);
  __m256i least[2] = {_mm256_set1_epi16(-1), _mm256_set1_epi16(-1)};
  for (std::int64_t i = 0; i < rows; ++i, from += ld)
    for (std::int64_t e = 0; e < columns; e += kGroup)
      for (int v = 0; v < 2; ++v)  // zero is the largest
        least[v] =
            _mm256_min_epu16(least[v], _mm256_sub_epi16(_mm256_and_si256(load(from + e + 16 * v), magnitude), one));
  alignas(32) std::uint16_t all[16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(all), _mm256_min_epu16(least[0], least[1]));
  return std::min((*std::min_element(all, all + 16) + 1) >> 7, kNoExponent);
}

/// The panel of b from column j on.
void packPanel(const Matrix<BFloat16>& b, std::int64_t k, std::int64_t j, std::int64_t columns, Pair* to) {
  const std::int64_t words = (k + kGroup - 1) / kGroup * kGroup / 2;
  std::int64_t p = 0;  // words of a column that are done
  if (b.rowStride == 1) {
    // Pairs lie side by side: the words of columns are transposed.
    if (columns < kGroupColumns) std::memset(to, 0, static_cast<std::size_t>(words * kGroupColumns) * sizeof(Pair));
    p = k / 2;
    const auto* from = reinterpret_cast<const float*>(b.data + j * b.columnStride);
    transposeTo(from, b.columnStride / 2, reinterpret_cast<float*>(to), kGroupColumns, p, columns);
  }
  for (; p < words; ++p) {
    Pair* const row = to + p * kGroupColumns;
    const auto element = [&](std::int64_t i, std::int64_t x) -> Pair {
      return i < k ? b.data[i * b.rowStride + (j + x) * b.columnStride].bits : 0;
    };
    std::int64_t x = 0;
    if (b.columnStride == 1 && 2 * p + 1 < k) {
      for (; x + 16 <= columns; x += 16) {
        const BFloat16* const from = b.data + 2 * p * b.rowStride + j + x;
        const __m256i even = load(from), odd = load(from + b.rowStride);
        const __m256i low = _mm256_unpacklo_epi16(even, odd), high = _mm256_unpackhi_epi16(even, odd);
        auto* const at = reinterpret_cast<__m256i*>(row + x);
        _mm256_storeu_si256(at, _mm256_permute2x128_si256(low, high, 0x20));
        _mm256_storeu_si256(at + 1, _mm256_permute2x128_si256(low, high, 0x31));
      }
    }
    for (; x < columns; ++x) row[x] = element(2 * p, x) | element(2 * p + 1, x) << 16;
    for (; x < kGroupColumns; ++x) row[x] = 0;
  }
}

/// A copy with dense rows, zeros behind the last element up to whole groups.
Matrix<BFloat16> denseRows(const Matrix<BFloat16>& x, std::int64_t rows, std::int64_t columns, BFloat16* to,
                           std::int64_t ld) {
  const Dims shape{rows, columns};
  copyArray({const_cast<BFloat16*>(x.data), DType::BFloat16, shape, {x.rowStride, x.columnStride}},
            {to, DType::BFloat16, shape, {ld, 1}});
  if (ld > columns)
    for (std::int64_t i = 0; i < rows; ++i) std::fill(to + i * ld + columns, to + (i + 1) * ld, BFloat16{});
  return {to, ld, 1};
}

}  // namespace

bool isInGroups(std::int64_t m, std::int64_t n, std::int64_t k) {
  return std::min(m, n) >= kLeastSide && !isSmallGemm(m, n, k) && !isCut(m, n, k);
}

void groupsGemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<BFloat16> a, Matrix<BFloat16> b, void* c,
                bool wide) {
  const std::int64_t groups = (k + kGroup - 1) / kGroup, words = groups * kGroup / 2, panelSize = words * kGroupColumns;
  const GroupTileFn exact = floatTile();
  const GroupTileFn fast = amx::hasOrderedTiles() ? amx::groupTile : multipliesPairs() ? avx512::pairsGroupTile : exact;
  // Rows of a tile of the processor must not collide in the cache.
  const auto collide = [](std::int64_t stride) { return stride * std::int64_t{sizeof(BFloat16)} % 2048 == 0; };
  const bool copyA =
      a.columnStride != 1 || k % kGroup != 0 || (fast == amx::groupTile && m > kGroup && collide(a.rowStride));
  const std::int64_t lda = groups * kGroup + (collide(groups * kGroup) ? kGroup : 0);
  const bool isPaired =
      b.rowStride == 1 && b.columnStride % 2 == 0 && reinterpret_cast<std::uintptr_t>(b.data) % sizeof(Pair) == 0;
  const bool copyB = b.columnStride != 1 && !isPaired;
  const Scratch<BFloat16> spaceA(copyA ? m * lda : 0);
  const Scratch<BFloat16> spaceB(copyB ? k * n : 0);
  if (copyA) a = denseRows(a, m, k, spaceA.data(), lda);
  if (copyB) b = denseRows(b, k, n, spaceB.data(), n);

  // Tiles are so small that what they read again is near, and not so small that threads have little to share.
  const std::int64_t height = std::min(m, groups <= kFewGroups ? kTileRows / 2 : kTileRows);
  const std::int64_t down = (m + height - 1) / height, panels = (n + kGroupColumns - 1) / kGroupColumns;
  // Where one tile has all rows it packs the panels, which no other needs.
  const bool packsInside = down == 1;
  const std::int64_t most = groups <= kFewGroups ? kTilePanels / 4 : packsInside ? kNearWords / panelSize : kTilePanels;
  const std::int64_t least = kMinTileWork / (height * k * kGroupColumns) + 1;
  const std::int64_t width = std::clamp<std::int64_t>(std::min(most, least), 1, panels);
  const std::int64_t across = (panels + width - 1) / width;

  const auto rowsFrom = [&](std::int64_t i0) { return std::min(height, m - i0); };
  const auto exponentOfRows = [&](std::int64_t i0) {
    if (fast == exact) return kNoExponent;
    return exponentOf(rowsFrom(i0), groups * kGroup, a.data + i0 * a.rowStride, a.rowStride);
  };
  /// Packs panels from p0 on, and says the smallest exponent in each.
  const auto pack = [&](std::int64_t p0, std::int64_t count, Pair* to, int* exponents) {
    for (std::int64_t p = p0; p < p0 + count; ++p, to += panelSize) {
      packPanel(b, k, p * kGroupColumns, std::min(kGroupColumns, n - p * kGroupColumns), to);
      *exponents++ = fast == exact
                         ? kNoExponent
                         : exponentOf(words, 2 * kGroupColumns, reinterpret_cast<BFloat16*>(to), 2 * kGroupColumns);
    }
  };
  const Scratch<Pair> packed(packsInside ? 0 : panels * panelSize);
  const Scratch<int> panelExponents(panels), rowExponents(down);
  if (!packsInside)
    parallelFor(panels, grainOf(k * kGroupColumns), [&](std::int64_t begin, std::int64_t end) {
      pack(begin, end - begin, packed.data() + begin * panelSize, panelExponents.data() + begin);
    });
  parallelFor(down, grainOf(k * height), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) rowExponents[i] = exponentOfRows(i * height);
  });

  parallelTiles(down * across, [&](std::int64_t number) {
    const std::int64_t i0 = number / across * height, p0 = number % across * width;
    const std::int64_t rows = rowsFrom(i0), count = std::min(width, panels - p0);
    const std::int64_t ld = count * kGroupColumns, j0 = p0 * kGroupColumns, columns = std::min(ld, n - j0);
    const Scratch<Pair> own(packsInside ? count * panelSize : 0);
    if (packsInside) pack(p0, count, own.data(), panelExponents.data() + p0);
    const Scratch<float> sums(rows * ld);
    const GroupTile tile{.rows = rows,
                         .groups = groups,
                         .a = a.data + i0 * a.rowStride,
                         .lda = a.rowStride,
                         .panels = packsInside ? own.data() : packed.data() + p0 * panelSize,
                         .count = count,
                         .panelStride = panelSize,
                         .c = sums.data(),
                         .ldc = ld};
    const int exponent = rowExponents[number / across];
    const int other = *std::min_element(panelExponents.data() + p0, panelExponents.data() + p0 + count);
    const bool safe = exponent > 0 && other > 0 && exponent + other >= kSafeExponents;
    (safe ? fast : exact)(tile);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t at = (i0 + i) * n + j0;
      if (wide)
        std::copy_n(sums.data() + i * ld, columns, static_cast<float*>(c) + at);
      else
        narrow(sums.data() + i * ld, static_cast<BFloat16*>(c) + at, columns);
    }
  });
}

}  // namespace tandem::lib
