#include "eager/host.h"

#include "eager/dispatch.h"
#include "runtime/device/executor.h"

namespace tandem {

Tensor copyTo(const Tensor& t, Device device) {
  t.materialize();
  if (t.device() == device) return t;
  if (t.impl()->batch) {
    fail("vmap: a tensor inside it cannot be copied to ", deviceName(device),
         ": use tandem.device_copy or move it before");
  }
  NoGrad noGrad;
  AtOnce now;
  const Tensor from = t.isContiguous() ? t : apply(OpCode::clone, {t});
  if (!from.device().isCpu() && !device.isCpu()) return copyTo(copyTo(from, Device{}), device);
  Tensor to = makeEmpty(from.shape(), from.dtype(), device);
  const std::size_t bytes = static_cast<std::size_t>(from.numel()) * itemSize(from.dtype());
  if (bytes == 0) return to;
  const void* source = addressOf(from);
  void* place = to.impl()->storage->data();
  if (device.isCpu()) {
    Executor& there = executor(from.device());
    there.copyToHost(place, source, bytes, there.stream());
  } else {
    Executor& there = executor(device);
    there.copyFromHost(place, source, bytes, there.stream());
  }
  return to;
}

}  // namespace tandem
