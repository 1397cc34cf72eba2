#include "tests/emulation/library_kernel.h"

#include <cstdio>

#include "runtime/lib/cuda/texts.h"

namespace tandem::emulation {
namespace {

// What it is asked for, unless all that is needed came from a cache.
constexpr const char* kNvrtc = "TANDEM_NVRTC";
constexpr const char* kDriver = "TANDEM_CUDA_DRIVER";

std::string compiled(const char* library, const std::string& text) {
  using Program = struct _nvrtcProgram*;
  const auto create =
      function<int (*)(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
          kNvrtc, "nvrtcCreateProgram");
  const auto compile = function<int (*)(Program, int, const char* const*)>(kNvrtc, "nvrtcCompileProgram");
  const auto size = function<int (*)(Program, std::size_t*)>(kNvrtc, "nvrtcGetCUBINSize");
  const auto get = function<int (*)(Program, char*)>(kNvrtc, "nvrtcGetCUBIN");
  const auto destroy = function<int (*)(Program*)>(kNvrtc, "nvrtcDestroyProgram");
  if (create == nullptr || compile == nullptr || size == nullptr || get == nullptr || destroy == nullptr) return "";
  Program program = nullptr;
  const char* options[] = {"--gpu-architecture=sm_90", "--std=c++17", "--fmad=false"};
  std::string code;
  std::size_t bytes = 0;
  if (create(&program, text.c_str(), library, 0, nullptr, nullptr) != 0) return "";
  if (compile(program, 3, options) == 0 && size(program, &bytes) == 0) {
    code.resize(bytes);
    if (get(program, code.data()) != 0) code.clear();
  }
  destroy(&program);
  return code;
}

}  // namespace

cuda::FunctionHandle kernelOf(const char* library, const std::string& text, const char* name) {
  const std::string code = compiled(library, cuda::kCommonText + text);
  const auto load = function<int (*)(cuda::ModuleHandle*, const void*)>(kDriver, "cuModuleLoadData");
  const auto find =
      function<int (*)(cuda::FunctionHandle*, cuda::ModuleHandle, const char*)>(kDriver, "cuModuleGetFunction");
  cuda::ModuleHandle module = nullptr;
  cuda::FunctionHandle kernel = nullptr;
  if (code.empty() || load == nullptr || find == nullptr || load(&module, code.data()) != 0 ||
      find(&kernel, module, name) != 0)
    return nullptr;
  return kernel;
}

bool launchKernel(cuda::FunctionHandle kernel, unsigned blocks, cuda::StreamHandle stream, void** parameters) {
  const auto launch = function<int (*)(cuda::FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, cuda::StreamHandle, void**, void**)>(kDriver, "cuLaunchKernel");
  return kernel != nullptr && launch != nullptr &&
         launch(kernel, blocks, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr) == 0;
}

void addLine(const char* variable, const std::string& line) {
  const char* path = std::getenv(variable);
  std::FILE* log = path == nullptr ? nullptr : std::fopen(path, "a");
  if (log == nullptr) return;
  std::fprintf(log, "%s\n", line.c_str());
  std::fclose(log);
}

}  // namespace tandem::emulation
