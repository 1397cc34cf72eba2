// How the CPU launches a kernel: small ones at once, others in the way that suits their memory and the threads.
#include "runtime/device/cpu/launch.h"

#include <algorithm>

#include "runtime/device/cpu/across.h"
#include "runtime/device/cpu/columns.h"
#include "runtime/device/cpu/reduction_levels.h"
#include "runtime/device/cpu/split.h"
#include "runtime/device/thread_pool.h"

namespace tandem::cpu {
namespace {

// Below this many elements handing work over costs more than it gains.
constexpr std::int64_t kSerialElements = 32 * 1024;
// Tiles are longer than kTileElements where there would be more than kTilesAThread of them a thread.
constexpr std::int64_t kMaxTileElements = 64 * 1024;
constexpr std::int64_t kTilesAThread = 8;
// Tiles of elementwise work begin at multiples of this: whole vectors, whole cache lines.
constexpr std::int64_t kUnitMultiple = 64;
// Of fewer short rows the launch costs what vectors across them gain.
constexpr std::int64_t kManyShortRows = 32;
// Columns are taken by so many at least, and by a tile of them where that leaves every thread some.
constexpr std::int64_t kLeastColumns = 64;
// Operands of so many bytes together are not found in the caches again, whatever is done next.
constexpr std::size_t kCachedBytes = std::size_t{64} << 20;
constexpr std::int64_t kManyElements = std::int64_t{1} << 20;  // so many, at least, are asked whether they are that
static_assert(kAtOnce <= kAcrossElements && kAtOnce <= kSerialElements && kUnitMultiple % kShortRows == 0 &&
              kUnitMultiple % kLineBytes == 0);

/// The kernel whose lanes are rows, where these are short; else null. What is not reduced fills vectors along rows of
/// 8, too.
const CpuKernel* ofShortRows(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space) {
  if (!kernel.shortRows) return nullptr;
  const std::int64_t length = space.elementsPerUnit, most = kernel.reduces ? kShortRow : kShortRow - 1;
  if (length < 2 || length > most || rowsOf(args, kernel.layout) < kManyShortRows) return nullptr;
  return kernel.ofShortRows();
}

/// The kernel that writes past the caches, where what it reads and writes does not stay in them anyway: lines that are
/// written whole need not be read first. Null where an output takes the place of an input, whose lines are there, or
/// does not begin at a line.
const CpuKernel* pastCaches(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space) {
  const ArgLayout& layout = kernel.layout;
  if (!kernel.elementwise || layout.outerRank > 0 || layout.framed > 0 || space.units < kManyElements) return nullptr;
  const std::size_t inputs = kernel.signature.inputs.size();
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < layout.operands; ++k) {
    if (kernel.operands[k].access == Access::Zero) continue;
    bytes += itemSize(kernel.operands[k].dtype);
    if (k < inputs) continue;
    if (kernel.operands[k].access != Access::Unit || args[layout.pointer(k)] % kLineBytes != 0) return nullptr;
    for (std::size_t i = 0; i < inputs; ++i)
      if (args[layout.pointer(i)] == args[layout.pointer(k)]) return nullptr;
  }
  return static_cast<std::size_t>(space.units) * bytes < kCachedBytes ? nullptr : kernel.toMemory();
}

/// Whole vectors of rows of every matrix by the kernel of `rows`, and those left one by one.
void launchShort(const CpuKernel& kernel, const CpuKernel& rows, const std::int64_t* args, const LaunchSpace& space) {
  const ArgLayout &layout = kernel.layout, &own = rows.layout;
  const int last = layout.outerRank - 1;
  const std::int64_t count = rowsOf(args, layout), whole = count / kShortRows * kShortRows;
  const KernelFn fn = rows.function(), one = whole < count ? kernel.function() : nullptr;
  const std::int64_t piece =
      std::max(kTileElements / space.elementsPerUnit / kUnitMultiple, std::int64_t{1}) * kUnitMultiple;
  const std::int64_t pieces = (count + piece - 1) / piece;
  const std::int64_t each = std::min(piece, count) * space.elementsPerUnit;
  parallelFor(space.units / count * pieces, kTileElements / each + 1, [&](std::int64_t begin, std::int64_t end) {
    Args of(own.size());
    of[own.outerSize(0)] = count;
    of[own.innerSize()] = args[layout.innerSize()];
    for (std::size_t j = 0; j < layout.scalars; ++j) of[own.scalar(j)] = args[layout.scalar(j)];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t matrix = i / pieces, first = i % pieces * piece;
      for (std::size_t k = 0; k < layout.operands; ++k) {
        of[own.pointer(k)] =
            args[layout.pointer(k)] +
            matrixOffset(args, layout, k, last, matrix) * static_cast<std::int64_t>(itemSize(kernel.operands[k].dtype));
        of[own.innerStride(k)] = args[layout.innerStride(k)];
        of[own.outerStride(k, 0)] = args[layout.outerStride(k, last)];
      }
      const std::int64_t stop = std::min(first + piece, count);
      if (first < whole) fn(of.data(), first, std::min(stop, whole));
      if (stop > whole) one(args, matrix * count + whole, matrix * count + stop);
    }
  });
}

}  // namespace

