// A run of what a session recorded: its plan, the memory it fills, and what is left of the session when it fails.
#include <algorithm>
#include <limits>
#include <utility>

#include "lazy/kept_grads.h"
#include "lazy/plan_cache.h"
#include "lazy/session.h"
#include "runtime/base/long_work.h"

namespace tandem::lazy {

namespace {

// A plan's own memory of this size is asked for before anything is written.
constexpr std::uint64_t kLargeArena = std::uint64_t{1} << 24;

struct ScopedFlag {
  explicit ScopedFlag(bool& on) : flag(on) { flag = true; }
  ~ScopedFlag() { flag = false; }
  ScopedFlag(const ScopedFlag&) = delete;
  ScopedFlag& operator=(const ScopedFlag&) = delete;
  bool& flag;
};

/// The storages that a run gives memory to. The memory is theirs when the run has succeeded.
class Results {
 public:
  /// `shared`: other threads go on while it runs, and may drop the last tensor.
  explicit Results(bool shared) : shared_(shared) {}
  ~Results() {
    for (const auto& [storage, block] : made_) {
      if (block != nullptr) deallocateOn(storage->device(), block, storage->bytes());
      if (shared_) storage->release();
    }
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  void* add(Storage* s) {
    made_.push_back({s, nullptr});
    if (shared_) s->retain();
    if (s->data() != nullptr) return s->data();
    return made_.back().block = allocateOn(s->device(), s->bytes());
  }
  void keep() {
    for (auto& [storage, block] : made_)
      if (block != nullptr) storage->takeMemory(std::exchange(block, nullptr));
  }

 private:
  struct Made {
    Storage* storage;
    void* block;
  };
  SmallVector<Made, 8> made_;
  bool shared_;
};

}  // namespace

void Session::execute(const Plan& plan, std::span<Content* const> fresh, std::span<const Scalar> scalars) {
  Pointers ins = inputPointers();
  Pointers outs;
  Results results(plan.elements >= LongWork::kLong);
  begun_ = false;
  for (Content* c : fresh) outs.push_back(results.add(c->storage));
  if (plan.arenaBytes >= kLargeArena)
    deallocateOn(plan.device, allocateOn(plan.device, plan.arenaBytes), plan.arenaBytes);
  begun_ = true;
  const Generator& g = firstDraw_;
  {
    ScopedFlag running(running_);
    LongWork away(plan.elements);
    runPlan(plan, {ins, outs, scalars, g.seed(), g.offset(), trace_.slots});
  }
  results.keep();
}

void Session::run(const Plan& plan, std::span<Content* const> fresh, std::span<const Scalar> scalars) {
  execute(plan, fresh, scalars);
  while (first_ != nullptr) first_->storage->setPending(nullptr);
}

void Session::rescue() {
  std::vector<Ref<Storage>> made;
  std::vector<Ref<Storage>> written;
  for (Content* c = first_; c != nullptr; c = c->next) (c->input < 0 ? made : written).emplace_back(c->storage);
  auto before = [&](const Ref<Storage>& a, const Ref<Storage>& b) {
    return contentOf(a.get())->value.node < contentOf(b.get())->value.node;
  };
  std::sort(made.begin(), made.end(), before);
  std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
  for (const auto& s : made) {
    Content* c = contentOf(s.get());
    try {
      execute(*planFor(trace_, {{c->value, -1}}), {&c, 1}, {});
    } catch (const Error&) {
      end = c->value.node;
      break;
    }
    s->setPending(nullptr);
  }
  // Writes come last: the values above read what was there.
  std::vector<TraceOutput> outputs;
  for (const auto& s : written)
    if (const Content* c = contentOf(s.get()); c->value.node < end && !(c->value == inputs_[c->input].value))
      outputs.push_back({c->value, c->input});
  if (!outputs.empty()) execute(*planFor(trace_, outputs), {}, {});
}

std::shared_ptr<Plan> Session::compile(std::vector<TraceOutput>& outputs, std::vector<Content*>& fresh) {
  for (Content* c = first_; c != nullptr; c = c->next) {
    if (c->input < 0) {
      outputs.push_back({c->value, -1});
      fresh.push_back(c);
    } else if (!(c->value == inputs_[c->input].value)) {
      outputs.push_back({c->value, c->input});
    }
  }
  if (trace_.repeated() && lastPlan_ != nullptr && lastOutputs_ == outputs) return lastPlan_;
  trace_.settle();
  lastPlan_ = planFor(trace_, outputs);
  lastOutputs_ = outputs;
  return lastPlan_;
}

Session::Pointers Session::inputPointers() const {
  Pointers all;
  for (const auto& in : inputs_)
    all.push_back(static_cast<char*>(in.storage->data()) +
                  in.offset * static_cast<std::int64_t>(itemSize(in.meta.dtype)));
  return all;
}

void Session::flush() {
  awaitRun();
  if (first_ == nullptr) {
    // Nobody wants what was recorded, so it has no plan; the last one is that of another trace.
    if (!trace_.repeated()) lastPlan_ = nullptr;
    return reset();
  }
  try {
    std::shared_ptr<Plan> plan = compile(outputs_, made_);
    run(*plan, made_, scalarArguments_);
  } catch (const OutOfMemoryError&) {
    try {
      if (watched_ && !begun_) rescue();
    } catch (const std::exception&) {  // what is not made is lost
    }
    abandon();
    if (grads != nullptr) grads->restoreLost();
    throw;
  } catch (...) {
    abandon();
    if (grads != nullptr) grads->restoreLost();
    throw;
  }
  if (grads != nullptr) grads->forget();
  reset();
}

void Session::abandon() noexcept {
  while (first_ != nullptr) {
    Content* c = first_;
    if (c->storage->data() != nullptr)
      c->storage->setPending(nullptr);
    else
      c->lose();
  }
  trace_.clear();
  reset();
}

void Session::reset() {
  ++resets_;
  turnTo(std::min(part_ + 1, kMostParts - 1));
  outputs_.clear();
  made_.clear();
  inputs_.clear();
  inputNumbers_.clear();
  differentiable_.clear();
  noted_.clear();
  learntSizes_.clear();
  checks_.clear();
  pendingBytes_ = 0;
  inputBytes_ = 0;
  lookAt_ = kMostBytes;
  shared_ = false;
}

}  // namespace tandem::lazy
