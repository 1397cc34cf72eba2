// Plans by the hash of their traces: the most recently used, up to a number and a size.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ir/trace/trace.h"
#include "runtime/base/hash.h"
#include "runtime/plan/plan.h"

namespace tandem::lazy {

/// Thread-safe. A plan that is forgotten lives on with those who hold it.
class PlanCache {
 public:
  PlanCache(std::size_t mostPlans, std::size_t mostBytes) : mostPlans_(mostPlans), mostBytes_(mostBytes) {}
  /// Null if there is none.
  std::shared_ptr<Plan> find(const Hash128& key);
  /// The plan that is kept under the key from now on: this one, or one that was there.
  std::shared_ptr<Plan> add(const Hash128& key, std::shared_ptr<Plan> plan);
  [[nodiscard]] std::size_t size() const;

 private:
  struct Entry {
    Hash128 key;
    std::shared_ptr<Plan> plan;
    std::size_t bytes;
  };
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<Hash128, std::list<Entry>::iterator, Hash128Hasher> places_;
  std::size_t bytes_ = 0;
  std::size_t mostPlans_;
  std::size_t mostBytes_;
};

/// The plan of a trace: from the cache of this process, or compiled.
std::shared_ptr<Plan> planFor(const Trace& trace, const std::vector<TraceOutput>& outputs);

}  // namespace tandem::lazy
