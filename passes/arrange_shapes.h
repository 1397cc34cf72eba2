// Elementwise work beside a reduction is computed in the shape of the reduction, where a program reshapes in between:
//
//   logits.float().reshape(-1, classes)      a loss over rows then reads the logits, and converts them on the way
//   grad.reshape(batch, length, classes).bfloat16()      what rows computed is rounded where it is stored
//
// Kernels have one iteration space, and a reshape would come between: what is before it would be stored for what is
// behind. Elements and their order stay, so that no bit changes.
#pragma once

#include "passes/trace_copy.h"

namespace tandem::passes {

/// Nothing where no work moves.
std::optional<MadeTrace> arrangeShapes(const Trace& trace, const std::vector<TraceOutput>& outputs);

}  // namespace tandem::passes
