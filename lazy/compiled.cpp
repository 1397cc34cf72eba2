#include "lazy/compiled.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "eager/generator.h"
#include "eager/tape_hook.h"
#include "runtime/base/counters.h"
#include "runtime/base/long_work.h"
#include "runtime/plan/scalar_slots.h"

namespace tandem::lazy {

// ---- tracing -------------------------------------------------------------------------------------------------------

Tracer::Tracer(std::span<const Tensor> arguments, std::span<Storage* const> whole)
    : session_(std::make_unique<Session>(true)), arguments_(arguments.begin(), arguments.end()),
      recorderBefore_(activeRecorder), observerBefore_(gradSlotObserver) {
  for (Storage* s : whole) session_->takeWhole(s);
  for (const Tensor& t : arguments_) {
    t.materialize();
    session_->addArgument(t);
    argumentEdges_.push_back(t.requiresGrad() ? gradEdge(t) : Edge{});
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
  const AutogradMeta* m = metaOf(tensor);
  slots_.push_back({Ref<TensorImpl>(tensor), m != nullptr ? m->grad : Tensor()});
  return slots_.back();
}

void Tracer::onRead(TensorImpl* tensor) {
  if (!session_->tracing()) return;
  // Tensors made inside have no slot that a later call could find.
  if (tensor->storage->isPending() && static_cast<Content*>(tensor->storage->pending())->input < 0) return;
  Slot& s = slotOf(tensor);
  if (s.written || s.readFirst) return;
  s.readFirst = true;
  const AutogradMeta* m = metaOf(tensor);
  s.definedAtStart = m != nullptr && m->grad.defined();
  if (!s.definedAtStart) return;
  try {
    auto number = static_cast<std::int32_t>(session_->addArgument(m->grad));
    gradInputs_.emplace_back(number, Ref<TensorImpl>(tensor));
  } catch (const RestartTrace&) {
    session_->giveUp("a gradient shares memory with another tensor");
  }
}

void Tracer::onWrite(TensorImpl* tensor) {
  if (tensor->storage->isPending() && static_cast<Content*>(tensor->storage->pending())->input < 0) return;
  slotOf(tensor).written = true;
}

Place Tracer::placeOf(TensorImpl* t) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].impl() == t) return {static_cast<std::int32_t>(i), nullptr};
  return {-1, t};
}

CompiledTrace::Made Tracer::describe(const Tensor& t, const std::vector<Content*>& fresh) const {
  using Kind = CompiledTrace::Made::Kind;
  CompiledTrace::Made m;
  m.shape = t.shape();
  m.strides = t.strides();
  m.offset = t.impl()->offset;
  m.dtype = t.dtype();
  m.requiresGrad = t.requiresGrad();
  m.untracked = t.impl()->untracked;
  m.inference = t.impl()->inference;
  m.origin = t.impl()->origin;
  m.batch = t.impl()->batch;
  m.kind = Kind::Place;
  m.place = placeOf(t.impl());
  if (m.place.argument >= 0) return m;
  if (t.numel() == 0 && known_(t.impl()) == nullptr) {
    m.kind = Kind::Empty;
    m.index = t.impl()->storage->version;
    m.place = {};
    return m;
  }
  Storage* s = t.impl()->storage.get();
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (fresh[i]->storage != s) continue;
    m.kind = Kind::Fresh;
    m.index = static_cast<std::uint32_t>(i);
    m.place = {};
    return m;
  }
  const auto& inputs = session_->inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].storage.get() != s || (inputs[i].root.get() == t.impl() && known_(t.impl()) == t.impl())) continue;
    const bool before = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.before == t; });
    if (before) break;
    m.kind = Kind::Input;
    m.index = static_cast<std::uint32_t>(i);
    m.offset -= inputs[i].offset;
    m.place = {};
    return m;
  }
  return m;
}

