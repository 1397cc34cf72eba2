// Mixed precision: the floating arguments of operations that Python calls, converted as the records say
// (`mixedPrecision`).
#pragma once

#include <Python.h>
#include <cstdint>

#include "eager/tensor.h"

namespace tandem::python {

/// What is done to the arguments of an operation.
enum class Autocast : std::uint8_t { None, Lower, LowerSums, Float32, Promote };
/// On the CPU, and on other devices.
struct AutocastPolicy {
  Autocast cpu = Autocast::None;
  Autocast gpu = Autocast::None;
};

/// Of this thread.
struct AutocastState {
  struct Place {
    bool enabled = false;
    DType dtype;
    friend bool operator==(const Place&, const Place&) = default;
  };
  Place cpu{false, DType::BFloat16};
  Place gpu{false, DType::Float16};  // all other devices
  bool cache = true;                 // a parameter is converted once, until the outermost scope ends
  int depth = 0;

  [[nodiscard]] bool enabled() const { return cpu.enabled || gpu.enabled; }
  [[nodiscard]] const Place& at(Device device) const { return device.isCpu() ? cpu : gpu; }
};
AutocastState& autocastState();

/// `t` in the dtype `to`, in the graph; itself where autocast leaves it alone (not floating, or float64).
Tensor autocasted(const Tensor& t, DType to);

/// Adds _autocast_get, _autocast_set, _autocast_enter, _autocast_exit, _autocast_clear.
void initAutocast(PyObject* module);

}  // namespace tandem::python
