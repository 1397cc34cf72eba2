#include "runtime/device/cuda/gpu.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/device/cuda/cuda_kernel.h"
#include "runtime/device/cuda/launch_shape.h"
#include "runtime/device/cuda/sequence.h"

namespace tandem::cuda {
namespace {

constexpr int kMostGpus = 64;
constexpr int kNotThere = -1;  // an ordinal
constexpr std::size_t kPooledStreams = 32;

const DeviceHost* theHost = nullptr;

// The stream of this thread's work by ordinal; null is the default one.
thread_local std::array<CudaStream*, kMostGpus> current{};
thread_local Queueing* queueing = nullptr;

// A child of a process that used the driver cannot: its contexts belong to threads that are not there.
std::atomic<bool> used{false};
std::atomic<bool> forked{false};

int attribute(DeviceAttribute which, DeviceOrdinal device) {
  int value = 0;
  check(driver().deviceGetAttribute(&value, which, device), "asking what a GPU is");
  return value;
}

GpuProperties readProperties(DeviceOrdinal device) {
  GpuProperties p;
  std::array<char, 256> name{};
  check(driver().deviceGetName(name.data(), static_cast<int>(name.size()), device), "asking a GPU's name");
  p.name = name.data();
  check(driver().deviceTotalMem(&p.totalMemory, device), "asking a GPU's memory");
  p.major = attribute(kComputeCapabilityMajor, device);
  p.minor = attribute(kComputeCapabilityMinor, device);
  p.architecture = strcat("sm_", p.major, p.minor);
  p.multiprocessors = attribute(kMultiprocessorCount, device);
  p.warpSize = attribute(kWarpSize, device);
  p.maxThreadsPerBlock = attribute(kMaxThreadsPerBlock, device);
  p.maxThreadsPerMultiprocessor = attribute(kMaxThreadsPerMultiprocessor, device);
  p.registersPerMultiprocessor = attribute(kMaxRegistersPerMultiprocessor, device);
  p.sharedMemoryPerBlock = static_cast<std::size_t>(attribute(kMaxSharedMemoryPerBlock, device));
  p.sharedMemoryPerBlockOptin = static_cast<std::size_t>(attribute(kMaxSharedMemoryPerBlockOptin, device));
  p.sharedMemoryPerMultiprocessor = static_cast<std::size_t>(attribute(kMaxSharedMemoryPerMultiprocessor, device));
  p.l2CacheSize = static_cast<std::size_t>(attribute(kL2CacheSize, device));
  p.clockRate = attribute(kClockRate, device);
  p.memoryClockRate = attribute(kMemoryClockRate, device);
  p.memoryBusWidth = attribute(kGlobalMemoryBusWidth, device);
  p.pciBus = attribute(kPciBusId, device);
  p.pciDevice = attribute(kPciDeviceId, device);
  p.pciDomain = attribute(kPciDomainId, device);
  p.integrated = attribute(kIntegrated, device) != 0;
  p.multiGpuBoard = attribute(kIsMultiGpuBoard, device) != 0;
  check(driver().deviceGetUuid(p.uuid.data(), device), "asking a GPU's number");
  return p;
}

}  // namespace

const DeviceHost& host() {
  TANDEM_CHECK(theHost != nullptr);
  return *theHost;
}
void setHost(const DeviceHost& host) { theHost = &host; }

bool launchesBlock() {
  static const bool block = [] {
    const char* given = std::getenv("TANDEM_LAUNCH_BLOCKING");
    return given != nullptr && std::string_view(given) == "1";
  }();
  return block;
}

Gpu::Gpu(int ordinal) : kernels(std::make_unique<GpuKernels>(*this)), ordinal_(ordinal) {
  check(driver().deviceGet(&device_, ordinal), strcat("opening cuda:", ordinal));
  describe(readProperties(device_));
}

Gpu::Gpu(const GpuProperties& properties) : kernels(std::make_unique<GpuKernels>(*this)), ordinal_(kNotThere) {
  describe(properties);
}

Gpu::~Gpu() = default;

void Gpu::describe(const GpuProperties& properties) {
  properties_ = properties;
  limits_.multiprocessors = properties_.multiprocessors;
  limits_.sharedBytes = static_cast<int>(properties_.sharedMemoryPerBlockOptin);
  limits_.architecture = properties_.major * 10 + properties_.minor;
  target_ = targetOf(properties_);
}

void Gpu::use() {
  if (ordinal_ == kNotThere) return;
  if (forked.load(std::memory_order_relaxed))
    fail<Error>("CUDA cannot be used in a process that was forked from one which used it: start processes by 'spawn'");
  std::call_once(once_, [this] {
    check(driver().devicePrimaryCtxRetain(&context_, device_), strcat("opening ", name()));
    if (!used.exchange(true)) ::pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  });
  if (const int result = driver().ctxSetCurrent(context_); result != kSuccess) [[unlikely]]
    check(result, strcat("choosing ", name()));
}

std::string Gpu::name() const { return strcat("cuda:", ordinal_); }

CudaStream& Gpu::stream() {
  CudaStream* chosen = ordinal_ == kNotThere ? nullptr : current[static_cast<std::size_t>(ordinal_)];
  return chosen != nullptr ? *chosen : defaultStream_;
}

CudaStream& Gpu::setStream(CudaStream& stream) {
  CudaStream& before = this->stream();
  current[static_cast<std::size_t>(ordinal_)] = &stream;
  return before;
}

CudaStream& Gpu::pooledStream(int priority) {
  Pool* pool = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto known = std::ranges::find(pools_, priority, [](const auto& p) { return p->priority; });
    if (known == pools_.end()) known = pools_.insert(pools_.end(), std::make_unique<Pool>(Pool{priority, {}, 0}));
    pool = known->get();
    if (pool->streams.size() == kPooledStreams) return *pool->streams[pool->next++ % kPooledStreams];
  }
  use();
  StreamHandle handle = nullptr;
  check(driver().streamCreateWithPriority(&handle, kStreamNonBlocking, priority), "making a stream");
  auto made = std::make_unique<CudaStream>(*this, handle, CudaStream::Borrowed{});
  const std::lock_guard lock(mutex_);
  return *pool->streams.emplace_back(std::move(made));
}

