#include "lazy/compiled.h"

#include <algorithm>
#include <utility>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "eager/generator.h"
#include "eager/tape_hook.h"
#include "runtime/base/counters.h"
#include "runtime/base/long_work.h"
#include "runtime/plan/scalar_slots.h"

namespace tandem::lazy {
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

void CompiledTrace::advance(Generator& g) const {
  g.setOffset(g.offset() + static_cast<std::int64_t>(plan->numRandom));
}

TensorImpl* CompiledTrace::inputOf(const Source& s, std::span<const Tensor> arguments) {
  TensorImpl* t = tensorAt(s.outer, arguments);
  return s.grad ? metaOf(t)->grad.impl() : t;
}

bool CompiledTrace::fits(std::span<const Tensor> arguments) const {
  for (const auto& g : gradGuards) {
    const AutogradMeta* m = metaOf(tensorAt(g.outer, arguments));
    const bool defined = m != nullptr && m->grad.defined();
    if (defined != g.defined) return false;
    if (defined && (m->grad.dtype() != g.dtype || !(m->grad.shape() == g.shape) || !(m->grad.strides() == g.strides) ||
                    m->grad.requiresGrad() != g.requiresGrad))
      return false;
  }
  for (const auto& g : gradGuards) {
    if (g.within < 0) continue;
    const auto& source = inputs[static_cast<std::size_t>(g.within)];
    const TensorImpl* other = source.constant ? source.constant.get() : inputOf(source, arguments);
    const TensorImpl* grad = metaOf(tensorAt(g.outer, arguments))->grad.impl();
    if (grad->storage != other->storage || grad->offset - other->offset != g.shift) return false;
  }
  // Each input has its own memory, as when it was traced: captured tensors the same as then, arguments and gradients
  // any that is none of those, and none twice.
  SmallVector<const Storage*, 32> others;
  for (const auto& source : inputs) {
    if (source.constant) continue;
    const TensorImpl* t = inputOf(source, arguments);
    if (source.placed != nullptr) {
      if (!source.placed->fits(*t)) return false;
      continue;
    }
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
  return allDiffer({others.data(), others.size()}) && !(writesInputs && writesForeign(arguments));
}

bool CompiledTrace::writesForeign(std::span<const Tensor> arguments) const {
  auto memoryOf = [&](const Source& s) -> const Storage& { return *inputOf(s, arguments)->storage; };
  return std::ranges::any_of(inputs, [&](const Source& one) {
    if (one.constant || !memoryOf(one).isShared()) return false;
    return std::ranges::any_of(inputs, [&](const Source& other) {
      return !other.constant && (one.written || other.written) && memoryOf(one).overlaps(memoryOf(other));
    });
  });
}

namespace {

/// One call, by steps in the order in which `run` takes them; members are what a step leaves to those after it.
class Call {
 public:
  Call(const CompiledTrace& trace, std::span<const Tensor> arguments, std::span<const Scalar> scalars)
      : trace_(trace), arguments_(arguments), scalars_(scalars), ins_(Pointers::unset(trace.inputs.size())),
        storages_(SmallVector<Storage*, kFew>::unset(trace.inputs.size())),
        offsets_(SmallVector<std::int64_t, kFew>::unset(trace.inputs.size())) {}

  void findInputs();
  void makeMemory();
  void findEdges();
  void runPlan();
  void makeTensors();
  void makeHistory();
  void setGrads() const;
  [[nodiscard]] std::vector<Tensor> results() &&;

 private:
  static constexpr std::size_t kFew = 32;
  using Pointers = SmallVector<void*, kFew>;
  [[nodiscard]] Tensor make(const CompiledTrace::Made& m) const;
  [[nodiscard]] Tensor tapeInput(std::int32_t number) const;
  [[nodiscard]] Tensor at(std::int32_t k) const { return k >= 0 ? all_[static_cast<std::size_t>(k)] : Tensor(); }

  const CompiledTrace& trace_;
  std::span<const Tensor> arguments_;
  std::span<const Scalar> scalars_;
  Pointers ins_;
  SmallVector<Storage*, kFew> storages_;  // of the inputs
  std::vector<Tensor> placed_;            // those that were copied to the device
  SmallVector<std::int64_t, kFew> offsets_;
  std::vector<Ref<Storage>> memory_;  // the fresh ones
  Pointers outs_;
  std::vector<Edge> edges_;  // of the tape's inputs, before the plan writes any
  PlanRun run_;
  std::vector<Tensor> all_;  // as `made`
};

void Call::findInputs() {
  for (std::size_t k = 0; k < storages_.size(); ++k) {
    const CompiledTrace::Source& source = trace_.inputs[k];
    TensorImpl* t = source.constant ? source.constant.get() : CompiledTrace::inputOf(source, arguments_);
    if (source.placed != nullptr) {
      placed_.push_back(source.placed->on(trace_.plan->device, *t));
      t = placed_.back().impl();
    }
    Storage* s = t->storage.get();
    if (s->isPending()) s->pending()->materialize();
    const std::int64_t offset = source.whole ? 0 : t->offset + source.shift;
    storages_[k] = s;
    offsets_[k] = offset;
    ins_[k] = static_cast<char*>(s->data()) + offset * static_cast<std::int64_t>(itemSize(t->dtype));
  }
}

void Call::makeMemory() {
  memory_.reserve(trace_.fresh.size());
  for (const auto& f : trace_.fresh) {
    memory_.emplace_back(new Storage(f.bytes, trace_.plan->device));
    memory_.back()->version = f.version;
    outs_.push_back(memory_.back()->data());
  }
}

void Call::findEdges() {
  edges_.reserve(trace_.tapeInputs.size());
  for (const auto& p : trace_.tapeInputs) {
    if (p.argument < 0 && p.captured == nullptr) {
      edges_.emplace_back();
      continue;
    }
    Tensor t{Ref<TensorImpl>(CompiledTrace::tensorAt(p, arguments_))};
    edges_.push_back(t.requiresGrad() ? gradEdge(t) : Edge{});
  }
}

void Call::runPlan() {
  Generator& g = defaultGenerator(trace_.plan->device);
  for (std::size_t k = 0; k < storages_.size(); ++k)
    if (trace_.inputs[k].written) beforeWrite(*storages_[k]);
  run_ = {std::span<void* const>(ins_.data(), ins_.size()),
          std::span<void* const>(outs_.data(), outs_.size()),
          scalars_,
          g.seed(),
          g.offset(),
          trace_.slots};
  const Generator before = g;
  trace_.advance(g);
  // While a long plan runs, other threads go on and may drop what it reads.
  const Plan& plan = *trace_.plan;
  std::vector<Ref<Storage>> keptStorages;
  std::vector<Ref<TensorImpl>> keptTensors;
  if (plan.elements >= LongWork::kLong) {
    for (Storage* s : storages_) keptStorages.emplace_back(s);
    trace_.visitCaptured([&](TensorImpl* t) { keptTensors.emplace_back(t); });
  }
  try {
    LongWork away(plan.elements);
    tandem::runPlan(plan, run_);
  } catch (...) {
    // The call is made again, by another plan or by the body, and draws the same numbers.
    g = before;
    throw;
  }
  for (std::size_t k = 0; k < storages_.size(); ++k) storages_[k]->version += trace_.inputs[k].writes;
  for (const auto& [argument, writes] : trace_.ownWrites) arguments_[argument].impl()->version() += writes;
}

Tensor Call::make(const CompiledTrace::Made& m) const {
  using Kind = CompiledTrace::Made::Kind;
  if (m.kind == Kind::Outer) return Tensor(Ref<TensorImpl>(CompiledTrace::tensorAt(m.outer, arguments_)));
  Ref<Storage> memory;
  std::int64_t offset = m.offset;
  if (m.kind == Kind::Empty) {
    memory = makeEmpty(m.shape, m.dtype, trace_.plan->device).impl()->storage;
    memory->version = m.index;
    offset = 0;
  } else if (m.kind == Kind::Fresh) {
    memory = memory_[m.index];
  } else {
    memory = Ref<Storage>(storages_[m.index]);
    offset += offsets_[m.index];
  }
  auto* impl = new TensorImpl(std::move(memory), m.dtype, m.shape, m.strides, offset);
  impl->batch = m.batch;
  if (m.countsAlone) impl->countAlone();
  impl->inference = m.inference;
  impl->origin = m.origin;
  return Tensor(impl);
}

void Call::makeTensors() {
  all_.reserve(trace_.made.size());
  for (const auto& m : trace_.made) {
    all_.push_back(make(m));
    if (m.base >= 0) {
      all_.back().impl()->viewBase = all_[static_cast<std::size_t>(m.base)].ref();
      all_.back().impl()->countWith(*all_[static_cast<std::size_t>(m.base)].impl());
    }
    if (m.requiresGrad && m.kind != CompiledTrace::Made::Kind::Outer) all_.back().impl()->requiresGrad = true;
  }
}

Tensor Call::tapeInput(std::int32_t number) const {
  for (const auto& [input, made] : trace_.tapeLeaves)
    if (static_cast<std::int32_t>(input) == number) return at(made);
  return Tensor(Ref<TensorImpl>(CompiledTrace::tensorAt(trace_.tapeInputs[number], arguments_)));
}

void Call::makeHistory() {
  for (const auto& [input, made] : trace_.tapeLeaves) edges_[input] = gradEdge(at(made));
  std::vector<Tensor> saved;
  saved.reserve(trace_.tapeSaved.size());
  for (std::size_t i = 0; i < trace_.tapeSaved.size(); ++i) {
    const TapeTemplate::Saved& s = trace_.tape.saved[i];
    if (s.again >= 0)
      saved.emplace_back();
    else
      saved.push_back(s.input >= 0 ? tapeInput(s.input) : make(trace_.tapeSaved[i]));
  }
  std::vector<Tensor> ends;
  ends.reserve(trace_.tapeOutputs.size());
  for (std::int32_t k : trace_.tapeOutputs) ends.push_back(all_[static_cast<std::size_t>(k)]);
  std::vector<Scalar> values(trace_.slots.size());
  evaluateSlots(trace_.slots, run_, values);
  instantiate(trace_.tape, edges_, saved, values, ends);
}

void Call::setGrads() const {
  for (const auto& slot : trace_.grads)
    autograd::setGrad(Tensor(Ref<TensorImpl>(CompiledTrace::tensorAt(slot.outer, arguments_))), at(slot.value));
}

std::vector<Tensor> Call::results() && {
  if (trace_.grads.empty() && trace_.resultsAreMade) return std::move(all_);
  std::vector<Tensor> out;
  out.reserve(trace_.results.size());
  for (std::int32_t k : trace_.results) out.push_back(at(k));
  return out;
}

}  // namespace

std::vector<Tensor> CompiledTrace::run(std::span<const Tensor> arguments, std::span<const Scalar> scalars) const {
  Call call(*this, arguments, scalars);
  call.findInputs();
  call.makeMemory();
  if (differentiable) call.findEdges();
  call.runPlan();
  call.makeTensors();
  if (differentiable) call.makeHistory();
  call.setGrads();
  return std::move(call).results();
}

}  // namespace tandem::lazy
