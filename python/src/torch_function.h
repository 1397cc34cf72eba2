// Classes of tensors, and other objects, that say themselves what operations on them do: PyTorch's
// `__torch_function__`.
//
// A subclass of Tensor inherits one that runs the operation and gives results its class (_support.py); a class says
// otherwise by its own, or by `_disabled_torch_function_impl`, as Parameter and Buffer do. Programs without such
// classes pay for the question whether there are any: `overridesExist`.
#pragma once

#include <Python.h>
#include <algorithm>
#include <optional>
#include <vector>

#include "python/src/errors.h"

namespace tandem::python {

/// A name as an argument of a template.
template <std::size_t N>
struct Name {
  char text[N];
  // NOLINTNEXTLINE(google-explicit-constructor): written as plain strings
  constexpr Name(const char (&s)[N]) { std::copy(s, s + N, text); }
  /// Without its first letters.
  template <std::size_t Letters>
  [[nodiscard]] consteval Name<N - Letters> from() const {
    char rest[N - Letters];
    std::copy(text + Letters, text + N, rest);
    return rest;
  }
};

/// Has there been a tensor of a class that says what operations do?
extern bool overridesExist;
/// Operations on this thread ask no class while positive.
extern thread_local constinit int overridesOff;

/// Modes that this thread is in (tandem.overrides.TorchFunctionMode): they are asked about every operation, before the
/// classes of its arguments, the innermost first.
extern thread_local constinit int modesActive;

inline bool overridesMayAct() { return modesActive > 0 || (overridesExist && overridesOff == 0); }

/// Operations do not ask classes while it lives.
class WithoutOverrides {
 public:
  WithoutOverrides() { ++overridesOff; }
  ~WithoutOverrides() { --overridesOff; }
  WithoutOverrides(const WithoutOverrides&) = delete;
  WithoutOverrides& operator=(const WithoutOverrides&) = delete;
};

/// Does the class of `o` say what operations do? `anyClass`: of objects that are no tensors too.
bool overrides(PyObject* o, bool anyClass = false);
/// To be told of each class whose tensors are made.
void noteClass(PyTypeObject* cls);

/// The arguments of a call, whose classes are asked.
struct Call {
  PyObject* self;  // argument 0 of a method, or null
  PyObject* const* args;
  Py_ssize_t numArgs;
  PyObject* keywords;  // a tuple of names, or null
};
/// What the innermost mode, or the first class that answers, makes of the call; nothing where there is no mode and no
/// argument, nor item of a list among them, overrides. `owner` has the function as its attribute `name`. TypeError
/// where each class says NotImplemented.
std::optional<PyObject*> askClasses(PyObject* owner, const char* name, const Call& call, bool anyClass = false);
/// The same for an operator of Tensor.
std::optional<PyObject*> askClasses(const char* name, PyObject* self, PyObject* other, bool anyClass = false);
/// The same for what gives no new tensor, as `__len__` or `item`: a class that inherits Tensor's `__torch_function__`
/// need not be asked.
std::optional<PyObject*> askReader(const char* name, const Call& call);
/// Has classes asked about the properties of Tensor before they are read, set or deleted. `defs` keeps its place.
void askAboutProperties(std::vector<PyGetSetDef>& defs);

/// A method that makes no new tensor, behind askReader.
template <Name name, PyObject* (*read)(PyObject*, PyObject*)>
PyObject* askedFirst(PyObject* self, PyObject* unused) {
  if (overridesMayAct()) [[unlikely]] {
    std::optional<PyObject*> answer;
    if (guardedInt([&] { return answer = askReader(name.text, Call{self, nullptr, 0, nullptr}), 0; }) < 0)
      return nullptr;
    if (answer) return *answer;
  }
  return read(self, unused);
}
template <Name name, PyObject* (*read)(PyObject*, PyObject*)>
PyMethodDef reader(const char* doc) {
  return {name.text, &askedFirst<name, read>, METH_NOARGS, doc};
}

/// Adds what `tandem.overrides` and subclasses need.
void initTorchFunction(PyObject* module);
/// `Tensor.__torch_function__`.
PyMethodDef torchFunctionMethod();

}  // namespace tandem::python
