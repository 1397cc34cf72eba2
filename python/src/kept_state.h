// State that a compiled function keeps between its calls, in attributes, items and variables that were there before:
//
//   self.h = self.cell(x, self.h)
//
// Each call looks at what such a place holds as it looks at an argument, by its signature, and leaves there what the
// body would leave. That a place is one of these is known when a body was seen to assign what it had read, so that the
// body is watched once more.
#pragma once

#include <Python.h>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "python/src/call_signature.h"
#include "python/src/errors.h"
#include "python/src/places.h"

namespace tandem::python {

/// A place that a call assigns: an attribute, an item of a dict or of a list, a variable of an outer function, which
/// has no key, or what is added to the end of a list.
struct AssignedPlace {
  enum class Kind : std::uint8_t { Attribute, Item, ListItem, Variable, Appended } kind = Kind::Attribute;
  Held owner;
  PyRef key;
  Py_ssize_t index = -1;  // in the list; of what was added from its end, the last one 1

  /// Null: it holds nothing any more.
  void set(PyObject* value) const;
  /// What it holds, borrowed; null where there is nothing.
  [[nodiscard]] PyObject* get() const { return place().read(); }
  /// Takes back a `set`.
  void putBack(PyObject* before) const;
  [[nodiscard]] ValuePlace place() const {
    const Py_ssize_t at = kind == Kind::Appended ? PyList_GET_SIZE(owner.get()) - index : index;
    return {owner.get(), key, kind == Kind::Attribute, at};
  }
};

/// Can a call look at it as at an argument: a tensor, or tuples, lists and dicts with one in them?
bool isState(PyObject* value);

/// The places of a body whose values are looked at as arguments are, in the order in which they were read.
class StateArguments {
 public:
  struct Taken {
    ValuePlace place;
    PyRef value;  // in the call that is watched
  };
  [[nodiscard]] bool empty() const { return places_.empty(); }
  [[nodiscard]] const Taken* find(const ValuePlace& place) const;
  /// Adds a place to a call that is watched: its tensors come behind those of the arguments. What it describes goes to
  /// `described`.
  void take(const ValuePlace& place, PyObject* value, CallSignature& call, std::vector<PyObject*>& described);
  /// The call is over: what it found is kept no longer.
  void forgetValues();
  /// Adds to a call the tensors that the places hold now; false, and nothing is added, where they are not like those
  /// that the body was watched with. The guards hold, so that the holders are there.
  [[nodiscard]] bool readInto(CallSignature& call) const;
  /// Were these places read for the call by others, and found to hold something else? One that grows has as many traces
  /// as it had sizes.
  [[nodiscard]] bool wereUnlike(const CallSignature& call) const;

 private:
  std::vector<Taken> places_;
  std::string key_;  // behind that of the arguments
};

/// The value of the place is looked at as an argument of the body that is watched, as it is by later calls; false where
/// none is. What cannot be looked at so is refused.
bool takeState(const ValuePlace& place, PyObject* value);

}  // namespace tandem::python
