#include "lazy/compiled.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "eager/generator.h"
#include "runtime/base/counters.h"
#include "runtime/plan/scalar_slots.h"

namespace tandem::lazy {
namespace {

TensorImpl* implOf(const Place& p, std::span<const Tensor> arguments) {
  return p.argument >= 0 ? arguments[p.argument].impl() : p.captured.get();
}

}  // namespace

// ---- tracing -------------------------------------------------------------------------------------------------------

Tracer::Tracer(std::span<const Tensor> arguments, std::span<Storage* const> whole)
    : session_(std::make_unique<Session>(true)), arguments_(arguments.begin(), arguments.end()),
      recorderBefore_(activeRecorder), observerBefore_(gradSlotObserver) {
  for (Storage* s : whole) session_->takeWhole(s);
  for (const Tensor& t : arguments_) {
    t.materialize();
    session_->addArgument(t);
    argumentEdges_.push_back(t.requiresGrad() ? gradEdge(t) : Edge{});
    versionsBefore_.push_back(t.impl()->storage->version);
  }
  firstSequence_ = Node::takeSequence();
  activeRecorder = session_.get();
  gradSlotObserver = this;
}

void Tracer::stop() {
  if (!recording_) return;
  recording_ = false;
  activeRecorder = recorderBefore_;
  gradSlotObserver = observerBefore_;
}

Tracer::~Tracer() { stop(); }

Scalar Tracer::scalar(double value) { return session_->addScalarArgument(numScalars_++, value); }

Tracer::Slot& Tracer::slotOf(TensorImpl* tensor) {
  for (auto& s : slots_)
    if (s.tensor.get() == tensor) return s;
  slots_.push_back({Ref<TensorImpl>(tensor)});
  return slots_.back();
}

void Tracer::onRead(TensorImpl* tensor) {
  // Tensors made inside have no slot that a later call could find.
  if (tensor->storage->isPending() && static_cast<Content*>(tensor->storage->pending())->input < 0) return;
  Slot& s = slotOf(tensor);
  if (s.written || s.readFirst) return;
  s.readFirst = true;
  const AutogradMeta* m = metaOf(tensor);
  s.definedAtStart = m != nullptr && m->grad.defined();
  if (!s.definedAtStart) return;
  auto number = static_cast<std::int32_t>(session_->addArgument(m->grad));
  gradInputs_.emplace_back(number, Ref<TensorImpl>(tensor));
}

void Tracer::onWrite(TensorImpl* tensor) {
  if (tensor->storage->isPending() && static_cast<Content*>(tensor->storage->pending())->input < 0) return;
  slotOf(tensor).written = true;
}

Place Tracer::placeOf(TensorImpl* t) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].impl() == t) return {static_cast<std::int32_t>(i), {}};
  return {-1, Ref<TensorImpl>(t)};
}

CompiledTrace::Made Tracer::describe(const Tensor& t, const std::vector<Content*>& fresh) const {
  using Kind = CompiledTrace::Made::Kind;
  CompiledTrace::Made m;
  if (!t.defined()) return m;
  m.shape = t.shape();
  m.strides = t.strides();
  m.offset = t.impl()->offset;
  m.dtype = t.dtype();
  m.requiresGrad = t.requiresGrad();
  m.batch = t.impl()->batch;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].impl() != t.impl()) continue;
    m.kind = Kind::Argument;
    m.index = static_cast<std::uint32_t>(i);
    return m;
  }
  Storage* s = t.impl()->storage.get();
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (fresh[i]->storage != s) continue;
    m.kind = Kind::Fresh;
    m.index = static_cast<std::uint32_t>(i);
    return m;
  }
  const auto& inputs = session_->inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].storage.get() != s) continue;
    if (inputs[i].root.get() == t.impl()) {
      m.kind = Kind::Captured;
      m.captured = t.ref();
      return m;
    }
    m.kind = Kind::Input;
    m.index = static_cast<std::uint32_t>(i);
    m.offset -= inputs[i].offset;
    return m;
  }
  m.kind = Kind::Captured;
  m.captured = t.ref();
  return m;
}

