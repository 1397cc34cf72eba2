#include "lazy/tracer.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "lazy/save_less.h"
#include "runtime/base/counters.h"
#include "runtime/plan/scalar_slots.h"

namespace tandem::lazy {

Tracer::Tracer(std::span<const Tensor> arguments, std::span<Storage* const> whole)
    : session_(std::make_unique<Session>(true)), arguments_(arguments.begin(), arguments.end()),
      recorderBefore_(activeRecorder), observerBefore_(gradObserver) {
  for (Storage* s : whole) session_->takeWhole(s);
  for (const Tensor& t : arguments_) take(t);
  firstSequence_ = Node::takeSequence();
  activeRecorder = session_.get();
  gradObserver = this;
}

void Tracer::take(const Tensor& t) {
  if (t.isPending()) t.impl()->storage->pending()->materialize();
  if (t.impl()->writes) ownVersions_.emplace_back(argumentEdges_.size(), t.impl()->version());
  session_->addArgument(t);
  argumentEdges_.push_back(t.requiresGrad() ? gradEdge(t) : Edge{});
}

void Tracer::addArgument(const Tensor& t, bool whole) {
  if (whole) session_->takeWhole(t.impl()->storage.get());
  take(t);
  arguments_.push_back(t);
}

void Tracer::stop() {
  if (!recording_) return;
  recording_ = false;
  activeRecorder = recorderBefore_;
  gradObserver = observerBefore_;
}

Tracer::~Tracer() { stop(); }

Scalar Tracer::scalar(Scalar value) { return session_->addScalarArgument(numScalars_++, value); }

Tracer::Grad& Tracer::gradOf(TensorImpl* tensor) {
  for (auto& s : grads_)
    if (s.tensor.get() == tensor) return s;
  const AutogradMeta* m = metaOf(tensor);
  grads_.push_back({Ref<TensorImpl>(tensor), m != nullptr ? m->grad : Tensor()});
  return grads_.back();
}

void Tracer::onRead(TensorImpl* tensor) {
  if (!session_->tracing()) return;
  // Tensors made inside have no `.grad` that a later call could find.
  if (tensor->storage->isPending() && static_cast<Content*>(tensor->storage->pending())->input < 0) return;
  Grad& s = gradOf(tensor);
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
  gradOf(tensor).written = true;
}

void Tracer::onLeaf(TensorImpl* tensor) {
  const Tensor t{Ref<TensorImpl>(tensor)};
  leaves_.push_back(t);
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i] == t) argumentEdges_[i] = gradEdge(t);
}

OuterTensor Tracer::outerTensor(TensorImpl* t) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].impl() == t) return {static_cast<std::int32_t>(i), nullptr};
  return {-1, t};
}

std::int32_t Tracer::argumentOn(const Ref<Storage>& memory) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].impl()->storage == memory) return static_cast<std::int32_t>(i);
  return -1;
}

CompiledTrace::Made Tracer::describe(const Tensor& t, const std::vector<Content*>& fresh) const {
  using Kind = CompiledTrace::Made::Kind;
  CompiledTrace::Made m;
  m.shape = t.shape();
  m.strides = t.strides();
  m.offset = t.impl()->offset;
  m.dtype = t.dtype();
  m.requiresGrad = t.requiresGrad();
  m.countsAlone = static_cast<bool>(t.impl()->writes);
  m.inference = t.impl()->inference;
  m.origin = t.impl()->origin;
  m.batch = t.impl()->batch;
  m.kind = Kind::Outer;
  m.outer = outerTensor(t.impl());
  if (m.outer.argument >= 0) return m;
  if (t.numel() == 0 && known_(t.impl()) == nullptr) {
    m.kind = Kind::Empty;
    m.index = t.impl()->storage->version;
    m.outer = {};
    return m;
  }
  Storage* s = t.impl()->storage.get();
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (fresh[i]->storage != s) continue;
    m.kind = Kind::Fresh;
    m.index = static_cast<std::uint32_t>(i);
    m.outer = {};
    return m;
  }
  const auto& inputs = session_->inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].storage.get() != s || known_(t.impl()) == t.impl()) continue;
    const bool before = std::any_of(grads_.begin(), grads_.end(), [&](const Grad& grad) { return grad.before == t; });
    if (before) break;
    m.kind = Kind::Input;
    m.index = static_cast<std::uint32_t>(i);
    m.offset -= inputs[i].offset;
    m.outer = {};
    return m;
  }
  return m;
}

