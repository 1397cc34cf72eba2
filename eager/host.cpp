#include "eager/host.h"

#include "eager/dispatch.h"
#include "eager/kernels.h"
#include "runtime/device/executor.h"

namespace tandem {

void* addressOf(const Tensor& t) {
  if (t.impl()->batch)
    fail("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
         "Tensor, or anything else that reads its values; please try to rewrite what you're doing with other "
         "operations.");
  t.materialize();
  return pointerOf(t);
}

Tensor copyTo(const Tensor& t, Device device) {
  t.materialize();
  if (t.device() == device) return t;
  if (t.impl()->batch) fail("vmap: the values of a tensor inside it cannot be copied to ", deviceName(device));
  NoGrad noGrad;
  AtOnce now;
  const Tensor from = t.isContiguous() ? t : apply(OpCode::clone, {t});
  if (!from.device().isCpu() && !device.isCpu()) return copyTo(copyTo(from, Device{}), device);
  Tensor to = makeEmpty(from.shape(), from.dtype(), device);
  const std::size_t bytes = static_cast<std::size_t>(from.numel()) * itemSize(from.dtype());
  if (bytes == 0) return to;
  const void* source = addressOf(from);
  void* place = pointerOf(to);
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
