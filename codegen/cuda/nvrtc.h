// NVRTC, the compiler of CUDA C++, found when the first kernel for a GPU is compiled: $TANDEM_NVRTC, else libnvrtc of
// CUDA 13 or 12 in the system or in the wheel nvidia-cuda-nvrtc. Declarations of our own; it needs no GPU.
#pragma once

#include <string>
#include <string_view>

namespace tandem::codegen::cuda {

/// What NVRTC makes of a text, and what it had to say.
struct Compiled {
  std::string code;  // a cubin for `sm_90`, PTX for `compute_90`
  std::string log;
  /// The bytes of registers of a function that spill, of a thread; 0 where that is not known, as of PTX.
  [[nodiscard]] int spilled(const std::string& function) const;
};
/// Compiles a text for an architecture, with what keeps the bits: no contraction, IEEE division and square root,
/// nothing flushed to zero. InternalError with the log where it has errors; Error where there is no NVRTC, naming it
/// and how to get it.
Compiled compileCuda(const std::string& text, const std::string& name, const std::string& architecture);
/// `13.0`, or empty where there is none.
std::string nvrtcVersion();

}  // namespace tandem::codegen::cuda