std::int32_t Tracer::made(CompiledTrace& c, const Tensor& t, const std::vector<Content*>& fresh) {
  if (!t.defined()) return -1;
  auto known = std::find(made_.begin(), made_.end(), t.impl());
  if (known != made_.end()) return static_cast<std::int32_t>(known - made_.begin());
  CompiledTrace::Made m = describe(t, fresh);
  if (m.kind != CompiledTrace::Made::Kind::Outer && t.impl()->viewBase)
    m.base = made(c, Tensor(t.impl()->viewBase), fresh);
  made_.push_back(t.impl());
  c.made.push_back(std::move(m));
  return static_cast<std::int32_t>(c.made.size()) - 1;
}

std::vector<Tensor> Tracer::ownLeaves() const {
  std::vector<Tensor> own;
  for (const Tensor& t : leaves_)
    if (outerTensor(t.impl()).argument < 0 && known_(t.impl()) != t.impl() && t.requiresGrad() && autograd::isLeaf(t) &&
        std::find(own.begin(), own.end(), t) == own.end())
      own.push_back(t);
  return own;
}

Tracer::TapeInputs Tracer::tapeInputs() const {
  TapeInputs in{arguments_, argumentEdges_, 0};
  const std::vector<Tensor> own = ownLeaves();
  auto contains = [](std::span<const Tensor> in, const Tensor& t) {
    return std::find(in.begin(), in.end(), t) != in.end();
  };
  for (const auto& d : session_->differentiable()) {
    if (contains(arguments_, d.tensor) || contains(own, d.tensor)) continue;
    in.tensors.push_back(d.tensor);
    in.edges.push_back(d.edge);
  }
  in.outer = in.tensors.size();
  for (const Tensor& t : own) {
    in.tensors.push_back(t);
    in.edges.push_back(gradEdge(t));
  }
  return in;
}

std::vector<Tensor> Tracer::withHistory(std::span<const Tensor> outputs, const TapeInputs& inputs) const {
  std::vector<Tensor> ends;
  auto add = [&](const Tensor& t) {
    if (std::find(ends.begin(), ends.end(), t) == ends.end()) ends.push_back(t);
  };
  for (const Tensor& t : outputs) {
    if (!t.defined()) continue;
    add(t);
    const Tensor base(t.impl()->viewBase);
    if (base.defined() && t.requiresGrad() && base.isPending()) add(base);
  }
  for (const auto& s : grads_)
    if (const AutogradMeta* m = metaOf(s.tensor.get()); s.written && m != nullptr && m->grad.defined()) add(m->grad);
  // What the body wrote in place has another history than before.
  for (std::size_t i = 0; i < inputs.tensors.size(); ++i) {
    const Tensor& t = inputs.tensors[i];
    if (!t.requiresGrad() || autograd::isLeaf(t)) continue;
    const Edge now = gradEdge(t);
    if (!(now.node == inputs.edges[i].node) || now.result != inputs.edges[i].result) add(t);
  }
  return ends;
}

