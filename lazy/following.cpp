// A recording that follows the last one at its place: operations that are known before dtypes and shapes are worked
// out, and the traces that wait to be followed.
#include <algorithm>
#include <utility>

#include "lazy/session.h"
#include "runtime/base/inline_array.h"

namespace tandem::lazy {
namespace {

// Operands of an operation that is found again without its metas.
constexpr std::size_t kMostRepeated = 16;

}  // namespace

bool Session::mayRepeat(const OpFacts& f, std::size_t operands, std::span<const TensorMeta> metas) {
  return !f.random && operands <= kMostRepeated && (f.partial == OpPartial::None || isFloating(metas[0].dtype)) &&
         std::ranges::none_of(metas, isLarge);
}

bool Session::repeat(const OpFacts& f, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                     std::span<Tensor> results) {
  if (!trace_.following() || !learntSizes_.empty() || pendingBytes_ > kMostPendingBytes) return false;
  const TraceNode* n = trace_.expected();
  // Windows and memory that is read for the first time come before the operation. What they add to the trace is found
  // again where the rest turns out to be another operation.
  const bool whole = n != nullptr && n->op == f.code;
  InlineArray<ValueRef, kMostRepeated> values(0);
  if (!whole) {
    if (operands.size() > kMostRepeated) return false;
    const std::uint64_t before = resets_;
    for (const Operand& o : operands) {
      if (o.isTensor() && o.tensor().defined() && o.tensor().impl()->batch) return false;
      values.push_back(o.isTensor() && o.tensor().defined() ? valueOf(o.tensor()) : ValueRef{});
    }
    n = trace_.expected();
    if (before != resets_ || n == nullptr || n->op != f.code) return false;
  }
  if (!n->repeats) return false;
  const std::span<const TraceOperand> expected = trace_.operands(*n);
  if (expected.size() != operands.size() || !std::ranges::equal(trace_.attrs(*n), attrs)) return false;
  bool numbers = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TraceOperand& e = expected[i];
    if (!operands[i].isTensor()) {
      if (e.kind != TraceOperand::Kind::Slot) return false;
      numbers = true;
    } else if (const Tensor& t = operands[i].tensor(); !t.defined()) {
      if (e.kind != TraceOperand::Kind::Absent) return false;
    } else if (e.kind != TraceOperand::Kind::Value || !(whole ? isWhole(*t.impl(), e.value) : values[i] == e.value)) {
      return false;
    }
  }
  if (numbers)
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].isTensor()) continue;
      const std::int32_t slot = slotOf(operands[i].scalar());
      if (!trace_.following() || slot != expected[i].slot) return false;
    }
  const std::span<const TensorMeta> metas = trace_.results(*n);
  const std::uint32_t node = trace_.addExpected();
  for (std::uint32_t i = 0; i < results.size(); ++i) results[i] = fresh({node, i}, metas[i]);
  endShared();
  return true;
}

bool Session::isWhole(const TensorImpl& t, ValueRef value) const {
  Storage* s = t.storage.get();
  std::int64_t begin = 0;
  if (const Content* c = contentOf(s)) {
    if (c->session != this || c->value != value) return false;
    if (c->input >= 0) begin = inputs_[c->input].offset;
  } else {
    // While following, inputs come in the order of their nodes.
    const TraceNode& from = trace_.nodes[value.node];
    if (from.kind != TraceNode::Kind::Input || from.input >= inputs_.size()) return false;
    const SessionInput& in = inputs_[from.input];
    if (in.storage.get() != s || in.value != value || s->isShared()) return false;
    begin = in.offset;
  }
  return t.offset == begin && t.contiguous && !t.batch && t.shape == trace_.meta(value).shape;
}

void Session::turnTo(std::size_t part) {
  auto exchange = [&](Followed& f) {
    std::swap(trace_, f.trace);
    std::swap(lastOutputs_, f.outputs);
    std::swap(lastPlan_, f.plan);
    std::swap(looks_, f.looks);
  };
  trace_.settle();
  looks_.resize(std::exchange(looked_, 0));
  if (part != part_) {
    parts_.resize(std::max(parts_.size(), std::max(part, part_) + 1));
    exchange(parts_[part_]);
    exchange(parts_[part]);
    part_ = part;
  }
  if (trace_.nodes.size() > kMostNodes) trace_.clear();
  trace_.restart();
}

std::size_t Session::nodesKept() const {
  std::size_t nodes = trace_.nodes.size();
  for (const Followed& f : parts_) nodes += f.trace.nodes.size();
  return nodes;
}

}  // namespace tandem::lazy
