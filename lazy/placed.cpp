#include "lazy/placed.h"

#include <cstring>

#include "eager/dispatch.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "runtime/device/executor.h"
#include "runtime/device/gpu_control.h"

namespace tandem::lazy {

bool Placed::fits(const TensorImpl& t) const {
  if (t.dtype != dtype_ || t.requiresGrad != requiresGrad_ || t.batch || !t.storage->device().isCpu()) return false;
  const std::int64_t from = t.offset + shift_;
  const std::int64_t to = from + reach(shape_, strides_);
  return from >= 0 && static_cast<std::size_t>(to) * itemSize(dtype_) <= t.storage->bytes();
}

Tensor Placed::on(Device device, const TensorImpl& t) {
  AtOnce now;
  NoGrad noGrad;
  if (t.storage->isPending()) t.storage->pending()->materialize();
  const Tensor window(new TensorImpl(t.storage, dtype_, shape_, strides_, t.offset + shift_));
  auto copied = [&](const Tensor& from) {
    return ops::device_copy(from, deviceNumber(device), deviceNumber(Device{}));
  };
  const std::size_t bytes = static_cast<std::size_t>(window.numel()) * itemSize(dtype_);
  Executor& there = executor(device);
  Stream& stream = there.stream();
  // What is captured runs when its graph does, and the graph keeps what it reads.
  GpuControl* const gpu = there.gpu();
  if (!keeps_ || bytes > kMostBytes || (gpu != nullptr && gpu->isCapturing(stream))) return copied(window);
  const Tensor elements = ops::contiguous(window);
  const std::lock_guard lock(mutex_);
  if (copy_.defined() && stream_ == &stream && std::memcmp(elements.data(), elements_.data(), bytes) == 0) return copy_;
  // Of contiguous memory `elements` is the window itself.
  elements_ = ops::clone(elements);
  copy_ = copied(elements_);
  stream_ = &stream;
  return copy_;
}

}  // namespace tandem::lazy
