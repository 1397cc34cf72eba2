// The extension module tandem._C: its parts in the order they need each other.
#include <Python.h>

#include "python/src/autocast.h"
#include "python/src/autograd_bindings.h"
#include "python/src/bindings.h"
#include "python/src/convert.h"
#include "python/src/errors.h"
#include "python/src/func_bindings.h"
#include "python/src/generator.h"
#include "python/src/lazy_bindings.h"
#include "python/src/observer.h"
#include "python/src/optim_bindings.h"
#include "python/src/py_tensor.h"
#include "python/src/torch_function.h"
#include "runtime/base/long_work.h"
#include "runtime/base/warn.h"

namespace {
// A thread that works for a backward pass may not hold the lock to begin with.
void* releaseGil() { return PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr; }
void takeGil(void* thread) { PyEval_RestoreThread(static_cast<PyThreadState*>(thread)); }
}  // namespace

PyMODINIT_FUNC PyInit__C() {
  using namespace tandem::python;
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "tandem._C",
                                   "The compiled part of Tandem.",
                                   -1,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  return guarded([]() -> PyObject* {
    PyRef module(checked(PyModule_Create(&definition)));
    initErrors(module.get());
    initConvert(module.get());
    initGenerator(module.get());
    initTensor(module.get());
    initTorchFunction(module.get());
    initAutograd(module.get());
    initFunc(module.get());
    initAutocast(module.get());
    initSavedHooks(module.get());
    initModuleFunctions(module.get());
    initGenerated(module.get());
    initLazy(module.get());
    initOptim(module.get());
    initUnderstood(module.get());
    tandem::warningShower = [](const std::string& text) {
      WithGil gil;
      if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw PythonError();
    };
    tandem::LongWork::enter = releaseGil;
    tandem::LongWork::leave = takeGil;
    return module.release();
  });
}
