// From logical shapes to what a kernel walks: adjacent dims that every operand crosses with one stride become one dim.
// Shared by eager (kernels of one operation) and by the compiler (fused regions), so that both walk alike.
//
// Dims are never reordered but for copies: the logical order is row-major for all operands, and it decides both the order
// of sums and the index that random operations see.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/shape.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// Outer dims a kernel may have at most. Callers copy operands to contiguous memory where more are left.
inline constexpr int kMaxOuterRank = 5;

// All work in place. `shape` is the iteration shape, `strides` one list of its rank per operand, in elements (0
// along dims an operand is broadcast over). Dims of size 1 vanish, then neighbours merge.

/// Afterwards the last dim is the inner one and all before it are outer; rank at least 1.
void collapsePointwise(Dims& shape, std::span<Dims> strides);
/// Dims go in the order in which the operand `by` lies in memory, so that a copy writes its destination in order.
void orderAsLies(Dims& shape, std::span<Dims> strides, std::size_t by);
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

/// The outer dim of many rows along which an operand is dense that is far apart along the inner one goes next to that:
/// a matrix that lies across, which executors can transpose on the way. Not for Column kernels, nor for those with
/// framed inputs or that know their index.
void bringDenseNext(Dims& shape, std::span<Dims> strides);

}  // namespace tandem
