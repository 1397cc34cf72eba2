// The memory of a device, kept when it is freed and handed out again in the order of a stream: whoever allocates on the
// stream on which a block was freed may have it at once, since his work comes after what used it.
//
//   segment  a piece from the driver: 2 MiB for blocks up to 1 MiB, 20 MiB for those under 10 MiB, else as large as the
//            block, in steps of 2 MiB
//   block    a part of a segment, a multiple of 512 bytes. A free one that is larger than what is asked for is split,
//   and
//            joins its free neighbours again when it is freed
//   arena    the free blocks that may serve a request: the device's, or those of a graph, whose memory nobody else may
//            have while it lives. By size class (small, large), then stream, then size
//   ready    the small blocks of the device's arena that were freed last, not joined: who asks for as much again, as
//            programs of small tensors do, has one without a search
//
// Memory that other streams use too (`recordStream`) is awaited: it is free when events in those streams are done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/stat.h"
#include "runtime/device/gpu_control.h"

namespace tandem::cuda {

class Gpu;

class DeviceMemory {
 public:
  explicit DeviceMemory(Gpu& gpu) : gpu_(gpu) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Aligned to 512 bytes; of 0 bytes valid too. OutOfMemoryError saying what is held, after what is cached was given
  /// back and everything awaited.
  void* allocate(std::size_t bytes, StreamHandle stream);
  void deallocate(void* memory) noexcept;
  /// Nothing where the memory is not one of these blocks or is used by its own stream.
  void recordStream(void* memory, StreamHandle stream);
  /// Waits for the device.
  void emptyCache();

  std::vector<std::pair<std::string, std::int64_t>> stats();
  void resetPeaks();
  void resetAccumulated();
  std::vector<GpuSegment> snapshot();
  /// Of `total` bytes the share that segments may take.
  void setFraction(double fraction, std::size_t total);

  // ---- graphs

  struct Arena;
  /// What is allocated on the stream, which is captured, from now on, and on streams that are captured together with
  /// it, is a graph's: of the arena that graphs share which name the same pool, or of its own.
  void beginArena(StreamHandle stream, std::optional<std::uint64_t> pool);
  std::shared_ptr<Arena> endArena(StreamHandle stream);
  /// An arena that threads choose, and that graphs share which name the same pool; `giveBack` ends it.
  std::shared_ptr<Arena> makePool(std::uint64_t id);
  /// That of this thread from now on, or none, and who keeps it; who kept the one before.
  std::shared_ptr<void> choosePool(Arena* arena, std::shared_ptr<void> keeper);
  /// When a graph's work is done for good: if no other shares the arena, its blocks are the device's from now on.
  void giveBack(std::shared_ptr<Arena> arena);

 private:
  struct Segment;
  struct Block {
    std::uint64_t address;
    std::size_t bytes;
    std::size_t requested;
    Segment* segment;
    Block* before;  // the neighbours in the segment
    Block* after;
    GpuSegment::Block::State state;
    std::vector<StreamHandle> users;  // beside the segment's stream
    int awaited;                      // events that must be done
    bool ready = false;               // free, and in `ready_`
  };
  struct Segment {
    std::uint64_t address;
    std::size_t bytes;
    StreamHandle stream;
    bool large;
    Arena* arena;
    Block* first;
  };
  struct Smaller {
    bool operator()(const Block* a, const Block* b) const;
  };
  using FreeBlocks = std::set<Block*, Smaller>;

 public:
  struct Arena {
    std::array<FreeBlocks, 2> free;  // small, large
    bool ofGraph = false;
  };

 private:
  enum Count {
    kAllocation,
    kSegment,
    kActive,
    kInactive,
    kAllocated,
    kReserved,
    kActiveBytes,
    kInactiveBytes,
    kRequested
  };
  static constexpr std::size_t kCounts = 9;

  // All with the mutex held.
  Arena& arenaFor(StreamHandle stream);
  Block* takeFree(Arena& arena, bool large, StreamHandle stream, std::size_t bytes);
  Block* takeFresh(Arena& arena, bool large, StreamHandle stream, std::size_t bytes);
  Segment* addSegment(Arena& arena, bool large, StreamHandle stream, std::size_t bytes);
  DevicePointer fromDriver(std::size_t bytes);
  void splitOff(Block* block, std::size_t bytes);
  void free(Block* block);
  /// Joins a free block to its free neighbours, where others find it.
  void join(Block* block);
  Block* takeReady(StreamHandle stream, std::size_t bytes);
  /// Has the blocks of `ready_` be free as all others.
  void settle();
  void await(Block* block);
  void lookAtEvents(bool wait);
  std::size_t release(Arena& arena);
  void count(Count what, bool large, std::int64_t n) {
    auto& pools = stats_[what];
    pools[large ? 1 : 0].add(n);
    if (n > 0) peaks_[what] = std::max(peaks_[what], pools[0].current + pools[1].current);
  }
  [[nodiscard]] Stat ofBoth(std::size_t what) const {
    const auto& [small, large] = stats_[what];
    return {small.current + large.current, peaks_[what], small.allocated + large.allocated, small.freed + large.freed};
  }
  void countFree(const Block* block, int sign);
  [[noreturn]] void outOfMemory(std::size_t bytes, std::size_t segment);

  Gpu& gpu_;
  std::mutex mutex_;
  Arena common_;
  using Used = std::unordered_map<std::uint64_t, Block*>;
  Used used_;
  std::vector<Used::node_type> spareNodes_;
  struct Ready {
    StreamHandle stream;
    std::size_t bytes;
    Block* block;
  };
  static constexpr std::size_t kMostReady = 8;
  std::vector<Ready> ready_;  // the last one freed last
  std::set<Segment*> segments_;
  struct Awaited {
    EventHandle event;
    Block* block;
  };
  std::deque<Awaited> awaited_;
  std::vector<Block*> untilCaptured_;  // whose events cannot be recorded while a stream is captured
  struct Captured {
    StreamHandle stream;
    std::uint64_t id;  // the driver's, of all streams that are captured together
    std::shared_ptr<Arena> arena;
  };
  std::vector<Captured> captured_;
  std::map<std::uint64_t, std::weak_ptr<Arena>> pools_;
  std::size_t most_ = SIZE_MAX;                       // bytes of segments
  std::array<std::array<Stat, 2>, kCounts> stats_{};  // of small and large blocks
  std::array<std::int64_t, kCounts> peaks_{};         // of both together
  std::int64_t retries_ = 0, outOfMemories_ = 0, fromDriver_ = 0, toDriver_ = 0, waits_ = 0;
};

/// `1.50 GiB`, `12.00 MiB`.
std::string bytesText(std::size_t bytes);

}  // namespace tandem::cuda