bool Tracer::keepTape(CompiledTrace& c, std::span<const Tensor> ends, const TapeInputs& inputs, std::string& reason) {
  if (!extractTemplate(ends, inputs.tensors, inputs.edges, firstSequence_, c.tape, reason)) {
    reason = "the history of a result cannot be repeated: " + reason;
    return false;
  }
  if (!c.tape.hooks.empty()) {
    reason = "the history of a result holds hooks";
    return false;
  }
  if (!c.tape.functions.empty() && !functionsRepeat_) {
    reason = "the history of a result holds a custom Function that keeps other things than plain values in its context "
             "(tensors are kept by save_for_backward)";
    return false;
  }
  std::vector<bool> used(inputs.tensors.size());
  auto use = [&](const TapeTemplate::Target& t) {
    if (t.kind == TapeTemplate::Target::Kind::Input) used[t.index] = true;
  };
  std::for_each(c.tape.edges.begin(), c.tape.edges.end(), use);
  std::for_each(c.tape.outputs.begin(), c.tape.outputs.end(), use);
  for (const auto& saved : c.tape.saved)
    if (saved.input >= 0) used[static_cast<std::size_t>(saved.input)] = true;
  for (std::size_t i = 0; i < inputs.tensors.size(); ++i) {
    const bool own = i >= inputs.outer;
    c.tapeInputs.push_back(used[i] && !own ? outerTensor(inputs.tensors[i].impl()) : OuterTensor{});
    if (!used[i] || !own) continue;
    const Tensor& leaf = inputs.tensors[i];
    const AutogradMeta* m = metaOf(leaf);
    if (m != nullptr && (m->hooks || m->afterAccumulate || m->grad.defined())) {
      reason = "the history of a result holds a tensor made inside that has hooks or a gradient";
      return false;
    }
    tapeLeaves_.emplace_back(static_cast<std::uint32_t>(i), leaf);
  }
  return true;
}

bool Tracer::findPlaced(CompiledTrace::Source& source, const SessionInput& input, std::string& reason) const {
  const Tensor& window = input.placed;
  source.outer.argument = argumentOn(window.impl()->storage);
  if (source.outer.argument < 0) source.outer.captured = known_(window.impl());
  const TensorImpl* from = CompiledTrace::tensorAt(source.outer, arguments_);
  if (from == nullptr || from->dtype != window.dtype()) {
    reason = "memory of the CPU is used that no name leads to";
    return false;
  }
  source.placed = std::make_shared<Placed>(window, *from, !source.written);
  return true;
}

bool Tracer::findInputs(CompiledTrace& c, std::span<const TraceOutput> outputs, std::string& reason) const {
  const auto& inputs = session_->inputs();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    CompiledTrace::Source source;
    source.whole = session_->isWhole(inputs[k].storage.get());
    source.writes = inputs[k].storage->version - inputs[k].versionBefore;
    source.written = source.writes > 0 || std::ranges::any_of(outputs, [&](const TraceOutput& o) {
                       return o.intoInput == static_cast<std::int32_t>(k);
                     });
    source.bytes = static_cast<std::size_t>(numelOf(inputs[k].meta.shape)) * itemSize(inputs[k].meta.dtype);
    if (inputs[k].placed.defined()) {
      if (!findPlaced(source, inputs[k], reason)) return false;
      c.inputs.push_back(source);
      continue;
    }
    source.outer.argument = argumentOn(inputs[k].storage);
    bool found = source.outer.argument >= 0;
    for (const auto& [number, owner] : gradInputs_) {
      if (found || number != static_cast<std::int32_t>(k)) continue;
      source.outer = outerTensor(owner.get());
      source.grad = true;
      found = true;
    }
    if (!found && inputs[k].constant)
      source.constant = inputs[k].root;
    else if (!found) {
      source.outer.captured = known_(inputs[k].root.get());
      if (source.outer.captured == nullptr) {
        reason = "memory is used that no name leads to";
        return false;
      }
      if (!source.whole) source.shift = inputs[k].offset - source.outer.captured->offset;
      source.memory = inputs[k].storage.get();
      c.memories.findOrAdd(source.memory, static_cast<std::uint32_t>(k));
    }
    c.writesInputs = c.writesInputs || source.written;
    c.inputs.push_back(source);
  }
  return true;
}

