// A stand-in for the CUDA driver, put in its place by $TANDEM_CUDA_DRIVER: the functions that
// runtime/device/cuda/driver.h lists, for GPUs that are this host. Here devices, memory and copies; stream_entries.cpp
// has streams, events, graphs and kernels. What the environment chooses:
//
//   TANDEM_EMULATED_DEVICES=n         how many there are: 2
//   TANDEM_EMULATED_MEMORY=bytes      the memory of each: 4 GiB
//   TANDEM_EMULATED_ORDER=backwards   blocks and threads run from the last to the first: what depends on the order, as
//   a
//                                     read without a barrier before it, has other results
//   TANDEM_EMULATED_OPTIMIZE=-O1      how texts are compiled (nvrtc/compiler.cpp)
//
// It does not show that a kernel reads pageable memory of the host, which a GPU cannot.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "tests/emulation/driver/entries.h"
#include "tests/emulation/driver/fault.h"
#include "tests/emulation/driver/module.h"

namespace tandem::emulation {
namespace {

std::atomic<bool> initialised{false};

/// Pinned memory of the host, by address.
std::map<std::uint64_t, std::size_t>& pinned() {
  static auto* const all = new std::map<std::uint64_t, std::size_t>;
  return *all;
}
constexpr std::size_t kPage = 4096;

bool isPinned(const void* at, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(at);
  auto it = pinned().upper_bound(address);
  if (it == pinned().begin()) return false;
  --it;
  return address - it->first <= it->second && bytes <= it->second - (address - it->first);
}

/// The device that all these bytes are on; null: they are on none.
Device* ownerOf(std::uint64_t address, std::size_t bytes) {
  for (const auto& device : state().devices) {
    if (device->memory.isAllocated(address, bytes)) return device.get();
  }
  return nullptr;
}
bool isDeviceAddress(const void* at) {
  for (const auto& device : state().devices) {
    if (device->memory.holds(at)) return true;
  }
  return false;
}
// NOLINTNEXTLINE(performance-no-int-to-ptr): addresses of devices are numbers
void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }
/// Where work may read and write: device memory and pinned memory.
bool isReachable(std::uint64_t address, std::size_t bytes, Device*& owner) {
  owner = ownerOf(address, bytes);
  return owner != nullptr || isPinned(pointer(address), bytes);
}

Work copyWork(void* to, const void* from, std::size_t bytes, Device* first, Device* second) {
  return [=](Lock&) {
    openMemory(first, second);
    std::memmove(to, from, bytes);
  };
}

int copyOnDevices(tandem::cuda::DevicePointer to, tandem::cuda::DevicePointer from, std::size_t bytes,
                  tandem::cuda::StreamHandle handle) {
  return onStream(handle, [&](Lock& lock, Stream& stream) -> int {
    Device* toDevice = nullptr;
    Device* fromDevice = nullptr;
    if (!isReachable(to, bytes, toDevice) || !isReachable(from, bytes, fromDevice)) return tandem::cuda::kInvalidValue;
    return stream.push(lock, copyWork(pointer(to), pointer(from), bytes, toDevice, fromDevice));
  });
}

struct NamedError {
  int code;
  const char* name;
  const char* text;
};
constexpr std::array kErrors = {
    NamedError{0, "CUDA_SUCCESS", "no error"},
    NamedError{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    NamedError{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    NamedError{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    NamedError{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    NamedError{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    NamedError{200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    NamedError{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    NamedError{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    NamedError{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    NamedError{600, "CUDA_ERROR_NOT_READY", "device not ready"},
    NamedError{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    NamedError{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    NamedError{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    NamedError{800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    NamedError{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    NamedError{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    NamedError{902, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
               "operation would result in a merge of separate capture sequences"},
    NamedError{903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    NamedError{904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    NamedError{905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    NamedError{906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
               "operation would make the legacy stream depend on a capturing blocking stream"},
    NamedError{907, "CUDA_ERROR_CAPTURED_EVENT",
               "operation not permitted on an event last recorded in a capturing stream"},
    NamedError{908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
               "attempt to terminate a thread-local capture sequence from another thread"},
};
const NamedError* findError(int code) {
  for (const NamedError& e : kErrors) {
    if (e.code == code) return &e;
  }
  return nullptr;
}

/// CUdevice_attribute to value; those of a GPU of architecture sm_90.
constexpr std::array<std::pair<int, int>, 32> kAttributes = {{
    {1, kMostThreads}, {2, 1024},   {3, 1024},   {4, 64},           {5, 2147483647}, {6, 65535},    {7, 65535},
    {8, kUsualShared}, {10, 32},    {12, 65536}, {13, 1980000},     {16, 132},       {18, 0},       {19, 1},
    {31, 1},           {32, 0},     {33, 0},     {34, 0},           {35, 0},         {36, 2619000}, {37, 5120},
    {38, 50 << 20},    {39, 2048},  {40, 3},     {41, 1},           {50, 0},         {75, 9},       {76, 0},
    {81, 228 << 10},   {82, 65536}, {84, 0},     {97, kMostShared},
}};

}  // namespace

Device*& currentDevice() {
  thread_local Device* current = nullptr;
  return current;
}
bool isInitialised() { return initialised; }
Device* deviceOf(int ordinal) {
  const auto& devices = state().devices;
  return ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size() ? devices[ordinal].get() : nullptr;
}
Device* deviceOf(tandem::cuda::ContextHandle context) {
  for (const auto& device : state().devices) {
    if (reinterpret_cast<tandem::cuda::ContextHandle>(device.get()) == context) return device.get();
  }
  return nullptr;
}

}  // namespace tandem::emulation

// ---- the driver's functions

namespace tandem::cuda {

namespace em = tandem::emulation;
constexpr int kInvalidDevice = 101;

extern "C" {

int cuInit(unsigned) {
  const std::lock_guard lock(em::state().mutex);
  if (em::initialised) return kSuccess;
  const char* count = std::getenv("TANDEM_EMULATED_DEVICES");
  const long n = count == nullptr ? 2 : std::strtol(count, nullptr, 10);
  if (n <= 0) return kNoDevice;
  for (int i = 0; i < static_cast<int>(n); ++i) em::state().devices.push_back(std::make_unique<em::Device>(i));
  em::watchFaults(em::isDeviceAddress);
  em::initialised = true;
  return kSuccess;
}

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

int cuGetErrorName(int error, const char** name) {
  const em::NamedError* e = em::findError(error);
  *name = e == nullptr ? nullptr : e->name;
  return e == nullptr ? kInvalidValue : kSuccess;
}

/// With what the stand-in knows of a kernel's failure.
int cuGetErrorString(int error, const char** text) {
  const em::NamedError* e = em::findError(error);
  *text = e == nullptr ? nullptr : e->text;
  if (e == nullptr) return kInvalidValue;
  if (error == kIllegalAddress || error == kLaunchFailed || error == kInvalidImage) {
    thread_local std::string told;
    const std::lock_guard lock(em::state().mutex);
    told = std::string(e->text) + " (" + em::state().failure + ")";
    *text = told.c_str();
  }
  return kSuccess;
}

int cuDeviceGetCount(int* count) {
  return em::locked([&](em::Lock&) -> int {
    *count = static_cast<int>(em::state().devices.size());
    return kSuccess;
  });
}

int cuDeviceGet(DeviceOrdinal* device, int ordinal) {
  return em::locked([&](em::Lock&) -> int {
    if (em::deviceOf(ordinal) == nullptr) return kInvalidDevice;
    *device = ordinal;
    return kSuccess;
  });
}

int cuDeviceGetName(char* name, int length, DeviceOrdinal device) {
  return em::locked([&](em::Lock&) -> int {
    if (em::deviceOf(device) == nullptr) return kInvalidDevice;
    std::snprintf(name, static_cast<std::size_t>(length), "Emulated GPU");
    return kSuccess;
  });
}

int cuDeviceGetAttribute(int* value, int attribute, DeviceOrdinal device) {
  return em::locked([&](em::Lock&) -> int {
    if (em::deviceOf(device) == nullptr) return kInvalidDevice;
    for (const auto& [known, its] : em::kAttributes) {
      if (known != attribute) continue;
      *value = attribute == kPciBusId ? device + 1 : its;
      return kSuccess;
    }
    return kInvalidValue;
  });
}

int cuDeviceTotalMem_v2(std::size_t* bytes, DeviceOrdinal device) {
  return em::locked([&](em::Lock&) -> int {
    const em::Device* d = em::deviceOf(device);
    if (d == nullptr) return kInvalidDevice;
    *bytes = d->memory.total();
    return kSuccess;
  });
}

int cuDeviceGetUuid_v2(void* uuid, DeviceOrdinal device) {
  return em::locked([&](em::Lock&) -> int {
    if (em::deviceOf(device) == nullptr) return kInvalidDevice;
    std::memset(uuid, 0xe0 + device, 16);
    return kSuccess;
  });
}

int cuDeviceCanAccessPeer(int* can, DeviceOrdinal device, DeviceOrdinal peer) {
  return em::locked([&](em::Lock&) -> int {
    if (em::deviceOf(device) == nullptr || em::deviceOf(peer) == nullptr) return kInvalidDevice;
    *can = device != peer ? 1 : 0;
    return kSuccess;
  });
}

int cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceOrdinal device) {
  return em::locked([&](em::Lock&) -> int {
    em::Device* d = em::deviceOf(device);
    if (d == nullptr) return kInvalidDevice;
    *context = reinterpret_cast<ContextHandle>(d);
    return kSuccess;
  });
}

int cuCtxSetCurrent(ContextHandle context) {
  return em::locked([&](em::Lock&) -> int {
    em::Device* device = em::deviceOf(context);
    if (device == nullptr && context != nullptr) return em::kInvalidContext;
    em::currentDevice() = device;
    return kSuccess;
  });
}

int cuCtxGetCurrent(ContextHandle* context) {
  return em::locked([&](em::Lock&) -> int {
    *context = reinterpret_cast<ContextHandle>(em::currentDevice());
    return kSuccess;
  });
}

int cuCtxSynchronize() {
  return em::onDevice([&](em::Lock& lock, em::Device& device) -> int {
    bool captures = false;
    for (const auto& stream : device.streams) {
      if (stream->capture == nullptr) continue;
      em::invalidate(*stream->capture);
      captures = true;
    }
    if (captures) return kStreamCaptureUnsupported;
    device.synchronize(lock);
    return kSuccess;
  });
}

int cuMemAlloc_v2(DevicePointer* memory, std::size_t bytes) {
  return em::onDevice([&](em::Lock&, em::Device& device) -> int {
    if (const int refused = em::refuseWhileCapturing()) return refused;
    if (bytes == 0) return kInvalidValue;
    *memory = device.memory.allocate(bytes);
    return *memory == 0 ? kOutOfMemory : kSuccess;
  });
}

/// Waits for the device, as the driver does.
int cuMemFree_v2(DevicePointer memory) {
  return em::onDevice([&](em::Lock& lock, em::Device&) -> int {
    if (const int refused = em::refuseWhileCapturing()) return refused;
    if (memory == 0) return kSuccess;
    em::Device* owner = em::ownerOf(memory, 1);
    if (owner == nullptr) return kInvalidValue;
    owner->synchronize(lock);
    return owner->memory.free(memory) ? kSuccess : kInvalidValue;
  });
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return em::onDevice([&](em::Lock&, em::Device& device) -> int {
    *total = device.memory.total();
    *free = *total - device.memory.used();
    return kSuccess;
  });
}

int cuPointerGetAttribute(void* value, int attribute, DevicePointer memory) {
  return em::onDevice([&](em::Lock&, em::Device&) -> int {
    const em::Device* owner = em::ownerOf(memory, 1);
    if (attribute != kPointerDeviceOrdinal || owner == nullptr) return kInvalidValue;
    *static_cast<int*>(value) = owner->ordinal;
    return kSuccess;
  });
}

int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return em::onDevice([&](em::Lock&, em::Device&) -> int {
    if (const int refused = em::refuseWhileCapturing()) return refused;
    if (bytes == 0) return kInvalidValue;
    const std::size_t size = (bytes + em::kPage - 1) / em::kPage * em::kPage;
    *memory = std::aligned_alloc(em::kPage, size);
    if (*memory == nullptr) return kOutOfMemory;
    std::memset(*memory, 0xff, size);
    em::pinned()[reinterpret_cast<std::uint64_t>(*memory)] = bytes;
    return kSuccess;
  });
}

int cuMemFreeHost(void* memory) {
  return em::onDevice([&](em::Lock& lock, em::Device&) -> int {
    if (const int refused = em::refuseWhileCapturing()) return refused;
    const auto it = em::pinned().find(reinterpret_cast<std::uint64_t>(memory));
    if (it == em::pinned().end()) return kInvalidValue;
    for (const auto& device : em::state().devices) device->synchronize(lock);
    em::pinned().erase(reinterpret_cast<std::uint64_t>(memory));
    std::free(memory);
    return kSuccess;
  });
}

/// Pageable memory is read at the call, pinned memory when the copy is done. A graph reads either when it runs.
int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, StreamHandle handle) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    em::Device* owner = nullptr;
    if (!em::isReachable(to, bytes, owner) || em::isDeviceAddress(from)) return kInvalidValue;
    if (em::isPinned(from, bytes) || stream.capture != nullptr)
      return stream.push(lock, em::copyWork(em::pointer(to), from, bytes, owner, nullptr));
    const auto* first = static_cast<const char*>(from);
    return stream.push(lock, [=, own = std::vector<char>(first, first + bytes)](em::Lock&) {
      em::openMemory(owner);
      std::memcpy(em::pointer(to), own.data(), own.size());
    });
  });
}

/// To pageable memory the copy is done when this returns, as the driver has it.
int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, StreamHandle handle) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    em::Device* owner = nullptr;
    if (!em::isReachable(from, bytes, owner) || em::isDeviceAddress(to)) return kInvalidValue;
    const bool waits = !em::isPinned(to, bytes) && stream.capture == nullptr;
    const int result = stream.push(lock, em::copyWork(to, em::pointer(from), bytes, owner, nullptr));
    if (waits && result == kSuccess) stream.runUntil(lock, stream.pushed);
    return result;
  });
}

int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle stream) {
  return em::copyOnDevices(to, from, bytes, stream);
}

int cuMemcpyPeerAsync(DevicePointer to, ContextHandle toContext, DevicePointer from, ContextHandle fromContext,
                      std::size_t bytes, StreamHandle stream) {
  const int checked = em::locked([&](em::Lock&) -> int {
    const bool agrees = em::ownerOf(to, bytes) == em::deviceOf(toContext) &&
                        em::ownerOf(from, bytes) == em::deviceOf(fromContext) && em::deviceOf(toContext) != nullptr &&
                        em::deviceOf(fromContext) != nullptr;
    return agrees ? kSuccess : kInvalidValue;
  });
  return checked != kSuccess ? checked : em::copyOnDevices(to, from, bytes, stream);
}

int cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t n, StreamHandle handle) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    em::Device* owner = nullptr;
    if (!em::isReachable(to, n, owner)) return kInvalidValue;
    return stream.push(lock, [=](em::Lock&) {
      em::openMemory(owner);
      std::memset(em::pointer(to), value, n);
    });
  });
}

}  // extern "C"

namespace {
/// Every function that driver.h lists.
[[gnu::used]] const Driver kAll = {
#define X(member, symbol, parameters) &(symbol),
    TANDEM_CUDA_DRIVER(X)
#undef X
};
}  // namespace

}  // namespace tandem::cuda
