// Faults: of a kernel, which end its launch, and of a host that touches device memory, which say so.
#pragma once

#include <string>

namespace tandem::emulation {

/// Watches for faults from now on. Those that are no kernel's go to whoever watched before.
void watchFaults(bool (*isDevice)(const void* address));

/// A kernel's fault.
struct KernelFault {
  bool happened = false;
  int signal = 0;
  const void* instruction = nullptr;
  const void* address = nullptr;  // null where the processor does not say
  [[nodiscard]] std::string what() const;
  [[nodiscard]] bool isAccess() const;
};
/// Of the launch that runs or ran last.
const KernelFault& kernelFault();

/// While it lives, this thread runs a kernel's fibers. A fault on a stack that `isFiber` makes the thread go on where
/// *scheduler was left (`tandemSwitch`), for good: nothing on the fibers' stacks is destroyed.
class KernelGuard {
 public:
  KernelGuard(void** scheduler, bool (*isFiber)(const void* stack));
  ~KernelGuard();
  KernelGuard(const KernelGuard&) = delete;
  KernelGuard& operator=(const KernelGuard&) = delete;
};

}  // namespace tandem::emulation
