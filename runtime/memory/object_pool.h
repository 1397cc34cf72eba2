// Memory of the objects that every operation makes and frees (tensors, storages, nodes and what autograd keeps with
// them): blocks of a few sizes, kept by the thread that freed them. The general allocator took a third of a
// differentiable operation's instructions.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace tandem {

/// What a thread keeps. It has no constructor and no destructor, so that it is reached by an offset alone.
struct ObjectPool {
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kClasses = 16;
  static constexpr int kMost = 512;  // blocks of one class

  struct Block {
    Block* next;
  };
  struct Class {
    Block* first = nullptr;
    int room = 0;  // for so many more; none until the thread frees a block for the first time, and at its end
  };
  static std::size_t classOf(std::size_t bytes) { return (bytes - 1) / kStep; }

  std::array<Class, kClasses> classes{};
};
extern thread_local constinit ObjectPool objectPool;

/// Frees a block that the pool has no room for, or has it make room.
void poolFreeSlowly(void* p, std::size_t bytes);

inline void* poolAllocate(std::size_t bytes) {
  const std::size_t c = ObjectPool::classOf(bytes);
  if (c >= ObjectPool::kClasses) return ::operator new(bytes);
  ObjectPool::Class& kept = objectPool.classes[c];
  ObjectPool::Block* b = kept.first;
  if (b == nullptr) return ::operator new((c + 1) * ObjectPool::kStep);
  kept.first = b->next;
  ++kept.room;
  return b;
}

inline void poolFree(void* p, std::size_t bytes) {
  const std::size_t c = ObjectPool::classOf(bytes);
  if (c >= ObjectPool::kClasses) return ::operator delete(p);
  ObjectPool::Class& kept = objectPool.classes[c];
  if (kept.room == 0) return poolFreeSlowly(p, bytes);
  kept.first = new (p) ObjectPool::Block{kept.first};
  --kept.room;
}

}  // namespace tandem
