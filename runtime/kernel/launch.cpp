#include "runtime/kernel/launch.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/base/counters.h"
#include "runtime/base/small_vector.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/reduction_levels.h"
#include "runtime/lib/strided.h"

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

constexpr std::int64_t kAcross = 64;               // rows and columns of a block
constexpr std::int64_t kAcrossBytes = 128 * 1024;  // of some whole columns, about: a part of the second cache
constexpr std::int64_t kFewColumns = 16;           // at least, however long they are

std::int64_t innerStride(const std::int64_t* args, const ArgLayout& layout, std::size_t k, Access access) {
  return access == Access::Unit ? 1 : access == Access::Zero ? 0 : args[layout.innerStride(k)];
}

bool isTransposed(const std::int64_t* args, const ArgLayout& layout, std::size_t k, Access access) {
  return access == Access::Unit && args[layout.innerStride(k)] != 1 && args[layout.innerSize()] != 1;
}

/// A kernel's space in blocks. Of a Row kernel it is [matrices, rows, columns], of a Column kernel the same with the
/// reduced rows between.
struct Blocks {
  Blocks(const std::int64_t* args, const ArgLayout& layout, std::span<const KernelOperand> operands, bool reduces)
      : columns(args[layout.innerSize()]),
        rows(layout.column ? args[layout.reducedSize()] : args[layout.outerSize(layout.outerRank - 1)]) {
    outerDims = layout.column ? layout.outerRank : layout.outerRank - 1;
    for (int d = 0; d < outerDims; ++d) matrices *= args[layout.outerSize(d)];
    height = std::min(rows, kAcross);
    width = std::min(columns, kAcross);
    if (reduces && layout.column) {
      std::int64_t widest = 1;
      for (const KernelOperand& o : operands) widest = std::max(widest, static_cast<std::int64_t>(itemSize(o.dtype)));
      height = rows;
      width = std::clamp(kAcrossBytes / (rows * widest) / kFewColumns * kFewColumns, kFewColumns, width);
    } else if (reduces) {
      // 64 rows whatever their length: of fewer, the stretches read of each line of memory become too short.
      width = columns;
    }
    down = (rows + height - 1) / height;
    across = (columns + width - 1) / width;
  }
  std::int64_t columns, rows;
  std::int64_t matrices = 1;
  int outerDims;
  std::int64_t height, width;  // of a block
  std::int64_t down, across;   // blocks of a matrix
};

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

bool takesAcross(const std::int64_t* args, const ArgLayout& layout, std::span<const KernelOperand> operands) {
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (isTransposed(args, layout, k, operands[k].access)) return true;
  return false;
}

void launchAcross(KernelFn fn, const std::int64_t* args, const ArgLayout& layout,
                  std::span<const KernelOperand> operands, bool reduces) {
  bump(counters().kernelLaunches);
  const Blocks blocks(args, layout, operands, reduces);
  const int last = layout.outerRank - 1;
  const std::int64_t pitch = blocks.width;
  const std::int64_t area = blocks.height * blocks.width;
  std::int64_t scratchBytes = 0;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (isTransposed(args, layout, k, operands[k].access))
      scratchBytes += area * static_cast<std::int64_t>(itemSize(operands[k].dtype));

  parallelFor(blocks.matrices * blocks.down * blocks.across, kTileElements / area + 1,
              [&](std::int64_t begin, std::int64_t end) {
                const lib::Scratch<char> scratch(scratchBytes);
                SmallVector<std::int64_t, 64> own;
                own.append(args, args + layout.size());
                for (std::int64_t i = begin; i < end; ++i) {
                  const std::int64_t matrix = i / (blocks.down * blocks.across);
                  const std::int64_t row = i / blocks.across % blocks.down * blocks.height;
                  const std::int64_t column = i % blocks.across * blocks.width;
                  const std::int64_t height = std::min(blocks.height, blocks.rows - row);
                  const std::int64_t width = std::min(blocks.width, blocks.columns - column);
                  own[layout.innerSize()] = width;
                  char* to = scratch.data();
                  for (std::size_t k = 0; k < operands.size(); ++k) {
                    const auto size = static_cast<std::int64_t>(itemSize(operands[k].dtype));
                    if (!isTransposed(args, layout, k, operands[k].access)) {
                      own[layout.pointer(k)] =
                          args[layout.pointer(k)] + column * innerStride(args, layout, k, operands[k].access) * size;
                      continue;
                    }
                    std::int64_t from = column * args[layout.innerStride(k)] + (layout.column ? 0 : row);
                    for (std::int64_t d = blocks.outerDims, left = matrix; d-- > 0; left /= args[layout.outerSize(d)])
                      from += left % args[layout.outerSize(d)] * args[layout.outerStride(k, d)];
                    transposeMatrix(reinterpret_cast<const char*>(args[layout.pointer(k)]) + from * size,
                                    args[layout.innerStride(k)], to, pitch, height, width, operands[k].dtype);
                    // The kernel counts rows from the first one of all.
                    for (int d = 0; d <= last; ++d) own[layout.outerStride(k, d)] = 0;
                    own[layout.pointer(k)] = reinterpret_cast<std::int64_t>(to);
                    own[layout.innerStride(k)] = 1;
                    if (layout.column) {
                      own[layout.reducedStride(k)] = pitch;
                    } else {
                      own[layout.outerStride(k, last)] = pitch;
                      own[layout.pointer(k)] -= row * pitch * size;
                    }
                    to += area * size;
                  }
                  if (layout.column)
                    fn(own.data(), matrix * width, (matrix + 1) * width);
                  else
                    fn(own.data(), matrix * blocks.rows + row, matrix * blocks.rows + row + height);
                }
              });
}

}  // namespace tandem
