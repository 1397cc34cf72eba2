// Operands and results of work that a library of NVIDIA's queues (cuBLASLt, cuDNN): as they lie, where the library can
// take them so and a graph that is replayed may keep their addresses; else in memory of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/device/cuda/queue.h"
#include "runtime/device/cuda/sequence.h"

namespace tandem::cuda {

/// Libraries are promised that pointers are so aligned.
inline constexpr std::int64_t kForeignAlignment = 16;
inline bool isAligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % kForeignAlignment == 0; }

/// What the tape of the thread, if it has one, says of a call with these operands.
inline ForeignCall foreignCall(std::span<const void* const> operands) {
  Tape* tape = Tape::now();
  return tape == nullptr ? ForeignCall{} : tape->foreign(operands);
}

/// A contiguous copy in device memory, converted to `dtype`.
class ForeignCopy {
 public:
  explicit ForeignCopy(const ArrayView& x) : ForeignCopy(x, x.dtype) {}
  ForeignCopy(const ArrayView& x, DType dtype) : memory_(static_cast<std::size_t>(x.numel()) * itemSize(dtype)) {
    const ArrayView to{memory_.as(), dtype, x.shape, contiguousStrides(x.shape)};
    // By a kernel, which a graph can be told where its operand lies.
    if (dtype == x.dtype)
      copyByKernel(x, to);
    else
      copyArray(x, to);
  }
  [[nodiscard]] void* data() const { return memory_.as(); }

 private:
  Workspace memory_;
};

/// An operand where it is, if it is contiguous and aligned there and does not move, or a copy.
class ForeignOperand {
 public:
  ForeignOperand(const ArrayView& x, bool moves) : data_(x.data) {
    if (!moves && x.contiguous() && isAligned(x.data)) return;
    data_ = copy_.emplace(x).data();
  }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  const void* data_;
  std::optional<ForeignCopy> copy_;
};

/// Where a library writes a contiguous result: to its place, if that is aligned and does not move, or beside it.
class ForeignResult {
 public:
  ForeignResult(const ArrayView& out, bool moves) : out_(out) {
    if (moves || !isAligned(out.data)) memory_.emplace(static_cast<std::size_t>(out.numel()) * itemSize(out.dtype));
  }
  [[nodiscard]] void* data() const { return memory_ ? memory_->as() : out_.data; }
  /// Queues, behind the library's work, what brings the result to its place.
  void finish() const {
    if (memory_) copyByKernel({memory_->as(), out_.dtype, out_.shape, out_.strides}, out_);
  }

 private:
  const ArrayView& out_;
  std::optional<Workspace> memory_;
};

}  // namespace tandem::cuda
