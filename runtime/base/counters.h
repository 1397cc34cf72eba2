// The monotonic counters behind `tandem.counters()`.
#pragma once

#include <atomic>
#include <cstdint>

namespace tandem {

struct Counters {
  std::atomic<std::int64_t> kernelCompiles{0};
  std::atomic<std::int64_t> kernelCacheHits{0};
  std::atomic<std::int64_t> kernelLaunches{0};
  std::atomic<std::int64_t> graphLaunches{0};  // of GPUs: many kernels at once
  std::atomic<std::int64_t> graphTraces{0};
  std::atomic<std::int64_t> planBuilds{0};
  std::atomic<std::int64_t> planSizings{0};     // made of the plan of other sizes
  std::atomic<std::int64_t> planReads{0};       // from the disk
  std::atomic<std::int64_t> plansKept{0};       // in the cache now
  std::atomic<std::int64_t> bytesAllocated{0};  // in use now
  std::atomic<std::int64_t> peakBytes{0};
};
inline Counters& counters() {
  static Counters c;
  return c;
}
/// One more, without the cost of a locked instruction: counts may miss one under contention, and are never torn.
inline void bump(std::atomic<std::int64_t>& counter, std::int64_t by = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace tandem
