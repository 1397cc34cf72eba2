#include "runtime/kernel/call_cache.h"

#include <memory>

namespace tandem {

thread_local constinit CallEntry* callCache = nullptr;
[[gnu::cold]] CallEntry* makeCallCache() {
  thread_local std::unique_ptr<CallEntry[]> owner;
  owner = std::make_unique<CallEntry[]>(kCallEntries);
  return callCache = owner.get();
}

}  // namespace tandem
