#include "ir/trace/trace.h"

#include <bit>
#include <sstream>

#include "runtime/base/error.h"

namespace tandem {
namespace {

void addMeta(Hash128& h, const TensorMeta& m) {
  h.add(static_cast<std::uint64_t>(m.dtype)).add(std::span<const std::int64_t>(m.shape));
}

bool isWhole(const TensorMeta& m, const Window& w) {
  return w.offset == 0 && w.shape == m.shape && isContiguous(w.shape, w.strides);
}
bool coversAll(const TensorMeta& m, const Window& w) {
  return w.offset == 0 && numelOf(w.shape) == numelOf(m.shape) && isContiguous(w.shape, w.strides);
}

}  // namespace

std::uint32_t Trace::add(TraceNode node, bool consed) {
  Hash128 h;
  h.add(static_cast<std::uint64_t>(node.kind)).add(static_cast<std::uint64_t>(node.op)).add(node.input);
  for (const auto& o : node.operands) {
    h.add(static_cast<std::uint64_t>(o.kind));
    if (o.kind == TraceOperand::Kind::Value) h.add(nodes[o.value.node].hash).add(o.value.result);
    if (o.kind == TraceOperand::Kind::Slot) h.add(static_cast<std::uint64_t>(o.slot));
  }
  h.add(std::span<const std::int64_t>(node.attrs));
  if (node.kind == TraceNode::Kind::Window || node.kind == TraceNode::Kind::Write)
    h.add(std::span<const std::int64_t>(node.window.shape))
        .add(std::span<const std::int64_t>(node.window.strides))
        .add(static_cast<std::uint64_t>(node.window.offset));
  for (const auto& r : node.results) addMeta(h, r);
  node.hash = h;
  auto index = static_cast<std::uint32_t>(nodes.size());
  if (consed) {
    auto [it, fresh] = consed_.try_emplace(h, index);
    if (!fresh) return it->second;
  }
  node.line = currentLine;
  nodes.push_back(std::move(node));
  return index;
}

ValueRef Trace::addInput(const TensorMeta& meta) {
  TraceNode n{};
  n.kind = TraceNode::Kind::Input;
  n.input = numInputs++;
  n.results.push_back(meta);
  return {add(std::move(n), false), 0};
}

std::uint32_t Trace::addOp(OpCode op, std::vector<TraceOperand> operands, std::vector<std::int64_t> attrs,
                           std::vector<TensorMeta> results) {
  TraceNode n{};
  n.kind = TraceNode::Kind::Op;
  n.op = op;
  n.operands = std::move(operands);
  n.attrs = std::move(attrs);
  n.results = std::move(results);
  // Two random operations have two offsets, so equal nodes are equal values here too.
  return add(std::move(n), true);
}

ValueRef Trace::addWindow(ValueRef value, const Window& window) {
  const TensorMeta& m = meta(value);
  if (isWhole(m, window)) return value;
  const TraceNode& from = nodes[value.node];
  // A reshape of a reshape is one of the value below.
  if (from.kind == TraceNode::Kind::Window) {
    ValueRef below = from.operands[0].value;
    if (coversAll(meta(below), from.window)) return addWindow(below, window);
  }
  TraceNode n{};
  n.kind = TraceNode::Kind::Window;
  n.operands.push_back(TraceOperand::of(value));
  n.window = window;
  TensorMeta r;
  r.shape = window.shape;
  r.dtype = m.dtype;
  n.results.push_back(std::move(r));
  return {add(std::move(n), true), 0};
}

ValueRef Trace::addWrite(ValueRef base, ValueRef value, const Window& window) {
  const TensorMeta m = meta(base);
  if (coversAll(m, window)) return addWindow(value, {m.shape, contiguousStrides(m.shape), 0});
  TraceNode n{};
  n.kind = TraceNode::Kind::Write;
  n.operands.push_back(TraceOperand::of(base));
  n.operands.push_back(TraceOperand::of(value));
  n.window = window;
  n.results.push_back(m);
  return {add(std::move(n), true), 0};
}

std::int32_t Trace::addSlot(const ScalarSlot& slot) {
  // Equal constants share a slot, so that equal operations are one node.
  if (slot.source == ScalarSlot::Source::Constant) {
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i].source == slot.source && slots[i].value.kind == slot.value.kind &&
          slots[i].value.bits() == slot.value.bits())
        return static_cast<std::int32_t>(i);
  }
  slots.push_back(slot);
  return static_cast<std::int32_t>(slots.size()) - 1;
}

std::string Trace::text() const {
  std::ostringstream s;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TraceNode& n = nodes[i];
    s << "%" << i << " = ";
    switch (n.kind) {
    case TraceNode::Kind::Input:
      s << "input " << n.input;
      break;
    case TraceNode::Kind::Op:
      s << facts(n.op).name;
      break;
    case TraceNode::Kind::Window:
      s << "window";
      break;
    case TraceNode::Kind::Write:
      s << "write";
      break;
    }
    for (const auto& o : n.operands) {
      if (o.kind == TraceOperand::Kind::Value) {
        s << " %" << o.value.node;
        if (o.value.result != 0) s << "." << o.value.result;
      } else if (o.kind == TraceOperand::Kind::Slot) {
        s << " s" << o.slot;
      } else {
        s << " none";
      }
    }
    if (n.kind == TraceNode::Kind::Window || n.kind == TraceNode::Kind::Write)
      s << " {" << shapeText(n.window.shape) << ", strides " << shapeText(n.window.strides) << ", offset "
        << n.window.offset << "}";
    s << " :";
    for (const auto& r : n.results) s << " " << dtypeName(r.dtype) << shapeText(r.shape);
    s << "\n";
  }
  return s.str();
}

Hash128 traceHash(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  Hash128 h;
  h.add(trace.numInputs).add(trace.numRandom).add(trace.slots.size());
  for (const auto& s : trace.slots)
    h.add(static_cast<std::uint64_t>(s.source))
        .add(static_cast<std::uint64_t>(s.value.kind))
        .add(static_cast<std::uint64_t>(s.a))
        .add(static_cast<std::uint64_t>(s.b));
  for (const auto& o : outputs)
    h.add(trace.nodes[o.value.node].hash).add(o.value.result).add(static_cast<std::uint64_t>(o.intoInput));
  return h;
}

}  // namespace tandem
