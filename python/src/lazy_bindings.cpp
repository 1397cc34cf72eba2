// lazy, eval, and the parts of compile that run at every call: see python/tandem/_compile.py for the rest.
#include "python/src/lazy_bindings.h"

#include <frameobject.h>

#include "eager/batch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/host.h"
#include "eager/ops.h"
#include "lazy/scopes.h"
#include "python/src/compiled_function.h"
#include "python/src/docs.h"
#include "python/src/errors.h"
#include "python/src/frame_view.h"
#include "python/src/py_tensor.h"
#include "runtime/base/user_line.h"
#include "runtime/kernel/kernel_compiler.h"

namespace tandem::python {
namespace {

std::vector<std::unique_ptr<lazy::LazyScope>>& lazyScopes() {
  thread_local std::vector<std::unique_ptr<lazy::LazyScope>> scopes;
  return scopes;
}

/// The `with` statement, whose frame is the caller of `lazy.__enter__`.
std::uint64_t siteOfBlock() {
  PyFrameObject* enter = PyEval_GetFrame();
  if (enter == nullptr) return 0;
  PyRef frame(reinterpret_cast<PyObject*>(PyFrame_GetBack(enter)));
  if (!frame) return 0;
  auto* block = reinterpret_cast<PyFrameObject*>(frame.get());
  PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(block)));
  return siteOf(reinterpret_cast<std::uintptr_t>(code.get()), static_cast<std::uint64_t>(offsetIn(block)));
}

PyObject* lazyEnter(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    lazyScopes().push_back(std::make_unique<lazy::LazyScope>(siteOfBlock()));
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
  return PyBool_FromLong(s != nullptr && s->tracing() && s->strict ? 1 : 0);
}

/// _holds(good): are all elements of a bool tensor true? A function that is traced depends on a yes: its plan checks
/// it.
PyObject* holds(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    if (!isTensor(o)) fail<TypeError>("_holds: expected a tensor, got ", Py_TYPE(o)->tp_name);
    try {
      const Tensor good = ops::toDType(tensorOf(o), DType::Bool);
      const Operand operands[] = {good};
      if (lazy::activeSession() == nullptr && !anyBatched(operands))
        return PyBool_FromLong(good.numel() == 0 || readElement<bool>(ops::all(good)) ? 1 : 0);
      (void)ops::expected(good, good, Expectation::ArgumentHolds);
      Py_RETURN_TRUE;
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {
      // The caller has an error to raise, whose text shows values.
      if (lazy::Session* s = lazy::activeSession()) s->giveUp("");
      Py_RETURN_FALSE;
    }
  });
}

/// _lend(holder, key, value): holder[key] = value. Whoever calls it gives back what was there, whatever happens.
PyObject* lend(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 3 || !PyDict_Check(args[0])) fail<TypeError>("_lend takes a dict, a key and a value");
    checked(PyObject_SetItem(args[0], args[1], args[2]));
    Py_RETURN_NONE;
  });
}

PyObject* isRecording(PyObject*, PyObject*) { return PyBool_FromLong(lazy::activeSession() != nullptr ? 1 : 0); }

template <class F>
PyCFunction fast(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef functions[] = {
    {"_lazy_enter", lazyEnter, METH_NOARGS, "Starts recording on this thread."},
    {"_lazy_exit", lazyExit, METH_NOARGS, "Ends the innermost recording and runs it."},
    {"eval", fast(evalTensors), METH_FASTCALL, doc::function_eval},
    {"_is_tracing", isTracing, METH_NOARGS, "Is a function being compiled on this thread that may read no value?"},
    {"_holds", holds, METH_O, "Are all elements true? The plan of a function that is traced checks it."},
    {"_lend", fast(lend), METH_FASTCALL, "Sets an item of a dict for a while."},
    {"_is_recording", isRecording, METH_NOARGS, "Are operations recorded on this thread?"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void initLazy(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  initCompiledFunction(module);
  setLineProvider([] {
    WithGil gil;
    return userLineOutside();
  });
  lazy::install();
  openCompilerInBackground();
  // The compiler's own statics go when `exit` runs, the youngest first, and it may still be using them then.
  Py_AtExit([] { awaitCompilerOpening(); });
}

}  // namespace tandem::python