CudaStream& Gpu::externalStream(StreamHandle handle) {
  if (handle == nullptr) return defaultStream_;
  {
    const std::lock_guard lock(mutex_);
    for (CudaStream* s : streams_)
      if (s->raw() == handle) return *s;
  }
  auto made = std::make_unique<CudaStream>(*this, handle, CudaStream::Borrowed{});
  const std::lock_guard lock(mutex_);
  return *external_.emplace_back(std::move(made));
}

StreamHandle Gpu::takeHandle() {
  {
    const std::lock_guard lock(mutex_);
    if (!handles_.empty()) {
      StreamHandle handle = handles_.back();
      handles_.pop_back();
      return handle;
    }
  }
  use();
  StreamHandle handle = nullptr;
  check(driver().streamCreateWithPriority(&handle, kStreamNonBlocking, 0), "making a stream");
  return handle;
}

void Gpu::giveHandle(StreamHandle handle) {
  const std::lock_guard lock(mutex_);
  handles_.push_back(handle);
}

void Gpu::addStream(CudaStream& stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(&stream);
}

void Gpu::removeStream(CudaStream& stream) {
  const std::lock_guard lock(mutex_);
  std::erase(streams_, &stream);
}

void Gpu::synchronize() {
  std::vector<std::pair<std::shared_ptr<Expectations>, std::uint64_t>> waited;
  {
    const std::lock_guard lock(mutex_);
    for (CudaStream* s : streams_) waited.emplace_back(s->expectations(), s->expectations()->last());
  }
  use();
  stream().checkWork(driver().ctxSynchronize(), "waiting");
  for (const auto& [expectations, last] : waited) expectations->raise(last);
}

int gpuCount() {
  if (!driverMissing().empty()) return 0;
  int count = 0;
  check(driver().deviceGetCount(&count), "counting GPUs");
  return std::min(count, kMostGpus);
}

Gpu& gpu(int ordinal) {
  static const auto* const all = [] {
    auto* const made = new std::vector<Gpu*>;  // never destroyed: tensors outlive other statics
    for (int k = 0; k < gpuCount(); ++k) made->push_back(new Gpu(k));
    return made;
  }();
  return *all->at(static_cast<std::size_t>(ordinal));
}

Queueing::Queueing(CudaStream& stream) : stream_(stream), before_(queueing) {
  queueing = this;
  stream.gpu().use();
}

Queueing::~Queueing() {
  queueing = before_;
  try {
    hand();
  } catch (const Error&) {
    // The device failed, which whoever waits for the stream learns.
  }
}

Queueing& Queueing::now() {
  TANDEM_CHECK(queueing != nullptr, "a library function of a GPU was called past its executor");
  return *queueing;
}

void Queueing::hand() {
  Tape* tape = Tape::now();
  for (auto& e : std::exchange(expected_, {}))
    if (tape == nullptr || !tape->expect(e)) stream_.expect(std::move(e));
}

}  // namespace tandem::cuda
