// Arithmetic on run-time scalars: what Python would have computed, on ints as ints and on floats as floats, to the bit.
#pragma once

#include <span>

#include "runtime/plan/plan.h"

namespace tandem {

/// What Python computes of two numbers; `b` is not looked at where the source takes one. ValueError where Python raises
/// an error, or gives what a scalar cannot hold: an int beyond 64 bits, a complex number.
Scalar computeSlot(ScalarSlot::Source source, const Scalar& a, const Scalar& b);
/// The value of every slot of a run, in order. `values` has an entry a slot. ValueError as for `computeSlot`.
void evaluateSlots(std::span<const ScalarSlot> slots, const PlanRun& run, std::span<Scalar> values);

}  // namespace tandem
