// A trace with its reductions in stages, as canonicalize has them in a program: each stage is a node of its own, so
// that a placed program is recognised in the trace (shape_program.h).
#pragma once

#include "passes/trace_copy.h"

namespace tandem::passes {

/// Nothing where all reductions have one stage.
std::optional<MadeTrace> stageReductions(const Trace& trace, const std::vector<TraceOutput>& outputs);

}  // namespace tandem::passes
