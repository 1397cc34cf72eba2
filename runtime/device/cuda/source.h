// Kernels in CUDA C++ text, loaded: what `Source::kernel` finds, and code that was made before.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/queue.h"

namespace tandem::cuda {

class CudaStream;
class Gpu;

/// Memory for work that is queued (Workspace): while a plan follows its tape it is what the graph has.
void* allocateForWork(std::size_t bytes, CudaStream& stream);
void deallocateForWork(void* memory, Gpu& gpu);

class Function {
 public:
  Function(std::string name, FunctionHandle handle);
  [[nodiscard]] const std::string& name() const { return name_; }
  /// What a block has of shared memory in the text, in bytes, and a thread of registers.
  [[nodiscard]] int sharedInText() const { return sharedInText_; }
  [[nodiscard]] int registers() const { return registers_; }
  /// Queues it. `sharedBytes` may be what a block gets with opt-in.
  void launch(CudaStream& stream, const Grid& grid, std::span<const Parameter> parameters) const;

 private:
  std::string name_;
  FunctionHandle handle_;
  int sharedInText_ = 0, registers_ = 0;
  mutable std::atomic<unsigned> shared_{48 * 1024};  // what it may ask for by now
};

/// Code for the device; InternalError saying what is wrong with it.
ModuleHandle loadModule(Gpu& gpu, std::string_view object, std::string_view name);
/// A kernel of it; null where it has no such one, which is an InternalError of the second.
FunctionHandle findFunction(ModuleHandle module, const std::string& symbol);
FunctionHandle functionOf(ModuleHandle module, const std::string& symbol, std::string_view name);

}  // namespace tandem::cuda