std::int32_t Tracer::made(CompiledTrace& c, const Tensor& t, const std::vector<Content*>& fresh) {
  if (!t.defined()) return -1;
  auto known = std::find(made_.begin(), made_.end(), t.impl());
  if (known != made_.end()) return static_cast<std::int32_t>(known - made_.begin());
  CompiledTrace::Made m = describe(t, fresh);
  if (m.kind != CompiledTrace::Made::Kind::Place && t.impl()->viewBase)
    m.base = made(c, Tensor(t.impl()->viewBase), fresh);
  made_.push_back(t.impl());
  c.made.push_back(std::move(m));
  return static_cast<std::int32_t>(c.made.size()) - 1;
}

std::shared_ptr<CompiledTrace> Tracer::finish(std::span<const Tensor> outputs, std::span<const Scalar> scalars,
                                              const std::function<TensorImpl*(TensorImpl*)>& known,
                                              std::string& reason) {
  stop();
  known_ = known;
  // Gradients of tensors that only the body saw are seen by no one.
  std::erase_if(
      slots_, [&](const Slot& s) { return s.tensor->pyObject == nullptr && known(s.tensor.get()) != s.tensor.get(); });
  for (const Tensor& t : outputs)
    if (t.defined() && known(t.impl()) == nullptr) session_->include(t);
  auto c = std::make_shared<CompiledTrace>();

  // The tape first: it decides what the plan must leave behind.
  std::vector<Tensor> withHistory;
  auto addHistory = [&](const Tensor& t) {
    if (std::find(withHistory.begin(), withHistory.end(), t) == withHistory.end()) withHistory.push_back(t);
  };
  for (const Tensor& t : outputs) {
    if (!t.defined()) continue;
    addHistory(t);
    const Tensor base(t.impl()->viewBase);
    if (base.defined() && t.requiresGrad() && base.isPending()) addHistory(base);
  }
  for (const auto& s : slots_)
    if (const AutogradMeta* m = metaOf(s.tensor.get()); s.written && m != nullptr && m->grad.defined())
      addHistory(m->grad);
  auto changed = [](const Tensor& t, const Edge& before) {
    if (!t.requiresGrad() || autograd::isLeaf(t)) return false;
    Edge now = gradEdge(t);
    return !(now.node == before.node) || now.result != before.result;
  };
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (changed(arguments_[i], argumentEdges_[i])) addHistory(arguments_[i]);
  std::vector<Tensor> tapeInputs = arguments_;
  std::vector<Edge> tapeEdges = argumentEdges_;
  for (const auto& d : session_->differentiable()) {
    if (std::any_of(arguments_.begin(), arguments_.end(), [&](const Tensor& a) { return a == d.tensor; })) continue;
    tapeInputs.push_back(d.tensor);
    tapeEdges.push_back(d.edge);
    if (changed(d.tensor, d.edge)) addHistory(d.tensor);
  }
  c->differentiable = std::any_of(withHistory.begin(), withHistory.end(),
                                  [](const Tensor& t) { return t.requiresGrad() && !autograd::isLeaf(t); });
  if (c->differentiable) {
    if (!extractTemplate(withHistory, tapeInputs, tapeEdges, firstSequence_, c->tape, reason)) {
      reason = "the history of a result cannot be repeated: " + reason;
      return nullptr;
    }
    if (!c->tape.hooks.empty() || !c->tape.functions.empty()) {
      reason = "the history of a result holds hooks or a custom Function";
      return nullptr;
    }
    std::vector<bool> used(tapeInputs.size());
    auto use = [&](const TapeTemplate::Target& t) {
      if (t.kind == TapeTemplate::Target::Kind::Input) used[t.index] = true;
    };
    std::for_each(c->tape.edges.begin(), c->tape.edges.end(), use);
    std::for_each(c->tape.outputs.begin(), c->tape.outputs.end(), use);
    for (const auto& saved : c->tape.saved)
      if (saved.input >= 0) used[static_cast<std::size_t>(saved.input)] = true;
    for (std::size_t i = 0; i < tapeInputs.size(); ++i)
      c->tapeInputs.push_back(used[i] ? placeOf(tapeInputs[i].impl()) : Place{});
  }

  session_->keepChecks();
  session_->narrow(outputs);
  // What `.grad` slots hold now must be made by every call, so it is kept until the plan is compiled.
  std::vector<TraceOutput> traceOutputs;
  std::vector<Content*> fresh;
  c->plan = session_->compile(traceOutputs, fresh);
  bump(counters().graphTraces);

  const auto& inputs = session_->inputs();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    CompiledTrace::Source source;
    source.whole = session_->isWhole(inputs[k].storage.get());
    source.writes = inputs[k].storage->version - inputs[k].versionBefore;
    source.bytes = static_cast<std::size_t>(numelOf(inputs[k].meta.shape)) * itemSize(inputs[k].meta.dtype);
    bool found = false;
    for (std::size_t i = 0; !found && i < arguments_.size(); ++i) {
      if (!(arguments_[i].impl()->storage == inputs[k].storage)) continue;
      source.place.argument = static_cast<std::int32_t>(i);
      found = true;
    }
    for (const auto& [number, owner] : gradInputs_) {
      if (found || number != static_cast<std::int32_t>(k)) continue;
      source.place = placeOf(owner.get());
      source.grad = true;
      found = true;
    }
    if (!found && inputs[k].constant)
      source.constant = inputs[k].root;
    else if (!found) {
      source.place.captured = known(inputs[k].root.get());
      if (source.place.captured == nullptr) {
        reason = "memory is used that no name leads to";
        return nullptr;
      }
      if (!source.whole) source.shift = inputs[k].offset - source.place.captured->offset;
      source.memory = inputs[k].storage.get();
      c->memories.findOrAdd(source.memory, static_cast<std::uint32_t>(k));
    }
    c->inputs.push_back(source);
  }
  for (Content* f : fresh) c->fresh.push_back({f->storage->bytes(), f->storage->version});
  for (const Tensor& t : outputs) c->results.push_back(made(*c, t, fresh));
  for (const auto& s : slots_) {
    if (s.readFirst) {
      CompiledTrace::GradGuard guard{placeOf(s.tensor.get()), s.definedAtStart, {}, {}, {}, false};
      if (s.definedAtStart) {
        guard.dtype = s.before.dtype();
        guard.shape = s.before.shape();
        guard.strides = s.before.strides();
        guard.requiresGrad = s.before.requiresGrad();
      }
      c->gradGuards.push_back(std::move(guard));
    }
    if (!s.written) continue;
    const AutogradMeta* m = metaOf(s.tensor.get());
    const Tensor now = m != nullptr ? m->grad : Tensor();
    // A gradient that was there before and is there again needs no setting.
    if (now.defined() && now == s.before && s.readFirst) continue;
    c->grads.push_back({placeOf(s.tensor.get()), made(*c, now, fresh)});
  }
  for (const auto& saved : c->tape.saved) c->tapeSaved.push_back(describe(saved.traced, fresh));
  for (auto& saved : c->tape.saved) saved.traced = Tensor();
  c->resultsAreMade = c->results.size() == c->made.size();
  for (std::size_t i = 0; c->resultsAreMade && i < c->results.size(); ++i)
    c->resultsAreMade = c->results[i] == static_cast<std::int32_t>(i);
  if (c->differentiable)
    for (const Tensor& t : withHistory) c->tapeOutputs.push_back(made(*c, t, fresh));
  c->slots = session_->trace().slots;
  c->sizes = session_->learntSizes();
  for (auto k : session_->guardedScalars()) c->guardedScalars.emplace_back(k, scalars[k]);

  session_->run(*c->plan, fresh, scalars);
  return c;
}

