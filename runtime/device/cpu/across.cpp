#include "runtime/device/cpu/across.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>

#include "runtime/device/cpu/launch.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t kAcross = 64;               // rows and columns of a block
constexpr std::int64_t kAcrossBytes = 128 * 1024;  // of some whole columns, about: a part of the second cache
constexpr std::int64_t kFewColumns = 16;           // at least, however long they are
constexpr std::int64_t kSmallAcross = 1024;        // elements of a matrix: blocks of fewer cost more than they gain

/// A kernel's space in blocks. Of a Row kernel it is [matrices, rows, columns]; the rows of a Column kernel are those
/// that it reduces.
class Blocks {
 public:
  Blocks(const CpuKernel& kernel, const std::int64_t* args, const Blocking& how)
      : args_(args), layout_(kernel.layout), operands_(kernel.operands), inputs_(kernel.signature.inputs.size()),
        how_(how), fn_(how.kernel->function()), columns_(args[layout_.innerSize()]), rows_(rowsOf(args, layout_)),
        outerDims_(layout_.column ? layout_.outerRank : layout_.outerRank - 1),
        matrices_(matricesOf(args, layout_, outerDims_)), height_(std::min(rows_, kAcross)),
        width_(std::min(columns_, kAcross)) {
    const bool whole = !kernel.elementwise;
    if (whole && layout_.column) {
      std::int64_t widest = 1;
      for (const KernelOperand& o : operands_) widest = std::max(widest, static_cast<std::int64_t>(itemSize(o.dtype)));
      height_ = rows_;
      width_ = std::clamp(kAcrossBytes / (rows_ * widest) / kFewColumns * kFewColumns, kFewColumns, width_);
    } else if (whole) {
      // 64 rows whatever their length: of fewer, the stretches read of each line of memory become too short.
      width_ = columns_;
    }
    down_ = (rows_ + height_ - 1) / height_;
    across_ = (columns_ + width_ - 1) / width_;
  }

  std::int64_t count() const { return matrices_ * down_ * across_; }
  /// Elements of one, at most.
  std::int64_t area() const { return height_ * width_; }

  void run(std::int64_t begin, std::int64_t end) const {
    std::int64_t scratchBytes = 0;
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (isTransposed(k)) scratchBytes += area() * sizeOf(k);
    const lib::Scratch<char> scratch(scratchBytes);
    Args own;
    own.append(args_, args_ + layout_.size());
    if (how_.turned) turn(own);
    for (std::int64_t i = begin; i < end; ++i)
      how_.turned ? runTurned(block(i), scratch.data(), own) : runStraight(block(i), scratch.data(), own);
  }

 private:
  struct Block {
    std::int64_t matrix, row, column, height, width;
  };

  bool isTransposed(std::size_t k) const {
    return how_.turned ? k >= inputs_ : k < 64 && (how_.transposed >> k & 1) != 0;
  }
  std::int64_t sizeOf(std::size_t k) const { return static_cast<std::int64_t>(itemSize(operands_[k].dtype)); }
  std::int64_t stepDown(std::size_t k) const { return args_[layout_.outerStride(k, outerDims_)]; }
  std::int64_t stepAlong(std::size_t k) const { return innerStride(args_, layout_, k, operands_[k].access); }

  Block block(std::int64_t i) const {
    const std::int64_t row = i / across_ % down_ * height_;
    const std::int64_t column = i % across_ * width_;
    return {i / (down_ * across_), row, column, std::min(height_, rows_ - row), std::min(width_, columns_ - column)};
  }
  void runStraight(const Block& b, char* to, Args& own) const {
    own[layout_.innerSize()] = b.width;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (isTransposed(k)) {
        transpose(k, b, to, own);
        to += area() * sizeOf(k);
      } else {
        own[layout_.pointer(k)] = args_[layout_.pointer(k)] + b.column * stepAlong(k) * sizeOf(k);
      }
    }
    if (layout_.column)
      fn_(own.data(), b.matrix * b.width, (b.matrix + 1) * b.width);
    else
      fn_(own.data(), b.matrix * rows_ + b.row, b.matrix * rows_ + b.row + b.height);
  }

  /// Transposes input k's block into `to`, and has the kernel read it there.
  void transpose(std::size_t k, const Block& b, char* to, Args& own) const {
    const std::int64_t from = matrixOffset(args_, layout_, k, outerDims_, b.matrix) +
                              b.column * args_[layout_.innerStride(k)] + (layout_.column ? 0 : b.row);
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

  /// Rows and columns in each other's place. Outputs are written beside each other, blocks of `height_` a row.
  void turn(Args& own) const {
    own[layout_.outerSize(outerDims_)] = columns_;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const bool output = k >= inputs_;
      for (int d = 0; output && d < outerDims_; ++d) own[layout_.outerStride(k, d)] = 0;
      own[layout_.outerStride(k, outerDims_)] = output ? height_ : stepAlong(k);
      own[layout_.innerStride(k)] = output ? 1 : stepDown(k);
    }
  }
  void runTurned(const Block& b, char* made, Args& own) const {
    own[layout_.innerSize()] = b.height;
    for (std::size_t k = 0; k < inputs_; ++k)
      own[layout_.pointer(k)] = args_[layout_.pointer(k)] + b.row * stepDown(k) * sizeOf(k);
    char* to = made;
    for (std::size_t k = inputs_; k < operands_.size(); to += area() * sizeOf(k++))
      own[layout_.pointer(k)] = reinterpret_cast<std::int64_t>(to) - b.column * height_ * sizeOf(k);
    fn_(own.data(), b.matrix * columns_ + b.column, b.matrix * columns_ + b.column + b.width);
    to = made;
    for (std::size_t k = inputs_; k < operands_.size(); to += area() * sizeOf(k++)) {
      const std::int64_t at = matrixOffset(args_, layout_, k, outerDims_, b.matrix) + b.row * stepDown(k) + b.column;
      transposeMatrix(to, height_, reinterpret_cast<char*>(args_[layout_.pointer(k)]) + at * sizeOf(k), stepDown(k),
                      b.height, b.width, operands_[k].dtype);
    }
  }

  const std::int64_t* args_;
  const ArgLayout& layout_;
  std::span<const KernelOperand> operands_;
  std::size_t inputs_;  // of the operands
  Blocking how_;
  KernelFn fn_;
  std::int64_t columns_, rows_;
  int outerDims_;
  std::int64_t matrices_;
  std::int64_t height_, width_;  // of a block
  std::int64_t down_, across_;   // blocks of a matrix
};

