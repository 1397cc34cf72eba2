// The interface through which an operation reaches the recorder that `lazy` implements: when a thread is inside
// `tandem.lazy()`, while a function is traced, or when an operand is pending.
#pragma once

#include <span>

#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem {

class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Records `op` and makes `results` pending tensors of the given metas.
  virtual void record(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                      std::span<const TensorMeta> metas, std::span<Tensor> results) = 0;
  /// Records a write of `value` (same shape and dtype) through the window `into`; its storage becomes pending.
  virtual void recordWrite(const Tensor& into, const Tensor& value) = 0;
  /// A view was taken of `base`, which may be memory that no recorded operation has read.
  virtual void touch(const Tensor& base) = 0;
};

/// The recorder of this thread: set inside `lazy()` and while tracing; null otherwise.
extern thread_local Recorder* activeRecorder;
/// What records operations on pending tensors outside any mode (results of a `lazy` block that were not yet needed,
/// composites being fused). Set once by `lazy`.
extern Recorder* pendingRecorder;

/// The recorder an operation on these operands must go to; null: run it.
Recorder* recorderFor(std::span<const Operand> operands);

}  // namespace tandem