bool Tracer::placeGrad(CompiledTrace::GradGuard& guard, const CompiledTrace& c, const Tensor& grad) const {
  const auto& inputs = session_->inputs();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const CompiledTrace::Source& source = c.inputs[k];
    if (inputs[k].storage != grad.impl()->storage) continue;
    if (source.grad && source.outer == guard.outer) return true;
    const TensorImpl* other =
        source.constant ? source.constant.get() : CompiledTrace::tensorAt(source.outer, arguments_);
    if (source.grad) {
      auto owner =
          std::ranges::find_if(grads_, [&](const Grad& g) { return outerTensor(g.tensor.get()) == source.outer; });
      other = owner != grads_.end() ? owner->before.impl() : nullptr;
    }
    if (other == nullptr || other->storage != grad.impl()->storage || other->dtype != grad.dtype()) return false;
    guard.within = static_cast<std::int32_t>(k);
    guard.shift = grad.impl()->offset - other->offset;
  }
  return true;
}

bool Tracer::keepGrads(CompiledTrace& c, const std::vector<Content*>& fresh, std::string& reason) {
  for (const auto& s : grads_) {
    if (s.readFirst) {
      CompiledTrace::GradGuard guard{outerTensor(s.tensor.get()), s.definedAtStart, {}, {}, {}, false};
      if (s.definedAtStart) {
        guard.dtype = s.before.dtype();
        guard.shape = s.before.shape();
        guard.strides = s.before.strides();
        guard.requiresGrad = s.before.requiresGrad();
        if (!placeGrad(guard, c, s.before)) {
          reason = "a gradient shares memory with another tensor";
          return false;
        }
      }
      c.gradGuards.push_back(std::move(guard));
    }
    if (!s.written) continue;
    const AutogradMeta* m = metaOf(s.tensor.get());
    const Tensor now = m != nullptr ? m->grad : Tensor();
    // A gradient that was there before and is there again needs no setting.
    if (now.defined() && now == s.before && s.readFirst) continue;
    c.grads.push_back({outerTensor(s.tensor.get()), made(c, now, fresh), s.dropped});
  }
  return true;
}

void Tracer::saveLess(CompiledTrace& c, std::span<const Tensor> outputs, std::span<const Tensor> ends,
                      std::span<const Scalar> scalars) {
  std::vector<Tensor> seen(outputs.begin(), outputs.end());
  seen.insert(seen.end(), ends.begin(), ends.end());
  for (const Grad& g : grads_)
    if (const AutogradMeta* m = metaOf(g.tensor.get()); m != nullptr) seen.push_back(m->grad);
  lazy::saveLess(*session_, c.tape, seen);
  if (c.tape.recipe == nullptr) return;
  const std::vector<ScalarSlot>& slots = session_->trace().slots;
  std::vector<Scalar> values(slots.size());
  PlanRun now;
  now.arguments = scalars;
  evaluateSlots(slots, now, values);
  keepLess(c.tape, values);
}

