// Kernels of the stand-ins for NVIDIA's libraries. They are compiled by NVRTC and launched by the driver, which are
// those of the process ($TANDEM_NVRTC, $TANDEM_CUDA_DRIVER): their stand-ins.
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include "runtime/device/cuda/driver.h"

namespace tandem::emulation {

/// A function of the library that an environment variable names; null where there is none.
template <class F>
F function(const char* variable, const char* symbol) {
  const char* path = std::getenv(variable);
  void* object = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW);
  return object == nullptr ? nullptr : reinterpret_cast<F>(::dlsym(object, symbol));
}

/// The kernel `name` of a text, after what all texts share (common.cu), loaded for the current device: `library` is
/// what the text is called. Null where it cannot be made.
cuda::FunctionHandle kernelOf(const char* library, const std::string& text, const char* name);

/// Queues a kernel of blocks x 32 threads; `parameters` ends with null. False: the driver refused.
bool launchKernel(cuda::FunctionHandle kernel, unsigned blocks, cuda::StreamHandle stream, void** parameters);

/// Adds a line to the file that an environment variable names, if it does.
void addLine(const char* variable, const std::string& line);

}  // namespace tandem::emulation
