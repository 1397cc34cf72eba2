#include "python/src/engine_bindings.h"

#include "autograd/autograd.h"
#include "autograd/engine.h"
#include "eager/dispatch.h"
#include "eager/recorder.h"
#include "python/src/arg_parser.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

namespace {

/// Counts a write to memory that no operation sees. What was recorded runs first, since it may read the memory.
PyObject* countWrite(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!isTensor(tensor)) fail<TypeError>("expected a Tensor, got ", Py_TYPE(tensor)->tp_name);
    const Tensor t = autograd::detach(tensorOf(tensor));
    if (activeRecorder != nullptr) {
      applyInto(t, OpCode::clone, {t});
    } else {
      ++t.impl()->version();
    }
    t.materialize();
    Py_RETURN_NONE;
  });
}

/// The number of the innermost backward of this thread, -1 outside of one.
PyObject* runNumber(PyObject*, PyObject*) {
  const std::uint64_t number = currentRun();
  return number == 0 ? PyLong_FromLong(-1) : PyLong_FromUnsignedLongLong(number);
}
PyObject* queueCallback(PyObject*, PyObject* callback) {
  return guarded([&]() -> PyObject* {
    if (PyCallable_Check(callback) == 0)
      fail<TypeError>("queue_callback: expected a callable, got ", Py_TYPE(callback)->tp_name);
    callAtEndOfRun([call = SharedObject(callback)] {
      WithGil gil;
      beforeCall(call.get(), nullptr, 0);
      const PyRef result(checked(PyObject_CallNoArgs(call.get())));
    });
    Py_RETURN_NONE;
  });
}
/// Has the memory of a tensor count writes from `version` on.
PyObject* setVersion(PyObject*, PyObject* args) {
  PyObject* tensor;
  long long version;
  if (PyArg_ParseTuple(args, "O!L", tensorType, &tensor, &version) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    if (version < 0) fail("Cannot set a version to ", version, ", which is negative");
    const Tensor& t = tensorOf(tensor);
    t.materialize();
    t.impl()->version() = static_cast<std::uint32_t>(version);
    Py_RETURN_NONE;
  });
}

PyObject* backwardsReachAllLeaves(PyObject*, PyObject*) { return PyBool_FromLong(runsReachAllLeaves() ? 1 : 0); }

}  // namespace

void initEngine(PyObject* module) {
  static PyMethodDef functions[] = {
      {"_current_graph_task_id", runNumber, METH_NOARGS, "The number of the backward that runs here, or -1."},
      {"_queue_callback", queueCallback, METH_O, "Calls a function when the backward that runs here has ended."},
      {"_backwards_reach_all_leaves", backwardsReachAllLeaves, METH_NOARGS,
       "Do the backwards that run go to every leaf, rather than to tensors that were named?"},
      {"_count_write", countWrite, METH_O, "Counts a write to the memory of a tensor that no operation sees."},
      {"_set_version", setVersion, METH_VARARGS, "Has the memory of a tensor count its writes from a number on."},
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace tandem::python