void Tracer::flush() {
  stop();
  session_->giveUp("");
  session_->flush();
}

void Tracer::undo() {
  for (const auto& in : session_->inputs()) in.storage->version = in.versionBefore;
  session_->abandon();
  generators_.restore();
  for (const auto& s : slots_)
    if (s.written) autograd::setGrad(Tensor(s.tensor), s.before);
}

// ---- calls ---------------------------------------------------------------------------------------------------------

void CompiledTrace::advance(Generator& g) const {
  g.setOffset(g.offset() + static_cast<std::int64_t>(plan->numRandom));
}

namespace {
bool allDiffer(std::span<const Storage* const> storages) {
  if (storages.size() <= 8) {
    for (std::size_t i = 1; i < storages.size(); ++i)
      if (std::find(storages.begin(), storages.begin() + i, storages[i]) != storages.begin() + i) return false;
    return true;
  }
  std::size_t size = 16;
  while (size < storages.size() * 2) size *= 2;
  SmallVector<const Storage*, 256> seen;
  seen.resize(size);
  std::fill(seen.begin(), seen.end(), nullptr);
  for (const Storage* s : storages) {
    std::size_t at = reinterpret_cast<std::uintptr_t>(s) / 64 & (size - 1);
    for (; seen[at] != nullptr; at = (at + 1) & (size - 1))
      if (seen[at] == s) return false;
    seen[at] = s;
  }
  return true;
}
}  // namespace

