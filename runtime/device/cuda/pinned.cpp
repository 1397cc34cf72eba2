#include "runtime/device/cuda/pinned.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"

namespace tandem::cuda {
namespace {

// So much may wait for copies; above, whoever wants more waits for the oldest ones.
constexpr std::size_t kMostAwaited = std::size_t{256} << 20;

/// Four classes a power of two.
std::size_t classOf(std::size_t bytes) {
  const std::size_t least = std::max<std::size_t>(bytes, 512);
  const std::size_t step = std::max<std::size_t>(std::bit_floor(least) / 4, 512);
  return (least + step - 1) / step * step;
}

}  // namespace

PinnedMemory& pinnedMemory() {
  static auto* const memory = new PinnedMemory;  // never destroyed: tensors outlive other statics
  return *memory;
}

void* PinnedMemory::allocate(std::size_t bytes, Gpu& gpu) {
  const std::size_t size = classOf(bytes);
  const std::lock_guard lock(mutex_);
  lookAtEvents(awaitedBytes_ > kMostAwaited);
  if (auto& free = free_[size]; !free.empty()) {
    void* memory = free.back();
    free.pop_back();
    find(memory)->second.isFreed = false;
    count(1, static_cast<std::int64_t>(size));
    return memory;
  }
  gpu.use();
  void* memory = nullptr;
  check(driver().memHostAlloc(&memory, size, kHostAllocPortable), "allocating page-locked memory of the host");
  blocks_.emplace(std::bit_cast<std::uintptr_t>(memory), Block{size, {}});
  blocksHeld_.add(1);
  bytesHeld_.add(static_cast<std::int64_t>(size));
  count(1, static_cast<std::int64_t>(size));
  return memory;
}

void PinnedMemory::count(std::int64_t blocks, std::int64_t bytes) {
  blocksActive_.add(blocks);
  bytesActive_.add(bytes);
}

/// Nothing uses the block any more.
void PinnedMemory::release(Blocks::iterator it) {
  free_[it->second.bytes].push_back(std::bit_cast<void*>(it->first));
  count(-1, -static_cast<std::int64_t>(it->second.bytes));
}

PinnedMemory::Blocks::iterator PinnedMemory::find(const void* memory) {
  const auto address = std::bit_cast<std::uintptr_t>(memory);
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return blocks_.end();
  --it;
  return address < it->first + it->second.bytes ? it : blocks_.end();
}

bool PinnedMemory::holds(const void* memory) {
  const std::lock_guard lock(mutex_);
  return find(memory) != blocks_.end();
}

void PinnedMemory::use(const void* memory, CudaStream& stream) {
  const bool captured = stream.gpu().captures.has(stream.raw());
  {
    const std::lock_guard lock(mutex_);
    const auto it = find(memory);
    if (it == blocks_.end()) return;
    if (captured) {
      ++it->second.copies;
    } else {
      auto& users = it->second.users;
      const User user{&stream.gpu(), stream.raw()};
      if (std::ranges::find(users, user) == users.end()) users.push_back(user);
    }
  }
  // Each replay makes the copy again.
  if (captured) stream.keep({const_cast<void*>(memory), [this](void* p) { letGo(p); }});
}

void PinnedMemory::letGo(const void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = find(memory);
  if (--it->second.copies == 0 && it->second.isFreed) await(it);
}

void PinnedMemory::free(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = find(memory);
  if (it == blocks_.end()) return;
  it->second.isFreed = true;
  if (it->second.copies == 0) await(it);
}

void PinnedMemory::await(Blocks::iterator it) noexcept {
  Block& block = it->second;
  try {
    if (std::ranges::any_of(block.users, [](const User& u) { return u.gpu->captures.has(u.stream); }))
      return untilCaptured_.push_back(it);
    for (const User& user : block.users) {
      awaited_.push_back({user.gpu, user.gpu->events.record(user.stream), it});
      ++block.awaited;
    }
    block.users.clear();
    if (block.awaited == 0) {
      release(it);
    } else {
      awaitedBytes_ += block.bytes;
    }
  } catch (const Error&) {
    // Of a device that failed, nobody knows what it still writes: the memory is not used again.
  }
}

void PinnedMemory::lookAtEvents(bool wait) {
  for (const Blocks::iterator it : std::exchange(untilCaptured_, {})) await(it);
  while (!awaited_.empty()) {
    const Awaited first = awaited_.front();
    if (wait && awaitedBytes_ > kMostAwaited / 2) {
      first.gpu->use();
      check(driver().eventSynchronize(first.event), "waiting for a copy");
    }
    if (!first.gpu->events.isDone(first.event)) return;
    first.gpu->events.give(first.event);
    awaited_.pop_front();
    Block& block = first.block->second;
    if (--block.awaited > 0) continue;
    awaitedBytes_ -= block.bytes;
    release(first.block);
  }
}

void PinnedMemory::emptyCache() {
  const std::lock_guard lock(mutex_);
  lookAtEvents(false);
  for (auto& [bytes, free] : free_) {
    for (void* memory : free) {
      driver().memFreeHost(memory);
      blocks_.erase(std::bit_cast<std::uintptr_t>(memory));
      blocksHeld_.add(-1);
      bytesHeld_.add(-static_cast<std::int64_t>(bytes));
    }
    free.clear();
  }
}

std::vector<std::pair<std::string, std::int64_t>> PinnedMemory::stats() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::int64_t>> found;
  blocksHeld_.tell("allocations", found);
  bytesHeld_.tell("allocated_bytes", found);
  blocksActive_.tell("active_requests", found);
  bytesActive_.tell("active_bytes", found);
  found.emplace_back("num_host_alloc", blocksHeld_.allocated);
  found.emplace_back("num_host_free", blocksHeld_.freed);
  return found;
}

void PinnedMemory::resetPeaks() {
  const std::lock_guard lock(mutex_);
  for (Stat* s : {&blocksHeld_, &bytesHeld_, &blocksActive_, &bytesActive_}) s->resetPeak();
}

void PinnedMemory::resetAccumulated() {
  const std::lock_guard lock(mutex_);
  for (Stat* s : {&blocksHeld_, &bytesHeld_, &blocksActive_, &bytesActive_}) s->resetAccumulated();
}

}  // namespace tandem::cuda
