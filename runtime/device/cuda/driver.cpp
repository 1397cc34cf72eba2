#include "runtime/device/cuda/driver.h"

#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/base/shared_library.h"

namespace tandem::cuda {
namespace {

struct Opened {
  Driver driver;
  std::string missing;  // why it cannot be used
};

/// "out of memory (CUDA_ERROR_OUT_OF_MEMORY)"; the number alone where the driver knows no more.
std::string textOf(const Driver& d, int result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (d.getErrorName == nullptr || d.getErrorName(result, &name) != kSuccess || name == nullptr)
    return strcat("error ", result);
  if (d.getErrorString == nullptr || d.getErrorString(result, &text) != kSuccess || text == nullptr) return name;
  return strcat(text, " (", name, ")");
}

std::string open(Driver& d) {
  constexpr const char* kVariable = "TANDEM_CUDA_DRIVER";
  constexpr const char* kNames[] = {"libcuda.so.1"};
  const char* given = std::getenv(kVariable);
  const bool isGiven = given != nullptr && *given != '\0';
  const std::string path = isGiven ? given : kNames[0];
  std::string why;
  void* object = openSharedLibrary(kVariable, kNames, why);
  if (object == nullptr) {
    return strcat("the CUDA driver ", path, " cannot be opened: ", why,
                  isGiven ? " (TANDEM_CUDA_DRIVER names it)" : "; it comes with NVIDIA's driver for the GPU");
  }
#define X(member, symbol, parameters) {#symbol, &d.member},
  const SharedFunction functions[] = {TANDEM_CUDA_DRIVER(X)};
#undef X
  if (const std::string lacking = findFunctions(object, functions); !lacking.empty())
    return strcat("the CUDA driver ", path, " ", lacking, ": a driver of CUDA 12.0 or newer is needed");
  if (const int result = d.init(0); result != kSuccess) {
    if (result == kNoDevice) return strcat("the CUDA driver ", path, " finds no GPU");
    return strcat("the CUDA driver ", path, " cannot be initialised: ", textOf(d, result));
  }
  int count = 0;
  if (const int result = d.deviceGetCount(&count); result != kSuccess)
    return strcat("the CUDA driver ", path, " cannot count its GPUs: ", textOf(d, result));
  if (count == 0) return strcat("the CUDA driver ", path, " finds no GPU");
  return "";
}

const Opened& opened() {
  static const Opened* const o = [] {  // never destroyed: tensors outlive other statics
    auto* const made = new Opened;
    made->missing = open(made->driver);
    return made;
  }();
  return *o;
}

}  // namespace

const Driver& driver() {
  if (!opened().missing.empty()) fail<Error>(opened().missing);
  return opened().driver;
}

const std::string& driverMissing() { return opened().missing; }

void check(int result, std::string_view what) {
  if (result == kSuccess) return;
  const std::string text = strcat("CUDA: ", what, ": ", textOf(opened().driver, result));
  if (result == kOutOfMemory) throw OutOfMemoryError(text);
  throw Error(text);
}

}  // namespace tandem::cuda
