// Saved-tensor hooks written in Python.
#include <array>

#include "autograd/saved_hooks.h"
#include "python/src/autograd_bindings.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

namespace {

class PackedObject final : public PackedTensor {
 public:
  PackedObject(SharedObject unpack, PyObject* packed) : unpack_(std::move(unpack)), packed_(packed) {}
  Tensor unpack() override {
    WithGil gil;
    beforeCall(unpack_.get(), std::array{packed_.get()}.data(), 1);
    PyRef result(checked(PyObject_CallOneArg(unpack_.get(), packed_.get())));
    if (!isTensor(result.get()))
      fail<TypeError>("Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
                      Py_TYPE(result.get())->tp_name);
    return tensorOf(result.get());
  }

 private:
  SharedObject unpack_;
  SharedObject packed_;
};

class PythonHooks final : public SavedTensorHooks {
 public:
  PythonHooks(PyObject* pack, PyObject* unpack) : pack_(pack), unpack_(unpack) {}
  Ref<PackedTensor> pack(const Tensor& t) override {
    WithGil gil;
    PyRef argument(checked(wrap(t)));
    beforeCall(pack_.get(), std::array{argument.get()}.data(), 1);
    PyRef packed(checked(PyObject_CallOneArg(pack_.get(), argument.get())));
    return new PackedObject(unpack_, packed.get());
  }

 private:
  SharedObject pack_;
  SharedObject unpack_;
};

PyObject* push(PyObject*, PyObject* args) {
  PyObject *pack, *unpack;
  if (PyArg_ParseTuple(args, "OO", &pack, &unpack) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    pushSavedTensorHooks(std::make_shared<PythonHooks>(pack, unpack));
    Py_RETURN_NONE;
  });
}
PyObject* pop(PyObject*, PyObject*) {
  popSavedTensorHooks();
  Py_RETURN_NONE;
}
PyObject* disable(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    std::optional<std::string> text;
    if (message != Py_None) {
      const char* s = PyUnicode_AsUTF8(message);
      if (s == nullptr) throw PythonError();
      text = s;
    }
    std::optional<std::string> before = disableSavedTensorHooks(std::move(text));
    if (!before) Py_RETURN_NONE;
    return PyUnicode_FromString(before->c_str());
  });
}

}  // namespace

void initSavedHooks(PyObject* module) {
  static PyMethodDef functions[] = {
      {"_push_saved_tensors_hooks", push, METH_VARARGS, "(pack, unpack): hooks for what is saved from now on."},
      {"_pop_saved_tensors_hooks", pop, METH_NOARGS, "Takes the innermost hooks off."},
      {"_disable_saved_tensors_hooks", disable, METH_O, "Forbids hooks with a message, or allows them; what it was."},
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace tandem::python