TensorImpl* CompiledTrace::inputOf(const Source& s, std::span<const Tensor> arguments) {
  TensorImpl* t = tensorAt(s.place, arguments);
  return s.grad ? metaOf(t)->grad.impl() : t;
}

bool CompiledTrace::fits(std::span<const Tensor> arguments) const {
  for (const auto& g : gradGuards) {
    const AutogradMeta* m = metaOf(tensorAt(g.place, arguments));
    const bool defined = m != nullptr && m->grad.defined();
    if (defined != g.defined) return false;
    if (defined && (m->grad.dtype() != g.dtype || !(m->grad.shape() == g.shape) || !(m->grad.strides() == g.strides) ||
                    m->grad.requiresGrad() != g.requiresGrad))
      return false;
  }
  // Each input has its own memory, as when it was traced: captured tensors the same as then, arguments and gradients
  // any that is none of those, and none twice.
  SmallVector<const Storage*, 32> others;
  for (const auto& source : inputs) {
    if (source.constant) continue;
    const TensorImpl* t = inputOf(source, arguments);
    const Storage* s = t->storage.get();
    // What the plan reaches is there, whatever was done to the tensor since.
    const std::size_t from = source.whole ? 0 : static_cast<std::size_t>(t->offset + source.shift) * itemSize(t->dtype);
    if (source.bytes != 0 && from + source.bytes > s->bytes()) return false;
    if (source.memory != nullptr) {
      if (s != source.memory) return false;
    } else {
      if (memories.contains(s)) return false;
      others.push_back(s);
    }
  }
  return allDiffer({others.data(), others.size()});
}

