// One step of an optimizer over lists of tensors: one operation a parameter, by its record in ir/ops/optim.td.
#pragma once

#include <span>
#include <vector>

#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem::ops {

/// An operand of an update: a tensor for each parameter, one number or 0-d tensor for all, or nothing (state that this
/// optimizer does not keep, whose result is not wanted).
struct UpdateOperand {
  enum class Kind : std::uint8_t { Each, All, Absent };
  Kind kind = Kind::Absent;
  std::vector<Tensor> each;  // Each
  Tensor tensor;             // All: a tensor of one element, or
  Scalar scalar;             // a number, if it is not defined
};

/// Runs the update `op` (a record of ir/ops/optim.td) for every parameter: results replace the first operands in place,
/// without history, or with it if `differentiable`. Tensors at one place have one shape and dtype (Error); lists of one
/// length (ValueError).
void optimizerStep(OpCode op, std::span<const UpdateOperand> operands, bool differentiable);

}  // namespace tandem::ops
