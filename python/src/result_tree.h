// What a compiled function returns, as later calls build it again: containers and objects that the body made, tensors
// by number, elements of tensors that the body read, numbers that calls compute (lazy/call_numbers.h), and constants.
#pragma once

#include <Python.h>
#include <functional>
#include <string>
#include <structmember.h>
#include <vector>

#include "eager/tensor.h"
#include "python/src/errors.h"
#include "python/src/guards.h"

namespace tandem::python {

class Observer;

/// Calls `visit(slot, value)` for the slots that the classes of `o` written in Python have and that hold something;
/// null is the value of one that holds no object.
void visitSlots(PyObject* o, const std::function<void(const PyMemberDef&, PyObject*)>& visit);

/// Is `o` one of the values that two objects may have by chance and that nothing changes: numbers, strings, sizes ...?
bool isUnchanging(PyObject* o);

class ResultTree {
 public:
  /// Collects the tensors of `o` into `tensors`, and the numbers that calls compute ahead of the plan into `numbers`.
  /// An object that cannot be built again is refused.
  static ResultTree of(PyObject* o, std::vector<Tensor>& tensors, std::vector<Scalar>& numbers, Observer& observer);
  /// A new reference to the same structure around other tensors and numbers; what was one object is one again.
  [[nodiscard]] PyObject* build(const std::vector<Tensor>& tensors, const std::vector<Scalar>& numbers) const;
  /// Is `o` handed on as it is?
  [[nodiscard]] bool holds(PyObject* o) const;
  int traverse(visitproc visit, void* arg) const;

 private:
  enum class Kind : std::uint8_t {
    Tensor,
    Number,
    Computed,
    Arithmetic,
    Tuple,
    List,
    Dict,
    OrderedDict,
    DerivedDict,
    Object,
    Constant
  };
  struct Node {
    Kind kind = Kind::Constant;
    std::uint32_t tensor = 0;  // or which of the numbers, or what is computed of two
    Held constant;             // or the class of a named tuple, or of an object
    std::vector<std::uint32_t> children;
    std::vector<PyRef> keys;        // of a dict, or attributes; slots come behind these
    std::uint32_t items = 0;        // of a dict of a derived class: the first keys
    std::vector<Py_ssize_t> slots;  // where they are in the object
  };
  class Reader;

  std::vector<Node> nodes_;  // children before what holds them; the last is the result
};

}  // namespace tandem::python
