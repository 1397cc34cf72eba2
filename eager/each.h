// One operation on each tensor of a list: what needs nothing but a kernel is put off and run together, on a GPU by a
// few launches for all. All else is done one by one, as the operation would be.
#pragma once

#include <span>
#include <vector>

#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem {

/// A pointwise operation without attributes on row after row of `width` operands: the results, or if `inPlace` none,
/// each being written into the first operand of its row. As `apply` and `applyInto` of one row after the other, but
/// that an error comes before rows behind it are looked at.
std::vector<Tensor> applyEach(OpCode op, std::span<const Operand> rows, std::size_t width, bool inPlace);

/// What `reduceEach` makes of the elements of a tensor.
enum class EachReduction : std::uint8_t {
  SquareSum,   // the sum of their squares
  AnyInfinite  // is any of them infinite or NaN?
};
/// One number of each tensor, floating and all on one device, as a vector: with the bits that `sum` and `any` of the
/// elementwise operations have. Without history.
Tensor reduceEach(EachReduction what, std::span<const Tensor> tensors);

}  // namespace tandem
