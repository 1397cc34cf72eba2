#include "eager/scalar_tensor.h"

#include "eager/dispatch.h"
#include "eager/host.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem {

namespace {

Tensor onHost(Scalar value, DType dtype) {
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
    const Tensor wide = onHost(value, DType::Float64);  // the recorder is told that the number is read
    Recorder* before = activeRecorder;
    activeRecorder = nullptr;
    applyInto(t, OpCode::clone, {wide});
    activeRecorder = before;
    break;
  }
  }
  return t;
}

}  // namespace

Tensor makeScalarTensor(Scalar value, DType dtype) {
  if (value.slot >= 0 && activeRecorder != nullptr) return ops::full_plain(value, Dims{}, dtype);
  const Device place = currentDevice;
  const DeviceScope host{Device{}};
  Tensor t = onHost(value, dtype);
  return place.isCpu() ? t : copyTo(t, place);
}

}  // namespace tandem
