// From logical shapes to what a kernel walks: adjacent dims that every operand crosses with one stride become one dim.
// Shared by eager (kernels of one operation) and by the compiler (fused regions), so that both walk alike.
//
// Dims are never reordered: the logical order is row-major for all operands, and it decides both the order of sums and
// the index that random operations see.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

#include "runtime/base/shape.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// Outer dims a kernel may have at most. Callers copy operands to contiguous memory where more are left.
inline constexpr int kMaxOuterRank = 5;

// All three work in place. `shape` is the iteration shape, `strides` one list of its rank per operand, in elements (0
// along dims an operand is broadcast over). Dims of size 1 vanish, then neighbours merge.

/// Afterwards the last dim is the inner one and all before it are outer; rank at least 1.
void collapsePointwise(Dims& shape, std::span<Dims> strides);
/// For Row kernels with reductions over the dims from `kept` on. Afterwards the last dim is the reduced one and there
/// is at least one outer dim. False where an operand's reduced dims do not merge into one.
bool collapseRow(Dims& shape, std::span<Dims> strides, std::size_t kept);
/// For Column kernels that reduce the dims [begin, end). Afterwards shape is [outer..., reduced, inner]. False where
/// an operand's reduced dims do not merge into one. Kept dims behind them that do not merge become outer ones.
bool collapseColumn(Dims& shape, std::span<Dims> strides, std::size_t begin, std::size_t end);

/// Is an array dense along another dim than the last one: would reading it in row-major order be a transposition?
inline bool transposes(DimsRef strides) {
  if (strides.empty() || strides.back() == 0 || strides.back() == 1) return false;
  for (std::size_t d = 0; d + 1 < strides.size(); ++d)
    if (strides[d] == 1) return true;
  return false;
}

/// How an operand moves along an inner dim of n elements.
inline Access accessOf(std::int64_t stride, std::int64_t n) {
  if (stride == 1 || n == 1) return Access::Unit;
  return stride == 0 ? Access::Zero : Access::Strided;
}

/// From so many elements on a matrix does not stay in the first cache, and it matters in which order it is read.
inline constexpr std::int64_t kAcrossElements = 16 * 1024;
/// And from so many rows on. Fewer may be split along their length, where rows must keep their order.
inline constexpr std::int64_t kAcrossRows = 16;

/// Inputs that lie across: dense over the rows of a kernel (down the rows that a Column kernel reduces) and far apart
/// along them, as a transposed matrix is. Element by element, each of their lines would be fetched for one element, and
/// lines a power of two apart drive each other out of the cache. Where that matters such an input is Unit to the
/// kernel although its stride argument is not 1, and `launchAcross` hands it over in transposed blocks. Not for kernels
/// with framed inputs or that know their index. `reduces`: blocks are whole rows (columns), which must not be too long.
inline bool liesAcross(const std::int64_t* args, const ArgLayout& layout, std::size_t k, DType dtype, bool reduces) {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kMostBytes = 64 * 1024;  // of a row, or of a column
  if ((!layout.column && layout.outerRank == 0) || layout.reducedRank > 1) return false;
  const std::int64_t columns = args[layout.innerSize()];
  const std::int64_t rows = layout.column ? args[layout.reducedSize()] : args[layout.outerSize(layout.outerRank - 1)];
  // So few lines find place beside each other; columns, reduced down their length, are also what threads share.
  const std::int64_t leastColumns = layout.column ? 64 : 8;
  if (rows < kAcrossRows || columns < leastColumns || rows * columns < kAcrossElements) return false;
  const auto size = static_cast<std::int64_t>(itemSize(dtype));
  const std::int64_t across =
      layout.column ? args[layout.reducedStride(k)] : args[layout.outerStride(k, layout.outerRank - 1)];
  if (across != 1 || std::abs(args[layout.innerStride(k)]) * size < kLine) return false;
  return !reduces || (layout.column ? rows : columns) * size <= kMostBytes;
}

/// Makes those of a kernel's inputs Unit that lie across; is there one?
bool takeAcross(std::span<KernelOperand> inputs, const std::int64_t* args, const ArgLayout& layout, bool reduces);

/// The outer dim of many rows along which an operand is dense that is far apart along the inner one goes next to that,
/// where `liesAcross` looks for it. Not for Column kernels, nor for those with framed inputs or that know their index.
void bringDenseNext(Dims& shape, std::span<Dims> strides);

}  // namespace tandem
