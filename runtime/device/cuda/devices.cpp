// The plug-in's entry point: the GPUs that the driver finds, or why there are none.
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/cuda/cuda_executor.h"
#include "runtime/device/cuda/survey.h"

namespace tandem::cuda {
namespace {

struct Devices {
  std::vector<Executor*> executors;
  std::string why;
};

Devices find() {
  Devices found;
  try {
    found.why = driverMissing();
    for (int k = 0; k < gpuCount(); ++k) found.executors.push_back(new CudaExecutor(gpu(k)));
  } catch (const Error& e) {
    found.executors.clear();
    found.why = e.what();
  }
  return found;
}

}  // namespace
}  // namespace tandem::cuda

extern "C" [[gnu::visibility("default")]] tandem::DevicePlugin tandemDevices(const tandem::DeviceHost& host) {
  // Tensors outlive other statics: never destroyed. Where two runtimes of a process open this object (the package's and
  // the C library's), the first one compiles for both.
  static const auto* const devices = [&host] {
    tandem::cuda::setHost(host);
    return new tandem::cuda::Devices(tandem::cuda::find());
  }();
  return {"cuda", devices->executors.data(), static_cast<int>(devices->executors.size()), devices->why.c_str(),
          [](const std::string& architecture) -> tandem::CodeSurvey* {
            return new tandem::cuda::SurveyDevice(architecture);
          }};
}
