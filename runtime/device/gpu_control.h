// What a GPU does beside computing: streams that are chosen, memory that is looked at, graphs of queued work. The
// functions of `tandem.cuda` stand on it; passes, plans and operations do without. A plug-in implements it
// (runtime/device/cuda) and hands it out as `Executor::gpu`, so that the core links no plug-in.
//
// Streams and events given to these functions are of the same device. All of it is thread-safe; a *current* stream is
// one of the thread.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/executor.h"

namespace tandem {

/// What a device is, as PyTorch's `get_device_properties` names it.
struct GpuProperties {
  std::string name;
  std::string architecture;  // `sm_90`
  int major = 0, minor = 0;  // compute capability
  std::size_t totalMemory = 0;
  int multiprocessors = 0;
  int warpSize = 0;
  int maxThreadsPerBlock = 0;
  int maxThreadsPerMultiprocessor = 0;
  int registersPerMultiprocessor = 0;
  std::size_t sharedMemoryPerBlock = 0;
  std::size_t sharedMemoryPerBlockOptin = 0;
  std::size_t sharedMemoryPerMultiprocessor = 0;
  std::size_t l2CacheSize = 0;
  int clockRate = 0;        // kHz
  int memoryClockRate = 0;  // kHz
  int memoryBusWidth = 0;   // bits
  int pciBus = 0, pciDevice = 0, pciDomain = 0;
  bool integrated = false;
  bool multiGpuBoard = false;
  std::array<unsigned char, 16> uuid{};
};

/// Memory that came from the driver in one piece, and the blocks that it was cut into, in order.
struct GpuSegment {
  struct Block {
    std::uint64_t address;
    std::size_t bytes;
    std::size_t requested;  // of one that is in use: what was asked for
    /// In use; freed, but other streams may still use it; free.
    enum class State { Active, Awaiting, Free } state;
  };
  std::uint64_t address;
  std::size_t bytes;
  void* stream;  // handle of the one that it serves
  bool large;    // of the pool of large blocks
  bool ofGraph;  // kept for a graph
  std::vector<Block> blocks;
};

/// Work that was queued while a stream was captured, to be queued again as a whole. What it reads and writes must stay
/// where it is; memory that was allocated meanwhile is kept for it.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  /// Queues all of it. Checks of values in it (expectations) are raised by whoever waits for the stream next.
  virtual void launch(Stream& stream) = 0;
};

/// Whether what processes queued together is what all of them meant, which the host learns beside the work. Any thread
/// may settle it and ask.
class Agreement {
 public:
  /// `raise` throws the error of a failure, of whichever class the host has for it.
  explicit Agreement(std::function<void(const std::string& why)> raise) : raise_(std::move(raise)) {}
  /// They agree.
  void settle() {
    const std::lock_guard lock(mutex_);
    known_ = true;
    changed_.notify_all();
  }
  /// They do not, or one is lost. The first text counts; it may come after `settle`, while the work is under way.
  void fail(std::string why) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = std::move(why);
    known_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool isKnown() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }
  /// Waits until it is known: what went wrong, or nothing.
  [[nodiscard]] std::string failure() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return known_; });
    return failure_;
  }
  [[noreturn]] void raise() const {
    raise_(failure());
    tandem::fail<InternalError>("a failure of processes raised no error");
  }

 private:
  const std::function<void(const std::string&)> raise_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool known_ = false;
  std::string failure_;
};

/// What one rank of a group of processes has to move memory of its GPU to and from the others. Its work is queued in a
/// stream of its own. All functions but `exchange` may be called on any thread meanwhile.
class GpuCommunicator {
 public:
  /// Memory for a rank, or from it.
  struct Part {
    void* memory;
    std::size_t bytes;
    int rank;
  };
  virtual ~GpuCommunicator() = default;
  virtual Stream& stream() = 0;
  /// Queues sends and receives that are done at the same time. All ranks call it for the same exchanges in one order.
  /// What a rank sends to itself is copied. Error where it cannot be queued, or `abort` ended it.
  virtual void exchange(std::span<const Part> sends, std::span<const Part> receives) = 0;
  /// What went wrong on the way since; empty where nothing did.
  virtual std::string failure() = 0;
  /// Ends what is under way, whose results are of no use then.
  virtual void abort() noexcept = 0;
  /// Gives everything back once all is done.
  virtual void close() noexcept = 0;
};

class GpuControl {
 public:
  virtual ~GpuControl() = default;

  // ---- the device

  virtual const GpuProperties& properties() = 0;
  /// 13000 for 13.0: what the driver can do.
  virtual int driverVersion() = 0;
  /// 92800 for 9.28.0, of the cuDNN that convolutions use; 0 without one. Error where one is named that cannot be used.
  virtual int cudnnVersion() = 0;
  /// Can kernels here reach the memory of the device of that index?
  virtual bool canAccessPeer(int index) = 0;
  /// Waits for all streams. Throws the first error of their work which was not thrown yet.
  virtual void synchronize() = 0;

