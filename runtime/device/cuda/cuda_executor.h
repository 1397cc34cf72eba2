// The executor of a GPU.
#pragma once

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/sequence.h"
#include "runtime/device/executor.h"
#include "runtime/device/gpu_control.h"

namespace tandem::cuda {

class CudaExecutor final : public Executor, public GpuControl {
 public:
  explicit CudaExecutor(Gpu& gpu) : gpu_(gpu), sequences_(gpu) {}

  const Target& target() const override { return gpu_.target(); }
  void* allocate(std::size_t bytes) override;
  void deallocate(void* p, std::size_t bytes) noexcept override;
  void copyFromHost(void* to, const void* from, std::size_t bytes, Stream& stream) override;
  void copyToHost(void* to, const void* from, std::size_t bytes, Stream& stream) override;
  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override;
  const Kernel* load(const KernelSignature& signature) override;
  void prepare(std::span<const LaunchPreview> launches) override;
  std::unique_ptr<KernelModule> loadModule(std::span<const SavedKernel> kernels) override;
  void launch(const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space, Stream& stream) override;
  bool launchList(const Kernel& kernel, std::span<const std::int64_t> args, Stream& stream) override;
  bool reduceStrided(const StridedReduction& reduction, Stream& stream) override;
  void copyArray(const ArrayView& from, const ArrayView& to, Stream& stream) override;
  void queueSequence(std::uint64_t plan, FunctionRef<void()> queue) override { sequences_.run(plan, queue); }
  LibraryFn library(std::string_view op) override;
  void call(LibraryFn fn, const LibraryCall& call, Stream& stream) override;
  Stream& stream() override { return gpu_.stream(); }
  std::unique_ptr<Stream> makeStream() override;
  std::unique_ptr<Event> makeEvent() override { return makeEvent(true); }
  GpuControl* gpu() override { return this; }

  const GpuProperties& properties() override { return gpu_.properties(); }
  int driverVersion() override;
  int cudnnVersion() override;
  bool canAccessPeer(int index) override;
  void synchronize() override { gpu_.synchronize(); }
  Stream& defaultStream() override { return gpu_.defaultStream(); }
  Stream& setCurrentStream(Stream& stream) override;
  Stream& pooledStream(int priority) override { return gpu_.pooledStream(priority); }
  Stream& externalStream(void* handle) override;
  bool isDone(Stream& stream) override;
  std::unique_ptr<Event> makeEvent(bool timed) override;
  MemoryInfo memoryInfo() override;
  void recordStream(void* memory, Stream& stream) override;
  void emptyCache() override;
  std::vector<std::pair<std::string, std::int64_t>> memoryStats() override { return gpu_.memory.stats(); }
  void resetPeakStats() override { gpu_.memory.resetPeaks(); }
  void resetAccumulatedStats() override { gpu_.memory.resetAccumulated(); }
  std::vector<std::pair<std::string, std::int64_t>> hostMemoryStats() override;
  void resetPeakHostStats() override;
  void resetAccumulatedHostStats() override;
  std::vector<GpuSegment> memorySnapshot() override { return gpu_.memory.snapshot(); }
  void setMemoryFraction(double fraction) override;
  std::shared_ptr<void> makePool(std::uint64_t id) override;
  std::shared_ptr<void> choosePool(std::shared_ptr<void> pool) override;
  void* allocatePinned(std::size_t bytes) override;
  void freePinned(void* memory) noexcept override;
  int indexOf(const void* memory) override;
  bool isPinned(const void* memory) override;
  void copyFromPinned(void* to, const void* from, std::size_t bytes, Stream& stream) override;
  void copyToPinned(void* to, const void* from, std::size_t bytes, Stream& stream) override;
  void copyFromPeer(void* to, const void* from, std::size_t bytes, Executor& peer, Stream& stream) override;
  void beginCapture(Stream& stream, std::uint64_t pool) override;
  std::unique_ptr<GpuGraph> endCapture(Stream& stream) override;
  bool isCapturing(Stream& stream) override;
  void expect(Stream& stream, std::shared_ptr<const Agreement> agreement) override;
  int ncclVersion() override;
  std::string whyNoCommunicator() override;
  std::string communicatorId() override;
  std::unique_ptr<GpuCommunicator> connect(const std::string& id, int rank, int size,
                                           FunctionRef<bool()> isGivenUp) override;

 private:
  Gpu& gpu_;
  Sequences sequences_;
};

}  // namespace tandem::cuda
