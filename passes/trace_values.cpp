#include "passes/trace_values.h"

#include "passes/fold_conversions.h"
#include "passes/trace_copy.h"

namespace tandem::passes {

void Seen::addTo(Hash128& h) const {
  h.add(root.node | std::uint64_t{root.result} << 32 | std::uint64_t{copied} << 63);
  h.add(DimsRef(shape)).add(static_cast<std::uint64_t>(at.offset));
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) h.add(static_cast<std::uint64_t>(at.strides[d]));
}

bool operator==(const Seen& a, const Seen& b) {
  if (a.root != b.root || a.copied != b.copied || a.shape != b.shape || a.at.offset != b.at.offset) return false;
  for (std::size_t d = 0; d < a.shape.size(); ++d)
    if (a.shape[d] != 1 && a.at.strides[d] != b.at.strides[d]) return false;
  return true;
}

Hash128 operationKey(OpCode op, std::span<const OperandKey> operands, std::span<const std::int64_t> attrs) {
  Hash128 h;
  h.add(static_cast<std::uint64_t>(op)).add(operands.size());
  for (const OperandKey& o : operands) {
    h.add(static_cast<std::uint64_t>(o.slot) << 1 | (o.seen != nullptr ? 1 : 0));
    if (o.seen != nullptr) o.seen->addTo(h);
  }
  return h.add(attrs);
}

Hash128 writeKey(const Seen& base, const Seen& value, DimsRef strides, std::int64_t offset) {
  Hash128 h;
  h.add(~std::uint64_t{0});
  base.addTo(h);
  value.addTo(h);
  return h.add(strides).add(static_cast<std::uint64_t>(offset));
}

TraceValues::TraceValues(const Trace& trace) : trace_(trace), seen_(numResults(trace)) {
  nodes_.reserve(trace.nodes.size());
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) visit(i);
}

std::optional<std::uint32_t> TraceValues::find(const Hash128& key) const {
  auto it = nodes_.find(key);
  if (it == nodes_.end()) return {};
  return it->second;
}

std::optional<ValueRef> TraceValues::copyOf(const Seen& seen) const {
  Hash128 h;
  seen.addTo(h);
  auto it = copies_.find(h);
  if (it == copies_.end()) return {};
  return it->second;
}

void TraceValues::visit(std::uint32_t i) {
  const TraceNode& node = trace_.nodes[i];
  const std::span<const TraceOperand> operands = trace_.operands(node);
  switch (node.kind) {
  case TraceNode::Kind::Input:
    makes(i, Hash128().add(~std::uint64_t{1}).add(node.input));
    return;
  case TraceNode::Kind::Window:
    seen_[node.results.begin] = throughWindow(operands[0].value, trace_.window(node));
    return;
  case TraceNode::Kind::Write: {
    const Window& w = trace_.window(node);
    makes(i, writeKey(seen(operands[0].value), seen(operands[1].value), w.strides, w.offset));
    return;
  }
  case TraceNode::Kind::Op:
    if (std::optional<Seen> same = unchanged(node)) {
      seen_[node.results.begin] = *same;
      return;
    }
    SmallVector<OperandKey, 4> keys;
    for (const TraceOperand& o : operands)
      keys.push_back({o.kind == TraceOperand::Kind::Value ? &seen(o.value) : nullptr, o.slot});
    makes(i, operationKey(node.op, {keys.data(), keys.size()}, trace_.attrs(node)));
    return;
  }
}

// A window on a window is one, or one on a copy.
Seen TraceValues::throughWindow(ValueRef v, const Window& w) {
  const Seen& inner = seen(v);
  if (const auto at = composeWindows(inner.at, inner.shape, w.shape, w.strides, w.offset))
    return {inner.root, inner.copied, w.shape, *at};
  Hash128 h;
  inner.addTo(h);
  const ValueRef copied = copies_.try_emplace(h, v).first->second;
  return {copied, true, w.shape, {w.strides, w.offset}};
}

// What a copy or a conversion of what lies in order already, and has its dtype, is the same as.
std::optional<Seen> TraceValues::unchanged(const TraceNode& node) const {
  const OpRole role = facts(node.op).role;
  if (role != OpRole::Convert && role != OpRole::Copy) return {};
  const TraceOperand& o = trace_.operands(node)[0];
  if (o.kind != TraceOperand::Kind::Value) return {};
  const TensorMeta& from = trace_.meta(o.value);
  const TensorMeta& to = trace_.results(node)[0];
  if (from.dtype != to.dtype || from.shape != to.shape || !isContiguous(seen(o.value).shape, seen(o.value).at.strides))
    return role == OpRole::Convert ? unfolded(seen(o.value), to) : std::nullopt;
  return seen(o.value);
}

// What was converted to a wider dtype, of which this is the conversion back to `to`.
std::optional<Seen> TraceValues::unfolded(const Seen& wide, const TensorMeta& to) const {
  const TraceNode& inner = trace_.nodes[wide.root.node];
  if (wide.copied || inner.kind != TraceNode::Kind::Op || facts(inner.op).role != OpRole::Convert) return {};
  const TensorMeta& between = trace_.results(inner)[0];
  const TraceOperand& o = trace_.operands(inner)[0];
  if (o.kind != TraceOperand::Kind::Value || !wide.isAllOf(between.shape) || wide.shape != to.shape) return {};
  const Seen& first = seen(o.value);
  const TraceNode& made = trace_.nodes[first.root.node];
  const TensorMeta& from = trace_.meta(o.value);
  if (from.shape != to.shape || !comesBack(from.dtype, between.dtype, to.dtype) || first.copied ||
      made.kind != TraceNode::Kind::Op || !first.isAllOf(trace_.meta(first.root).shape) ||
      first.shape != trace_.meta(first.root).shape)
    return {};
  const OpKind kind = facts(made.op).kind;
  if (kind != OpKind::Pointwise && kind != OpKind::Reduction) return {};
  return first;
}

void TraceValues::makes(std::uint32_t i, const Hash128& key) {
  const std::uint32_t first = nodes_.try_emplace(key, i).first->second;
  const TraceNode& node = trace_.nodes[i];
  for (std::uint32_t r = 0; r < node.results.count; ++r) {
    const Dims& shape = trace_.results(node)[r].shape;
    seen_[node.results.begin + r] = {{first, r}, false, shape, {contiguousStrides(shape), 0}};
  }
}

}  // namespace tandem::passes
