// Products of bfloat16 in groups (gemm_groups.h) by AMX: tiles of 16 rows of 64 bytes, of which two of a and two of b
// make four of c.
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

#include "runtime/device/isa.h"
#include "runtime/lib/matmul/gemm_groups.h"
#include "runtime/lib/strided.h"

#pragma GCC target("amx-tile,amx-bf16")

namespace tandem::lib::amx {
namespace {

constexpr std::int64_t kRows = 32;  // of a tile of c: of two tiles of the processor
constexpr std::int64_t kHalf = 16;

/// What the processor is told about its tiles.
struct alignas(64) Configuration {
  std::uint8_t palette = 1;
  std::uint8_t startRow = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};  // of a row
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// c[32][32] = or += a panel: `groups` groups.
void tile(std::int64_t groups, const BFloat16* a, std::int64_t lda, const std::uint32_t* panel, float* c,
          std::int64_t ldc, bool add) {
  const std::int64_t rowBytes = lda * std::int64_t{sizeof(BFloat16)}, resultBytes = ldc * std::int64_t{sizeof(float)};
  constexpr std::int64_t panelBytes = kGroupColumns * std::int64_t{sizeof(std::uint32_t)};
  if (add) {
    _tile_loadd(0, c, resultBytes);
    _tile_loadd(1, c + kHalf, resultBytes);
    _tile_loadd(2, c + kHalf * ldc, resultBytes);
    _tile_loadd(3, c + kHalf * ldc + kHalf, resultBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t g = 0; g < groups; ++g, a += kGroup, panel += kGroup / 2 * kGroupColumns) {
    _tile_loadd(4, a, rowBytes);
    _tile_loadd(5, a + kHalf * lda, rowBytes);
    _tile_loadd(6, panel, panelBytes);
    _tile_loadd(7, panel + kHalf, panelBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, resultBytes);
  _tile_stored(1, c + kHalf, resultBytes);
  _tile_stored(2, c + kHalf * ldc, resultBytes);
  _tile_stored(3, c + kHalf * ldc + kHalf, resultBytes);
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
  const Configuration configuration;
  _tile_loadconfig(&configuration);
  const std::int64_t rest = t.rows % kRows, whole = t.rows - rest, k = t.groups * kGroup;
  Scratch<BFloat16> lastA(rest == 0 ? 0 : kRows * k);
  Scratch<float> lastC(rest == 0 ? 0 : kRows * kGroupColumns);
  if (rest != 0) {
    std::fill_n(lastA.data(), kRows * k, BFloat16{});
    for (std::int64_t i = 0; i < rest; ++i) std::copy_n(t.a + (whole + i) * t.lda, k, lastA.data() + i * k);
  }
  for (std::int64_t g = 0; g < t.groups; g += kNearGroups) {
    const std::int64_t near = std::min(kNearGroups, t.groups - g);
    for (std::int64_t j = 0; j < t.count; ++j) {
      const std::uint32_t* const panel = t.panels + j * t.panelStride + g * kGroup / 2 * kGroupColumns;
      float* const c = t.c + j * kGroupColumns;
      for (std::int64_t i = 0; i < whole; i += kRows)
        tile(near, t.a + i * t.lda + g * kGroup, t.lda, panel, c + i * t.ldc, t.ldc, g > 0);
      if (rest == 0) continue;
      for (std::int64_t i = 0; g > 0 && i < rest; ++i)
        std::copy_n(c + (whole + i) * t.ldc, kGroupColumns, lastC.data() + i * kGroupColumns);
      tile(near, lastA.data() + g * kGroup, k, panel, lastC.data(), kGroupColumns, g > 0);
      for (std::int64_t i = 0; i < rest; ++i)
        std::copy_n(lastC.data() + i * kGroupColumns, kGroupColumns, c + (whole + i) * t.ldc);
    }
  }
  _tile_release();
}

}  // namespace tandem::lib::amx
