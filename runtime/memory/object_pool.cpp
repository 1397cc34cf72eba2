#include "runtime/memory/object_pool.h"

#include <utility>

namespace tandem {

thread_local constinit ObjectPool objectPool;

namespace {

/// Makes room when the thread first frees a block, and gives all back at its end.
class Keeper {
 public:
  Keeper() {
    for (auto& kept : objectPool.classes) kept.room = ObjectPool::kMost;
  }
  ~Keeper() {
    for (auto& kept : objectPool.classes) {
      while (kept.first != nullptr) ::operator delete(static_cast<void*>(std::exchange(kept.first, kept.first->next)));
      kept.room = 0;  // what this thread frees from now on goes straight back
    }
    ended = true;
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  static thread_local bool ended;
};
thread_local bool Keeper::ended = false;

}  // namespace

void poolFreeSlowly(void* p, std::size_t bytes) {
  if (!Keeper::ended) {
    thread_local Keeper keeper;
    if (objectPool.classes[ObjectPool::classOf(bytes)].room > 0) return poolFree(p, bytes);
  }
  ::operator delete(p);
}

}  // namespace tandem
