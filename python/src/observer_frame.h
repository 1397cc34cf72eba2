// The frame whose next instruction is looked at by the observer's rules.
#pragma once

#include "python/src/frame_view.h"
#include "python/src/observer.h"

namespace tandem::python {

struct Observer::Frame : FrameView {
  PyFrameObject* object = nullptr;
  int offset = 0;  // of the instruction, in bytes
  int next = 0;    // of the one behind it
  /// The i-th operand from the top; the top one is 1.
  [[nodiscard]] PyObject* peek(int i) const { return top[-i]; }
  [[nodiscard]] PyObject* name(int i) const { return PyTuple_GET_ITEM(code->co_names, i); }
};

}  // namespace tandem::python