std::vector<Tensor> CompiledTrace::run(std::span<const Tensor> arguments, std::span<const Scalar> scalars) const {
  const std::size_t n = inputs.size();
  auto ins = SmallVector<void*, 32>::unset(n);
  auto storages = SmallVector<Storage*, 32>::unset(n);
  auto offsets = SmallVector<std::int64_t, 32>::unset(n);
  for (std::size_t k = 0; k < n; ++k) {
    const Source& source = inputs[k];
    TensorImpl* t = source.constant ? source.constant.get() : inputOf(source, arguments);
    Storage* s = t->storage.get();
    if (s->isPending()) s->pending()->materialize();
    std::int64_t offset = source.whole ? 0 : t->offset + source.shift;
    storages[k] = s;
    offsets[k] = offset;
    ins[k] = static_cast<char*>(s->data()) + offset * static_cast<std::int64_t>(itemSize(t->dtype));
  }
  std::vector<Ref<Storage>> memory;
  memory.reserve(fresh.size());
  SmallVector<void*, 32> outs;
  for (const auto& f : fresh) {
    memory.emplace_back(new Storage(f.bytes, plan->device));
    memory.back()->version = f.version;
    outs.push_back(memory.back()->data());
  }
  std::vector<Edge> edges;
  if (differentiable) {
    edges.reserve(tapeInputs.size());
    for (const auto& p : tapeInputs) {
      if (p.argument < 0 && p.captured == nullptr) {
        edges.emplace_back();
        continue;
      }
      Tensor t{Ref<TensorImpl>(tensorAt(p, arguments))};
      edges.push_back(t.requiresGrad() ? gradEdge(t) : Edge{});
    }
  }
  Generator& g = defaultGenerator(plan->device);
  if (tapeHook != nullptr)
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].writes > 0) tapeHook->beforeWrite(storages[k]);
  PlanRun call{std::span<void* const>(ins.data(), ins.size()),
               std::span<void* const>(outs.data(), outs.size()),
               scalars,
               g.seed(),
               g.offset(),
               slots};
  Generator before = g;
  advance(g);
  // While a long plan runs, other threads go on and may drop what it reads.
  std::vector<Ref<Storage>> keptStorages;
  std::vector<Ref<TensorImpl>> keptTensors;
  if (plan->elements >= LongWork::kLong) {
    for (Storage* s : storages) keptStorages.emplace_back(s);
    visitCaptured([&](TensorImpl* t) { keptTensors.emplace_back(t); });
  }
  try {
    LongWork away(plan->elements);
    runPlan(*plan, call);
  } catch (...) {
    // The call is made again, by another plan or by the body, and draws the same numbers.
    g = before;
    throw;
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) storages[k]->version += inputs[k].writes;

  auto make = [&](const Made& m) -> Tensor {
    if (m.kind == Made::Kind::Place) return Tensor(Ref<TensorImpl>(tensorAt(m.place, arguments)));
    if (m.kind == Made::Kind::Empty) {
      Tensor empty = makeEmpty(m.shape, m.dtype, plan->device);
      empty.impl()->storage->version = m.index;
      return empty;
    }
    const bool isFresh = m.kind == Made::Kind::Fresh;
    auto* impl = new TensorImpl(isFresh ? memory[m.index] : Ref<Storage>(storages[m.index]), m.dtype, m.shape,
                                m.strides, isFresh ? m.offset : offsets[m.index] + m.offset);
    impl->batch = m.batch;
    impl->untracked = m.untracked;
    impl->inference = m.inference;
    impl->origin = m.origin;
    return Tensor(impl);
  };
  std::vector<Tensor> all;
  all.reserve(made.size());
  for (const auto& m : made) {
    all.push_back(make(m));
    if (m.base >= 0) all.back().impl()->viewBase = all[static_cast<std::size_t>(m.base)].ref();
    if (m.requiresGrad && m.kind != Made::Kind::Place) all.back().impl()->requiresGrad = true;
  }
  if (differentiable) {
    std::vector<Tensor> saved;
    saved.reserve(tapeSaved.size());
    for (std::size_t i = 0; i < tapeSaved.size(); ++i) {
      std::int32_t input = tape.saved[i].input;
      saved.push_back(input >= 0 ? Tensor(Ref<TensorImpl>(tensorAt(tapeInputs[input], arguments)))
                                 : make(tapeSaved[i]));
    }
    std::vector<Tensor> ends;
    ends.reserve(tapeOutputs.size());
    for (std::int32_t k : tapeOutputs) ends.push_back(all[static_cast<std::size_t>(k)]);
    std::vector<Scalar> values(slots.size());
    evaluateSlots(slots, call, values);
    instantiate(tape, edges, saved, values, ends);
  }
  if (grads.empty() && resultsAreMade) return all;
  auto at = [&](std::int32_t k) { return k >= 0 ? all[static_cast<std::size_t>(k)] : Tensor(); };
  for (const auto& slot : grads)
    autograd::setGrad(Tensor(Ref<TensorImpl>(tensorAt(slot.place, arguments))), at(slot.value));
  std::vector<Tensor> out;
  out.reserve(results.size());
  for (std::int32_t k : results) out.push_back(at(k));
  return out;
}

}  // namespace tandem::lazy
