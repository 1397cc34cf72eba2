#include "tests/emulation/unit/cuda_test_util.h"

#include <cstdlib>

#include "runtime/device/plugin.h"

extern "C" tandem::DevicePlugin tandemDevices(const tandem::DeviceHost& host);

namespace tandem::cuda::test {

std::vector<std::string>& warnings() {
  static std::vector<std::string> said;
  return said;
}

Executor& device() {
  static Executor* const first = [] {
    ::setenv("TANDEM_CUDA_DRIVER", TANDEM_EMULATED_DRIVER, 0);
    ::setenv("TANDEM_NVRTC", TANDEM_EMULATED_NVRTC, 0);
    static const DeviceHost host{&executor(Device{}),
                                 &findCode,
                                 &findSourceCode,
                                 &counters(),
                                 [](const std::string& text) { warnings().push_back(text); },
                                 [] { return std::string(); }};
    const DevicePlugin plugin = tandemDevices(host);
    registerExecutors(addDeviceKind(plugin.kind), {plugin.devices, static_cast<std::size_t>(plugin.count)}, plugin.why);
    return &executor(parseDevice("cuda"));
  }();
  return *first;
}

GpuControl& control() { return *device().gpu(); }
Gpu& theGpu() {
  device();
  return gpu(0);
}

void inCall(Stream& stream, const LibraryCall& call, void (*body)(const LibraryCall&)) {
  device().call(body, call, stream);
}

}  // namespace tandem::cuda::test
