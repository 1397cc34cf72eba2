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
// Columns are taken by so many at least, and by a tile of them where that leaves every thread some.
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
    unitsPerTile = std::max(unitsPerTile, std::clamp(share, kLeastColumns, kLeadingColumns.tile));
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

/// A kernel's space in blocks. Of a Row kernel it is [matrices, rows, columns]; the rows of a Column kernel are those
/// that it reduces.
class Blocks {
 public:
  Blocks(const std::int64_t* args, const ArgLayout& layout, std::span<const KernelOperand> operands, bool reduces)
      : args_(args), layout_(layout), operands_(operands), columns_(args[layout.innerSize()]),
        rows_(layout.column ? args[layout.reducedSize()] : args[layout.outerSize(layout.outerRank - 1)]),
        outerDims_(layout.column ? layout.outerRank : layout.outerRank - 1), height_(std::min(rows_, kAcross)),
        width_(std::min(columns_, kAcross)) {
    for (int d = 0; d < outerDims_; ++d) matrices_ *= args[layout.outerSize(d)];
    if (reduces && layout.column) {
      std::int64_t widest = 1;
      for (const KernelOperand& o : operands) widest = std::max(widest, static_cast<std::int64_t>(itemSize(o.dtype)));
      height_ = rows_;
      width_ = std::clamp(kAcrossBytes / (rows_ * widest) / kFewColumns * kFewColumns, kFewColumns, width_);
    } else if (reduces) {
      // 64 rows whatever their length: of fewer, the stretches read of each line of memory become too short.
      width_ = columns_;
    }
    down_ = (rows_ + height_ - 1) / height_;
    across_ = (columns_ + width_ - 1) / width_;
  }

  std::int64_t count() const { return matrices_ * down_ * across_; }
  /// Elements of one, at most.
  std::int64_t area() const { return height_ * width_; }

  void run(KernelFn fn, std::int64_t begin, std::int64_t end) const {
    std::int64_t scratchBytes = 0;
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (isTransposed(args_, layout_, k, operands_[k].access)) scratchBytes += area() * sizeOf(k);
    const lib::Scratch<char> scratch(scratchBytes);
    Args own;
    own.append(args_, args_ + layout_.size());
    for (std::int64_t i = begin; i < end; ++i) {
      const Block b = block(i);
      own[layout_.innerSize()] = b.width;
      char* to = scratch.data();
      for (std::size_t k = 0; k < operands_.size(); ++k) {
        if (isTransposed(args_, layout_, k, operands_[k].access)) {
          transpose(k, b, to, own);
          to += area() * sizeOf(k);
        } else {
          const std::int64_t skipped = b.column * innerStride(args_, layout_, k, operands_[k].access);
          own[layout_.pointer(k)] = args_[layout_.pointer(k)] + skipped * sizeOf(k);
        }
      }
      if (layout_.column)
        fn(own.data(), b.matrix * b.width, (b.matrix + 1) * b.width);
      else
        fn(own.data(), b.matrix * rows_ + b.row, b.matrix * rows_ + b.row + b.height);
    }
  }

 private:
  using Args = SmallVector<std::int64_t, 64>;
  struct Block {
    std::int64_t matrix, row, column, height, width;
  };

  std::int64_t sizeOf(std::size_t k) const { return static_cast<std::int64_t>(itemSize(operands_[k].dtype)); }

  Block block(std::int64_t i) const {
    const std::int64_t row = i / across_ % down_ * height_;
    const std::int64_t column = i % across_ * width_;
    return {i / (down_ * across_), row, column, std::min(height_, rows_ - row), std::min(width_, columns_ - column)};
  }

  /// Transposes input k's block into `to`, and has the kernel read it there.
  void transpose(std::size_t k, const Block& b, char* to, Args& own) const {
    std::int64_t from = b.column * args_[layout_.innerStride(k)] + (layout_.column ? 0 : b.row);
    for (std::int64_t d = outerDims_, left = b.matrix; d-- > 0; left /= args_[layout_.outerSize(d)])
      from += left % args_[layout_.outerSize(d)] * args_[layout_.outerStride(k, d)];
    transposeMatrix(reinterpret_cast<const char*>(args_[layout_.pointer(k)]) + from * sizeOf(k),
                    args_[layout_.innerStride(k)], to, width_, b.height, b.width, operands_[k].dtype);
    for (int d = 0; d < layout_.outerRank; ++d) own[layout_.outerStride(k, d)] = 0;
    own[layout_.innerStride(k)] = 1;
    own[layout_.pointer(k)] = reinterpret_cast<std::int64_t>(to);
    if (layout_.column) {
      own[layout_.reducedStride(k)] = width_;
    } else {
      // The kernel counts rows from the matrix's first on.
      own[layout_.outerStride(k, outerDims_)] = width_;
      own[layout_.pointer(k)] -= b.row * width_ * sizeOf(k);
    }
  }

  const std::int64_t* args_;
  const ArgLayout& layout_;
  std::span<const KernelOperand> operands_;
  std::int64_t columns_, rows_;
  std::int64_t matrices_ = 1;
  int outerDims_;
  std::int64_t height_, width_;  // of a block
  std::int64_t down_, across_;   // blocks of a matrix
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
  parallelFor(blocks.count(), kTileElements / blocks.area() + 1,
              [&](std::int64_t begin, std::int64_t end) { blocks.run(fn, begin, end); });
}

}  // namespace tandem
