#include "passes/stage_reductions.h"

#include <algorithm>

#include "ir/schema/reduction_plan.h"
#include "runtime/base/attrs.h"

namespace tandem::passes {

namespace {

class Stager final : public TraceCopy {
 public:
  explicit Stager(const Trace& from) : TraceCopy(from) {}

  /// Is it a reduction that is not one stage?
  static bool changes(const Trace& trace, const TraceNode& node) {
    return reduces(trace, node) && stagesOf(trace, node).size() != 1;
  }

 private:
  static bool reduces(const Trace& trace, const TraceNode& node) {
    return node.kind == TraceNode::Kind::Op && facts(node.op).kind == OpKind::Reduction &&
           numelOf(trace.meta(trace.operands(node)[0].value).shape) != 0;
  }
  static SmallVector<ReductionStage, 4> stagesOf(const Trace& trace, const TraceNode& node) {
    AttrReader attrs(trace.attrs(node));
    return reductionStages(trace.meta(trace.operands(node)[0].value).shape, attrs.list());
  }

  void add(const TraceNode& node) override {
    if (!changes(from_, node)) return copy(node);
    makes(node, 0, addStages(node, now(from_.operands(node)[0].value)));
  }

  ValueRef addStages(const TraceNode& node, ValueRef v) {
    const OpFacts& f = facts(node.op);
    const TensorMeta& to = from_.results(node)[0];
    const TensorMeta from = to_.meta(v);
    const auto stages = stagesOf(from_, node);
    for (const ReductionStep& step : reductionSteps(f, from, to, {stages.data(), stages.size()}))
      v = addOne(node.op, v, {step.attrs.data(), step.attrs.size()}, step.result);
    // Over dims of size 1 alone it is a conversion, of what any and all ask of an element.
    if (stages.empty()) {
      if (f.dtypeRule == DTypeRule::Logical) v = converted(v, DType::Bool);
      v = converted(v, to.dtype);
    }
    return to_.addWindow(v, {to.shape, contiguousStrides(to.shape), 0});
  }
  ValueRef addOne(OpCode op, ValueRef v, std::span<const std::int64_t> attrs, const TensorMeta& result) {
    const TraceOperand operand = TraceOperand::of(v);
    return {to_.addOp(op, {&operand, 1}, attrs, {&result, 1}), 0};
  }
  ValueRef converted(ValueRef v, DType dtype) {
    TensorMeta meta = to_.meta(v);
    if (meta.dtype == dtype) return v;
    meta.dtype = dtype;
    const auto attr = static_cast<std::int64_t>(dtype);
    return addOne(opOf(OpRole::Convert), v, {&attr, 1}, meta);
  }
};

}  // namespace

std::optional<MadeTrace> stageReductions(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  if (std::ranges::none_of(trace.nodes, [&](const TraceNode& n) { return Stager::changes(trace, n); })) return {};
  return Stager(trace).run(outputs);
}

}  // namespace tandem::passes
