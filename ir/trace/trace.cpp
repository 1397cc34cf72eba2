#include "ir/trace/trace.h"

#include <algorithm>
#include <sstream>

#include "runtime/base/error.h"

namespace tandem {
namespace {

void addMeta(Hash128& h, const TensorMeta& m) {
  h.add(static_cast<std::uint64_t>(m.dtype)).add(std::span<const std::int64_t>(m.shape));
}

bool sameMeta(const TensorMeta& a, const TensorMeta& b) { return a.dtype == b.dtype && a.shape == b.shape; }

bool isWhole(const TensorMeta& m, const Window& w) {
  return w.offset == 0 && w.shape == m.shape && isContiguous(w.shape, w.strides);
}
bool coversAll(const TensorMeta& m, const Window& w) {
  return w.offset == 0 && numelOf(w.shape) == numelOf(m.shape) && isContiguous(w.shape, w.strides);
}

}  // namespace

std::uint32_t Trace::add(TraceNode node, std::span<const TraceOperand> operands, std::span<const std::int64_t> attrs,
                         std::span<const TensorMeta> results, const Window* window) {
  if (size() == 0 && defaultDType_ != schemaDefaultDType()) {
    settle();
    defaultDType_ = schemaDefaultDType();
  }
  if (following_) {
    if (added_ < additions_.size()) {
      const TraceNode& n = nodes[additions_[added_]];
      if (n.kind == node.kind && n.op == node.op && n.input == node.input &&
          std::ranges::equal(this->operands(n), operands) && std::ranges::equal(this->attrs(n), attrs) &&
          std::ranges::equal(this->results(n), results, sameMeta) && (window == nullptr || this->window(n) == *window))
        return addExpected();
    }
    settle();
  }
  const std::uint32_t index = append(node, operands, attrs, results, window);
  additions_.push_back(index);
  return index;
}

std::uint32_t Trace::append(TraceNode node, std::span<const TraceOperand> operands, std::span<const std::int64_t> attrs,
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
  node.window = static_cast<std::uint32_t>(windows_.size());
  if (window != nullptr) windows_.push_back(*window);
  node.hash = h;
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

void Trace::setLine(const std::string& line) {
  if (lines.empty()) lines.emplace_back();
  if (lines.back() != line) lines.push_back(line);
  nodes.back().line = static_cast<std::uint32_t>(lines.size()) - 1;
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
  additions_.clear();
  slotAdditions_.clear();
  following_ = false;
  numInputs = numRandom = 0;
}

void Trace::restart() {
  settle();
  following_ = !additions_.empty();
  slotsChanged_ = false;
  added_ = addedSlots_ = 0;
  size_ = 0;
  numSlots_ = 0;
  numInputs = numRandom = 0;
}

void Trace::settle() {
  if (!following_) return;
  following_ = false;
  additions_.resize(added_);
  slotAdditions_.resize(addedSlots_);
  slots.resize(static_cast<std::size_t>(numSlots_));
  if (size_ == nodes.size()) return;
  const TraceNode& next = nodes[size_];
  operands_.resize(next.operands.begin);
  attrs_.resize(next.attrs.begin);
  results_.resize(next.results.begin);
  windows_.resize(next.window);
  nodes.resize(size_);
  consed_.clear();
  std::uint32_t lastLine = 0;
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (nodes[i].kind != TraceNode::Kind::Input) consed_.findOrAdd(nodes[i].hash, i);
    lastLine = std::max(lastLine, nodes[i].line);
  }
  if (lines.size() > lastLine + 1) lines.resize(lastLine + 1);
}

std::int32_t Trace::addSlot(const ScalarSlot& slot) {
  if (following_) {
    if (const std::int32_t index = followSlot(slot); index >= 0) return index;
    settle();
  }
  std::int32_t index = knownConstant(slot, slots.size());
  if (index < 0) {
    index = static_cast<std::int32_t>(slots.size());
    slots.push_back(slot);
  }
  slotAdditions_.push_back(index);
  return index;
}

std::int32_t Trace::followSlot(const ScalarSlot& slot) {
  if (addedSlots_ == slotAdditions_.size()) return -1;
  const std::int32_t index = slotAdditions_[addedSlots_];
  ScalarSlot& last = slots[static_cast<std::size_t>(index)];
  if (last.source != slot.source || last.a != slot.a || last.b != slot.b || last.value.kind != slot.value.kind)
    return -1;
  const bool known = index < numSlots_;
  const bool same = last.value.bits() == slot.value.bits();
  if (slot.source == ScalarSlot::Source::Constant && (slotsChanged_ || !same)) {
    // Where values differ from the last time's, others may be equal.
    if (knownConstant(slot, static_cast<std::size_t>(numSlots_)) != (known ? index : -1)) return -1;
    slotsChanged_ = true;
  }
  last.value = slot.value;
  if (!known) ++numSlots_;
  ++addedSlots_;
  return index;
}

std::int32_t Trace::knownConstant(const ScalarSlot& slot, std::size_t among) const {
  if (slot.source != ScalarSlot::Source::Constant) return -1;
  for (std::size_t i = 0; i < among; ++i)
    if (slots[i].source == slot.source && slots[i].value.kind == slot.value.kind &&
        slots[i].value.bits() == slot.value.bits())
      return static_cast<std::int32_t>(i);
  return -1;
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
  h.add(static_cast<std::uint64_t>(trace.defaultDType())).add(static_cast<std::uint64_t>(deviceNumber(trace.device)));
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
