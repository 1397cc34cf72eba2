#include "passes/gather_early.h"

#include <algorithm>
#include <utility>

#include "runtime/base/shape.h"

namespace tandem::passes {

namespace {

bool gathers(const TraceNode& n) { return n.kind == TraceNode::Kind::Op && facts(n.op).kind == OpKind::Gather; }

class EarlyGathers final : public TraceCopy {
 public:
  explicit EarlyGathers(const Trace& from) : TraceCopy(from) {}
  /// Does one move?
  [[nodiscard]] bool changes() const {
    return std::ranges::any_of(from_.nodes, [&](const TraceNode& n) { return gathers(n) && !workOn(n).nodes.empty(); });
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
  /// What a gathering node goes ahead of: nodes, the last one first, and the value that they are work on.
  struct Work {
    std::vector<std::uint32_t> nodes;
    ValueRef source;
  };
  [[nodiscard]] Work workOn(const TraceNode& n) const {
    Work work{{}, from_.operands(n)[0].value};
    // Of more, nearly all would be computed twice.
    if (numelOf(from_.results(n)[0].shape) > numelOf(shapeOf(work.source)) / 2) return work;
    for (std::optional<ValueRef> of = madeOf(work.source); of; of = madeOf(*of)) {
      work.nodes.push_back(work.source.node);
      work.source = *of;
    }
    if (!isStored(work.source)) work.nodes.clear();
    return work;
  }

  void add(const TraceNode& n) override {
    const Work work = gathers(n) ? workOn(n) : Work{};
    if (work.nodes.empty()) return copy(n);
    bool isFirst = true;  // what is read: an index may be the same value
    const Operands operands =
        operandsOf(n, [&](ValueRef v) { return now(std::exchange(isFirst, false) ? work.source : v); });
    const TensorMeta found{from_.results(n)[0].shape, from_.meta(work.source).dtype};
    ValueRef made{to_.addOp(n.op, operands, from_.attrs(n), {&found, 1}), 0};
    for (std::size_t k = work.nodes.size(); k-- > 0;) {
      const TraceNode& w = node(work.nodes[k]);
      made = addLike(w, operandsOf(w, [&](ValueRef) { return made; }), found.shape);
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
