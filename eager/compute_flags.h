// What programs say of how GPUs compute products and convolutions: the flags of `tandem.backends`, of the process as in
// PyTorch. A composite makes them attributes of the operation, so that what is recorded, compiled or saved keeps those
// that it was made with. A node of the tape keeps those of its forward and has its derivative see them, whatever it is
// made of. The CPU's functions read none of them.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "eager/tensor.h"

namespace tandem {

struct ComputeFlags {
  bool matmulTf32 : 1 = false;       // backends.cuda.matmul.allow_tf32
  bool convolutionTf32 : 1 = false;  // backends.cudnn.allow_tf32
  bool cudnn : 1 = true;             // backends.cudnn.enabled
  std::uint8_t rest : 5 = 0;         // so that the byte says all
  friend bool operator==(const ComputeFlags&, const ComputeFlags&) = default;
};

extern constinit std::atomic<ComputeFlags> currentComputeFlags;
static_assert(std::atomic<ComputeFlags>::is_always_lock_free);

/// Flags that the thread sees instead of the process's.
struct ScopedComputeFlags {
  ComputeFlags flags;
  bool given = false;
};
extern thread_local constinit ScopedComputeFlags scopedComputeFlags;

/// Every call of a compiled function asks.
inline ComputeFlags computeFlags() {
  if (scopedComputeFlags.given) [[unlikely]]
    return scopedComputeFlags.flags;
  return currentComputeFlags.load(std::memory_order_relaxed);
}
class ComputeFlagsScope {
 public:
  explicit ComputeFlagsScope(ComputeFlags flags) : before_(scopedComputeFlags) { scopedComputeFlags = {flags, true}; }
  ~ComputeFlagsScope() { scopedComputeFlags = before_; }
  ComputeFlagsScope(const ComputeFlagsScope&) = delete;
  ComputeFlagsScope& operator=(const ComputeFlagsScope&) = delete;

 private:
  ScopedComputeFlags before_;
};
/// Three bits.
inline int bitsOf(ComputeFlags flags) { return std::bit_cast<std::uint8_t>(flags); }
inline void setComputeFlags(ComputeFlags flags) { currentComputeFlags.store(flags, std::memory_order_relaxed); }

/// May products of this operand round float32 to TF32? False for other dtypes, which know no such thing.
inline bool productsAllowTf32(const Tensor& x) { return x.dtype() == DType::Float32 && computeFlags().matmulTf32; }
/// The product of matrices, as these flags allow it: every composite's. That of half types is float32 if `wide`; or
/// `bias`, a number for each column, is added to it before it is rounded.
Tensor matrixProduct(const Tensor& a, const Tensor& b, bool wide = false, const Tensor& bias = {});

}  // namespace tandem
