#include "passes/stage_reductions.h"

#include <algorithm>

#include "ir/schema/reduction_plan.h"
#include "runtime/base/attrs.h"

namespace tandem::passes {

namespace {

class Stager {
 public:
  explicit Stager(const Trace& from) : from_(from) {
    to_.device = from.device;
    to_.slots = from.slots;
    to_.lines = from.lines;
    to_.numRandom = from.numRandom;
  }

  /// Is it a reduction that is not one stage?
  static bool changes(const Trace& trace, const TraceNode& node) {
    return reduces(trace, node) && stagesOf(trace, node).size() != 1;
  }

  StagedTrace run(const std::vector<TraceOutput>& outputs) {
    for (const TraceNode& node : from_.nodes) {
      const std::size_t before = to_.nodes.size();
      add(node);
      for (std::size_t i = before; i < to_.nodes.size(); ++i) to_.nodes[i].line = node.line;
    }
    StagedTrace staged{{}, outputs};
    for (TraceOutput& o : staged.outputs) o.value = now(o.value);
    staged.trace = std::move(to_);
    return staged;
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
  [[nodiscard]] ValueRef now(ValueRef v) const { return now_[from_.nodes[v.node].results.begin + v.result]; }

  void add(const TraceNode& node) {
    SmallVector<TraceOperand, 8> operands;
    for (TraceOperand o : from_.operands(node)) {
      if (o.kind == TraceOperand::Kind::Value) o.value = now(o.value);
      operands.push_back(o);
    }
    now_.resize(std::max<std::size_t>(now_.size(), node.results.begin + node.results.count));
    switch (node.kind) {
    case TraceNode::Kind::Input:
      now_[node.results.begin] = to_.addInput(from_.results(node)[0]);
      return;
    case TraceNode::Kind::Window:
      now_[node.results.begin] = to_.addWindow(operands[0].value, from_.window(node));
      return;
    case TraceNode::Kind::Write:
      now_[node.results.begin] = to_.addWrite(operands[0].value, operands[1].value, from_.window(node));
      return;
    case TraceNode::Kind::Op:
      break;
    }
    if (changes(from_, node)) {
      now_[node.results.begin] = addStages(node, operands[0].value);
      return;
    }
    const std::uint32_t added =
        to_.addOp(node.op, {operands.data(), operands.size()}, from_.attrs(node), from_.results(node));
    for (std::uint32_t r = 0; r < node.results.count; ++r) now_[node.results.begin + r] = {added, r};
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

  const Trace& from_;
  Trace to_;
  std::vector<ValueRef> now_;  // of every result
};

}  // namespace

std::optional<StagedTrace> stageReductions(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  if (std::ranges::none_of(trace.nodes, [&](const TraceNode& n) { return Stager::changes(trace, n); })) return {};
  return Stager(trace).run(outputs);
}

}  // namespace tandem::passes