std::shared_ptr<CompiledTrace> Tracer::finish(std::span<const Tensor> outputs, std::span<const Scalar> scalars,
                                              bool hooksHold) {
  stop();
  auto c = std::make_shared<CompiledTrace>();
  std::vector<TraceOutput> traceOutputs;
  std::vector<Content*> fresh;

  // The tape first: it decides what the plan must leave behind.
  std::vector<Tensor> withHistory;
  for (const Tensor& t : outputs)
    if (t.defined()) withHistory.push_back(t);
  auto changed = [](const Tensor& t, const Edge& before) {
    if (!t.requiresGrad() || autograd::isLeaf(t)) return false;
    Edge now = gradEdge(t);
    return !(now.node == before.node) || now.result != before.result;
  };
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (changed(arguments_[i], argumentEdges_[i])) withHistory.push_back(arguments_[i]);
  std::vector<Tensor> tapeInputs = arguments_;
  std::vector<Edge> tapeEdges = argumentEdges_;
  for (const auto& d : session_->differentiable()) {
    if (std::any_of(arguments_.begin(), arguments_.end(), [&](const Tensor& a) { return a == d.tensor; })) continue;
    tapeInputs.push_back(d.tensor);
    tapeEdges.push_back(d.edge);
    if (changed(d.tensor, d.edge)) withHistory.push_back(d.tensor);
  }
  c->differentiable = std::any_of(withHistory.begin(), withHistory.end(),
                                  [](const Tensor& t) { return t.requiresGrad() && !autograd::isLeaf(t); });
  if (c->differentiable) {
    std::string reason;
    if (!extractTemplate(withHistory, tapeInputs, tapeEdges, firstSequence_, c->tape, reason))
      fail<NotImplementedError>("compile: the result of the function requires a gradient, and its history cannot be "
                                "repeated: ",
                                reason, ". Call backward inside the function, or keep that part outside.");
    if (hooksHold && !c->tape.hooks.empty())
      fail<NotImplementedError>("compile: a hook on a tensor computed in the function refers to another one computed "
                                "there. Call backward inside the function, or let the hook use its argument only.");
    for (const Tensor& t : tapeInputs) c->tapeInputs.push_back(placeOf(t.impl()));
  }

  session_->narrow(outputs);
  // What `.grad` slots hold now must be made by every call, so it is kept until the plan is compiled.
  c->plan = session_->compile(traceOutputs, fresh);
  bump(counters().graphTraces);

  const auto& inputs = session_->inputs();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    CompiledTrace::Source source;
    source.whole = session_->isWhole(inputs[k].storage.get());
    bool found = false;
    for (std::size_t i = 0; !found && i < arguments_.size(); ++i) {
      if (!(arguments_[i].impl()->storage == inputs[k].storage)) continue;
      source.place.argument = static_cast<std::int32_t>(i);
      source.writes = inputs[k].storage->version - versionsBefore_[i];
      found = true;
    }
    for (const auto& [number, owner] : gradInputs_) {
      if (found || number != static_cast<std::int32_t>(k)) continue;
      source.place = placeOf(owner.get());
      source.grad = true;
      found = true;
    }
    if (!found) source.place.captured = inputs[k].root;
    c->inputs.push_back(source);
  }
  for (Content* f : fresh) c->fresh.push_back({f->storage->bytes(), f->storage->version});
  for (const Tensor& t : outputs) c->results.push_back(describe(t, fresh));
  for (const auto& s : slots_) {
    if (s.readFirst) c->gradGuards.push_back({placeOf(s.tensor.get()), s.definedAtStart});
    if (!s.written) continue;
    const AutogradMeta* m = metaOf(s.tensor.get());
    c->grads.push_back({placeOf(s.tensor.get()), describe(m != nullptr ? m->grad : Tensor(), fresh)});
  }
  for (const auto& saved : c->tape.saved) c->tapeSaved.push_back(describe(saved.traced, fresh));
  for (auto& saved : c->tape.saved) saved.traced = Tensor();
  for (const Tensor& t : withHistory) c->tapeOutputs.push_back(describe(t, fresh));
  c->slots = session_->trace().slots;
  c->seeded = session_->seeded();
  c->sizes = session_->learntSizes();
  for (auto k : session_->guardedScalars()) c->guardedScalars.emplace_back(k, scalars[k]);

  session_->run(*c->plan, fresh, scalars);
  return c;
}

// ---- calls ---------------------------------------------------------------------------------------------------------

