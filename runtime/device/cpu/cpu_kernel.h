// The CPU's kernels: a function, what launching asks of the signature, and the kernels that follow from it where memory
// or threads are better served by others (split.h, across.h, columns.h). Code is found or compiled when it is first
// needed, so that a launch which runs others never makes the kernel's own.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/small_vector.h"
#include "runtime/device/target.h"
#include "runtime/kernel/kernel.h"

namespace tandem::cpu {

/// Fewer elements than this run on this thread in one piece, whatever their memory is like.
inline constexpr std::int64_t kAtOnce = 16 * 1024;
/// The same where rows may be short: vectors across them are soon worth it.
inline constexpr std::int64_t kAtOnceInRows = 4 * 1024;

/// The entry point of a kernel, over [begin, end) of its units.
using KernelFn = void (*)(const std::int64_t* args, std::int64_t begin, std::int64_t end);

class CpuKernel;
class CpuModule;

/// A kernel cut into blocks: one kernel reduces blocks, another their results (split.h).
struct Split {
  const CpuKernel* partial;
  const CpuKernel* finish;
};

class CpuKernel : public Kernel {
 public:
  explicit CpuKernel(const KernelSignature& signature);
  /// A kernel of a module, where those are that follow from it.
  CpuKernel(const KernelSignature& signature, const CpuModule& module, KernelFn function);
  ~CpuKernel();

  const KernelSignature signature;
  const ArgLayout layout;
  /// Inputs, then outputs.
  SmallVector<KernelOperand, 8> operands;
  /// Row, pointwise, one element of every output a point.
  bool elementwise = false;
  bool reduces = false;
  /// May inputs lie across (across.h)? Bit k: input k is Strided. None where the kernel knows its index or has framed
  /// inputs, which are addressed by their place in the whole space.
  std::uint64_t strided = 0;
  /// May columns lie dense down their length, so that small ones too are better walked along it?
  bool standing = false;
  /// May operands lie nearly across?
  bool nearlyAcross = false;
  /// Is there a Column kernel of it, for rows that lie across?
  bool columns = false;
  /// Is there a Short kernel of it?
  bool shortRows = false;
  /// Fewer elements run as they are.
  std::int64_t atOnce = kAtOnce;
  /// Is the kernel one that can be split? Whether it is worth it, sizes say.
  bool splits = false;

  /// The code, null until `function` was called.
  [[nodiscard]] KernelFn ready() const { return function_.load(std::memory_order_acquire); }
  [[nodiscard]] KernelFn function() const {
    const KernelFn fn = ready();
    return fn != nullptr ? fn : makeFunction();
  }
  /// Of a kernel that can be split.
  [[nodiscard]] const Split& split() const;
  /// The kernel that takes these inputs as Unit ones; bits as in `strided`. Null where a saved program lacks it.
  [[nodiscard]] const CpuKernel* takingAcross(std::uint64_t inputs) const { return variant(Way::Straight, inputs); }
  /// The kernel with rows and columns in each other's place: these inputs are Unit ones, the others one element.
  [[nodiscard]] const CpuKernel* turned(std::uint64_t inputs) const { return variant(Way::Turned, inputs); }
  /// The Column kernel in the trailing order over the last outer dim, along which these operands are dense. Other
  /// inputs have one element there, other outputs any stride.
  [[nodiscard]] const CpuKernel* ofColumns(std::uint64_t dense) const { return variant(Way::Columns, dense); }
  /// The kernel of short rows, over the last outer dim.
  [[nodiscard]] const CpuKernel* ofShortRows() const { return variant(Way::Short, 0); }
  /// Of a Column kernel: the one whose rows are its columns. These inputs are Unit ones, the others one element a row.
  [[nodiscard]] const CpuKernel* alongColumns(std::uint64_t inputs) const { return variant(Way::Leading, inputs); }
  /// Of an elementwise kernel without outer dims: the one that writes past the caches.
  [[nodiscard]] const CpuKernel* toMemory() const { return variant(Way::ToMemory, 0); }

 private:
  enum class Way : std::uint8_t { Straight, Turned, Columns, Short, Leading, ToMemory };
  struct Variant {
    Way way;
    std::uint64_t operands;
    const CpuKernel* kernel;
    const Variant* next;
  };
  [[gnu::cold]] KernelFn makeFunction() const;
  [[nodiscard]] const CpuKernel& follower(const KernelSignature& signature) const;
  [[nodiscard]] const CpuKernel* variant(Way way, std::uint64_t which) const;

  const CpuModule* module_ = nullptr;
  mutable std::atomic<KernelFn> function_{nullptr};
  mutable std::atomic<const Split*> split_{nullptr};
  mutable std::atomic<const Variant*> variants_{nullptr};
};

/// This processor.
const Target& target();
/// The kernel of a signature, from the CPU's table.
const CpuKernel& loadKernel(const KernelSignature& signature);

}  // namespace tandem::cpu
