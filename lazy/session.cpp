#include "lazy/session.h"

#include "eager/dispatch.h"
#include "eager/generator.h"
#include "eager/ops.h"
#include "runtime/base/attrs.h"
#include "runtime/base/user_line.h"
#include "runtime/device/executor.h"

namespace tandem::lazy {
Session::~Session() {
  // Whoever ends a session has flushed or abandoned it; contents of lost values must not reach it afterwards.
  abandon();
}

std::int32_t Session::slotOf(const Scalar& s) {
  if (s.slot >= 0 && tracing_ && s.recording == number_) return s.slot;
  ScalarSlot slot;
  slot.value = s;
  slot.value.slot = -1;
  return trace_.addSlot(slot);
}

namespace {
constexpr const char* kForeign = "memory is written that another tensor looks at by a storage of its own, as two do "
                                 "that were made of one NumPy array";
}  // namespace

const SessionInput* Session::overlapping(const Storage& s) const {
  auto it = std::ranges::find_if(inputs_, [&](const SessionInput& in) { return in.storage->overlaps(s); });
  return it != inputs_.end() ? &*it : nullptr;
}

std::int32_t Session::addInput(const Tensor& root, Storage* storage) {
  if (tracing_)
    if (const SessionInput* other = overlapping(*storage); other != nullptr && other->storage->isPending()) {
      giveUp(kForeign);
      flush();
    }
  SessionInput in;
  in.storage = Ref<Storage>(storage);
  in.versionBefore = storage->version;
  in.root = root.ref();
  in.meta.dtype = root.dtype();
  if (whole_.contains(storage)) {
    in.meta.shape = Dims{static_cast<std::int64_t>(storage->bytes() / itemSize(root.dtype()))};
  } else {
    in.offset = root.impl()->offset;
    in.meta.shape = root.isContiguous() ? root.shape() : Dims{reach(root.shape(), root.strides())};
  }
  in.value = trace_.addInput(in.meta);
  auto number = static_cast<std::uint32_t>(inputs_.size());
  inputs_.push_back(std::move(in));
  inputNumbers_.findOrAdd(storage, number);
  inputBytes_ += static_cast<std::int64_t>(storage->bytes());
  return static_cast<std::int32_t>(number);
}

bool Session::holdsMuch() {
  if (pendingBytes_ > kMostBytes) return true;
  std::int64_t held = 0;
  for (const SessionInput& in : inputs_) {
    const bool alone = in.root->refCount() == 1 && in.storage->refCount() == 2;  // this one, and the root's
    if (alone) held += static_cast<std::int64_t>(in.storage->bytes());
  }
  lookAt_ = inputBytes_ + kMostBytes - held;
  return held > kMostBytes;
}

std::uint32_t Session::addArgument(const Tensor& t) {
  // A trace whose arguments are elsewhere than on the CPU is one of that device; nothing is recorded yet.
  if (device_.isCpu() && !t.device().isCpu()) {
    device_ = t.device();
    turnToDevice();
  }
  Storage* s = t.impl()->storage.get();
  std::uint32_t known = inputNumbers_.find(s);
  if (known == inputNumbers_.kNone) return static_cast<std::uint32_t>(addInput(t, s));
  // The same window again is the same input; another window on the storage means that it must be taken whole.
  const SessionInput& in = inputs_[known];
  std::int64_t n = t.isContiguous() ? t.numel() : reach(t.shape(), t.strides());
  if (!whole_.contains(s) && (in.offset != t.impl()->offset || numelOf(in.meta.shape) != n)) throw RestartTrace(s);
  return known;
}

std::int32_t Session::inputOf(const Tensor& t) {
  Storage* s = t.impl()->storage.get();
  std::uint32_t known = inputNumbers_.find(s);
  if (known != inputNumbers_.kNone) return static_cast<std::int32_t>(known);
  const Ref<TensorImpl>& base = t.impl()->viewBase;
  return addInput(base && base->storage == t.impl()->storage ? Tensor(base) : t, s);
}

void Session::note(const Tensor& t) {
  if (!tracing_ || !t.requiresGrad() || !noted_.insert(t.impl()).second) return;
  // A view made inside has a history of its own, which leads to what was there before.
  Edge e = gradEdge(t);
  if (e.node->kind() == Node::Kind::Leaf || e.node->sequence() < started_) differentiable_.push_back({t, std::move(e)});
}

void Session::runRecorded(const char* why) {
  giveUp(why);
  flush();
}

void Session::enter(Device device) {
  if (device_ == device) return;
  const bool recorded = trace_.size() != 0 || first_ != nullptr;
  if (recorded) giveUp("operations on several devices");
  device_ = device;
  if (recorded) flush();
  turnToDevice();
}

void Session::turnToDevice() {
  if (trace_.device == device_) return;  // as at this place of the last run
  trace_.settle();
  trace_.device = device_;
  looks_.clear();
}

void Session::beforeRead(const Tensor& t) {
  // Memory made while tracing is a constant; what was there before may be another thing at the next call.
  if (tracing_ && !t.isPending() && !isConstant(t.impl()->storage.get())) giveUp(kValueRead);
}

void Session::beforeChange(Storage& memory) {
  if (running_) return;  // it reads its inputs now: who changes one meanwhile does so in no order
  if (inputNumbers_.contains(&memory) || overlapping(memory) != nullptr)
    runRecorded("memory that was read is shown to others, or changes at once");
}

Tensor Session::place(const Tensor& t, Device device) {
  if (!tracing_ || t.impl()->storage->birth() > birth_ || t.impl()->batch || t.numel() == 0) return {};
  if (device_ != device) {
    if (trace_.size() != 0 || first_ != nullptr) return {};
    enter(device);
  }
  // Each time an input of its own: between two uses others may write to memory that they share.
  const Dims reached{reach(t.shape(), t.strides())};
  const Tensor from =
      saved ? Tensor(new TensorImpl(t.impl()->storage, t.dtype(), reached, Dims{1}, t.impl()->offset)) : t;
  NoGrad noGrad;
  Tensor copy;
  {
    AtOnce now;
    copy = ops::device_copy(from, deviceNumber(device), deviceNumber(t.device()));
  }
  inputs_[static_cast<std::size_t>(addInput(copy, copy.impl()->storage.get()))].placed = from;
  if (!saved) return copy;
  return ops::clone(Tensor(new TensorImpl(copy.impl()->storage, t.dtype(), t.shape(), t.strides(), 0)));
}

void Session::touch(const Tensor& base) {
  awaitRun();
  if (!tracing_ || base.isPending()) return;
  if (device_ != base.device()) {
    // A window is no work: one on memory elsewhere is none of the trace's values.
    if (trace_.size() != 0 || first_ != nullptr) return;
    enter(base.device());
  }
  (void)valueOf(base);
}

ValueRef Session::valueOf(const Tensor& t) {
  Storage* s = t.impl()->storage.get();
  if (s->isPending() && contentOf(s)->session != this) s->pending()->materialize();
  std::int64_t base = 0;
  ValueRef value;
  if (!s->isPending()) {
    shared_ |= (watched_ || tracing_) && s->isShared();
    note(t);
    if (tracing_ && s->birth() > birth_ && !inputNumbers_.contains(s)) adopt(t);
  }
  if (s->isPending()) {
    Content* c = contentOf(s);
    value = c->value;
    if (c->input >= 0) base = inputs_[c->input].offset;
  } else {
    std::int32_t k = inputOf(t);
    value = inputs_[k].value;
    base = inputs_[k].offset;
  }
  std::int64_t offset = t.impl()->offset - base;
  const Dims& whole = trace_.meta(value).shape;
  if (offset == 0 && t.isContiguous() && t.shape() == whole) return value;
  if (t.numel() > 0 && (offset < 0 || offset + reach(t.shape(), t.strides()) > numelOf(whole))) {
    whole_.insert(s);
    if (tracing_) {
      restart_ = Ref<Storage>(s);
      giveUp("a tensor is reached beyond the part of its memory that was known");
    }
    flush();
    return valueOf(t);
  }
  if (t.numel() == 0) offset = 0;
  return trace_.addWindow(value, {t.shape(), t.strides(), offset});
}

void Session::adopt(const Tensor& t) {
  Storage* s = t.impl()->storage.get();
  auto* copy = new Storage(s->bytes(), s->device());
  Executor& device = executor(s->device());
  device.copy(copy->data(), s->data(), s->bytes(), device.stream());
  // A fresh storage's value is all of it.
  whole_.insert(copy);
  Tensor constant(new TensorImpl(copy, t.dtype(), t.shape(), t.strides(), t.impl()->offset));
  std::int32_t k = addInput(constant, copy);
  inputs_[k].constant = true;
  s->setPending(new Content(*this, s, inputs_[k].value, -1));
}

Tensor Session::fresh(ValueRef value, const TensorMeta& meta) {
  const std::int64_t elements = elementsOf(meta.shape, meta.dtype);
  const std::int64_t bytes = elements * static_cast<std::int64_t>(itemSize(meta.dtype));
  auto* s = new Storage(Storage::PendingTag{}, static_cast<std::size_t>(bytes), trace_.device);
  Tensor t(new TensorImpl(s, meta.dtype, meta.shape, elements));
  s->setPending(new Content(*this, s, value, -1));
  pendingBytes_ += bytes;
  return t;
}

void Session::record(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                     std::span<const TensorMeta> metas, std::span<Tensor> results) {
  awaitRun();
  if (!tracing_ && (trace_.size() > kMostNodes || (mayHoldMuch() && holdsMuch()))) flush();
  const OpFacts& f = facts(op);
  bool certain = f.failure != OpFailure::Values;
  if (watched_ || tracing_) {
    asked_ = false;
    if (!canWait(f, operands, attrs, metas)) {
      giveUp(kFails);
      AtOnce now;
      NoGrad noGrad;
      return applyMulti(op, operands, attrs, results);
    }
    certain = certain || !(asked_ || untried_);
  }
  // Values first: to make one may run what was recorded, and then those before it and all slots would be lost.
  SmallVector<ValueRef, 8> values;
  std::uint64_t before = 0;
  do {
    before = resets_;
    values.clear();
    for (const auto& o : operands)
      values.push_back(o.isTensor() && o.tensor().defined() ? valueOf(o.tensor()) : ValueRef{});
  } while (before != resets_);
  if (op == OpCode::window_write) {
    AttrReader r(attrs);
    Window w;
    w.shape = Dims(r.list());
    w.strides = Dims(r.list());
    w.offset = r.integer();
    results[0] = fresh(trace_.addWrite(values[0], values[1], w), metas[0]);
    return endShared();
  }
  SmallVector<TraceOperand, 8> ins;
  if (f.random) {
    ScalarSlot seed;
    ScalarSlot offset;
    if (Generator* g = scopedGenerator()) {
      seed.value = Scalar(g->seed());
      offset.value = Scalar(g->next());
    } else {
      seed.source = ScalarSlot::Source::RngSeed;
      offset.source = ScalarSlot::Source::RngOffset;
      offset.a = draw(seed, offset);
    }
    ins.push_back(TraceOperand::ofSlot(trace_.addSlot(seed)));
    ins.push_back(TraceOperand::ofSlot(trace_.addSlot(offset)));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& o = operands[i];
    if (!o.isTensor())
      ins.push_back(TraceOperand::ofSlot(slotOf(o.scalar())));
    else
      ins.push_back(o.tensor().defined() ? TraceOperand::of(values[i]) : TraceOperand{});
  }
  const std::size_t nodesBefore = trace_.size();
  std::uint32_t node = trace_.addOp(op, ins, attrs, metas);
  trace_.nodes[node].repeats = certain && mayRepeat(f, operands.size(), metas);
  if (f.failure != OpFailure::Never && !trace_.following() && node == nodesBefore) trace_.setLine(userLine());
  if (untried_) tryOut(node);
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    results[i] = fresh({node, i}, metas[i]);
    if (!learntSizes_.empty())
      contentOf(results[i].impl()->storage.get())->dataDims = dataDimsOf(f, operands, attrs, i, metas[i]);
  }
  endShared();
}

