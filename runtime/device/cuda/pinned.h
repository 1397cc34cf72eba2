// Page-locked memory of the host, which copies from and to a device reach without waiting. Kept when it is freed, by
// size class, and handed out again when the copies that were queued with it are done and no graph holds one of them.
// One for all devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/stat.h"

namespace tandem::cuda {

class CudaStream;
class Gpu;

class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// Aligned to 512 bytes; of 0 bytes valid too. The device is one whose driver is asked. OutOfMemoryError.
  void* allocate(std::size_t bytes, Gpu& gpu);
  void free(void* memory) noexcept;
  /// A copy from or to the memory was queued in the stream. Nothing where it is not of here.
  void use(const void* memory, CudaStream& stream);
  [[nodiscard]] bool holds(const void* memory);
  /// Gives what is free back to the system.
  void emptyCache();

  /// By the names of PyTorch's host_memory_stats.
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> stats();
  void resetPeaks();
  void resetAccumulated();

 private:
  struct User {
    Gpu* gpu;
    StreamHandle stream;  // which may outlive what the program calls a stream
    friend bool operator==(const User&, const User&) = default;
  };
  struct Block {
    std::size_t bytes;
    std::vector<User> users;
    int awaited = 0;       // events that must be done before it is free
    int copies = 0;        // that graphs hold
    bool isFreed = false;  // but for those
  };
  using Blocks = std::map<std::uintptr_t, Block>;
  Blocks::iterator find(const void* memory);
  void letGo(const void* memory) noexcept;
  // With the mutex held.
  void count(std::int64_t blocks, std::int64_t bytes);
  void release(Blocks::iterator it);
  void await(Blocks::iterator it) noexcept;
  void lookAtEvents(bool wait);

  std::mutex mutex_;
  Blocks blocks_;
  std::unordered_map<std::size_t, std::vector<void*>> free_;
  struct Awaited {
    Gpu* gpu;
    EventHandle event;
    Blocks::iterator block;
  };
  std::deque<Awaited> awaited_;
  std::vector<Blocks::iterator> untilCaptured_;  // whose events cannot be recorded while a stream is captured
  std::size_t awaitedBytes_ = 0;
  // What the driver gave, and of that what is in use.
  Stat blocksHeld_, bytesHeld_, blocksActive_, bytesActive_;
};

/// The one of the process.
PinnedMemory& pinnedMemory();

}  // namespace tandem::cuda
