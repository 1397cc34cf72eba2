// Arithmetic on run-time scalars: what Python would have computed, on ints as ints and on floats as floats.
#pragma once

#include <span>

#include "runtime/plan/plan.h"

namespace tandem {

/// The value of every slot of a run, in order. `values` has an entry a slot. ValueError for a division by zero.
void evaluateSlots(std::span<const ScalarSlot> slots, const PlanRun& run, std::span<Scalar> values);

}  // namespace tandem
