// Classes of tensors, and other objects, that say themselves what operations on them do: PyTorch's
// `__torch_function__`.
//
// A subclass of Tensor inherits one that runs the operation and gives results its class (_support.py); a class says
// otherwise by its own, or by `_disabled_torch_function_impl`, as Parameter and Buffer do. Programs without such
// classes pay for the question whether there are any: `overridesExist`.
#pragma once

#include <Python.h>
#include <optional>
#include <vector>

namespace tandem::python {

/// Has there been a tensor of a class that says what operations do?
extern bool overridesExist;
/// Operations on this thread ask no class while positive.
extern thread_local int overridesOff;

/// Modes that this thread is in (tandem.overrides.TorchFunctionMode): they are asked about every operation, before the
/// classes of its arguments, the innermost first.
extern thread_local int modesActive;

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
/// The same for an operator or a property of Tensor, `descriptor` being its getter.
std::optional<PyObject*> askClasses(const char* name, PyObject* self, PyObject* other, bool anyClass = false);
std::optional<PyObject*> askClassesOfProperty(const char* name, PyObject* self);

/// Adds what `tandem.overrides` and subclasses need.
void initTorchFunction(PyObject* module);
/// `Tensor.__torch_function__`.
PyMethodDef torchFunctionMethod();

}  // namespace tandem::python
