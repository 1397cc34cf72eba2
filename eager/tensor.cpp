#include "eager/tensor.h"

#include <cstring>
#include <exception>
#include <utility>

#include "eager/dispatch.h"
#include "eager/host.h"
#include "eager/recorder.h"
#include "eager/tape_hook.h"

namespace tandem {
namespace {

thread_local bool inferenceOn = false;
thread_local FusedRecording* recordingOfScopes = nullptr;

}  // namespace

thread_local constinit bool gradMode = true;
thread_local constinit Device currentDevice;
thread_local constinit Recorder* activeRecorder = nullptr;
TapeHook* tapeHook = nullptr;
Fusion* fusion = nullptr;

thread_local constinit std::uint32_t activeRegion = 0;

std::uint32_t newRegion() {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t number = ++last;
  return number != 0 ? number : ++last;
}

void FusedRecording::begin(std::uint64_t site) {
  if (fusion == nullptr || activeRecorder != nullptr) return;
  recorder_ = activeRecorder = fusion->begin(site);
  activeRegion = newRegion();
}

void FusedRecording::beginInScopes() {
  inScopes_ = true;
  outer_ = std::exchange(recordingOfScopes, this);
}

void FusedRecording::end() { finish(false); }

void FusedRecording::finish(bool failed) {
  if (std::exchange(inScopes_, false)) recordingOfScopes = outer_;
  if (recorder_ == nullptr) return;
  activeRecorder = nullptr;
  activeRegion = 0;
  fusion->end(std::exchange(recorder_, nullptr), failed);
}

FusedRecording::~FusedRecording() { finish(true); }

FusedScope::FusedScope(std::int64_t elements, When when) : exceptions_(std::uncaught_exceptions()) {
  if (when == When::Writes && recordingOfScopes == nullptr) return;
  if (elements < kFuseFrom) return;
  // The composite that the scope stands in, at this size.
  const auto composite = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  (recordingOfScopes != nullptr ? *recordingOfScopes : recording_)
      .begin(siteOf(composite, static_cast<std::uint64_t>(elements)));
}

FusedScope::~FusedScope() noexcept(false) {
  if (std::uncaught_exceptions() == exceptions_) recording_.end();
}

TensorImpl::TensorImpl(Ref<Storage> s, DType t, Dims sizes, Dims steps, std::int64_t start)
    : storage(std::move(s)), offset(start), shape(std::move(sizes)), strides(std::move(steps)), dtype(t),
      device(storage->device()), contiguous(tandem::isContiguous(shape, strides)), inference(inferenceOn),
      numel(numelOf(shape)) {}

TensorImpl::TensorImpl(Ref<Storage> s, DType t, DimsRef sizes, std::int64_t elements)
    : storage(std::move(s)), offset(0), shape(sizes), strides(contiguousStrides(sizes)), dtype(t),
      device(storage->device()), contiguous(true), inference(inferenceOn), numel(elements) {}

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
  if (impl_->batch)
    fail("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
         "Tensor, or anything else that reads its values; please try to rewrite what you're doing with other "
         "operations.");
  if (!impl_->device.isCpu())
    fail<TypeError>("the memory of a tensor on ", deviceName(impl_->device),
                    " cannot be read here: use Tensor.cpu() to copy the tensor to the host first");
  materialize();
  return static_cast<char*>(impl_->storage->data()) + impl_->offset * static_cast<std::int64_t>(itemSize(impl_->dtype));
}

Tensor makeEmpty(DimsRef shape, DType dtype, Device device) {
  std::int64_t n = 1;
  for (auto s : shape)
    if (__builtin_mul_overflow(n, s, &n))
      fail<OutOfMemoryError>("cannot allocate a tensor of shape ", shapeText(shape), ": its size overflows");
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(n, static_cast<std::int64_t>(itemSize(dtype)), &bytes))
    fail<OutOfMemoryError>("cannot allocate a tensor of shape ", shapeText(shape), ": its size overflows");
  return Tensor(new TensorImpl(new Storage(static_cast<std::size_t>(bytes), device), dtype, shape, n));
}

Tensor makeAlias(const Tensor& t, Dims shape, Dims strides, std::int64_t offset) {
  auto* impl = new TensorImpl(t.impl()->storage, t.dtype(), std::move(shape), std::move(strides), offset);
  impl->batch = t.impl()->batch;
  impl->inference = t.impl()->inference;
  return Tensor(impl);
}

Tensor makeScalarTensor(Scalar value, DType dtype) {
  Tensor t = makeEmpty(DimsRef(), dtype, Device{});
  void* p = t.data();
  switch (dtype) {
  case DType::Bool:
    *static_cast<bool*>(p) = value.asDouble() != 0;
    break;
  case DType::UInt8:
    *static_cast<std::uint8_t*>(p) = static_cast<std::uint8_t>(value.asInt());
    break;
  case DType::Int8:
    *static_cast<std::int8_t*>(p) = static_cast<std::int8_t>(value.asInt());
    break;
  case DType::Int16:
    *static_cast<std::int16_t*>(p) = static_cast<std::int16_t>(value.asInt());
    break;
  case DType::Int32:
    *static_cast<std::int32_t*>(p) = static_cast<std::int32_t>(value.asInt());
    break;
  case DType::Int64:
    *static_cast<std::int64_t*>(p) = value.asInt();
    break;
  case DType::Float32:
    *static_cast<float*>(p) = static_cast<float>(value.asDouble());
    break;
  case DType::Float64:
    *static_cast<double*>(p) = value.asDouble();
    break;
  case DType::Float16:
  case DType::BFloat16: {
    NoGrad noGrad;
    Recorder* before = activeRecorder;
    activeRecorder = nullptr;
    applyInto(t, OpCode::clone, {makeScalarTensor(value, DType::Float64)});
    activeRecorder = before;
    break;
  }
  }
  return t;
}

bool inferenceMode() { return inferenceOn; }
void setInferenceMode(bool on) { inferenceOn = on; }
DType defaultDType() { return schemaDefaultDType(); }
void setDefaultDType(DType t) {
  if (!isFloating(t))
    fail<TypeError>("only floating-point types are supported as the default type, got ", dtypeName(t));
  if (activeRecorder != nullptr && t != defaultDType()) activeRecorder->runRecorded("the default dtype is changed");
  setSchemaDefaultDType(t);
}

std::int64_t learnSize(Tensor& count) {
  if (count.impl()->batch)
    fail("vmap: It looks like you're calling an operation whose result has a size that depends on data (nonzero, a "
         "mask's selection, unique ...). Examples may differ in it; please use tandem.where instead.");
  return activeRecorder != nullptr ? activeRecorder->learnSize(count) : readElement<std::int64_t>(count);
}

Recorder* recorderFor(std::span<const Operand> operands) {
  if (activeRecorder != nullptr) return activeRecorder;
  // Pending in another thread's recording: its value is needed now.
  for (const auto& o : operands)
    if (o.isTensor() && o.tensor().defined()) o.tensor().materialize();
  return nullptr;
}

}  // namespace tandem
