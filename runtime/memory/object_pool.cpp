#include "runtime/memory/object_pool.h"

#include <new>
#include <utility>

namespace tandem {

namespace {

constexpr std::size_t kStep = 64;
constexpr std::size_t kClasses = 16;
constexpr int kMost = 512;  // blocks of one class

struct Block {
  Block* next;
};
struct Pool {
  Block* head[kClasses] = {};
  int length[kClasses] = {};

  ~Pool() {
    for (std::size_t c = 0; c < kClasses; ++c) {
      while (head[c] != nullptr) ::operator delete(static_cast<void*>(std::exchange(head[c], head[c]->next)));
      length[c] = kMost;  // what this thread frees from now on goes straight back
    }
  }
};
thread_local Pool pool;

}  // namespace

void* poolAllocate(std::size_t bytes) {
  std::size_t c = (bytes - 1) / kStep;
  if (c >= kClasses) return ::operator new(bytes);
  if (Block* b = pool.head[c]) {
    pool.head[c] = b->next;
    --pool.length[c];
    return b;
  }
  return ::operator new((c + 1) * kStep);
}

void poolFree(void* p, std::size_t bytes) {
  std::size_t c = (bytes - 1) / kStep;
  if (c >= kClasses || pool.length[c] >= kMost) return ::operator delete(p);
  auto* b = static_cast<Block*>(p);
  b->next = pool.head[c];
  pool.head[c] = b;
  ++pool.length[c];
}

}  // namespace tandem
