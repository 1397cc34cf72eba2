// A recording that follows the last one at its site: operations that are known before dtypes and shapes are worked
// out, and the traces that wait to be followed.
#include <algorithm>
#include <optional>
#include <utility>

#include "lazy/session.h"
#include "runtime/base/inline_array.h"

namespace tandem::lazy {
namespace {

// Operands of an operation that is found again without its metas.
constexpr std::size_t kMostRepeated = 16;

/// Is what `t` shows all of a value that begins at `begin` of its memory?
bool covers(const TensorImpl& t, std::int64_t begin, const TensorMeta& value) {
  return t.offset == begin && t.contiguous && !t.batch && t.shape == value.shape;
}

}  // namespace

bool Session::mayRepeat(const OpFacts& f, std::size_t operands, std::span<const TensorMeta> metas) {
  const bool floating = std::ranges::any_of(metas, [](const TensorMeta& m) { return isFloating(m.dtype); });
  return !f.random && operands <= kMostRepeated && (f.partial == OpPartial::None || floating) &&
         std::ranges::none_of(metas, isLarge);
}

// In both of its callers: a call would put the last span on the stack in halves and read it whole.
[[gnu::always_inline]] inline std::optional<std::uint32_t> Session::follow(const OpFacts& f,
                                                                           std::span<const Operand> operands,
                                                                           std::span<const std::int64_t> attrs,
                                                                           std::span<const Tensor> outs) {
  if (!trace_.following() || !learntSizes_.empty() || mayHoldMuch()) return {};
  const TraceNode* n = trace_.expected();
  // Windows and memory that is read for the first time come before the operation. What they add to the trace is found
  // again where the rest turns out to be another operation.
  const bool whole = n != nullptr && n->op == f.code;
  InlineArray<ValueRef, kMostRepeated> values(0);
  if (!whole) {
    if (operands.size() > kMostRepeated) return {};
    const std::uint64_t before = resets_;
    for (const Operand& o : operands) {
      if (o.isTensor() && o.tensor().defined() && o.tensor().impl()->batch) return {};
      values.push_back(o.isTensor() && o.tensor().defined() ? valueOf(o.tensor()) : ValueRef{});
    }
    n = trace_.expected();
    if (before != resets_ || n == nullptr || n->op != f.code) return {};
  }
  if (!n->repeats) return {};
  const std::span<const TraceOperand> expected = trace_.operands(*n);
  if (expected.size() != operands.size() || !std::ranges::equal(trace_.attrs(*n), attrs)) return {};
  bool numbers = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TraceOperand& e = expected[i];
    if (!operands[i].isTensor()) {
      if (e.kind != TraceOperand::Kind::Slot) return {};
      numbers = true;
    } else if (const Tensor& t = operands[i].tensor(); !t.defined()) {
      if (e.kind != TraceOperand::Kind::Absent) return {};
    } else if (e.kind != TraceOperand::Kind::Value || !(whole ? isWhole(*t.impl(), e.value) : values[i] == e.value)) {
      return {};
    }
  }
  if (numbers)
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].isTensor()) continue;
      const std::int32_t slot = slotOf(operands[i].scalar());
      if (!trace_.following() || slot != expected[i].slot) return {};
    }
  const std::span<const TensorMeta> metas = trace_.results(*n);
  for (std::size_t i = 0; i < outs.size(); ++i)
    if (outs[i].defined() && !takesAll(*outs[i].impl(), metas[i])) return {};
  return trace_.addExpected();
}

bool Session::repeat(const OpFacts& f, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                     std::span<Tensor> results) {
  awaitRun();
  const std::optional<std::uint32_t> node = follow(f, operands, attrs, {});
  if (!node) return false;
  const std::span<const TensorMeta> metas = trace_.results(trace_.nodes[*node]);
  for (std::uint32_t i = 0; i < results.size(); ++i) results[i] = fresh({*node, i}, metas[i]);
  endShared();
  return true;
}

bool Session::repeatUpdate(const OpFacts& f, std::span<const Operand> operands, std::span<const Tensor> outs) {
  awaitRun();
  if (HoldsBack::several())
    for (const Tensor& out : outs)
      if (out.defined()) settleOthers(*out.impl()->storage, this);  // as in `recordWrite`
  const std::optional<std::uint32_t> node = follow(f, operands, {}, outs);
  if (!node) return false;
  for (std::uint32_t i = 0; i < outs.size(); ++i)
    if (outs[i].defined()) write(outs[i], {*node, i});
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
  return covers(t, begin, trace_.meta(value));
}

bool Session::takesAll(const TensorImpl& t, const TensorMeta& written) const {
  Storage* s = t.storage.get();
  if (const Content* c = contentOf(s)) {
    if (c->session != this) return false;
  } else if (!inputNumbers_.contains(s) || s->isShared()) {
    return false;
  }
  const Held held = heldBy(s);
  return t.dtype == written.dtype && t.shape == written.shape && covers(t, held.begin, trace_.meta(held.value));
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
  turnToDevice();
}

std::size_t Session::nodesKept() const {
  std::size_t nodes = trace_.nodes.size();
  for (const Followed& f : parts_) nodes += f.trace.nodes.size();
  return nodes;
}

}  // namespace tandem::lazy
