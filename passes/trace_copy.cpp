#include "passes/trace_copy.h"

#include <algorithm>

namespace tandem::passes {

std::vector<bool> liveNodes(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  std::vector<bool> live(trace.nodes.size(), false);
  for (const TraceOutput& o : outputs) live[o.value.node] = true;
  for (std::size_t i = trace.nodes.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const TraceOperand& o : trace.operands(trace.nodes[i]))
      if (o.kind == TraceOperand::Kind::Value) live[o.value.node] = true;
  }
  return live;
}

std::size_t numResults(const Trace& trace) {
  std::size_t results = 0;
  for (const TraceNode& n : trace.nodes) results = std::max<std::size_t>(results, n.results.begin + n.results.count);
  return results;
}

TraceCopy::TraceCopy(const Trace& from) : from_(from), now_(numResults(from)) {
  to_.device = from.device;
  to_.slots = from.slots;
  to_.lines = from.lines;
  to_.numRandom = from.numRandom;
}

MadeTrace TraceCopy::run(const std::vector<TraceOutput>& outputs) {
  for (const TraceNode& node : from_.nodes) {
    const std::size_t before = to_.nodes.size();
    add(node);
    for (std::size_t i = before; i < to_.nodes.size(); ++i)
      if (to_.nodes[i].line == 0) to_.nodes[i].line = node.line;
  }
  MadeTrace made{{}, outputs};
  for (TraceOutput& o : made.outputs) o.value = now(o.value);
  made.trace = std::move(to_);
  return made;
}

ValueRef TraceCopy::addLike(const TraceNode& n, const Operands& operands, const Dims& shape) {
  const TensorMeta meta{shape, from_.results(n)[0].dtype};
  const ValueRef made{to_.addOp(n.op, operands, from_.attrs(n), {&meta, 1}), 0};
  to_.nodes[made.node].line = n.line;
  return made;
}

bool TraceCopy::isOf(std::uint32_t i, OpKind kind) const {
  return node(i).kind == TraceNode::Kind::Op && facts(node(i).op).kind == kind;
}

bool TraceCopy::isElementwise(std::uint32_t i) const {
  return isOf(i, OpKind::Pointwise) && node(i).results.count == 1 && !facts(node(i).op).usesIndex;
}

void TraceCopy::copy(const TraceNode& node) {
  const Operands operands = operandsOf(node, [&](ValueRef v) { return now(v); });
  switch (node.kind) {
  case TraceNode::Kind::Input:
    return makes(node, 0, to_.addInput(from_.results(node)[0]));
  case TraceNode::Kind::Window:
    return makes(node, 0, to_.addWindow(operands[0].value, from_.window(node)));
  case TraceNode::Kind::Write:
    return makes(node, 0, to_.addWrite(operands[0].value, operands[1].value, from_.window(node)));
  case TraceNode::Kind::Op:
    break;
  }
  const std::uint32_t added = to_.addOp(node.op, operands, from_.attrs(node), from_.results(node));
  for (std::uint32_t r = 0; r < node.results.count; ++r) makes(node, r, {added, r});
}

}  // namespace tandem::passes
