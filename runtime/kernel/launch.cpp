#include "runtime/kernel/launch.h"

#include <algorithm>

#include "runtime/base/counters.h"
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

}  // namespace tandem