/// Is less transposed where rows and columns change places? Then every input is dense over the rows, or has one element
/// for all of them, and as to columns likewise.
bool isWorthTurning(const CpuKernel& kernel, const std::int64_t* args, std::uint64_t across) {
  if (!kernel.elementwise) return false;
  const ArgLayout& layout = kernel.layout;
  std::size_t read = 0;
  for (std::size_t k = 0; k < kernel.operands.size(); ++k) {
    const KernelOperand& operand = kernel.operands[k];
    const std::int64_t down = args[layout.outerStride(k, layout.outerRank - 1)];
    if (k >= kernel.signature.inputs.size()) {
      if (operand.access != Access::Unit) return false;
      read -= std::min(read, itemSize(operand.dtype));
    } else if (k < 64 && (across >> k & 1) != 0) {
      read += itemSize(operand.dtype);
    } else if (down != 0 || operand.access == Access::Strided) {
      return false;
    }
  }
  return read > 0;
}

}  // namespace

std::int64_t matrixOffset(const std::int64_t* args, const ArgLayout& layout, std::size_t k, int outerDims,
                          std::int64_t matrix) {
  std::int64_t offset = 0;
  for (int d = outerDims; d-- > 0; matrix /= args[layout.outerSize(d)])
    offset += matrix % args[layout.outerSize(d)] * args[layout.outerStride(k, d)];
  return offset;
}

std::uint64_t inputsAcross(const CpuKernel& kernel, const std::int64_t* args) {
  constexpr std::int64_t kMostBytes = 64 * 1024;  // of a row, or of a column, where blocks are whole ones
  if (kernel.strided == 0) return 0;
  const ArgLayout& layout = kernel.layout;
  const std::int64_t columns = args[layout.innerSize()];
  const std::int64_t rows = rowsOf(args, layout);
  // So few lines find place beside each other; columns, reduced down their length, are also what threads share.
  const std::int64_t leastColumns = layout.column ? 64 : 8;
  if (rows < kLeastRows || columns < leastColumns) return 0;
  // Of matrices that go one after the other the rest drives out what is there of each.
  const bool small = rows * columns < (kernel.elementwise ? kSmallAcross : kAcrossElements);
  if (small ||
      (kernel.elementwise && rows * columns * matricesOf(args, layout, layout.outerRank - 1) < kAcrossElements))
    return 0;
  std::uint64_t across = 0;
  for (std::uint64_t left = kernel.strided; left != 0; left &= left - 1) {
    const auto k = static_cast<std::size_t>(std::countr_zero(left));
    const auto size = static_cast<std::int64_t>(itemSize(kernel.operands[k].dtype));
    const std::int64_t step =
        layout.column ? args[layout.reducedStride(k)] : args[layout.outerStride(k, layout.outerRank - 1)];
    if (step != 1 || std::abs(args[layout.innerStride(k)]) * size < kLine) continue;
    if (kernel.reduces && (layout.column ? rows : columns) * size > kMostBytes) continue;
    across |= left & -left;
  }
  return across;
}

bool liesNearlyAcross(const CpuKernel& kernel, const std::int64_t* args) {
  if (!kernel.nearlyAcross) return false;
  const ArgLayout& layout = kernel.layout;
  const std::int64_t columns = args[layout.innerSize()];
  const std::int64_t rows = rowsOf(args, layout);
  if (rows < 8 || columns < 8 || rows * columns < kAcrossElements) return false;
  for (std::size_t k = 0; k < kernel.operands.size(); ++k) {
    if (kernel.operands[k].access != Access::Strided) continue;
    const auto size = static_cast<std::int64_t>(itemSize(kernel.operands[k].dtype));
    const std::int64_t along = std::abs(args[layout.innerStride(k)]) * size;
    const std::int64_t step = std::abs(args[layout.outerStride(k, layout.outerRank - 1)]) * size;
    if (along >= kLine && step != 0 && step <= 16) return true;
  }
  return false;
}

Blocking blockingOf(const CpuKernel& kernel, const std::int64_t* args) {
  if (const std::uint64_t across = inputsAcross(kernel, args); across != 0) {
    if (isWorthTurning(kernel, args, across))
      if (const CpuKernel* turned = kernel.turned(across)) return {turned, 0, true};
    if (const CpuKernel* taking = kernel.takingAcross(across)) return {taking, across};
  }
  if (liesNearlyAcross(kernel, args)) return {&kernel};
  return {};
}

void launchInBlocks(const CpuKernel& kernel, const std::int64_t* args, const Blocking& how) {
  const Blocks blocks(kernel, args, how);
  parallelFor(blocks.count(), kTileElements / blocks.area() + 1,
              [&](std::int64_t begin, std::int64_t end) { blocks.run(begin, end); });
}

}  // namespace tandem::cpu
