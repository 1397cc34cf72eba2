// Generated kernels on a GPU. The code of a signature defines
//
//   extern "C" __global__ void SYMBOL(const __grid_constant__ Args a, long long begin, long long end)
//
// where Args is a struct of ArgLayout::size() int64, the argument block by value, and [begin, end) are units. Its code
// asks the host nothing: it strides by the grid, so that how many blocks there are changes no bit; what the threads of
// a block are is the contract of `launchShape` with codegen/cuda.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/device/cuda/across.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/kept_rows.h"
#include "runtime/device/cuda/queue.h"
#include "runtime/device/cuda/source.h"
#include "runtime/device/executor.h"
#include "runtime/device/target.h"
#include "runtime/kernel/kernel.h"

namespace tandem::cuda {

class CudaKernel;
class CudaModule;
class CudaStream;
class Function;
class Gpu;

/// A kernel cut into blocks (runtime/kernel/split.h): of a Column kernel the first one walks the blocks as one more
/// outer dim, the innermost.
struct Split {
  const CudaKernel* partial;
  const CudaKernel* finish;
};

/// Code is found or compiled when a launch first needs it, once.
class CudaKernel final : public Kernel {
 public:
  CudaKernel(Gpu& gpu, const KernelSignature& signature);
  /// A kernel of a module, where those are that follow from it; no code: one that launches only ask about.
  CudaKernel(Gpu& gpu, const KernelSignature& signature, const CudaModule& module, ModuleHandle code,
             const std::string& symbol);
  ~CudaKernel();

  Gpu& gpu;
  const KernelSignature signature;
  const ArgLayout layout;
  /// Do warps take rows: does it reduce them, or store one element of each?
  const bool byRows;
  /// Does no operand lie strided along the inner dim, so that a thread takes several elements at once?
  bool dense = true;
  /// Is the kernel one that can be split?
  bool splits = false;
  /// Is it one whose operands may lie across?
  bool turns = false;
  /// What it can keep of its rows.
  KeptInputs kept;

  [[nodiscard]] bool ready() const { return function_.load(std::memory_order_acquire) != nullptr; }
  [[nodiscard]] const Function& function() const {
    const Function* known = function_.load(std::memory_order_acquire);
    return known != nullptr ? *known : makeFunction();
  }
  /// The function that takes rows of n elements, and whether those stay in registers there.
  struct OfRows {
    const Function& function;
    bool inRegisters;
  };
  [[nodiscard]] OfRows functionOfRows(std::int64_t n) const {
    const Function& whole = function();
    const bool held = n <= kBriefRow && brief_ != nullptr;
    return {held ? *brief_ : whole, held};
  }
  /// Does each block of it, whose threads take elements, first compute what is the same for all of them
  /// (codegen/cuda/element_text.cpp)? Known once there is code.
  [[nodiscard]] bool preparesBlocks() const {
    const bool takesElements = !byRows && (signature.kind == KernelKind::Row || signature.kind == KernelKind::List);
    return takesElements && ready() && function().sharedInText() > 0;
  }
  /// Of a kernel that can be split.
  [[nodiscard]] const Split& split() const;
  /// The kernel that does the same for a list of operands; null where a program's module lacks it.
  [[nodiscard]] const CudaKernel* listed() const;
  /// Of a kernel that can turn; null where a program's module lacks it.
  [[nodiscard]] const CudaKernel* turned(const Turn& turn) const;

 private:
  [[gnu::cold]] const Function& makeFunction() const;
  void takeCode(ModuleHandle code, const std::string& symbol) const;
  [[nodiscard]] const CudaKernel& follower(const KernelSignature& signature) const;

  const CudaModule* module_ = nullptr;
  mutable std::mutex making_;
  mutable std::mutex turning_;
  mutable std::vector<std::pair<Turn, const CudaKernel*>> turned_;
  mutable std::unique_ptr<const Function> code_;
  mutable std::unique_ptr<const Function> brief_;  // kept_rows.h
  mutable std::atomic<const Function*> function_{nullptr};
  mutable std::atomic<const Split*> split_{nullptr};
  mutable std::atomic<const CudaKernel*> listed_{nullptr};
};

/// The kernels of a device by signature.
class GpuKernels {
 public:
  explicit GpuKernels(Gpu& gpu) : gpu_(gpu) {}
  const CudaKernel& find(const KernelSignature& signature);

 private:
  Gpu& gpu_;
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const CudaKernel>> kernels_;
};

/// The kernel of a signature, from the table of the device.
const CudaKernel& loadKernel(Gpu& gpu, const KernelSignature& signature);

/// Kernels of a saved program: cubins that were made before.
class CudaModule final : public KernelModule {
 public:
  CudaModule(Gpu& gpu, std::span<const SavedKernel> kernels);
  ~CudaModule() override;
  const Kernel* find(const KernelSignature& signature) const override;
  /// InternalError naming a signature that it lacks.
  [[nodiscard]] const CudaKernel& kernel(const KernelSignature& signature) const;
  /// Null where it lacks the signature or its code, as it does of kernels that CPUs alone launch.
  [[nodiscard]] const CudaKernel* findCode(const KernelSignature& signature) const;

 private:
  Gpu& gpu_;
  std::deque<CudaKernel> kernels_;
  std::vector<ModuleHandle> modules_;
  std::unordered_map<std::string, const CudaKernel*> bySignature_;
};

// ---- launching

/// Queues a kernel over a space, turned or in parts where that is worth it. Counts a launch a part.
void launchKernel(const CudaKernel& kernel, const std::int64_t* args, const LaunchSpace& space, CudaStream& stream);
/// Queues a kernel of rows without gaps for each of `args`, blocks of its layout one after another that share no memory
/// that one of them writes: many short ones as one launch.
void launchList(const CudaKernel& kernel, std::span<const std::int64_t> args, CudaStream& stream);
/// Does an argument block given to launchList with others go into one launch with them?
bool isListed(const CudaKernel& kernel, const std::int64_t* args);
/// The kernels whose code `launchKernel` will need.
SmallVector<const CudaKernel*, 2> neededBy(const CudaKernel& kernel, const std::int64_t* args,
                                           const LaunchSpace& space);
/// Copies a strided array to another one of the same shape, converting the dtype.
void copyStrided(const ArrayView& from, const ArrayView& to, CudaStream& stream);

}  // namespace tandem::cuda
