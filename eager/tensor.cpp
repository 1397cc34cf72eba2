#include "eager/tensor.h"

#include <utility>

#include "eager/host.h"
#include "eager/recorder.h"

namespace tandem {

thread_local constinit Device currentDevice;

TensorImpl::TensorImpl(Ref<Storage> s, DType t, DimsRef sizes, DimsRef steps, std::int64_t start)
    : storage(std::move(s)), offset(start), shape(sizes), strides(steps), dtype(t), device(storage->device()),
      contiguous(tandem::isContiguous(shape, strides)), inference(inferenceMode()), numel(numelOf(shape)) {}

TensorImpl::TensorImpl(Ref<Storage> s, DType t, DimsRef sizes, std::int64_t elements)
    : storage(std::move(s)), offset(0), shape(sizes), strides(contiguousStrides(sizes)), dtype(t),
      device(storage->device()), contiguous(true), inference(inferenceMode()), numel(elements) {}

void TensorImpl::destroy(TensorImpl* impl) { delete impl; }

void TensorImpl::become(const TensorImpl& other) {
  storage = other.storage;
  offset = other.offset;
  shape = other.shape;
  strides = other.strides;
  dtype = other.dtype;
  device = other.device;
  contiguous = other.contiguous;
  numel = other.numel;
  batch = other.batch;
  ++windowChanges;
}

void Tensor::materialize() const {
  if (activeRecorder != nullptr) activeRecorder->beforeRead(*this);
  if (PendingContent* p = impl_->storage->pending()) p->materialize();
}
void* Tensor::data() const {
  if (!impl_->device.isCpu())
    fail<TypeError>("the memory of a tensor on ", deviceName(impl_->device),
                    " cannot be read here: use Tensor.cpu() to copy the tensor to the host first");
  return addressOf(*this);
}

/// What has no elements has strides all the same.
static bool stridesOverflow(DimsRef shape) {
  bool overflows = false;
  for (std::int64_t step = 1, d = std::ssize(shape) - 1; d > 0; --d)
    overflows |= __builtin_mul_overflow(step, std::max<std::int64_t>(shape[d], 1), &step);
  return overflows;
}

std::int64_t elementsOf(DimsRef shape, DType dtype) {
  std::int64_t n = 1, bytes = 0;
  bool overflows = false;
  for (auto s : shape) overflows |= __builtin_mul_overflow(n, s, &n);
  overflows |= __builtin_mul_overflow(n, static_cast<std::int64_t>(itemSize(dtype)), &bytes);
  if (overflows || (n == 0 && stridesOverflow(shape)))
    fail<OutOfMemoryError>("cannot allocate a tensor of shape ", shapeText(shape), ": its size overflows int64");
  return n;
}

Tensor makeEmpty(DimsRef shape, DType dtype, Device device) {
  const std::int64_t n = elementsOf(shape, dtype);
  const std::int64_t bytes = n * static_cast<std::int64_t>(itemSize(dtype));
  return Tensor(new TensorImpl(new Storage(static_cast<std::size_t>(bytes), device), dtype, shape, n));
}

Tensor makeAlias(const Tensor& t, DimsRef shape, DimsRef strides, std::int64_t offset) {
  auto* impl = new TensorImpl(t.impl()->storage, t.dtype(), shape, strides, offset);
  impl->batch = t.impl()->batch;
  impl->inference = t.impl()->inference;
  return Tensor(impl);
}

}  // namespace tandem
