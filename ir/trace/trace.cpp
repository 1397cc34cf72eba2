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

std::uint32_t Trace::add(TraceNode node, std::span<const TraceOperand> operands, std::span<const std::int64_t> attrs,
                         std::span<const TensorMeta> results, const Window* window) {
  Hash128 h;
  h.add(static_cast<std::uint64_t>(node.kind) | static_cast<std::uint64_t>(node.op) << 8 |
        std::uint64_t{node.input} << 32);
  for (const auto& o : operands) {
    h.add(static_cast<std::uint64_t>(o.kind) | std::uint64_t{o.value.result} << 8 |
          static_cast<std::uint64_t>(static_cast<std::uint32_t>(o.slot)) << 32);
    if (o.kind == TraceOperand::Kind::Value) h.add(nodes[o.value.node].hash);
  }
  h.add(attrs);
  if (window != nullptr)
    h.add(std::span<const std::int64_t>(window->shape))
        .add(std::span<const std::int64_t>(window->strides))
        .add(static_cast<std::uint64_t>(window->offset));
  for (const auto& r : results) addMeta(h, r);
  auto index = static_cast<std::uint32_t>(nodes.size());
  if (node.kind != TraceNode::Kind::Input) {
    std::uint32_t known = consed_.findOrAdd(h, index);
    if (known != index) return known;
  }
  auto append = [](auto& list, const auto& more) {
    TraceNode::Part p{static_cast<std::uint32_t>(list.size()), static_cast<std::uint32_t>(more.size())};
    list.insert(list.end(), more.begin(), more.end());
    return p;
  };
  node.operands = append(operands_, operands);
  node.attrs = append(attrs_, attrs);
  node.results = append(results_, results);
  if (window != nullptr) {
    node.window = static_cast<std::uint32_t>(windows_.size());
    windows_.push_back(*window);
  }
  node.hash = h;
  node.line = currentLine;
  nodes.push_back(node);
  return index;
}

ValueRef Trace::addInput(const TensorMeta& meta) {
  TraceNode n{};
  n.kind = TraceNode::Kind::Input;
  n.input = numInputs++;
  return {add(n, {}, {}, {&meta, 1}), 0};
}

std::uint32_t Trace::addOp(OpCode op, std::span<const TraceOperand> operands, std::span<const std::int64_t> attrs,
                           std::span<const TensorMeta> results) {
  TraceNode n{};
  n.kind = TraceNode::Kind::Op;
  n.op = op;
  // Two random operations have two offsets, so equal nodes are equal values here too.
  return add(n, operands, attrs, results);
}

ValueRef Trace::addWindow(ValueRef value, const Window& window) {
  const TensorMeta& m = meta(value);
  if (isWhole(m, window)) return value;
  const TraceNode& from = nodes[value.node];
  // A reshape of a reshape is one of the value below.
  if (from.kind == TraceNode::Kind::Window) {
    ValueRef below = operands(from)[0].value;
    if (coversAll(meta(below), this->window(from))) return addWindow(below, window);
  }
  TraceNode n{};
  n.kind = TraceNode::Kind::Window;
  const TraceOperand operands[] = {TraceOperand::of(value)};
  const TensorMeta result{window.shape, m.dtype};
  return {add(n, operands, {}, {&result, 1}, &window), 0};
}

ValueRef Trace::addWrite(ValueRef base, ValueRef value, const Window& window) {
  const TensorMeta m = meta(base);
  if (coversAll(m, window)) return addWindow(value, {m.shape, contiguousStrides(m.shape), 0});
  TraceNode n{};
  n.kind = TraceNode::Kind::Write;
  const TraceOperand operands[] = {TraceOperand::of(base), TraceOperand::of(value)};
  return {add(n, operands, {}, {&m, 1}, &window), 0};
}

void Trace::clear() {
  constexpr std::size_t kKept = 1024;  // a large trace's memory is given back
  if (nodes.capacity() > kKept || slots.capacity() > kKept || lines.capacity() > kKept) {
    *this = Trace();
    return;
  }
  nodes.clear();
  slots.clear();
  lines.clear();
  operands_.clear();
  attrs_.clear();
  results_.clear();
  windows_.clear();
  consed_.clear();
  numInputs = numRandom = currentLine = 0;
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
    for (const auto& o : operands(n)) {
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
      s << " {" << shapeText(window(n).shape) << ", strides " << shapeText(window(n).strides) << ", offset "
        << window(n).offset << "}";
    s << " :";
    for (const auto& r : results(n)) s << " " << dtypeName(r.dtype) << shapeText(r.shape);
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
