// The CPU's KernelCompiler: emitter, lowering and object code in a row, with everything costly kept for the next
// kernel. Any thread may call; each call borrows an instance from a pool.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/kernel/kernel_compiler.h"

namespace tandem::codegen {

class CpuCompiler : public KernelCompiler {
 public:
  CpuCompiler();
  ~CpuCompiler() override;
  bool makesCodeFor(std::string_view architecture) const override;
  /// A relocatable ELF object whose symbol is a cpu::KernelFn (runtime/device/cpu/cpu_kernel.h).
  std::string compile(const KernelSignature& signature, const std::string& symbol,
                      const std::string& architecture) override;
  std::string version() const override;

 private:
  struct Instance;
  std::unique_ptr<Instance> borrow();
  void giveBack(std::unique_ptr<Instance> instance);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Instance>> idle_;
};

}  // namespace tandem::codegen
