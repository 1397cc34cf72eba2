// One GPU: its context, its numbers, and what the executor of a device is made of: memory, streams, places for faults.
// The context is made when the first call needs it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/faults.h"
#include "runtime/device/cuda/memory.h"
#include "runtime/device/cuda/pinned.h"
#include "runtime/device/cuda/queue.h"
#include "runtime/device/cuda/stream.h"
#include "runtime/device/gpu_control.h"
#include "runtime/device/plugin.h"

namespace tandem::cuda {

/// What the process lends the plug-in; set before anything else is called.
const DeviceHost& host();
void setHost(const DeviceHost& host);

/// Is TANDEM_LAUNCH_BLOCKING=1 set: does every launch wait, so that errors are raised where they are made?
bool launchesBlock();

class GpuKernels;

class Gpu {
 public:
  explicit Gpu(int ordinal);
  /// One that is not there, for surveys (survey.h): the driver is never asked about it.
  explicit Gpu(const GpuProperties& properties);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Makes this device that of the thread's calls of the driver. Error in a process forked from one that used it.
  void use();
  [[nodiscard]] int ordinal() const { return ordinal_; }
  /// `cuda:1`.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const GpuProperties& properties() const { return properties_; }
  [[nodiscard]] const DeviceLimits& limits() const { return limits_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] ContextHandle context() const { return context_; }

  /// The stream of this thread's work.
  CudaStream& stream();
  CudaStream& setStream(CudaStream& stream);
  CudaStream& defaultStream() { return defaultStream_; }
  CudaStream& pooledStream(int priority);
  CudaStream& externalStream(StreamHandle handle);
  /// Handles of streams that are not used any more are used again, since memory is kept by handle.
  StreamHandle takeHandle();
  void giveHandle(StreamHandle handle);
  /// Waits for all streams and raises the first error of any.
  void synchronize();
  /// Streams that have something to raise, while they live.
  void addStream(CudaStream& stream);
  void removeStream(CudaStream& stream);

  DeviceMemory memory{*this};
  EventPool events{*this};
  Captures captures;
  FaultSlots slots{*this};
  const std::unique_ptr<GpuKernels> kernels;  // by their signatures (cuda_kernel.h)

 private:
  void describe(const GpuProperties& properties);

  const int ordinal_;
  DeviceOrdinal device_ = 0;
  GpuProperties properties_;
  DeviceLimits limits_{};
  Target target_;
  std::once_flag once_;
  ContextHandle context_ = nullptr;

  std::mutex mutex_;
  std::vector<CudaStream*> streams_;
  std::vector<StreamHandle> handles_;
  struct Pool {
    int priority;
    std::vector<std::unique_ptr<CudaStream>> streams;
    std::size_t next = 0;
  };
  std::vector<std::unique_ptr<Pool>> pools_;
  std::vector<std::unique_ptr<CudaStream>> external_;
  CudaStream defaultStream_{*this, nullptr, CudaStream::Borrowed{}};
};

/// The GPUs of this process, by ordinal.
int gpuCount();
Gpu& gpu(int ordinal);

/// For the time of its life, what functions of queue.h queue on this thread goes to a stream.
class Queueing {
 public:
  explicit Queueing(CudaStream& stream);
  ~Queueing();
  Queueing(const Queueing&) = delete;
  Queueing& operator=(const Queueing&) = delete;
  /// That of this thread. InternalError where there is none.
  static Queueing& now();

  [[nodiscard]] CudaStream& stream() const { return stream_; }
  /// An expectation becomes the stream's when the work is queued that may prove it wrong: at the end, or before a wait.
  void expect(std::shared_ptr<const Expected> expected) { expected_.push_back(std::move(expected)); }
  void hand();

 private:
  CudaStream& stream_;
  Queueing* before_;
  std::vector<std::shared_ptr<const Expected>> expected_;
};

}  // namespace tandem::cuda