void CompiledTrace::advance(Generator& g) const {
  if (seeded)
    g = *seeded;
  else
    g.setOffset(g.offset() + static_cast<std::int64_t>(plan->numRandom));
}

bool CompiledTrace::fits(std::span<const Tensor> arguments) const {
  for (const auto& g : gradGuards) {
    const AutogradMeta* m = metaOf(implOf(g.place, arguments));
    if ((m != nullptr && m->grad.defined()) != g.defined) return false;
  }
  return true;
}

std::vector<Tensor> CompiledTrace::run(std::span<const Tensor> arguments, std::span<const Scalar> scalars) const {
  SmallVector<void*, 32> ins;
  SmallVector<Storage*, 32> storages;
  SmallVector<std::int64_t, 32> offsets;
  for (const auto& source : inputs) {
    TensorImpl* t = implOf(source.place, arguments);
    if (source.grad) t = metaOf(t)->grad.impl();
    Storage* s = t->storage.get();
    if (s->isPending()) s->pending()->materialize();
    std::int64_t offset = source.whole ? 0 : t->offset;
    storages.push_back(s);
    offsets.push_back(offset);
    ins.push_back(static_cast<char*>(s->data()) + offset * static_cast<std::int64_t>(itemSize(t->dtype)));
  }
  std::vector<Ref<Storage>> made;
  made.reserve(fresh.size());
  SmallVector<void*, 32> outs;
  for (const auto& f : fresh) {
    made.emplace_back(new Storage(f.bytes));
    made.back()->version = f.version;
    outs.push_back(made.back()->data());
  }
  std::vector<Edge> edges;
  if (differentiable && gradEnabled()) {
    edges.reserve(tapeInputs.size());
    for (const auto& p : tapeInputs) {
      Tensor t{implOf(p, arguments)};
      edges.push_back(t.requiresGrad() ? gradEdge(t) : Edge{});
    }
  }
  Generator& g = defaultGenerator();
  PlanRun call{std::span<void* const>(ins.data(), ins.size()),
               std::span<void* const>(outs.data(), outs.size()),
               scalars,
               g.seed(),
               g.offset(),
               slots};
  Generator before = g;
  advance(g);
  try {
    runPlan(*plan, call);
  } catch (const SizeChanged&) {
    // The call is made again with another plan, and draws the same numbers.
    g = before;
    throw;
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) storages[k]->version += inputs[k].writes;

  auto window = [](Ref<Storage> storage, const Made& m, std::int64_t offset) {
    auto* impl = new TensorImpl(std::move(storage), m.dtype, m.shape, m.strides, offset);
    impl->batch = m.batch;
    return Tensor(impl);
  };
  auto make = [&](const Made& m) -> Tensor {
    switch (m.kind) {
    case Made::Kind::None:
      return {};
    case Made::Kind::Argument:
      return arguments[m.index];
    case Made::Kind::Captured:
      return Tensor(m.captured);
    case Made::Kind::Fresh:
      return window(made[m.index], m, m.offset);
    case Made::Kind::Input:
      return window(storages[m.index], m, offsets[m.index] + m.offset);
    }
    return {};
  };
  std::vector<Tensor> out;
  out.reserve(results.size());
  for (const auto& r : results) out.push_back(make(r));
  if (differentiable && gradEnabled()) {
    std::vector<Tensor> saved;
    saved.reserve(tapeSaved.size());
    for (std::size_t i = 0; i < tapeSaved.size(); ++i) {
      std::int32_t input = tape.saved[i].input;
      saved.push_back(input >= 0 ? Tensor(implOf(tapeInputs[input], arguments)) : make(tapeSaved[i]));
    }
    std::vector<Tensor> ends;
    std::size_t next = 0;
    for (const auto& r : out)
      if (r.defined()) ends.push_back(r);
    for (next = ends.size(); next < tapeOutputs.size(); ++next) ends.push_back(make(tapeOutputs[next]));
    std::vector<Scalar> values(slots.size());
    evaluateSlots(slots, call, values);
    instantiate(tape, edges, saved, values, ends);
  } else {
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].defined() && results[i].requiresGrad && results[i].kind == Made::Kind::Fresh)
        out[i].impl()->requiresGrad = true;
  }
  for (const auto& slot : grads) autograd::setGrad(Tensor(implOf(slot.place, arguments)), make(slot.value));
  return out;
}

}  // namespace tandem::lazy
