#include "eager/placement.h"

#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem {
namespace {

/// That of the first tensor elsewhere than on the CPU, else the CPU; without tensors, where tensors are made.
Device deviceOf(std::span<const Operand> operands) {
  Device device = currentDevice;
  for (const Operand& o : operands) {
    if (!o.isTensor() || !o.tensor().defined()) continue;
    device = o.tensor().device();
    if (!device.isCpu()) break;
  }
  return device;
}

/// `op` may be what a composite with checks of its own calls in the end.
[[noreturn, gnu::noinline, gnu::cold]] void failMixed(std::string_view op, Device a, Device b) {
  if (op.ends_with("_plain")) op.remove_suffix(std::string_view("_plain").size());
  fail("Expected all tensors to be on the same device, but found at least two devices, ", deviceName(a), " and ",
       deviceName(b), "! (when checking the arguments of ", op, ")");
}

}  // namespace

Tensor toDevice(const Tensor& t, Device device) {
  if (t.device() == device) return t;
  // What is being recorded is of one device: it gets elements of the CPU as they are now. Of new memory that others
  // see, too, a trace cannot know whether it is a constant.
  std::optional<AtOnce> now;
  if (activeRecorder != nullptr && t.device().isCpu() && !t.isPending() && !(t.requiresGrad() && gradEnabled())) {
    if (Tensor placed = activeRecorder->place(t, device); placed.defined()) return placed;
    if (!t.impl()->storage->isShared()) {
      if (t.numel() != 0) activeRecorder->beforeRead(t);
      now.emplace();
    }
  }
  return ops::device_copy(t, deviceNumber(device), deviceNumber(t.device()));
}

Tensor toDevice(const Tensor& t, Device device, DType dtype) {
  if (activeRecorder != nullptr && t.device().isCpu()) return ops::toDType(toDevice(t, device), dtype);
  return toDevice(ops::toDType(t, dtype), device);
}

Placement::Placement(const char* op, std::span<const Operand> operands) : Placement(op, operands, deviceOf(operands)) {}

Placement::Placement(const char* op, std::span<const Operand> operands, const Tensor& out)
    : Placement(op, operands, out.device()) {}

Placement::Placement(const char* op, std::span<const Operand> operands, Device device)
    : operands_(operands), scope_(device) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].isTensor() || !operands[i].tensor().defined()) continue;
    const Tensor& t = operands[i].tensor();
    if (t.device() == device) continue;
    if (t.dim() != 0 || !t.device().isCpu()) failMixed(op, device, t.device());
    if (own_.empty()) {
      own_.assign(operands.begin(), operands.end());
      moved_.reserve(operands.size());
    }
    moved_.push_back(toDevice(t, device));
    own_[i] = Operand(moved_.back());
    operands_ = own_;
  }
  if (activeRecorder != nullptr) activeRecorder->enter(device);
}

}  // namespace tandem
