#include "runtime/device/cuda/cuda_executor.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "runtime/base/error.h"
#include "runtime/device/cuda/copies.h"
#include "runtime/device/cuda/cuda_kernel.h"
#include "runtime/device/cuda/graph.h"
#include "runtime/device/cuda/nccl.h"
#include "runtime/kernel/in_parallel.h"
#include "runtime/lib/cuda/cudnn.h"
#include "runtime/lib/cuda/table.h"

namespace tandem::cuda {
namespace {

constexpr std::size_t kMostCompilers = 16;  // threads

CudaStream& of(Stream& stream) { return static_cast<CudaStream&>(stream); }
const CudaKernel& of(const Kernel& kernel) { return static_cast<const CudaKernel&>(kernel); }

/// Each once.
std::vector<const CudaKernel*> neededBy(std::span<const LaunchPreview> launches) {
  std::vector<const CudaKernel*> needed;
  const auto add = [&](const CudaKernel* k) {
    if (std::ranges::find(needed, k) == needed.end()) needed.push_back(k);
  };
  for (const LaunchPreview& l : launches) {
    const CudaKernel& kernel = of(*l.kernel);
    const CudaKernel* const list = l.listed && isListed(kernel, l.args) ? kernel.listed() : nullptr;
    if (list != nullptr)
      add(list);
    else
      std::ranges::for_each(neededBy(kernel, l.args, l.space), add);
  }
  return needed;
}

}  // namespace

void* CudaExecutor::allocate(std::size_t bytes) { return gpu_.memory.allocate(bytes, gpu_.stream().raw()); }
void CudaExecutor::deallocate(void* p, std::size_t) noexcept { gpu_.memory.deallocate(p); }

void CudaExecutor::copyFromHost(void* to, const void* from, std::size_t bytes, Stream& stream) {
  cuda::copyFromHost(to, from, bytes, of(stream));
}
void CudaExecutor::copyToHost(void* to, const void* from, std::size_t bytes, Stream& stream) {
  cuda::copyToHost(to, from, bytes, of(stream));
}
void CudaExecutor::copy(void* to, const void* from, std::size_t bytes, Stream& stream) {
  copyWithin(to, from, bytes, of(stream));
}

const Kernel* CudaExecutor::load(const KernelSignature& signature) { return &loadKernel(gpu_, signature); }

void CudaExecutor::prepare(std::span<const LaunchPreview> launches) {
  std::vector<const CudaKernel*> missing = neededBy(launches);
  std::erase_if(missing, [](const CudaKernel* k) { return k->ready(); });
  // Long texts first, so that none is left when the others are done.
  std::ranges::stable_sort(missing, std::greater<>(), [](const CudaKernel* k) { return k->signature.steps.size(); });
  makeInParallel(missing.size(), kMostCompilers, [&](std::size_t k) { static_cast<void>(missing[k]->function()); });
}

std::unique_ptr<KernelModule> CudaExecutor::loadModule(std::span<const SavedKernel> kernels) {
  return std::make_unique<CudaModule>(gpu_, kernels);
}

void CudaExecutor::launch(const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space, Stream& stream) {
  launchKernel(of(kernel), args, space, of(stream));
}

bool CudaExecutor::launchList(const Kernel& kernel, std::span<const std::int64_t> args, Stream& stream) {
  cuda::launchList(of(kernel), args, of(stream));
  return true;
}

bool CudaExecutor::reduceStrided(const StridedReduction& reduction, Stream& stream) {
  const auto columns = walkOf(reduction);
  if (!columns) return false;
  launchKernel(loadKernel(gpu_, columns->kernel.signature()), columns->args.data(), columns->space, of(stream));
  return true;
}

void CudaExecutor::copyArray(const ArrayView& from, const ArrayView& to, Stream& stream) {
  copyStrided(from, to, of(stream));
}

LibraryFn CudaExecutor::library(std::string_view op) { return findFunction(op); }

void CudaExecutor::call(LibraryFn fn, const LibraryCall& call, Stream& stream) {
  {
    const Queueing here(of(stream));
    try {
      fn(call);
    } catch (const Error&) {
      rethrowWithPlace(placeOf(call.line));
    }
  }
  if (launchesBlock() && !of(stream).isCapturing()) stream.synchronize();
}

std::unique_ptr<Stream> CudaExecutor::makeStream() { return std::make_unique<CudaStream>(gpu_); }

// ---- what a GPU does beside computing

int CudaExecutor::cudnnVersion() {
  const cudnn::Library* library = cudnn::library();
  return library == nullptr ? 0 : static_cast<int>(library->version());
}
int CudaExecutor::driverVersion() {
  int version = 0;
  check(driver().driverGetVersion(&version), "asking the driver's version");
  return version;
}

bool CudaExecutor::canAccessPeer(int index) {
  DeviceOrdinal here = 0;
  DeviceOrdinal there = 0;
  int can = 0;
  check(driver().deviceGet(&here, gpu_.ordinal()), "asking about peers");
  check(driver().deviceGet(&there, index), "asking about peers");
  check(driver().deviceCanAccessPeer(&can, here, there), "asking about peers");
  return can != 0;
}

Stream& CudaExecutor::setCurrentStream(Stream& stream) { return gpu_.setStream(of(stream)); }

Stream& CudaExecutor::externalStream(void* handle) { return gpu_.externalStream(static_cast<StreamHandle>(handle)); }

bool CudaExecutor::isDone(Stream& stream) { return of(stream).isDone(); }

std::unique_ptr<Event> CudaExecutor::makeEvent(bool timed) { return std::make_unique<CudaEvent>(gpu_, timed); }

GpuControl::MemoryInfo CudaExecutor::memoryInfo() {
  MemoryInfo info;
  gpu_.use();
  check(driver().memGetInfo(&info.free, &info.total), "asking a GPU's memory");
  return info;
}

void CudaExecutor::recordStream(void* memory, Stream& stream) { gpu_.memory.recordStream(memory, of(stream).raw()); }

void CudaExecutor::emptyCache() {
  gpu_.memory.emptyCache();
  pinnedMemory().emptyCache();
}

void CudaExecutor::setMemoryFraction(double fraction) { gpu_.memory.setFraction(fraction, properties().totalMemory); }

namespace {

/// What a program holds of a pool: given back with the last handle.
struct Pool {
  Gpu& gpu;
  std::shared_ptr<DeviceMemory::Arena> arena;
  ~Pool() { gpu.memory.giveBack(std::move(arena)); }
};

}  // namespace

std::shared_ptr<void> CudaExecutor::makePool(std::uint64_t id) {
  return std::shared_ptr<Pool>(new Pool{gpu_, gpu_.memory.makePool(id)});
}

std::shared_ptr<void> CudaExecutor::choosePool(std::shared_ptr<void> pool) {
  auto* const arena = pool == nullptr ? nullptr : static_cast<Pool*>(pool.get())->arena.get();
  return gpu_.memory.choosePool(arena, std::move(pool));
}

void* CudaExecutor::allocatePinned(std::size_t bytes) { return pinnedMemory().allocate(bytes, gpu_); }
void CudaExecutor::freePinned(void* memory) noexcept { pinnedMemory().free(memory); }
int CudaExecutor::indexOf(const void* memory) {
  int ordinal = -1;
  gpu_.use();
  const int result =
      driver().pointerGetAttribute(&ordinal, kPointerDeviceOrdinal, std::bit_cast<DevicePointer>(memory));
  return result == kSuccess ? ordinal : -1;
}
std::vector<std::pair<std::string, std::int64_t>> CudaExecutor::hostMemoryStats() { return pinnedMemory().stats(); }
void CudaExecutor::resetPeakHostStats() { pinnedMemory().resetPeaks(); }
void CudaExecutor::resetAccumulatedHostStats() { pinnedMemory().resetAccumulated(); }
bool CudaExecutor::isPinned(const void* memory) { return pinnedMemory().holds(memory); }

void CudaExecutor::copyFromPinned(void* to, const void* from, std::size_t bytes, Stream& stream) {
  cuda::copyFromPinned(to, from, bytes, of(stream));
}
void CudaExecutor::copyToPinned(void* to, const void* from, std::size_t bytes, Stream& stream) {
  cuda::copyToPinned(to, from, bytes, of(stream));
}
void CudaExecutor::copyFromPeer(void* to, const void* from, std::size_t bytes, Executor& peer, Stream& stream) {
  cuda::copyFromPeer(to, from, bytes, of(peer.stream()), of(stream));
}

void CudaExecutor::beginCapture(Stream& stream, std::uint64_t pool) { cuda::beginCapture(of(stream), pool); }
std::unique_ptr<GpuGraph> CudaExecutor::endCapture(Stream& stream) { return cuda::endCapture(of(stream)); }
bool CudaExecutor::isCapturing(Stream& stream) { return of(stream).isCapturing(); }

void CudaExecutor::expect(Stream& stream, std::shared_ptr<const Agreement> agreement) {
  of(stream).expect(std::make_shared<const Agreed>(std::move(agreement)));
}
int CudaExecutor::ncclVersion() { return cuda::ncclVersion(); }
std::string CudaExecutor::whyNoCommunicator() { return ncclMissing(); }
std::string CudaExecutor::communicatorId() { return ncclId(); }
std::unique_ptr<GpuCommunicator> CudaExecutor::connect(const std::string& id, int rank, int size,
                                                       FunctionRef<bool()> isGivenUp) {
  return std::make_unique<NcclCommunicator>(gpu_, id, rank, size, isGivenUp);
}

}  // namespace tandem::cuda
