// The plans of this process: found by a trace's hash, the least recently used forgotten first.
#include "lazy/plan_cache.h"

#include "ir/trace/graph_compiler.h"
#include "lazy/plan_files.h"
#include "runtime/base/counters.h"

namespace tandem::lazy {
namespace {

template <class T>
std::size_t bytesOf(const std::vector<T>& list) {
  return list.capacity() * sizeof(T);
}

std::size_t bytesOf(const Plan& plan) {
  std::size_t bytes = sizeof(Plan) + plan.explanation.capacity() + bytesOf(plan.buffers) + bytesOf(plan.slots) +
                      bytesOf(plan.instrs) + bytesOf(plan.blocks) + bytesOf(plan.views) + bytesOf(plan.starts) +
                      bytesOf(plan.viewStarts) + bytesOf(plan.pointerPatches) + bytesOf(plan.scalarPatches) +
                      bytesOf(plan.viewPatches);
  for (const PlanInstr& i : plan.instrs)
    bytes += bytesOf(i.operands) + bytesOf(i.scalars) + bytesOf(i.attrs) + bytesOf(i.args) + i.line.capacity();
  for (const KernelSignature& k : plan.kernels)
    bytes += sizeof k + bytesOf(k.inputs) + bytesOf(k.outputs) + bytesOf(k.steps);
  return bytes;
}

PlanCache& processPlans() {
  static auto* plans = new PlanCache(1024, std::size_t{128} << 20);  // threads may outlive static destructors
  return *plans;
}

/// By what is known of other sizes, read from the disk, or compiled. Small traces are compiled in the time of a file or
/// two.
std::shared_ptr<Plan> makePlan(const Trace& trace, const std::vector<TraceOutput>& outputs, const Hash128& key) {
  constexpr std::size_t kLargeTrace = 64;
  const bool large = trace.nodes.size() >= kLargeTrace;
  if (std::shared_ptr<Plan> plan = graphCompiler().planForSizes(trace, outputs)) return plan;
  std::shared_ptr<Plan> plan = large ? readPlan(trace, key) : nullptr;
  if (plan != nullptr) return plan;
  plan = graphCompiler().compile(trace, outputs);
  if (large) writePlan(trace, key, *plan);
  return plan;
}

}  // namespace

std::shared_ptr<Plan> PlanCache::find(const Hash128& key) {
  std::scoped_lock lock(mutex_);
  auto it = places_.find(key);
  if (it == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->plan;
}

std::shared_ptr<Plan> PlanCache::add(const Hash128& key, std::shared_ptr<Plan> plan) {
  const std::size_t bytes = bytesOf(*plan);
  std::scoped_lock lock(mutex_);
  if (auto it = places_.find(key); it != places_.end()) return it->second->plan;  // another thread was faster
  entries_.push_front({key, plan, bytes});
  places_.emplace(key, entries_.begin());
  bytes_ += bytes;
  while (entries_.size() > 1 && (entries_.size() > mostPlans_ || bytes_ > mostBytes_)) {
    bytes_ -= entries_.back().bytes;
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return plan;
}

std::size_t PlanCache::size() const {
  std::scoped_lock lock(mutex_);
  return entries_.size();
}

std::shared_ptr<Plan> planFor(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  PlanCache& plans = processPlans();
  const Hash128 key = traceHash(trace, outputs);
  std::shared_ptr<Plan> plan = plans.find(key);
  if (plan == nullptr) {
    plan = plans.add(key, makePlan(trace, outputs, key));
    counters().plansKept.store(static_cast<std::int64_t>(plans.size()), std::memory_order_relaxed);
  }
  return plan;
}

}  // namespace tandem::lazy
