// The one dispatcher. Every primitive operation, called by a user, a composite, a derivative rule or a replay, goes
// through `apply`:
//
//   1. shape and dtype rule (ir/schema), errors raised here, before anything changes
//   2. a recorder is active or an operand is pending: record (eager/recorder.h)
//      else: run. Pointwise, reductions and random numbers as a generated kernel (eager/kernels.cpp), library
//      operations through runtime/lib
//   3. a gradient is needed: tell the tape (eager/tape_hook.h)
//
// Views are not primitives of execution: `applyView` makes another window on the same storage in every mode, and tells
// the tape. In-place writes are `applyInto` (in_place.cpp): the same operation, its result written into an existing
// tensor.
#pragma once

#include <span>

#include "eager/recorder.h"
#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem {

/// One-result primitives.
Tensor apply(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs = {});
inline Tensor apply(OpCode op, std::initializer_list<Operand> operands, std::span<const std::int64_t> attrs = {}) {
  return apply(op, std::span<const Operand>(operands.begin(), operands.size()), attrs);
}
/// Primitives with several results.
void applyMulti(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                std::span<Tensor> results);

/// Writes the result of a primitive into `out` (broadcast to its shape, converted to its dtype where PyTorch allows),
/// as `out.op_(...)`, with history: the version counter advances and the tape sees the write. `out` is usually
/// operands[0]. Errors (shape does not fit, leaf that requires grad, overlapping memory, dtype) before any change.
void applyInto(const Tensor& out, OpCode op, std::span<const Operand> operands,
               std::span<const std::int64_t> attrs = {});
inline void applyInto(const Tensor& out, OpCode op, std::initializer_list<Operand> operands,
                      std::span<const std::int64_t> attrs = {}) {
  applyInto(out, op, std::span<const Operand>(operands.begin(), operands.size()), attrs);
}

/// As `apply` of a pointwise operation. `over`, one of the operands, was computed for this alone and nobody reads it
/// any more: its memory becomes the result's where that is at once possible.
Tensor applyOver(const Tensor& over, OpCode op, std::initializer_list<Operand> operands);

/// A view of `base` (any tensor) with history. `op` is a view operation and `attrs` its attributes, from which its
/// derivative follows; the window is given by the caller (eager/views.cpp).
Tensor applyView(OpCode op, const Tensor& base, DimsRef shape, DimsRef strides, std::int64_t offset,
                 std::span<const std::int64_t> attrs);

/// Gives `results`, which a composite computed in `NoGrad`, the history of that composite as a whole: `op` is a
/// composite with a rule of its own. Does nothing where no gradient is needed.
void tapeWhole(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
               std::span<Tensor> results);

}  // namespace tandem
