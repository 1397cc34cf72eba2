// The tape: how operations and writes get their histories. Implements eager/tape_hook.h.
//
// A write through a view is, for the tape, `base = window_write(base, value)`: the base's history moves on, and every
// view of it, the one written through included, gets `as_strided` of the base's present history when next used.
#pragma once

#include "autograd/op_node.h"
#include "eager/tape_hook.h"

namespace tandem {

class Tape final : public TapeHook {
 public:
  void record(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
              std::span<Tensor> results) override;
  void checkWrite(const Tensor& into, bool needsGrad) override;
  void recordWrite(const Tensor& into, const Tensor& value) override;
  void refreshView(TensorImpl* view) override;
  void takeHistory(const Tensor& t, const Tensor& from) override;
  void beginInPlaceForm() override;
  void endInPlaceForm() override;
  void beforeWrite(const Storage* storage) override;
  [[nodiscard]] bool keepsSaved() const override;
};

namespace autograd {
/// In anomaly mode, gives the node the user's present line.
void noteLine(Node& node);
}  // namespace autograd

}  // namespace tandem
