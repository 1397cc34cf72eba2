// What has to be known of a text in CUDA C++, and changed in it, before a host's compiler takes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::emulation {

/// A kernel that a text defines: `extern "C" __global__ void NAME(...)`.
struct KernelName {
  std::string name;
  std::string bounds;  // what __launch_bounds__ holds; may be empty
};

struct HostText {
  std::string text;  // as many lines as before
  std::vector<KernelName> kernels;
  /// Kernels are made by macros: their names are known when the preprocessor has been over the text.
  bool kernelsInMacros = false;
  /// What NVRTC does not accept and a host's compiler would, with its line; may be empty.
  std::string refusal;
};

/// Finds the kernels, and gives arrays of dynamic shared memory their place: `extern __shared__ T name[];` becomes a
/// pointer.
HostText hostText(std::string_view text);

}  // namespace tandem::emulation
