// The compiler as the core knows it: implements ir/trace/graph_compiler.h and offers itself to the shared object's
// entry point. MLIR contexts are kept and reused, one a thread at a time; each forgets what it interned after some
// hundred graphs.
#include "ir/trace/graph_compiler.h"

#include <mutex>

#include "codegen/register.h"
#include "passes/arrange_shapes.h"
#include "passes/gather_early.h"
#include "passes/import_trace.h"
#include "passes/pipeline.h"
#include "passes/shape_recorder.h"
#include "passes/stage_reductions.h"
#include "passes/structures.h"

namespace tandem::passes {

namespace {

constexpr int kGraphsPerContext = 500;

struct Context {
  Context() : mlir(mlir::MLIRContext::Threading::DISABLED) {
    mlir.loadDialect<td::TDDialect, mlir::func::FuncDialect>();
  }
  mlir::MLIRContext mlir;
  int graphs = 0;
};

class ContextPool {
 public:
  std::unique_ptr<Context> take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Context> c = std::move(free_.back());
        free_.pop_back();
        return c;
      }
    }
    return std::make_unique<Context>();
  }
  void give(std::unique_ptr<Context> c) {
    if (++c->graphs >= kGraphsPerContext) return;
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(c));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> free_;
};

// A trace, or the one that was made of it.
class AsMade {
 public:
  AsMade(const Trace& trace, const std::vector<TraceOutput>& outputs, std::optional<MadeTrace> made)
      : trace_(trace), outputs_(outputs), made_(std::move(made)) {}
  [[nodiscard]] const Trace& trace() const { return made_ ? made_->trace : trace_; }
  [[nodiscard]] const std::vector<TraceOutput>& outputs() const { return made_ ? made_->outputs : outputs_; }

 private:
  const Trace& trace_;
  const std::vector<TraceOutput>& outputs_;
  std::optional<MadeTrace> made_;
};

// As the passes get it.
AsMade arranged(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  std::optional<MadeTrace> made = isEnabled("arrange_shapes") ? arrangeShapes(trace, outputs) : std::nullopt;
  if (isEnabled("gather_early"))
    if (auto early = made ? gatherEarly(made->trace, made->outputs) : gatherEarly(trace, outputs))
      made = std::move(early);
  return {trace, outputs, std::move(made)};
}

// That as shape programs know it: with its reductions in stages, and under the key of its structure, which it has not
// where a value is empty or TANDEM_DISABLE says so.
class Structured : public AsMade {
 public:
  explicit Structured(const AsMade& of)
      : AsMade(of.trace(), of.outputs(),
               isEnabled("shapes") ? stageReductions(of.trace(), of.outputs()) : std::nullopt) {
    if (isEnabled("shapes")) key_ = structureOf(trace(), outputs());
  }
  [[nodiscard]] const std::optional<Hash128>& key() const { return key_; }

 private:
  std::optional<Hash128> key_;
};

class Compiler : public GraphCompiler {
 public:
  std::shared_ptr<Plan> compile(const Trace& recorded, const std::vector<TraceOutput>& recordedOutputs) override {
    const AsMade given = arranged(recorded, recordedOutputs);
    const Trace& trace = given.trace();
    const std::vector<TraceOutput>& outputs = given.outputs();
    std::unique_ptr<Context> context = pool_.take();
    auto plan = std::make_shared<Plan>();
    plan->device = trace.device;
    plan->slots = trace.slots;
    plan->numRandom = trace.numRandom;
    const Structured structured(given);
    const bool records = structured.key() && structures_.wantsProgram(*structured.key());
    {
      mlir::OwningOpRef<mlir::func::FuncOp> function = importTrace(context->mlir, trace, outputs);
      runPipeline(*function, *plan, records);
      if (records)
        structures_.add(*structured.key(),
                        recordShapeProgram(*function, structured.trace(), structured.outputs(), *plan));
    }
    pool_.give(std::move(context));
    return plan;
  }
  std::shared_ptr<Plan> planForSizes(const Trace& trace, const std::vector<TraceOutput>& outputs) override {
    const AsMade given = arranged(trace, outputs);
    const Structured structured(given);
    if (!structured.key()) return nullptr;
    return structures_.planFor(*structured.key(), structured.trace(), structured.outputs());
  }
  void setDefaultDType(DType dtype) override {
    if (schemaDefaultDType() != dtype) setSchemaDefaultDType(dtype);
  }

 private:
  ContextPool pool_;
  Structures structures_;
};

// Never destroyed: threads may compile while the process ends.
[[maybe_unused]] const bool offered = [] {
  codegen::offerGraphCompiler(static_cast<GraphCompiler*>(new Compiler));
  return true;
}();

}  // namespace

}  // namespace tandem::passes
