// A loaded kernel and how far it goes. What a kernel is beside its signature is its executor's business
// (runtime/device/executor.h): a function on a CPU, a function of a module and the shape of its launch on a GPU.
#pragma once

#include <cstdint>

#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// Opaque. Made by `Executor::load`, launched by the same executor, valid for the life of the process.
class Kernel {
 public:
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

 protected:
  Kernel() = default;
  ~Kernel() = default;
};

/// What a launch goes through: the range of the kernel (kernel_signature.h), and about how many elements a unit of it
/// touches.
struct LaunchSpace {
  std::int64_t units = 0;
  std::int64_t elementsPerUnit = 1;
};

/// All of the space that an argument block describes.
inline LaunchSpace wholeSpace(KernelKind kind, const ArgLayout& layout, const std::int64_t* args) {
  const std::int64_t n = args[layout.innerSize()];
  std::int64_t outer = 1;
  for (int d = 0; d < layout.outerRank; ++d) outer *= args[layout.outerSize(d)];
  if (kind == KernelKind::Column) return {outer * n, args[layout.reducedSize()]};
  if (kind != KernelKind::Partial) return layout.outerRank == 0 ? LaunchSpace{n, 1} : LaunchSpace{outer, n};
  return {outer * ((n + kTrailingBlock - 1) / kTrailingBlock), n < kTrailingBlock ? n : kTrailingBlock};
}

}  // namespace tandem
