#include "ir/trace/graph_compiler.h"

#include <atomic>

#include "ir/trace/plan_lists.h"
#include "runtime/base/counters.h"
#include "runtime/plan/graph_registry.h"

namespace tandem {

namespace {

std::atomic<GraphCompiler*> registered{nullptr};

GraphCompiler& inner() {
  if (GraphCompiler* given = registered.load(std::memory_order_acquire)) return *given;
  return *static_cast<GraphCompiler*>(openGraphCompiler());
}

void resolve(Plan& plan) {
  plan.lists = listsOf(plan);  // before its kernels are made: a list has one of its own
  resolvePlan(plan);
}

// What callers get: plans come back resolved, because the compiler's shared object has neither the kernel cache nor the
// library functions.
class Resolving : public GraphCompiler {
 public:
  std::shared_ptr<Plan> compile(const Trace& trace, const std::vector<TraceOutput>& outputs) override {
    GraphCompiler& compiler = inner();
    compiler.setDefaultDType(schemaDefaultDType());
    std::shared_ptr<Plan> plan = compiler.compile(trace, outputs);
    resolve(*plan);
    bump(counters().planBuilds);
    return plan;
  }
  std::shared_ptr<Plan> planForSizes(const Trace& trace, const std::vector<TraceOutput>& outputs) override {
    GraphCompiler& compiler = inner();
    std::shared_ptr<Plan> plan = compiler.planForSizes(trace, outputs);
    if (plan == nullptr) return nullptr;
    resolve(*plan);
    bump(counters().planSizings);
    return plan;
  }
  void setDefaultDType(DType dtype) override { inner().setDefaultDType(dtype); }
};

}  // namespace

void registerGraphCompiler(GraphCompiler* compiler) { registered.store(compiler, std::memory_order_release); }

GraphCompiler& graphCompiler() {
  static Resolving resolving;
  return resolving;
}

}  // namespace tandem
