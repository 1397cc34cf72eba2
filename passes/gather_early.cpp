#include "passes/gather_early.h"

#include <algorithm>

#include "runtime/base/shape.h"

namespace tandem::passes {

namespace {

bool gathers(const TraceNode& n) { return n.kind == TraceNode::Kind::Op && facts(n.op).kind == OpKind::Gather; }

class EarlyGathers final : public TraceCopy {
 public:
  explicit EarlyGathers(const Trace& from) : TraceCopy(from) {}
  /// Does one move?
  [[nodiscard]] bool changes() const {
    return std::ranges::any_of(from_.nodes, [&](const TraceNode& n) { return gathers(n) && !workOn(n).empty(); });
  }

 private:
  /// The value that elementwise work on it alone makes this one of; nothing for others.
  [[nodiscard]] std::optional<ValueRef> madeOf(ValueRef v) const {
    if (!isElementwise(v.node)) return {};
    std::optional<ValueRef> only;
    for (const TraceOperand& o : from_.operands(node(v.node))) {
      if (o.kind != TraceOperand::Kind::Value) continue;
      if (only || shapeOf(o.value) != shapeOf(v)) return {};
      only = o.value;
    }
    return only;
  }
  /// Is it in memory, whatever reads it?
  [[nodiscard]] bool isStored(ValueRef v) const {
    while (node(v.node).kind == TraceNode::Kind::Window) v = from_.operands(node(v.node))[0].value;
    return node(v.node).kind != TraceNode::Kind::Op || isLibrary(facts(node(v.node).op).kind);
  }
  /// The nodes that a gathering node goes ahead of, the last one first.
  [[nodiscard]] std::vector<std::uint32_t> workOn(const TraceNode& n) const {
    std::vector<std::uint32_t> work;
    ValueRef v = from_.operands(n)[0].value;
    // All of it would be computed twice, or nearly.
    if (numelOf(from_.results(n)[0].shape) > numelOf(shapeOf(v)) / 2) return {};
    for (std::optional<ValueRef> of = madeOf(v); of; of = madeOf(v)) {
      work.push_back(v.node);
      v = *of;
    }
    if (!isStored(v)) work.clear();
    return work;
  }

  void add(const TraceNode& n) override {
    const std::vector<std::uint32_t> work = gathers(n) ? workOn(n) : std::vector<std::uint32_t>{};
    if (work.empty()) return copy(n);
    const ValueRef source = *madeOf({work.back(), 0});
    SmallVector<TraceOperand, 8> operands;
    for (TraceOperand o : from_.operands(n)) {
      if (o.kind == TraceOperand::Kind::Value) o.value = operands.empty() ? now(source) : now(o.value);
      operands.push_back(o);
    }
    const TensorMeta found{from_.results(n)[0].shape, from_.meta(source).dtype};
    ValueRef made{to_.addOp(n.op, {operands.data(), operands.size()}, from_.attrs(n), {&found, 1}), 0};
    for (std::size_t k = work.size(); k-- > 0;) {
      operands.clear();
      for (TraceOperand o : from_.operands(node(work[k]))) {
        if (o.kind == TraceOperand::Kind::Value) o.value = made;
        operands.push_back(o);
      }
      made = addLike(node(work[k]), {operands.data(), operands.size()}, found.shape);
    }
    makes(n, 0, made);
  }
};

}  // namespace

std::optional<MadeTrace> gatherEarly(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  EarlyGathers early(trace);
  if (!early.changes()) return {};
  return early.run(outputs);
}

}  // namespace tandem::passes
