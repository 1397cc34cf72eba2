// The extension module tandem._C: its parts in the order they need each other.
#include <Python.h>
#include <string>
#include <utility>
#include <vector>

#include "python/src/autocast.h"
#include "python/src/autograd_bindings.h"
#include "python/src/bindings.h"
#include "python/src/code_survey.h"
#include "python/src/convert.h"
#include "python/src/cuda_bindings.h"
#include "python/src/device_object.h"
#include "python/src/dlpack.h"
#include "python/src/errors.h"
#include "python/src/func_bindings.h"
#include "python/src/generator.h"
#include "python/src/lazy_bindings.h"
#include "python/src/module_slots.h"
#include "python/src/observer.h"
#include "python/src/optim_bindings.h"
#include "python/src/program_bindings.h"
#include "python/src/py_tensor.h"
#include "python/src/torch_function.h"
#include "python/src/tracked_numbers.h"
#include "runtime/base/long_work.h"
#include "runtime/base/warn.h"

namespace {
// A thread that works for a backward pass may not hold the lock to begin with.
void* releaseGil() { return PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr; }
void takeGil(void* thread) { PyEval_RestoreThread(static_cast<PyThreadState*>(thread)); }

// Warnings of this thread that are shown later; null: at once.
thread_local std::vector<std::string>* putOff = nullptr;

int showWarning(const std::string& text, int level) {
  // Others than those that are shown once are shown by every call.
  if (tandem::python::activeObserver != nullptr && (tandem::warnsAlways || !tandem::SaidOnce::contains(text)))
    tandem::python::activeObserver->noteWarning(text);
  if (putOff == nullptr) return PyErr_WarnEx(PyExc_UserWarning, text.c_str(), level);
  putOff->push_back(text);
  return 0;
}
PyObject* warnUser(PyObject*, PyObject* args) {
  const char* text;
  int level;
  if (PyArg_ParseTuple(args, "si", &text, &level) == 0 || showWarning(text, level) != 0) return nullptr;
  Py_RETURN_NONE;
}
PyObject* warnLater(PyObject*, PyObject* body) {
  using namespace tandem::python;
  return guarded([&]() -> PyObject* {
    std::vector<std::string> texts;
    std::vector<std::string>* before = std::exchange(putOff, &texts);
    PyRef result(PyObject_CallNoArgs(body));
    putOff = before;
    checked(result.get());
    PyRef list(checked(PyList_New(0)));
    for (const std::string& text : texts) {
      PyRef shown(checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()))));
      if (PyList_Append(list.get(), shown.get()) != 0) return nullptr;
    }
    return PyTuple_Pack(2, result.get(), list.get());
  });
}
PyObject* warnUserOnce(PyObject* module, PyObject* args) {
  const char* text;
  int level;
  if (PyArg_ParseTuple(args, "si", &text, &level) == 0) return nullptr;
  return tandem::python::guarded([&]() -> PyObject* {
    if (!tandem::firstTime(text)) Py_RETURN_NONE;
    return warnUser(module, args);
  });
}
PyObject* warnAlways(PyObject*, PyObject* always) {
  tandem::warnsAlways = always == Py_True;
  Py_RETURN_NONE;
}
PyObject* doesWarnAlways(PyObject*, PyObject*) { return PyBool_FromLong(tandem::warnsAlways ? 1 : 0); }
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
    initDevice(module.get());
    initCuda(module.get());
    initCommunicators(module.get());
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
    initProgram(module.get());
    initDlpack(module.get());
    initCodeSurvey(module.get());
    initModuleSlots(module.get());
    static PyMethodDef warnings[] = {
        {"_warn", warnUser, METH_VARARGS,
         "(text, stacklevel): a UserWarning; compiled calls give it when they are traced."},
        {"_warn_once", warnUserOnce, METH_VARARGS, "(text, stacklevel): the same, for each text the first time alone."},
        {"_warn_later", warnLater, METH_O,
         "(body): (what body() gives, the texts of the warnings that operations gave meanwhile), which are not shown."},
        {"_set_warn_always", warnAlways, METH_O, "Shows what is said once every time."},
        {"_warns_always", doesWarnAlways, METH_NOARGS, "Is what is said once shown every time?"},
        {nullptr, nullptr, 0, nullptr},
    };
    tandem::python::checked(PyModule_AddFunctions(module.get(), warnings));
    initTrackedNumbers();
    initUnderstood(module.get());
    tandem::warningShower = [](const std::string& text) {
      WithGil gil;
      if (showWarning(text, 1) != 0) throw PythonError();
    };
    tandem::LongWork::enter = releaseGil;
    tandem::LongWork::leave = takeGil;
    return module.release();
  });
}
