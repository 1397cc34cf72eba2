// Elements are gathered before elementwise work on what is in memory, and not from a result that would be stored for
// it:
//
//   logits.float().gather(1, classes)      reads the logits there, and converts what it found
//
// Each element follows from the one at its place, so that no bit changes.
#pragma once

#include "passes/trace_copy.h"

namespace tandem::passes {

/// Nothing where all stays.
std::optional<MadeTrace> gatherEarly(const Trace& trace, const std::vector<TraceOutput>& outputs);

}  // namespace tandem::passes
