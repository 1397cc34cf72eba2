// A tensor on the CPU that a compiled function uses on the device of its plan. What it holds may be another thing at
// each call, whoever wrote it: through NumPy, `.data`, a pointer. So the elements are compared with those of the last
// call, and the copy on the device is kept while they are equal; of many elements, which take as long to compare as to
// copy, each call makes one.
#pragma once

#include <cstdint>
#include <mutex>

#include "eager/tensor.h"

namespace tandem::lazy {

class Placed {
 public:
  /// Copies of more bytes are not kept.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 16;

  /// `window` lies in the memory of `from`, the tensor that a call finds there. `keeps`: neither the function nor its
  /// results let anyone write to the copy.
  Placed(const Tensor& window, const TensorImpl& from, bool keeps)
      : dtype_(window.dtype()), shape_(window.shape()), strides_(window.strides()),
        shift_(window.impl()->offset - from.offset), requiresGrad_(from.requiresGrad), keeps_(keeps) {}

  /// Is `t`, which a call found, a tensor on the CPU in which the window lies?
  [[nodiscard]] bool fits(const TensorImpl& t) const;
  /// What the window of `t` holds, on the device, in the order of the current stream. Thread-safe.
  [[nodiscard]] Tensor on(Device device, const TensorImpl& t);

  /// Where it is, in elements behind the offset of the tensor that a call finds.
  [[nodiscard]] std::int64_t shift() const { return shift_; }

  /// May others write to the copies? Before the first call.
  void release() { keeps_ = false; }

 private:
  DType dtype_;
  Dims shape_, strides_;
  std::int64_t shift_;
  bool requiresGrad_;  // of which only functions that record no history make copies
  bool keeps_;
  std::mutex mutex_;
  Tensor elements_, copy_;        // of the last call
  const void* stream_ = nullptr;  // in whose order the copy was made
};

}  // namespace tandem::lazy
