#include "runtime/kernel/launch.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/base/counters.h"
#include "runtime/base/small_vector.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/reduction_levels.h"

namespace tandem {
namespace {

// Below this many elements handing work over costs more than it gains.
constexpr std::int64_t kSerialElements = 32 * 1024;
// Tiles are at least this long; longer where there would be more than kTilesAThread of them a thread.
constexpr std::int64_t kTileElements = 16 * 1024;
constexpr std::int64_t kMaxTileElements = 64 * 1024;
constexpr std::int64_t kTilesAThread = 8;
// Tiles of elementwise work begin at multiples of this: whole vectors, whole cache lines.
constexpr std::int64_t kUnitMultiple = 64;
// Columns are taken by so many at least, and by kColumnTile where that leaves every thread some.
constexpr std::int64_t kLeastColumns = 64;

}  // namespace

void launchKernel(KernelFn fn, const std::int64_t* args, std::int64_t units, std::int64_t elementsPerUnit,
                  KernelKind kind) {
  bump(counters().kernelLaunches);
  if (units <= 0) return;
  std::int64_t perUnit = std::max<std::int64_t>(elementsPerUnit, 1);
  // A unit larger than the limit counts as the limit: the product must not overflow.
  if (units == 1 || (perUnit < kSerialElements && units * perUnit < kSerialElements)) return fn(args, 0, units);
  std::int64_t threads = numThreads();
  if (threads == 1) return fn(args, 0, units);
  std::int64_t unitsPerTile = std::clamp(units / (threads * kTilesAThread), (kTileElements + perUnit - 1) / perUnit,
                                         (kMaxTileElements + perUnit - 1) / perUnit);
  if (perUnit < kUnitMultiple) unitsPerTile = (unitsPerTile + kUnitMultiple - 1) / kUnitMultiple * kUnitMultiple;
  if (kind == KernelKind::Column) {
    const std::int64_t share = (units / threads + kLeastColumns - 1) / kLeastColumns * kLeastColumns;
    unitsPerTile = std::max(unitsPerTile, std::clamp(share, kLeastColumns, kColumnTile));
  }
  std::int64_t tiles = (units + unitsPerTile - 1) / unitsPerTile;
  parallelTiles(tiles, [&](std::int64_t i) { fn(args, i * unitsPerTile, std::min(units, (i + 1) * unitsPerTile)); });
}

namespace {

constexpr std::int64_t kAcross = 64;                 // rows and columns of a block
constexpr std::int64_t kAcrossElements = 16 * 1024;  // from here on a matrix does not stay in the first cache

std::int64_t innerStride(const std::int64_t* args, const ArgLayout& layout, std::size_t k, Access access) {
  return access == Access::Unit ? 1 : access == Access::Zero ? 0 : args[layout.innerStride(k)];
}

}  // namespace

bool readsAcross(const std::int64_t* args, const ArgLayout& layout, std::span<const KernelOperand> operands) {
  if (layout.column || layout.outerRank == 0) return false;
  std::int64_t columns = args[layout.innerSize()];
  std::int64_t rows = args[layout.outerSize(layout.outerRank - 1)];
  if (rows < 8 || columns < 8 || rows * columns < kAcrossElements) return false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].access == Access::Framed) return false;  // is addressed by its place in the whole space
    if (operands[k].access != Access::Strided) continue;
    auto size = static_cast<std::int64_t>(itemSize(operands[k].dtype));
    std::int64_t along = std::abs(args[layout.innerStride(k)]) * size;
    std::int64_t across = std::abs(args[layout.outerStride(k, layout.outerRank - 1)]) * size;
    if (along >= 64 && across != 0 && across <= 16) return true;
  }
  return false;
}

void launchAcross(KernelFn fn, const std::int64_t* args, const ArgLayout& layout,
                  std::span<const KernelOperand> operands) {
  bump(counters().kernelLaunches);
  std::int64_t columns = args[layout.innerSize()];
  std::int64_t rows = args[layout.outerSize(layout.outerRank - 1)];
  std::int64_t matrices = 1;
  for (int d = 0; d + 1 < layout.outerRank; ++d) matrices *= args[layout.outerSize(d)];
  std::int64_t bands = (rows + kAcross - 1) / kAcross;
  std::int64_t blocks = (columns + kAcross - 1) / kAcross;
  parallelFor(matrices * bands * blocks, kTileElements / (kAcross * kAcross),
              [&](std::int64_t begin, std::int64_t end) {
                SmallVector<std::int64_t, 64> own;
                own.append(args, args + layout.size());
                for (std::int64_t i = begin; i < end; ++i) {
                  std::int64_t first = i % blocks * kAcross;
                  std::int64_t row = i / blocks % bands * kAcross;
                  own[layout.innerSize()] = std::min(kAcross, columns - first);
                  for (std::size_t k = 0; k < operands.size(); ++k)
                    own[layout.pointer(k)] =
                        args[layout.pointer(k)] + first * innerStride(args, layout, k, operands[k].access) *
                                                      static_cast<std::int64_t>(itemSize(operands[k].dtype));
                  std::int64_t base = i / (blocks * bands) * rows;
                  fn(own.data(), base + row, base + std::min(rows, row + kAcross));
                }
              });
}

}  // namespace tandem
