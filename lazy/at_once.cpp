// What a recording may not put off, because the program would see it: errors that depend on values, draws from a
// generator, memory that others change and look at. An operation whose check passes is recorded; where it fails, or is
// as much work as the operation, the operation runs at once, on what was recorded before it.
#include <algorithm>

#include "eager/host.h"
#include "eager/ops.h"
#include "lazy/plan_cache.h"
#include "lazy/session.h"
#include "runtime/base/attrs.h"
#include "runtime/device/executor.h"
#include "runtime/lib/indexing/bags.h"
#include "runtime/lib/indexing/class_indices.h"
#include "runtime/lib/indexing/index_list.h"

namespace tandem::lazy {
namespace {

// Values of so few elements, and few operations, are computed for a check, and again with the rest.
constexpr std::int64_t kMostSlightElements = 1 << 16;

// From here on the system is asked whether the result fits; a caller in eager would be told at once.
constexpr std::int64_t kLargeResult = std::int64_t{1} << 28;

/// OutOfMemoryError where eager could not make the result.
void mustFit(const TensorMeta& meta, Device device) {
  std::int64_t bytes = static_cast<std::int64_t>(itemSize(meta.dtype));
  for (auto s : meta.shape)
    if (__builtin_mul_overflow(bytes, s, &bytes)) return (void)makeEmpty(meta.shape, meta.dtype);
  const auto size = static_cast<std::size_t>(bytes);
  if (bytes >= kLargeResult) deallocateOn(device, allocateOn(device, size), size);
}

}  // namespace

bool Session::canWait(const OpFacts& f, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                      std::span<const TensorMeta> metas) {
  for (const TensorMeta& meta : metas) mustFit(meta, trace_.device);
  if (!isLibrary(f.kind)) return true;
  if (!trace_.device.isCpu() && !executor(trace_.device).hasElements()) return true;
  if (placeholders) {
    asked_ = f.failure == OpFailure::Values;
    return true;
  }
  AttrReader reader(attrs);
  switch (f.code) {
  case OpCode::gather:
  case OpCode::scatter_add:
  case OpCode::scatter_plain:
  case OpCode::scatter_combine:
  case OpCode::index_select:
  case OpCode::index_add_plain:
    return indicesFit(operands.subspan(1, 1), operands[0].tensor(), reader.integer(), false);
  case OpCode::index_get:
    return indicesFit(operands.subspan(1), operands[0].tensor(), reader.integer(), true);
  case OpCode::index_put_plain:
    return indicesFit(operands.subspan(2), operands[0].tensor(), reader.integer(), true);
  case OpCode::bag_sum:
  case OpCode::bag_max: {
    // The offsets of an index of one dim are checked with it.
    const bool offsets = operands[1].tensor().dim() == 1;
    return indicesFit(operands.subspan(1, 1), operands[0].tensor(), 0, false) &&
           (!offsets || offsetsFit(operands[2].tensor(), operands[1].tensor().numel()));
  }
  case OpCode::class_indices: {
    const std::int64_t classes = reader.integer();
    return classesFit(operands[0].tensor(), classes, reader.integer());
  }
  case OpCode::expect:
    return holds(operands[1].tensor());
  case OpCode::cholesky_plain:
    if (!reader.boolean()) return true;
    untried_ = tracing_;
    return tracing_;
  case OpCode::resample:
  case OpCode::resample_grad:
    return isFloating(metas[0].dtype);  // what is not implemented for integers is known to the function
  default:
    return true;
  }
}

bool Session::isLarge(const TensorMeta& meta) {
  return numelOf(meta.shape) * static_cast<std::int64_t>(itemSize(meta.dtype)) >= kLargeResult;
}

void Session::keepChecks() {
  auto mayFail = [](const TraceNode& n) {
    return n.kind == TraceNode::Kind::Op && facts(n.op).failure == OpFailure::Values;
  };
  if (std::ranges::none_of(trace_.nodes, mayFail)) return;
  std::vector<bool> needed(trace_.nodes.size());
  for (const Content* c = first_; c != nullptr; c = c->next) needed[c->value.node] = true;
  for (std::size_t k = trace_.nodes.size(); k-- > 0;) {
    const TraceNode& n = trace_.nodes[k];
    if (!needed[k]) {
      if (!mayFail(n)) continue;
      checks_.push_back(fresh({static_cast<std::uint32_t>(k), 0}, trace_.results(n)[0]));
    }
    for (const TraceOperand& o : trace_.operands(n))
      if (o.kind == TraceOperand::Kind::Value) needed[o.value.node] = true;
  }
}

/// Are the indices of `first` and the dims after it, a tensor a dim, in range?
bool Session::indicesFit(std::span<const Operand> indices, const Tensor& into, std::int64_t first, bool wrapped) {
  const Dims& shape = into.shape();
  first = first < 0 ? first + static_cast<std::int64_t>(shape.size()) : first;
  for (const Operand& o : indices) {
    const std::int64_t size = shape.empty() ? 1 : shape[static_cast<std::size_t>(first)];
    if (o.tensor().numel() != 0 && !areClasses(o.tensor(), size)) {
      const Tensor looked = look(o.tensor());
      if (!looked.defined()) {
        untried_ = true;
        continue;
      }
      AtOnce now;  // reading it is no read of the program's
      const Tensor index = readHost(looked);
      const ArrayView view{index.data(), index.dtype(), index.shape(), index.strides()};
      try {
        lib::IndexList list("", view, first, size, wrapped ? lib::IndexRange::Wrapped : lib::IndexRange::Elements);
      } catch (const Error&) {
        return false;
      }
    }
    ++first;
  }
  return true;
}

/// Is it a view of a result of `class_indices`, so that its elements are in [0, size) or a plan ends there with an
/// error?
bool Session::areClasses(const Tensor& index, std::int64_t size) const {
  const Content* c = contentOf(index.impl()->storage.get());
  if (c == nullptr || c->session != this) return false;
  const TraceNode& made = trace_.nodes[c->value.node];
  if (made.kind != TraceNode::Kind::Op || made.op != OpCode::class_indices) return false;
  const std::int64_t classes = AttrReader(trace_.attrs(made)).integer();
  return classes > 0 && classes <= size;
}

bool Session::classesFit(const Tensor& target, std::int64_t classes, std::int64_t ignored) {
  if (target.numel() == 0) return true;
  const Tensor looked = look(target);
  if (!looked.defined()) return untried_ = true;
  AtOnce now;
  const Tensor values = readHost(looked);
  try {
    lib::checkClasses({values.data(), values.dtype(), values.shape(), values.strides()}, classes, ignored);
  } catch (const Error&) {
    return false;
  }
  return true;
}

bool Session::offsetsFit(const Tensor& offsets, std::int64_t length) {
  if (offsets.numel() == 0) return true;
  const Tensor looked = look(offsets);
  if (!looked.defined()) return untried_ = true;
  AtOnce now;
  const Tensor values = readHost(looked);
  return lib::areOffsets({values.data(), values.dtype(), values.shape(), values.strides()}, length);
}

bool Session::holds(const Tensor& good) {
  if (good.numel() == 0) return true;
  const Tensor values = look(good);
  if (!values.defined()) return untried_ = true;
  AtOnce now;
  NoGrad noGrad;
  return readElement<bool>(ops::all(values));
}

/// The tensor, or its elements: what it takes to know them is run, all that is recorded if that is much. While a
/// function is traced, undefined instead: the operation itself is tried (`tryOut`).
Tensor Session::look(const Tensor& t) {
  asked_ = true;
  if (!t.isPending()) return t;
  const ValueRef value = valueOf(t);
  if (!t.isPending()) return t;
  // What was computed for the same value of the last trace is computed again.
  if (!trace_.following() || looked_ == looks_.size() || looks_[looked_].value != value) {
    const Nodes needed = slightNodes(value);
    if (needed.empty()) {
      if (tracing_) return {};
      flush();
      return t;
    }
    looks_.resize(looked_);
    looks_.push_back(lookAt(value, needed));
  }
  const Look& l = looks_[looked_++];
  const TensorMeta& meta = trace_.meta(value);
  Tensor elements = makeEmpty(meta.shape, meta.dtype, trace_.device);
  void* out[] = {elements.impl()->storage->data()};
  const Pointers all = inputPointers();
  Pointers ins;
  for (const std::uint32_t k : l.inputs) ins.push_back(all[k]);
  std::vector<ScalarSlot> slots;
  for (const Look::Slot& s : l.slots) {
    slots.push_back(trace_.slots[static_cast<std::size_t>(s.number)]);
    if (slots.back().isComputed()) slots.back().a = s.a, slots.back().b = s.b;
  }
  runPlan(*l.plan, {ins, out, scalarArguments_, firstDraw_.seed(), firstDraw_.offset(), slots});
  return elements;
}

/// As a trace of its own, which is the same wherever it stands in this one.
Look Session::lookAt(ValueRef value, const Nodes& needed) const {
  Look l{value, {}, {}, nullptr};
  Trace alone;
  alone.device = trace_.device;
  SmallVector<ValueRef, kMostSlight> made;
  auto moved = [&](ValueRef v) {
    const ValueRef m =
        made[static_cast<std::size_t>(std::lower_bound(needed.begin(), needed.end(), v.node) - needed.begin())];
    return ValueRef{m.node, m.result + v.result};
  };
  // A slot of the trace is one of this one, behind those that it is computed of.
  const auto slotOf = [&](auto self, std::int32_t number) -> std::int32_t {
    for (std::size_t i = 0; i < l.slots.size(); ++i)
      if (l.slots[i].number == number) return static_cast<std::int32_t>(i);
    ScalarSlot slot = trace_.slots[static_cast<std::size_t>(number)];
    if (slot.isComputed()) {
      slot.a = self(self, slot.a);
      if (slot.b >= 0) slot.b = self(self, slot.b);
    }
    const std::int32_t own = alone.addSlot(slot);
    TANDEM_CHECK(static_cast<std::size_t>(own) == l.slots.size(), "equal constants are one slot in every trace");
    l.slots.push_back({number, slot.a, slot.b});
    return own;
  };
  for (const std::uint32_t number : needed) {
    const TraceNode& n = trace_.nodes[number];
    const auto operands = trace_.operands(n);
    switch (n.kind) {
    case TraceNode::Kind::Input:
      made.push_back(alone.addInput(trace_.results(n)[0]));
      l.inputs.push_back(n.input);
      break;
    case TraceNode::Kind::Op: {
      SmallVector<TraceOperand, 8> own;
      for (const TraceOperand& o : operands) {
        if (o.kind == TraceOperand::Kind::Value) {
          own.push_back(TraceOperand::of(moved(o.value)));
        } else if (o.kind == TraceOperand::Kind::Slot) {
          own.push_back(TraceOperand::ofSlot(slotOf(slotOf, o.slot)));
        } else {
          own.push_back(o);
        }
      }
      made.push_back({alone.addOp(n.op, own, trace_.attrs(n), trace_.results(n)), 0});
      break;
    }
    case TraceNode::Kind::Window:
      made.push_back(alone.addWindow(moved(operands[0].value), trace_.window(n)));
      break;
    case TraceNode::Kind::Write:
      made.push_back(alone.addWrite(moved(operands[0].value), moved(operands[1].value), trace_.window(n)));
      break;
    }
  }
  l.plan = planFor(alone, {{moved(value), -1}});
  return l;
}

/// What a value is computed from, in the trace's order; none where that is much.
Session::Nodes Session::slightNodes(ValueRef value) const {
  Nodes nodes;
  std::int64_t elements = 0;
  nodes.push_back(value.node);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TraceNode& n = trace_.nodes[nodes[i]];
    if (n.kind == TraceNode::Kind::Input) continue;
    // A check that has passed is no work.
    if (n.kind == TraceNode::Kind::Op && isLibrary(facts(n.op).kind) && n.op != OpCode::expect) return {};
    for (const TensorMeta& r : trace_.results(n)) elements += numelOf(r.shape);
    for (const TraceOperand& o : trace_.operands(n)) {
      if (o.kind != TraceOperand::Kind::Value) continue;
      if (n.kind == TraceNode::Kind::Op) elements += numelOf(trace_.meta(o.value).shape);
      if (std::find(nodes.begin(), nodes.end(), o.value.node) == nodes.end()) nodes.push_back(o.value.node);
    }
    if (elements > kMostSlightElements || nodes.size() > kMostSlight) return {};
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

void Session::tryOut(std::uint32_t node) {
  // What it needs is run, into memory that nobody sees.
  untried_ = false;
  const auto results = trace_.results(trace_.nodes[node]);
  std::vector<TraceOutput> outputs;
  std::vector<Tensor> made;
  Pointers outs;
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    outputs.push_back({{node, i}, -1});
    made.push_back(makeEmpty(results[i].shape, results[i].dtype, trace_.device));
    outs.push_back(made.back().impl()->storage->data());
  }
  try {
    runPlan(*planFor(trace_, outputs),
            {inputPointers(), outs, scalarArguments_, firstDraw_.seed(), firstDraw_.offset(), trace_.slots});
  } catch (const Error&) {
    giveUp(kFails);
    throw;
  }
}

std::int32_t Session::draw(ScalarSlot& seed, ScalarSlot& offset) {
  // The generator advances now, whether or not the numbers are used. The trace counts from the first draw, so that it
  // is the same trace wherever the stream has got to.
  Generator& g = defaultGenerator();
  if (trace_.numRandom == 0) firstDraw_ = g;
  const std::int64_t since = g.offset() - firstDraw_.offset();
  if (g.seed() != firstDraw_.seed() || since < 0 || since > trace_.numRandom) {
    seed.source = offset.source = ScalarSlot::Source::Constant;
    seed.value = Scalar(g.seed());
    offset.value = Scalar(g.next());
    return -1;
  }
  g.next();
  ++trace_.numRandom;
  return static_cast<std::int32_t>(since);
}

}  // namespace tandem::lazy
