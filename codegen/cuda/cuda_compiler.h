// The KernelCompiler of GPUs: a signature becomes CUDA C++ text, which NVRTC compiles. Any thread may call.
#pragma once

#include "codegen/cuda/kernel_text.h"
#include "runtime/kernel/kernel_compiler.h"

namespace tandem::codegen::cuda {

class CudaCompiler : public KernelCompiler {
 public:
  /// `sm_90`, whose code is a cubin, and `compute_90`, whose code is PTX.
  bool makesCodeFor(std::string_view architecture) const override;
  /// `symbol` is the kernel that codegen/cuda/kernel_text.h describes.
  std::string compile(const KernelSignature& signature, const std::string& symbol,
                      const std::string& architecture) override;
  std::string compileSource(const KernelSource& source, const std::string& architecture) override;
  std::string version() const override;
};

/// The text that `compile` compiles: the prelude and the kernel.
std::string wholeText(const KernelSignature& signature, const std::string& symbol, const Tries& tries);

}  // namespace tandem::codegen::cuda