void Session::recordWrite(const Tensor& into, const Tensor& value) {
  awaitRun();
  ValueRef v;
  std::uint64_t before = 0;
  do {  // as in `record`; makes the storage known
    before = resets_;
    // Now and not when the write runs: what they record from now on finds the memory pending.
    if (HoldsBack::several()) settleOthers(*into.impl()->storage, this);
    v = valueOf(value);
    (void)valueOf(into);
    if (tracing_ && overlapping(*into.impl()->storage) != nullptr) {
      giveUp(kForeign);
      flush();
    }
  } while (before != resets_);
  write(into, v);
  endShared();
}

void Session::write(const Tensor& into, ValueRef value) {
  Storage* s = into.impl()->storage.get();
  const Held held = heldBy(s);
  if (into.numel() == 0) return;
  ValueRef now = trace_.addWrite(held.value, value, {into.shape(), into.strides(), into.impl()->offset - held.begin});
  if (s->isPending())
    contentOf(s)->value = now;
  else
    s->setPending(new Content(*this, s, now, held.input));
}

void Session::giveUp(const char* why) {
  if (!tracing_) return;
  if (onGivenUp) onGivenUp(why);
  if (!tracing_) return;  // while it was told
  tracing_ = false;
  watched_ = true;
  // Others may change such memory from now on.
  if (shared_) flush();
}

bool Session::mayRead() {
  if (tracing_ && !strict) giveUp(kValueRead);
  return !tracing_;
}

}  // namespace tandem::lazy
