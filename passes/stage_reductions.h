// A trace with its reductions in stages, as canonicalize has them in a program: each stage is a node of its own, so
// that a placed program is recognised in the trace (shape_program.h).
#pragma once

#include <optional>
#include <vector>

#include "ir/trace/trace.h"

namespace tandem::passes {

struct StagedTrace {
  Trace trace;
  std::vector<TraceOutput> outputs;
};

/// Nothing where all reductions have one stage.
std::optional<StagedTrace> stageReductions(const Trace& trace, const std::vector<TraceOutput>& outputs);

}  // namespace tandem::passes
