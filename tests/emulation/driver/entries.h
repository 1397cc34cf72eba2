// What the functions of the stand-in's two files of entries share: who may call, and what handles stand for.
#pragma once

#include <memory>
#include <utility>

#include "tests/emulation/driver/device.h"

namespace tandem::cuda {
// The functions as driver.h has them: a definition with other parameters does not compile, and one that is missing does
// not link (`kAll` in memory_entries.cpp).
extern "C" {
#define X(member, symbol, parameters) [[gnu::visibility("default")]] int symbol parameters;
TANDEM_CUDA_DRIVER(X)
#undef X
}
}  // namespace tandem::cuda

namespace tandem::emulation {

/// The context that is current on this thread, which is a device; null: none.
Device*& currentDevice();
bool isInitialised();
/// The device of a number or a context; null: there is none.
Device* deviceOf(int ordinal);
Device* deviceOf(tandem::cuda::ContextHandle context);

/// Calls f with the driver locked.
template <class F>
int locked(F&& f) {
  if (!isInitialised()) return tandem::cuda::kNotInitialized;
  if (inHostFunction()) return kNotPermitted;
  Lock lock(state().mutex);
  return std::forward<F>(f)(lock);
}
/// The same with the current device, which no kernel has failed on; also when f is done.
template <class F>
int onDevice(F&& f) {
  return locked([&](Lock& lock) -> int {
    Device* device = currentDevice();
    if (device == nullptr) return kInvalidContext;
    if (device->failed != 0) return device->failed;
    const int result = f(lock, *device);
    return device->failed != 0 ? device->failed : result;
  });
}

/// The stream of a handle, the legacy one for 0; null: there is none.
std::shared_ptr<Stream> streamOf(Device& current, tandem::cuda::StreamHandle handle);
/// Calls f with the stream.
template <class F>
int onStream(tandem::cuda::StreamHandle handle, F&& f) {
  return onDevice([&](Lock& lock, Device& device) -> int {
    const std::shared_ptr<Stream> stream = streamOf(device, handle);
    if (stream == nullptr) return kInvalidHandle;
    const int result = f(lock, *stream);
    return stream->device->failed != 0 ? stream->device->failed : result;
  });
}

}  // namespace tandem::emulation
