// Kernels of a saved program: their code was made before and lies in its file.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "runtime/device/cpu/cpu_kernel.h"
#include "runtime/device/cpu/elf_loader.h"
#include "runtime/device/executor.h"

namespace tandem::cpu {

class CpuModule final : public KernelModule {
 public:
  explicit CpuModule(std::span<const SavedKernel> kernels);
  const Kernel* find(const KernelSignature& signature) const override;
  /// InternalError naming a signature that it lacks.
  [[nodiscard]] const CpuKernel& kernel(const KernelSignature& signature) const;
  /// Null where it lacks the signature or its code.
  [[nodiscard]] const CpuKernel* findCode(const KernelSignature& signature) const;

 private:
  LoadedCode code_;
  std::deque<CpuKernel> kernels_;
  std::unordered_map<std::string, const CpuKernel*> bySignature_;
};

}  // namespace tandem::cpu
