// lazy, eval, and the parts of compile that run at every call: see python/tandem/_compile.py for the rest.
#include "python/src/lazy_bindings.h"

#include "eager/composites/optim.h"
#include "lazy/session.h"
#include "python/src/compiled_function.h"
#include "python/src/errors.h"
#include "python/src/float_proxy.h"
#include "python/src/py_tensor.h"
#include "runtime/kernel/kernel_compiler.h"

namespace tandem::python {
namespace {

std::vector<std::unique_ptr<lazy::LazyScope>>& lazyScopes() {
  thread_local std::vector<std::unique_ptr<lazy::LazyScope>> scopes;
  return scopes;
}

PyObject* lazyEnter(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    lazyScopes().push_back(std::make_unique<lazy::LazyScope>());
    Py_RETURN_NONE;
  });
}

/// _lazy_exit(failed): ends the innermost scope; what an exception left unfinished is run all the same, so that
/// tensors that outlive the block have their values.
PyObject* lazyExit(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    TANDEM_CHECK(!lazyScopes().empty(), "lazy scopes are not balanced");
    auto scope = std::move(lazyScopes().back());
    lazyScopes().pop_back();
    scope->end();
    Py_RETURN_NONE;
  });
}

PyObject* evalTensors(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n == 0) lazy::flushActive();
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!isTensor(args[i])) fail<TypeError>("eval: expected tensors, got ", Py_TYPE(args[i])->tp_name);
      tensorOf(args[i]).materialize();
    }
    Py_RETURN_NONE;
  });
}

PyObject* isTracing(PyObject*, PyObject*) {
  lazy::Session* s = lazy::activeSession();
  return PyBool_FromLong(s != nullptr && s->tracing() ? 1 : 0);
}

PyObject* isRecording(PyObject*, PyObject*) { return PyBool_FromLong(lazy::activeSession() != nullptr ? 1 : 0); }

// ---- optimizer steps ------------------------------------------------------------------------------------------------

std::vector<Tensor> tensorList(PyObject* o, const char* what) {
  std::vector<Tensor> out;
  if (o == Py_None) return out;
  PyRef items(checked(PySequence_Fast(o, what)));
  Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  out.reserve(static_cast<std::size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* t = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!isTensor(t)) fail<TypeError>(what, ": expected a list of tensors, got ", Py_TYPE(t)->tp_name);
    out.push_back(tensorOf(t));
  }
  return out;
}
void needArguments(const char* op, Py_ssize_t got, Py_ssize_t wanted) {
  if (got != wanted) fail<TypeError>(op, " takes ", wanted, " arguments, got ", got);
}

/// _sgd_step(params, grads, buffers, lr, momentum, dampening, weight_decay, nesterov, maximize, first)
PyObject* sgdStep(PyObject*, PyObject* const* a, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    needArguments("_sgd_step", n, 10);
    bool first = PyObject_IsTrue(a[9]) != 0;
    ops::sgdStep(tensorList(a[0], "params"), tensorList(a[1], "grads"), tensorList(a[2], "buffers"), scalarOf(a[3]),
                 scalarOf(a[4]), first ? Scalar(0.0) : scalarOf(a[5]), scalarOf(a[6]), PyObject_IsTrue(a[7]) != 0,
                 PyObject_IsTrue(a[8]) != 0);
    Py_RETURN_NONE;
  });
}

/// _adam_step(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, lr, beta1, beta2, eps, weight_decay,
/// decoupled, maximize)
PyObject* adamStep(PyObject*, PyObject* const* a, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    needArguments("_adam_step", n, 13);
    ops::adamStep(tensorList(a[0], "params"), tensorList(a[1], "grads"), tensorList(a[2], "exp_avgs"),
                  tensorList(a[3], "exp_avg_sqs"), tensorList(a[4], "max_exp_avg_sqs"), tensorList(a[5], "steps"),
                  scalarOf(a[6]), scalarOf(a[7]), scalarOf(a[8]), scalarOf(a[9]), scalarOf(a[10]),
                  PyObject_IsTrue(a[11]) != 0, PyObject_IsTrue(a[12]) != 0);
    Py_RETURN_NONE;
  });
}

template <class F>
PyCFunction fast(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef functions[] = {
    {"_lazy_enter", lazyEnter, METH_NOARGS, "Starts recording on this thread."},
    {"_lazy_exit", lazyExit, METH_NOARGS, "Ends the innermost recording and runs it."},
    {"eval", fast(evalTensors), METH_FASTCALL,
     "eval(*tensors)\n\nRuns what was recorded for these tensors (for all, without arguments)."},
    {"_is_tracing", isTracing, METH_NOARGS, "Is a function being compiled on this thread?"},
    {"_is_recording", isRecording, METH_NOARGS, "Are operations recorded on this thread?"},
    {"_sgd_step", fast(sgdStep), METH_FASTCALL, "One step of gradient descent over lists of tensors."},
    {"_adam_step", fast(adamStep), METH_FASTCALL, "One step of Adam or AdamW over lists of tensors."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void initLazy(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  initCompiledFunction(module);
  lazy::setLineProvider([] {
    WithGil gil;
    return userLineOutside();
  });
  lazy::install();
  openCompilerInBackground();
}

}  // namespace tandem::python
