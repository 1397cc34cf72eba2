// Operations on tensors with hidden dims (eager/batch_dims.h).
//
// `apply` hands such an operation to `runBatched`, between the shape rule, which saw the shapes of one example, and the
// tape, which records the operation as it was called. It runs as operations on plain tensors whose leading dims are the
// axes:
//
//   pointwise      operands broadcast from the right, so that leading axes need only ones between
//   reduction      dims counted from behind the axes
//   library        what its record names (eager/batch_rules.h); else one example after another, stacked
//   random         as the axis says; nothing else asks whether an operation draws numbers
//   view           nothing: a window is a window
//
// In-place writes write all examples of their target, which must therefore have the axes of what is written.
#pragma once

#include <span>
#include <vector>

#include "eager/dispatch.h"

namespace tandem {

inline bool isBatched(const Operand& o) { return o.isTensor() && o.tensor().defined() && o.tensor().impl()->batch; }
/// Error where an operand differs between the examples of a vmap that wants the same numbers for all of them: what is
/// drawn with such parameters cannot be the same.
void refuseSameRandomness(const char* op, std::span<const Operand> parameters);
inline void refuseSameRandomness(const char* op, std::initializer_list<Operand> parameters) {
  refuseSameRandomness(op, std::span(parameters.begin(), parameters.size()));
}
inline bool anyBatched(std::span<const Operand> operands) {
  for (const Operand& o : operands)
    if (isBatched(o)) return true;
  return false;
}

/// The axes of the vmaps this thread is in, outermost first.
std::span<const Ref<BatchAxis>> activeAxes();

/// One `vmap`: a new axis, active until `end` (or the destructor). Scopes of a thread end in reverse order.
class BatchScope {
 public:
  BatchScope(std::int64_t size, Randomness randomness);
  ~BatchScope() { end(); }
  BatchScope(const BatchScope&) = delete;
  BatchScope& operator=(const BatchScope&) = delete;
  void end();
  [[nodiscard]] BatchAxis& axis() const { return *axis_; }

 private:
  Ref<BatchAxis> axis_;
};

/// Stage 2 of `apply` for operands with hidden dims, or a random operation inside vmap: fills `results`, whose example
/// shapes and dtypes are `metas`. No history.
void runBatched(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                std::span<const TensorMeta> metas, std::span<Tensor> results);
/// Must `apply` go through `runBatched`?
bool needsBatching(const OpFacts& op, std::span<const Operand> operands);
/// Writes `value` (of into's shape and dtype) into all examples of `into`. Error where the value has an axis that the
/// target lacks.
void writeBatched(const OpFacts& op, const Tensor& into, const Tensor& value);

/// All examples as one tensor without history: the axes leading, then the dims of an example. `axes` in order; those
/// that `t` lacks have size 1, or their own size with stride 0 if `expand`. `rank`: ones are put between up to this
/// many example dims.
Tensor allExamples(const Tensor& t, std::span<const Ref<BatchAxis>> axes, bool expand, std::int64_t rank = 0);
/// The other way: `t` without hidden dims, its dims `places` (one an axis) hidden.
Tensor withHidden(const Tensor& t, std::span<const Ref<BatchAxis>> axes, std::span<const std::int64_t> places);
/// Copies of `value`, one for each example of `like`: what is made to be written to for each.
Tensor oneEach(const Tensor& value, const Tensor& like);

/// The live axis of this number; null when it is gone.
Ref<BatchAxis> findAxis(std::int64_t id);

}  // namespace tandem