void launchLarge(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space) {
  if (space.units <= 0) return;
  if (const CpuKernel* rows = ofShortRows(kernel, args, space)) return launchShort(kernel, *rows, args, space);
  if (const OtherLaunch other = otherLaunch(kernel, args); other.kernel != nullptr)
    return launchLarge(*other.kernel, other.args.data(), other.space);
  if (const Blocking how = blockingOf(kernel, args); how.kernel != nullptr) return launchInBlocks(kernel, args, how);
  if (isWorthSplitting(kernel, space)) return launchSplit(kernel, args, space);
  const CpuKernel* const past = pastCaches(kernel, args, space);
  launchTiles(past != nullptr ? *past : kernel, args, space);
}

void launchTiles(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space) {
  const KernelFn fn = kernel.function();
  const std::int64_t units = space.units;
  const std::int64_t perUnit = std::max<std::int64_t>(space.elementsPerUnit, 1);
  // A unit larger than the limit counts as the limit: the product must not overflow.
  if (units == 1 || (perUnit < kSerialElements && units * perUnit < kSerialElements)) return fn(args, 0, units);
  const std::int64_t threads = numThreads();
  if (threads == 1) return fn(args, 0, units);
  std::int64_t unitsPerTile = std::clamp(units / (threads * kTilesAThread), (kTileElements + perUnit - 1) / perUnit,
                                         (kMaxTileElements + perUnit - 1) / perUnit);
  if (perUnit < kUnitMultiple) unitsPerTile = (unitsPerTile + kUnitMultiple - 1) / kUnitMultiple * kUnitMultiple;
  if (kernel.layout.column) {
    // Pieces as wide as the kernel takes at once, since every row of a narrow one costs a cache line.
    const std::int64_t share = (units / threads + kLeastColumns - 1) / kLeastColumns * kLeastColumns;
    unitsPerTile = std::max(unitsPerTile, std::clamp(share, kLeastColumns, kLeadingColumns.tile));
  }
  const std::int64_t tiles = (units + unitsPerTile - 1) / unitsPerTile;
  parallelTiles(tiles, [&](std::int64_t i) { fn(args, i * unitsPerTile, std::min(units, (i + 1) * unitsPerTile)); });
}

SmallVector<const CpuKernel*, 2> asItIs(const CpuKernel& kernel, const LaunchSpace& space) {
  if (isWorthSplitting(kernel, space)) return {kernel.split().partial, kernel.split().finish};
  return {&kernel};
}

SmallVector<const CpuKernel*, 2> neededBy(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space) {
  if (const CpuKernel* rows = ofShortRows(kernel, args, space)) return {rows, &kernel};
  if (const OtherLaunch other = otherLaunch(kernel, args); other.kernel != nullptr)
    return neededBy(*other.kernel, other.args.data(), other.space);
  if (const Blocking how = blockingOf(kernel, args); how.kernel != nullptr) return {how.kernel};
  if (const CpuKernel* past = pastCaches(kernel, args, space)) return {past};
  return asItIs(kernel, space);
}

}  // namespace tandem::cpu
