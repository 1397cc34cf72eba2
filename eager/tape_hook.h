// The interface through which an operation reaches the tape that `autograd` implements.
#pragma once

#include <span>

#include "eager/recorder.h"
#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem {

class TapeHook {
 public:
  virtual ~TapeHook() = default;
  /// After a primitive or a view ran (or was recorded), some operand requiring a gradient and grad mode on: gives the
  /// differentiable `results` a history. Saves what the derivative of `op` names.
  virtual void record(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                      std::span<Tensor> results) = 0;
  /// Before `into` is overwritten by an operation on `operands`: throws where PyTorch does (a leaf that requires grad,
  /// or a view of one, in grad mode; a view made in no_grad …).
  virtual void checkWrite(const Tensor& into, bool needsGrad) = 0;
  /// After `into`'s elements became the result of `op`: `value` stands for that result and has its history (or none);
  /// `into`, its base and, when next asked, its sister views get theirs from it.
  virtual void recordWrite(const Tensor& into, const Tensor& value) = 0;
  /// The history of a view whose base was written since: brings it up to date. Called before a view is used.
  virtual void refreshView(TensorImpl* view) = 0;
  /// The history of `t` becomes that of `from`, which requires a gradient.
  virtual void takeHistory(const Tensor& t, const Tensor& from) = 0;
  /// Around the in-place form of a composite, whose derivatives read what its operand was.
  virtual void beginInPlaceForm() = 0;
  virtual void endInPlaceForm() = 0;
  /// Before the elements of `storage` change, all checks passed: what has to outlive that is copied.
  virtual void beforeWrite(const Storage* storage) = 0;
  /// Does what operations save here outlive writes, as in forward mode?
  [[nodiscard]] virtual bool keepsSaved() const = 0;
};

/// Set once by `autograd` when it is loaded; null in a program without it.
extern TapeHook* tapeHook;

/// Before memory changes at once, all checks passed: what is recorded and reads it runs, and what has to outlive the
/// change is copied.
inline void beforeWrite(Storage& memory) {
  settleReads(memory);
  if (tapeHook != nullptr) tapeHook->beforeWrite(&memory);
}

}  // namespace tandem
