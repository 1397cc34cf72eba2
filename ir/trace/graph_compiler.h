// The interface through which a recorded graph reaches the compiler, which the core does not link: `passes` implements
// and registers it when the compiler's shared object is opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/trace/trace.h"

namespace tandem {

class GraphCompiler {
 public:
  virtual ~GraphCompiler() = default;
  /// The plan of a trace. Output buffers of the plan are the outputs with intoInput == -1, in order. Dead nodes are
  /// dropped (random ones still count). Throws tandem::Error with the user's line.
  virtual std::shared_ptr<Plan> compile(const Trace& trace, const std::vector<TraceOutput>& outputs) = 0;
  /// The plan of a trace whose structure was compiled for other sizes, by what was decided then: no pass runs. Null
  /// where those decisions do not hold, or there are none yet.
  virtual std::shared_ptr<Plan> planForSizes(const Trace& trace, const std::vector<TraceOutput>& outputs) {
    (void)trace, (void)outputs;
    return nullptr;
  }
  /// The compiler's shared object has a copy of ir/schema of its own; this sets that copy's default dtype.
  virtual void setDefaultDType(DType dtype) = 0;
};

/// Replaces the one of the compiler's shared object (tests); null brings that back.
void registerGraphCompiler(GraphCompiler* compiler);
/// Gives plans that are resolved and counted; opens the compiler's shared object if need be. Thread-safe.
GraphCompiler& graphCompiler();

}  // namespace tandem
