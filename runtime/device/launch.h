// What an eager call and a plan have a device do: the CPU straight, other devices through their executor, in the stream
// for work that names none.
#pragma once

#include "runtime/device/cpu/launch.h"
#include "runtime/device/executor.h"
#include "runtime/lib/strided.h"

namespace tandem {

/// Executor::launch. The kernel is one of the device's executor.
inline void launch(Device device, const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space) {
  if (device.isCpu()) return cpu::launch(kernel, args, space);
  Executor& other = executor(device);
  other.launch(kernel, args, space, other.stream());
}

/// Executor::call.
inline void callLibrary(Device device, LibraryFn fn, const LibraryCall& call) {
  if (device.isCpu()) return callLibrary(fn, call);
  Executor& other = executor(device);
  other.call(fn, call, other.stream());
}

/// Executor::copyArray.
inline void copyArray(Device device, const ArrayView& from, const ArrayView& to) {
  if (device.isCpu()) return copyArray(from, to);
  Executor& other = executor(device);
  other.copyArray(from, to, other.stream());
}

/// Executor::library; NotImplementedError naming operation and device where the device has none.
LibraryFn libraryFunction(Device device, std::string_view op);

}  // namespace tandem