std::shared_ptr<CompiledTrace> Tracer::finish(std::span<const Tensor> outputs, std::span<const Scalar> scalars,
                                              const std::function<TensorImpl*(TensorImpl*)>& known, std::string& reason,
                                              bool dry) {
  stop();
  known_ = known;
  // Gradients of tensors that only the body saw are seen by no one.
  std::erase_if(
      grads_, [&](const Grad& s) { return s.tensor->pyObject == nullptr && known(s.tensor.get()) != s.tensor.get(); });
  for (const Tensor& t : outputs) {
    if (!t.defined() || t.isPending()) continue;
    const TensorImpl* found = known(t.impl());
    if (found == nullptr)
      session_->include(t);
    else if (found != t.impl())
      (void)session_->valueOf(t);  // another tensor on memory that no operation read
  }
  auto c = std::make_shared<CompiledTrace>();

  // The tape first: it decides what the plan must leave behind.
  std::vector<Tensor> ends;
  {
    const TapeInputs inputs = tapeInputs();
    ends = withHistory(outputs, inputs);
    c->differentiable =
        std::any_of(ends.begin(), ends.end(), [](const Tensor& t) { return t.requiresGrad() && !autograd::isLeaf(t); });
    if (c->differentiable && !keepTape(*c, ends, inputs, reason)) return nullptr;
  }
  leaves_.clear();  // those that no history leads to need no memory

  if (c->differentiable && !dry) saveLess(*c, outputs, ends, scalars);
  c->tape.traced.clear();
  session_->keepChecks();
  session_->narrow(outputs);
  // What `.grad` attributes hold now must be made by every call, so it is kept until the plan is compiled.
  std::vector<TraceOutput> traceOutputs;
  std::vector<Content*> fresh;
  c->plan = session_->compile(traceOutputs, fresh);
  bump(counters().graphTraces);

  if (!findInputs(*c, traceOutputs, reason)) return nullptr;
  for (const auto& [argument, before] : ownVersions_)
    if (const std::uint32_t writes = arguments_[argument].impl()->version() - before; writes > 0)
      c->ownWrites.emplace_back(argument, writes);
  for (Content* f : fresh) c->fresh.push_back({f->storage->bytes(), f->storage->version});
  for (const Tensor& t : outputs) c->results.push_back(made(*c, t, fresh));
  if (!keepGrads(*c, fresh, reason)) return nullptr;
  for (const auto& saved : c->tape.saved)
    c->tapeSaved.push_back(saved.again < 0 ? describe(saved.traced, fresh) : CompiledTrace::Made());
  for (auto& saved : c->tape.saved) saved.traced = Tensor();
  c->resultsAreMade = c->results.size() == c->made.size();
  for (std::size_t i = 0; c->resultsAreMade && i < c->results.size(); ++i)
    c->resultsAreMade = c->results[i] == static_cast<std::int32_t>(i);
  if (c->differentiable)
    for (const Tensor& t : ends) c->tapeOutputs.push_back(made(*c, t, fresh));
  for (const auto& [number, leaf] : tapeLeaves_) c->tapeLeaves.emplace_back(number, made(*c, leaf, fresh));
  // What a call hands on may be written to.
  for (const CompiledTrace::Made& m : c->made)
    if (m.kind == CompiledTrace::Made::Kind::Input && c->inputs[m.index].placed) c->inputs[m.index].placed->release();
  c->slots = session_->trace().slots;
  c->sizes = session_->learntSizes();
  for (auto k : session_->guardedScalars()) c->guardedScalars.emplace_back(k, scalars[k]);
  c->boundedScalars.assign(session_->boundedScalars().begin(), session_->boundedScalars().end());
  std::vector<std::int32_t> numbers;
  for (const Scalar& s : numbers_) numbers.push_back(s.slot);
  c->numbers = CallNumbers(c->slots, c->boundedScalars, session_->conditions(), std::move(numbers));

  if (!dry) session_->run(*c->plan, fresh, scalars);
  return c;
}

void Tracer::dropGrads() {
  for (Grad& s : grads_) {
    const AutogradMeta* m = metaOf(s.tensor.get());
    // What is passed has no gradient before.
    const bool unseen = !s.readFirst || (!s.definedAtStart && outerTensor(s.tensor.get()).argument >= 0);
    if (!s.written || !unseen || m == nullptr || !m->grad.defined()) continue;
    s.dropped = true;
    autograd::setGrad(Tensor(s.tensor), {});
  }
}

void Tracer::flush() {
  stop();
  session_->giveUp("");
  session_->flush();
}

void Tracer::undo() {
  for (const auto& in : session_->inputs()) in.storage->version = in.versionBefore;
  for (const auto& [argument, before] : ownVersions_) arguments_[argument].impl()->version() = before;
  session_->abandon();
  generators_.restore();
  for (const auto& s : grads_)
    if (s.written) autograd::setGrad(Tensor(s.tensor), s.before);
}

}  // namespace tandem::lazy
