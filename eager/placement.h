// Where an operation runs: on the device of its tensors. All of them must be on one; a tensor of no dims on the CPU may
// stand beside tensors elsewhere and goes there. While the CPU is the only device nobody asks (`otherDevices`).
#pragma once

#include <optional>
#include <vector>

#include "eager/tensor.h"

namespace tandem {

/// The device of the operands while it lives: what is made meanwhile is made there, and what is being recorded is
/// recorded for it.
class Placement {
 public:
  /// `op` is for the error where tensors are on several devices.
  Placement(const char* op, std::span<const Operand> operands);
  /// Of an operation that writes into `out`.
  Placement(const char* op, std::span<const Operand> operands, const Tensor& out);
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  /// All on the device.
  [[nodiscard]] std::span<const Operand> operands() const { return operands_; }

 private:
  Placement(const char* op, std::span<const Operand> operands, Device device);
  std::span<const Operand> operands_;
  std::vector<Tensor> moved_;
  std::vector<Operand> own_;
  DeviceScope scope_;
};

/// The copy of `t` on a device, with history; `t` itself where it is there.
Tensor toDevice(const Tensor& t, Device device);
/// Likewise, of a dtype. It is converted where it is; on the way into a recording of another device, there.
Tensor toDevice(const Tensor& t, Device device, DType dtype);

}  // namespace tandem
