// Products of bfloat16 in groups (gemm_groups.h) by AMX: tiles of 16 rows of 64 bytes, of which two of a and two of b
// make four of c.
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#include "runtime/device/isa.h"
#include "runtime/lib/matmul/gemm_groups.h"

#pragma GCC target("amx-tile,amx-bf16")

namespace tandem::lib::amx {
namespace {

constexpr std::int64_t kRows = 32;  // of a tile of c: of two tiles of the processor
constexpr std::int64_t kHalf = 16;

/// What the processor is told about its tiles: four of c, two of a and two of b.
struct alignas(64) Configuration {
  std::uint8_t palette = 1;
  std::uint8_t startRow = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};  // of a row
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};

  /// For so many rows of c, at most kRows.
  explicit Configuration(std::int64_t ofC) {
    const auto upper = static_cast<std::uint8_t>(std::min(ofC, kHalf)), lower = static_cast<std::uint8_t>(ofC - upper);
    rows[0] = rows[1] = rows[4] = upper;
    if (lower > 0) rows[2] = rows[3] = rows[5] = lower;
  }
};

/// c[rows][32] = or += `groups` groups of a panel, for so many halves of the rows that the processor was told of.
template <int Halves>
void tile(std::int64_t groups, const BFloat16* a, std::int64_t lda, const Pair* panel, std::int64_t rowStride, float* c,
          std::int64_t ldc, bool add) {
  const std::int64_t rowBytes = lda * std::int64_t{sizeof(BFloat16)}, resultBytes = ldc * std::int64_t{sizeof(float)};
  const std::int64_t panelBytes = rowStride * std::int64_t{sizeof(Pair)};
  if (add) {
    _tile_loadd(0, c, resultBytes);
    _tile_loadd(1, c + kHalf, resultBytes);
    if constexpr (Halves == 2) {
      _tile_loadd(2, c + kHalf * ldc, resultBytes);
      _tile_loadd(3, c + kHalf * ldc + kHalf, resultBytes);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (Halves == 2) {
      _tile_zero(2);
      _tile_zero(3);
    }
  }
  for (std::int64_t g = 0; g < groups; ++g, a += kGroup, panel += kGroup / 2 * rowStride) {
    _tile_loadd(4, a, rowBytes);
    if constexpr (Halves == 2) _tile_loadd(5, a + kHalf * lda, rowBytes);
    _tile_loadd(6, panel, panelBytes);
    _tile_loadd(7, panel + kHalf, panelBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (Halves == 2) {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, c, resultBytes);
  _tile_stored(1, c + kHalf, resultBytes);
  if constexpr (Halves == 2) {
    _tile_stored(2, c + kHalf * ldc, resultBytes);
    _tile_stored(3, c + kHalf * ldc + kHalf, resultBytes);
  }
}

/// The rows [begin, end) of a part, whole tiles of `rows`.
template <int Halves>
void rowsOf(const GroupTile& t, std::int64_t begin, std::int64_t end, std::int64_t rows) {
  if (begin == end) return;
  const Configuration configuration(rows);
  _tile_loadconfig(&configuration);
  for (std::int64_t g = 0; g < t.groups; g += kNearGroups) {
    const auto one = [&](std::int64_t i, std::int64_t j) {
      tile<Halves>(std::min(kNearGroups, t.groups - g), t.a + i * t.lda + g * kGroup, t.lda,
                   t.panels + j * t.panelStride + g * kGroup / 2 * t.rowStride, t.rowStride,
                   t.c + i * t.ldc + j * kGroupColumns, t.ldc, t.add || g > 0);
    };
    // What there is less of is read again and again, and stays near.
    if (t.count * kGroupColumns < t.rows) {
      for (std::int64_t i = begin; i < end; i += rows)
        for (std::int64_t j = 0; j < t.count; ++j) one(i, j);
    } else {
      for (std::int64_t j = 0; j < t.count; ++j)
        for (std::int64_t i = begin; i < end; i += rows) one(i, j);
    }
  }
  _tile_release();
}

/// Of numbers of which every order has a sum of its own: the sums that float32 gives.
bool addsInOrder() {
  constexpr std::int64_t k = 2 * kGroup;
  alignas(64) BFloat16 a[kRows * k];
  alignas(64) std::uint32_t panel[k / 2 * kGroupColumns];
  float sums[kRows * kGroupColumns], expected[kRows * kGroupColumns];
  for (std::int64_t i = 0; i < kRows * k; ++i) a[i].bits = static_cast<std::uint16_t>(0x3f80 + i * 37 % 509);
  for (std::int64_t i = 0; i < k / 2 * kGroupColumns; ++i)
    panel[i] = static_cast<std::uint32_t>((0x3f81 + i * 41 % 503) << 16 | (0xbf83 - i * 43 % 499));
  groupTile({kRows, k / kGroup, a, k, panel, 1, 0, sums, kGroupColumns});
  avx512::groupTile({kRows, k / kGroup, a, k, panel, 1, 0, expected, kGroupColumns});
  return std::ranges::equal(sums, expected);
}

}  // namespace

bool hasOrderedTiles() {
  static const bool has = hasTiles() && addsInOrder();
  return has;
}

void groupTile(const GroupTile& t) {
  const std::int64_t rest = t.rows % kRows, whole = t.rows - rest;
  rowsOf<2>(t, 0, whole, kRows);
  rest <= kHalf ? rowsOf<1>(t, whole, t.rows, rest) : rowsOf<2>(t, whole, t.rows, rest);
}

}  // namespace tandem::lib::amx
