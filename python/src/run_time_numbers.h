// Numbers in dicts that a trace reads anew at every call: the learning rates of an optimizer's groups. Library code
// asks for them by `_C._runtime_scalars(group, name, ...)`, and by `_C._runtime_is_zero` where the answer decides what
// is done.
#pragma once

#include <Python.h>
#include <optional>
#include <vector>

#include "lazy/tracer.h"
#include "python/src/call_signature.h"
#include "python/src/errors.h"
#include "python/src/kept_state.h"
#include "python/src/observer.h"

namespace tandem::python {

/// Where such a number is. The guards say that the dict is there.
struct NumberSource {
  ValuePlace place;
  Py_ssize_t item = -1;  // of a tuple or list in that place; -1: the value itself
  Py_ssize_t count = 0;  // how many items that has
  bool integer = false;  // an int; others are read as floats

  /// Nothing where there is no number any more.
  [[nodiscard]] std::optional<Scalar> read() const;
  /// Likewise of a value that was met there.
  [[nodiscard]] std::optional<Scalar> valueOf(PyObject* value) const;
  /// Is it the same place?
  [[nodiscard]] bool sameAs(const NumberSource& other) const;
};

/// Whether a number was zero, which decided what was recorded.
struct ZeroGuard {
  NumberSource number;
  bool zero;
};

/// The body that is watched on this thread.
struct WatchedRecording {
  lazy::Tracer* tracer;
  Observer* observer;
  std::vector<NumberSource> sources;
  std::vector<ZeroGuard> zeros;
  std::vector<Scalar> values;  // of the sources
  std::vector<PyRef> numbers;  // the objects that stand for them
  CallSignature* call = nullptr;
  StateArguments states;  // whose tensors are behind the call's own
};
extern thread_local constinit WatchedRecording* watchedRecording;

/// `number`, on the stack of a body that is watched, becomes an object of its own that stands for what is in `place`;
/// false if it is not from there.
bool standIn(PyObject*& number, const ValuePlace& place);
/// Does a number of the body that is watched stand for what is in `place`?
bool isStoodFor(const ValuePlace& place);

void initRunTimeNumbers(PyObject* module);

}  // namespace tandem::python