  // ---- streams

  virtual Stream& defaultStream() = 0;
  /// Makes a stream that of this thread's work (`Executor::stream`); the one before. It must live until another is
  /// chosen.
  virtual Stream& setCurrentStream(Stream& stream) = 0;
  /// One of 32 of the priority (0, or less for a higher one), in turn; they live as long as the process.
  virtual Stream& pooledStream(int priority) = 0;
  /// The stream of a driver's handle that somebody else made; null is the default stream. Lives as long as the process.
  virtual Stream& externalStream(void* handle) = 0;
  /// Is all work of the stream done? Throws none of its errors.
  virtual bool isDone(Stream& stream) = 0;
  /// As Executor::makeEvent; without times it is cheaper.
  virtual std::unique_ptr<Event> makeEvent(bool timed) = 0;

  // ---- memory of the device

  /// What is on the device at all, and free for any program.
  struct MemoryInfo {
    std::size_t free = 0, total = 0;
  };
  virtual MemoryInfo memoryInfo() = 0;
  /// Memory of `Executor::allocate` is used by work of this stream too: freed, it is handed out again only when what
  /// the stream has then is done.
  virtual void recordStream(void* memory, Stream& stream) = 0;
  /// Gives what is cached and unused back to the driver.
  virtual void emptyCache() = 0;
  /// By the names of PyTorch's memory_stats: `allocated_bytes.all.current`, ...
  virtual std::vector<std::pair<std::string, std::int64_t>> memoryStats() = 0;
  virtual void resetPeakStats() = 0;
  virtual void resetAccumulatedStats() = 0;
  virtual std::vector<GpuSegment> memorySnapshot() = 0;
  /// Of the device's memory, the share in (0, 1] that this process may take.
  virtual void setMemoryFraction(double fraction) = 0;
  /// Memory of its own: what is freed of it serves nobody else while the handle lives. `id` names it as the pool of
  /// graphs (`beginCapture`), which then share it.
  virtual std::shared_ptr<void> makePool(std::uint64_t id) = 0;
  /// What this thread allocates on the GPU is of the pool (null: of none) from now on, but for what is captured.
  /// Returns the one before.
  virtual std::shared_ptr<void> choosePool(std::shared_ptr<void> pool) = 0;

  /// The index of the GPU whose memory the address is in, whoever allocated it; -1 where it is no GPU's.
  virtual int indexOf(const void* memory) = 0;

  // ---- memory of the host that copies reach without waiting

  /// Page-locked, aligned to 64 bytes at least. Freed, it is handed out again only when copies from and to it are done.
  virtual void* allocatePinned(std::size_t bytes) = 0;
  virtual void freePinned(void* memory) noexcept = 0;
  /// By the names of PyTorch's host_memory_stats: `allocations.current`, ... Of all devices.
  virtual std::vector<std::pair<std::string, std::int64_t>> hostMemoryStats() = 0;
  virtual void resetPeakHostStats() = 0;
  virtual void resetAccumulatedHostStats() = 0;
  /// Does the address lie in such memory?
  virtual bool isPinned(const void* memory) = 0;
  /// Queue a copy and do not wait: the host's memory, which must be pinned, is read or written later.
  virtual void copyFromPinned(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;
  virtual void copyToPinned(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;
  /// From the memory of another device of this kind, whose current stream's work is done first.
  virtual void copyFromPeer(void* to, const void* from, std::size_t bytes, Executor& peer, Stream& stream) = 0;

  // ---- graphs

  /// What is queued in the stream from now on is kept instead of done; the stream is not the default one. Memory that
  /// is allocated on the stream meanwhile comes from the pool of that number, which graphs share that name it: what is
  /// free in it when one is captured may be the next one's. It lives as long as a graph of it.
  virtual void beginCapture(Stream& stream, std::uint64_t pool) = 0;
  /// Ends it. Error where something was done meanwhile that cannot be captured; the stream is usable again then too.
  virtual std::unique_ptr<GpuGraph> endCapture(Stream& stream) = 0;
  virtual bool isCapturing(Stream& stream) = 0;

  // ---- work with other processes

  /// Whoever waits for what the stream has so far waits for the agreement, too, and gets its failure as an error.
  virtual void expect(Stream& stream, std::shared_ptr<const Agreement> agreement) = 0;
  /// The version of NCCL: 22809; 0 without one.
  virtual int ncclVersion() = 0;
  /// Why processes cannot send one another memory of this device; empty where they can.
  virtual std::string whyNoCommunicator() = 0;
  /// What the ranks of a group know each other by: one of them makes it, and all get it.
  virtual std::string communicatorId() = 0;
  /// Waits for the other ranks, which call it with the same identity and size; ends with an error when `isGivenUp`.
  virtual std::unique_ptr<GpuCommunicator> connect(const std::string& id, int rank, int size,
                                                   FunctionRef<bool()> isGivenUp) = 0;
};

}  // namespace tandem
