// What `apply` (dispatch.cpp) and the writes (in_place.cpp) do with the operands of an operation before it runs.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "eager/kernels.h"
#include "eager/recorder.h"
#include "eager/tape_hook.h"
#include "eager/tensor.h"
#include "ir/schema/op_table.h"
#include "runtime/base/inline_array.h"

namespace tandem {

using Operands = std::span<const Operand>;
using Attrs = std::span<const std::int64_t>;

/// Views whose base was written since they were made get their history brought up to date. True where gradients are
/// recorded and an operand requires one.
inline bool refresh(Operands operands) {
  if (tapeHook == nullptr || !gradEnabled()) return false;
  bool requiresGrad = false;
  for (const auto& o : operands) {
    if (!o.isTensor() || !o.tensor().defined()) continue;
    TensorImpl* t = o.tensor().impl();
    if (t->viewBase) tapeHook->refreshView(t);
    requiresGrad |= t->requiresGrad;
  }
  return requiresGrad;
}

/// Operand metas, on the stack for the usual few.
class OperandMetas {
 public:
  OperandMetas(const OpFacts& f, Operands operands)
      : few_(operands.size() <= kFew ? operands.size() : 0, [&](std::size_t i) { return checked(f, operands, i); }) {
    span_ = few_;
    if (operands.size() <= kFew) return;
    for (std::size_t i = 0; i < operands.size(); ++i) many_.push_back(checked(f, operands, i));
    span_ = many_;
  }
  [[nodiscard]] std::span<const TensorMeta> span() const { return span_; }

 private:
  static constexpr std::size_t kFew = 4;

  static TensorMeta checked(const OpFacts& f, Operands operands, std::size_t i) {
    if (operands[i].isTensor() && !operands[i].tensor().defined() && !isLibrary(f.kind))
      fail<TypeError>(f.name, "(): operand ", i, " must be a Tensor or a number, not None");
    return metaOf(operands[i]);
  }

  InlineArray<TensorMeta, kFew> few_;
  std::vector<TensorMeta> many_;
  std::span<const TensorMeta> span_;
};
using ResultMetas = InlineArray<TensorMeta, kMostResults>;

/// The memory of `out` was written.
inline void countWrite(const Tensor& out) { ++out.impl()->version(); }

/// Of memory; `into` and `value` have one shape.
inline void copyInto(const Tensor& into, const Operand& value) {
  const Operand from[] = {value};
  runPointwise(facts(OpCode::clone), from, {}, {&into, 1});
}

/// Runs the kernel of a primitive, whose operands and outs are memory.
void run(const OpFacts& f, Operands operands, Attrs attrs, std::span<const Tensor> outs);

/// The operands of a random operation: the generator's seed and next offset, then the caller's.
std::vector<Operand> withGeneratorState(Operands operands);

/// The operands of a partial operation on integers that gives `result`, checked; where they are others for that, they
/// are kept in `own`, and in `divisor` what the second refers to. Nothing is divided where there are no elements.
Operands checkedOperands(const OpFacts& f, const TensorMeta& result, Operands operands, std::array<Operand, 2>& own,
                         Tensor& divisor);
/// Has the operation operands for which it has no result (OpPartial)?
inline bool isPartial(const OpFacts& f, const TensorMeta& result) {
  return f.partial != OpPartial::None && !isFloating(result.dtype);
}

}  // namespace tandem
