// A compiled function as Python sees it. A call:
//
//   1. inside another recording the function's body simply runs, and is recorded with the rest
//   2. the signature of the arguments (call_signature.h) finds the traces made for it
//   3. of those the first whose guards hold (guards.h) runs, without Python
//   4. none: the body runs, recorded. Now and then it is watched meanwhile (observer.h), and where that proves that
//      later calls need not run it, what was recorded becomes a trace (lazy::Tracer)
//
// A body that is not proved runs on every call; its recording finds its plan. `explain` says which line made it so.
#include "python/src/compiled_function.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <structmember.h>
#include <unordered_map>
#include <utility>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "autograd/saved_hooks.h"
#include "eager/batch.h"
#include "eager/compute_flags.h"
#include "eager/fusion.h"
#include "lazy/compiled.h"
#include "lazy/scopes.h"
#include "lazy/tracer.h"
#include "python/src/autocast.h"
#include "python/src/call_signature.h"
#include "python/src/check_compiled.h"
#include "python/src/compiled_state.h"
#include "python/src/convert.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"
#include "python/src/result_tree.h"
#include "python/src/run_time_numbers.h"
#include "python/src/torch_function.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python {
namespace {

PyTypeObject* compiledType;

/// Runs `body` and puts back the exception that was set before, unless it raises one of its own.
template <class F>
void keepingError(F&& body) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    body();
  } catch (...) {
    if (type == nullptr) throw;
    PyErr_Clear();  // the first error is the one to tell
  }
  PyErr_Restore(type, value, traceback);
}

/// With `TANDEM_LOG=guards`.
void log(const Function& f, const std::string& what) {
  static const bool on = [] {
    const char* asked = std::getenv("TANDEM_LOG");
    return asked != nullptr && std::strstr(asked, "guards") != nullptr;
  }();
  if (!on) return;
  std::fprintf(stderr, "tandem guards: %s: %s\n", nameOf(f.callable.get()).c_str(), what.c_str());
}

/// Where a function begins, as file:line; its name where it has no code of its own.
std::string definitionOf(PyObject* callable) {
  PyRef function = PyRef::borrow(PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable);
  if (!PyFunction_Check(function.get())) return nameOf(callable);
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get()));
  return std::string(PyUnicode_AsUTF8(code->co_filename)) + ":" + std::to_string(code->co_firstlineno);
}

/// `TANDEM_CHECK_COMPILED=1`: compares a call, which gave `result`, with the body. `before`: what was in the places
/// that the call assigns.
PyObject* compare(CompiledCheck& check, const Entry& entry, const PyRef& result, const std::vector<PyRef>& before,
                  const std::function<PyObject*()>& body) {
  const PyRef ours = entry.withAssigned(result);
  PyRef theirs(check.compare(ours.get(), entry.results, [&]() -> PyObject* {
    entry.putBack(before);
    const PyRef eager(body());
    return eager ? entry.withAssigned(eager).release() : nullptr;
  }));
  return entry.assigned.empty() ? theirs.release() : Py_NewRef(PyTuple_GET_ITEM(theirs.get(), 0));
}

// ---- calls that run the body ---------------------------------------------------------------------------------------

PyObject* runBody(Function& f, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  PyRef callable = f.callable;
  ++f.runs;
  return PyObject_Vectorcall(callable.get(), args, static_cast<std::size_t>(n), keywords);
}

/// Runs the body, recorded.
PyRef record(Function& f, PyObject* const* args, Py_ssize_t n, PyObject* keywords, const std::string& signature) {
  lazy::LazyScope scope(siteOf(reinterpret_cast<std::uintptr_t>(&f), std::hash<std::string>()(signature)));
  PyRef result(runBody(f, args, n, keywords));
  keepingError([&] { scope.end(); });
  if (!result) throw PythonError();
  return result;
}

/// Modes of the thread that a body may change and must leave as they were.
struct Modes {
  bool grad = gradEnabled(), inference = inferenceMode();
  AutocastState::Place onCpu = autocastState().cpu, onGpu = autocastState().gpu;
  bool kept = autocastState().cache;
  DType type = defaultDType();
  ComputeFlags flags = computeFlags();
  std::size_t axes = activeAxes().size();
  friend bool operator==(const Modes&, const Modes&) = default;
};

/// What of the results, effects and captured tensors can be had again; null, and the observer says why not. `numOwn`
/// tensors are arguments of the call. `dry` as for lazy::Tracer::finish.
std::shared_ptr<Entry> prove(PyObject* result, WatchedRecording& active, std::size_t numOwn, bool dropsGrads,
                             bool dry) {
  const CallSignature& call = *active.call;
  Observer& observer = *active.observer;
  if (!observer.proved()) return nullptr;
  if (!active.tracer->session().tracing()) return nullptr;
  auto entry = std::make_shared<Entry>();
  std::vector<Tensor> outputs;
  entry->assigned = observer.assigned();
  for (const AssignedPlace& place : entry->assigned) {
    if (place.get() == nullptr) observer.refuse("what it assigned is gone");
    entry->identities.push_back(place.owner);
  }
  std::vector<Scalar> numbers;
  entry->results = ResultTree::of(entry->withAssigned(PyRef::borrow(result)).get(), outputs, numbers, observer);
  active.tracer->keepNumbers(std::move(numbers));
  observer.forgetReads();
  observer.checkRestored();
  if (observer.proved())
    if (const std::string changed = observer.guards().broken(); !changed.empty()) observer.refuseChange(changed);
  if (observer.lends()) observer.refuse("a module is left with what it was lent");
  for (std::size_t i = 0; i < active.sources.size(); ++i) {
    const NumberSource& source = active.sources[i];
    const auto now = source.read();
    if (now && now->bits() == active.values[i].bits()) continue;
    const bool left =
        source.item < 0 &&
        std::ranges::any_of(
            entry->assigned, [&](const AssignedPlace& place) { return place.place().sameAs(source.place); });
    if (!left) observer.refuse("it changes a number that it reads");
  }
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (!observer.makesLeafOf(call.tensors[i].impl())) continue;
    if (i >= numOwn) observer.refuse("requires_grad_() of a tensor that is kept from call to call");
    entry->leaves.push_back(i);
  }
  if (observer.proved() && !observer.changedArgument().empty())
    observer.refuse("an argument becomes another tensor, as by requires_grad_(): change its detach() instead");
  for (const Tensor& t : outputs)
    if (observer.proved() && t.isPending() && metaOf(t) != nullptr && metaOf(t)->grad.defined())
      observer.refuse("a result has a gradient already");
  // Of what is guarded every call finds the same memory, and of what it brings itself another.
  active.tracer->visitBrought([&](const TensorImpl* t) {
    if (observer.proved() && observer.guards().names(t->storage.get()))
      observer.refuse("an argument or a gradient shares memory with a tensor that is reached by another way");
  });
  if (!observer.proved()) return nullptr;
  std::vector<Scalar> scalars = call.scalars;
  scalars.insert(scalars.end(), active.values.begin(), active.values.end());
  if (dropsGrads) active.tracer->dropGrads();
  active.tracer->setFunctionsRepeat(observer.contextsRepeat());
  if (!observer.proved()) return nullptr;
  std::string reason;
  entry->trace =
      active.tracer->finish(outputs, scalars, [&](TensorImpl* t) { return observer.guards().alike(t); }, reason, dry);
  if (entry->trace == nullptr) {
    observer.refuse(reason);
    return nullptr;
  }
  observer.guards().settle();
  entry->guards = std::move(observer.guards());
  entry->warnings = observer.warnings();
  active.states.forgetValues();
  entry->states = std::move(active.states);
  entry->sources = std::move(active.sources);
  entry->zeros = std::move(active.zeros);
  for (PyObject* o : call.identities) entry->identities.emplace_back(o);
  return entry;
}

}  // namespace

PyRef watch(Function& f, CallSignature& call, PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords,
            std::shared_ptr<Entry>& made, bool dry, bool placeholders) {
  CollectorWaits collector;  // from before anything is recorded
  std::vector<Storage*> whole;
  for (auto i : f.terms.whole)
    if (i < call.tensors.size()) whole.push_back(call.tensors[i].impl()->storage.get());
  for (const auto& s : f.wholeCaptured) whole.push_back(s.get());
  std::unique_ptr<lazy::Tracer> tracer;
  while (tracer == nullptr) {
    try {
      tracer = std::make_unique<lazy::Tracer>(call.tensors, whole);
    } catch (const lazy::RestartTrace& restart) {
      for (std::size_t i = 0; i < call.tensors.size(); ++i)
        if (call.tensors[i].impl()->storage.get() == restart.storage) f.terms.whole.insert(i);
      whole.push_back(restart.storage);
    }
  }
  lazy::Session& session = tracer->session();
  Observer observer(session, f.changing, collector);
  WatchedRecording active{tracer.get(), &observer, {}, {}, {}, {}, &call, {}};
  if (f.dropsGrads) observer.assignsNothing();
  if (dry) observer.runsNothing();
  session.strict = f.fullGraph;
  session.placeholders = placeholders;
  session.saved = f.dropsGrads;
  session.onGivenUp = [&](const char* why) {
    const WithGil gil;  // a backward pass works without it
    // An operation that fails has an error of its own.
    const bool opaque = !dry && insideOpaque();
    if (f.fullGraph && !opaque && *why != '\0' && std::string_view(why) != lazy::Session::kFails) {
      std::string line = userLineOutside();
      fail<DataReadError>(line.empty() ? "" : line + ": ", why,
                          " inside a function that was compiled with fullgraph=True; what it does must not depend on "
                          "values. Use tandem.where instead of Python control flow on values,"
                          " compile it without fullgraph, or record with tandem.lazy().");
    }
    observer.refuse(why);
  };
  std::vector<PyObject*> described;
  CallSignature again;
  again.described = &described;
  // Other threads may learn more while the body runs.
  ArgumentTerms terms = f.terms;
  readSignature(args, numArgs, keywords, terms, again);
  if (again.scalars.size() != call.scalars.size()) {
    call.key = again.key;
    call.scalars = again.scalars;
  }
  for (PyObject* o : described) observer.cover(o);

  const Py_ssize_t numKeywords = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  std::vector<PyRef> owned;
  std::vector<PyObject*> passed;
  std::size_t next = 0;
  for (Py_ssize_t i = 0; i < numArgs + numKeywords; ++i) {
    if (!terms.isNumber(args[i], static_cast<std::size_t>(i))) {
      owned.push_back(PyRef::borrow(args[i]));
    } else {
      // An object of its own, by which it is known.
      owned.emplace_back(ownNumber(args[i]));
      observer.track(owned.back().get(), tracer->scalar(call.scalars[next++]), args[i]);
    }
    passed.push_back(owned.back().get());
  }

  const std::size_t numOwn = call.tensors.size();
  const Modes before;
  WatchedRecording* outer = watchedRecording;
  watchedRecording = &active;
  observer.start(f.callable.get(), passed.data(), static_cast<Py_ssize_t>(passed.size()));
  PyRef result(runBody(f, passed.data(), numArgs, keywords));
  observer.stop();
  watchedRecording = outer;
  if (const Ref<Storage>& s = session.restartStorage()) {
    bool argument = false;
    for (std::size_t i = 0; i < call.tensors.size(); ++i)
      if (call.tensors[i].impl()->storage == s) argument = f.terms.whole.insert(i).second || argument;
    if (!argument) f.wholeCaptured.push_back(s);
  }
  if (!result) {
    keepingError([&] { tracer->flush(); });
    throw PythonError();
  }
  if (!(before == Modes())) observer.refuse("it leaves a mode of the thread changed");
  try {
    made = prove(result.get(), active, numOwn, f.dropsGrads, dry);
    if (made == nullptr)
      tracer->flush();
    else if (dry) {
      tracer->undo();
      call.scalars.insert(call.scalars.end(), active.values.begin(), active.values.end());
    }
  } catch (const UnfinishedRun&) {
    tracer->undo();
    throw;
  } catch (const Error&) {
    if (!observer.proved()) throw;
    if (dry) {
      tracer->undo();
      throw;
    }
    // The plan failed before it wrote anything. The body, run eagerly, leaves what an eager call leaves.
    tracer->undo();
    return PyRef(checked(runBody(f, args, numArgs, keywords)));
  }
  if (made != nullptr) {
    bool known = true;
    made->trace->visitCaptured([&](const TensorImpl* t) { known = known && made->guards.names(t); });
    if (!known) {
      observer.refuse("a tensor is used that no name leads to");
      made = nullptr;
    }
  }
  if (made != nullptr && !made->leaves.empty()) {
    f.leaves.insert(made->leaves.begin(), made->leaves.end());
    CallSignature then;
    terms.whole = f.terms.whole;
    readSignature(args, numArgs, keywords, terms, then);
    call.key = std::move(then.key);
  }
  f.reason = observer.reason();
  f.learnt = observer.madeState();
  log(f, f.reason.empty() ? "calls run the plan" : "the body runs on every call: " + f.reason);
  if (made == nullptr && f.fullGraph && !session.restartStorage() && !f.learnt && !(observer.refusedInOpaque() && !dry))
    fail("compile: with fullgraph=True calls must not need the body of ", definitionOf(f.callable.get()),
         ", but: ", f.reason);
  return result;
}

// ---- calls ---------------------------------------------------------------------------------------------------------

namespace {

/// The result of the plan of an entry that fits the call; null if there is none. `leaves`, which may be null,
/// are kept where a plan ran.
template <class Body>
PyObject* replay(Function& f, CallSignature& call, ArgumentLeaves* leaves, const Body& body) {
  // Sizes that depend on data are met as the plans run; each narrows down which entry can fit.
  std::vector<std::int64_t> sizes;
  const std::size_t ownScalars = call.scalars.size();
  const std::size_t ownTensors = call.tensors.size();
  bool warned = false;
  for (auto it = f.entries.find(call.key); it != f.entries.end(); it = f.entries.find(call.key)) {
    std::shared_ptr<Entry> entry = entryFor(it->second, call, sizes, leaves);
    if (entry == nullptr) break;
    try {
      std::optional<CompiledCheck> check;
      std::vector<PyRef> before;
      if (checksCompiled()) {
        check.emplace(*entry->trace, call.tensors);
        before = entry->assignedNow();
      }
      std::vector<PyRef> owners;
      if (!entry->assigned.empty()) owners = entry->owners();
      if (!entry->warnings.empty() && !std::exchange(warned, true) && !checksCompiled()) entry->warn();
      std::vector<Tensor> results = entry->trace->run(call.tensors, call.scalars);
      entry->lastUse = ++f.clock;
      f.budget.replayed();
      PyRef built(entry->finish(results, call.numbers));
      if (leaves != nullptr) leaves->keep();
      return check ? compare(*check, *entry, built, before, body) : built.release();
    } catch (const SizeChanged& changed) {
      sizes.assign(entry->trace->sizes.begin(), entry->trace->sizes.begin() + changed.number);
      sizes.push_back(changed.size);
      call.scalars.resize(ownScalars);
      call.tensors.resize(ownTensors);
    } catch (const InternalError&) {
      throw;
    } catch (const PythonError&) {
      throw;
    } catch (const UnfinishedRun&) {
      throw;
    } catch (const Error&) {
      // Nothing was written. The body, run eagerly, fails as an eager call does and leaves what that leaves.
      if (leaves != nullptr) leaves->turnOff();
      return checked(body());
    }
  }
  return nullptr;
}

/// `replay` as the call whose arguments require grad that the body makes so.
PyObject* replayWithLeaves(Function& f, const CallSignature& call, PyObject* const* args, Py_ssize_t numArgs,
                           PyObject* keywords) {
  ArgumentLeaves leaves(f.leaves, call.tensors);
  if (!leaves.any()) return nullptr;
  leaves.turnOn();
  CallSignature then;
  readSignature(args, numArgs, keywords, f.terms, then);
  return replay(f, then, &leaves, [&] { return runBody(f, args, numArgs, keywords); });
}

PyObject* callCompiled(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    Function& f = *reinterpret_cast<PyCompiled*>(self)->function;
    const Py_ssize_t numArgs = PyVectorcall_NARGS(flagged);
    // A mode is asked about each operation of the body.
    if (activeRecorder != nullptr || modesActive > 0) return checked(runBody(f, args, numArgs, keywords));
    PyRef alive = PyRef::borrow(self);
    f.budget.call();
    const OwnSignature own(f);
    CallSignature& call = *own;
    readSignature(args, numArgs, keywords, f.terms, call);
    // Every operation is looked at by itself there.
    if (autograd::anomalyMode()) return checked(runBody(f, args, numArgs, keywords));
    if (call.special || !activeAxes().empty() || savedTensorHooksActive())
      return record(f, args, numArgs, keywords, call.key).release();

    auto body = [&] { return runBody(f, args, numArgs, keywords); };
    if (PyObject* result = replay(f, call, nullptr, body)) return result;
    if (!f.leaves.empty())
      if (PyObject* result = replayWithLeaves(f, call, args, numArgs, keywords)) return result;
    if (auto it = f.entries.find(call.key); it != f.entries.end())
      for (const auto entries = it->second; const auto& entry : entries) {
        if (entry->states.wereUnlike(call)) continue;
        if (const std::string changed = entry->guards.broken(&f.changing); !changed.empty())
          log(f, "changed: " + changed);
      }
    forget(f, call.key);
    const std::size_t numAll =
        static_cast<std::size_t>(numArgs + (keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0));
    if (!f.dropsGrads && f.terms.learn(args, numAll)) {
      call.clear();
      readSignature(args, numArgs, keywords, f.terms, call);
    }
    if (!Observer::possible() || !f.budget.allows()) return record(f, args, numArgs, keywords, call.key).release();
    std::shared_ptr<Entry> made;
    PyRef result = watch(f, call, args, numArgs, keywords, made);
    bool kept = false;
    if (made != nullptr && !fixes(f, *made, args, numAll)) kept = keep(f, call.key, std::move(made));
    f.budget.watched(kept || f.learnt);
    return result.release();
  });
}

// ---- the type ------------------------------------------------------------------------------------------------------

PyObject* newCompiled(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* callable = nullptr;
  int fullGraph = 0, dropsGrads = 0;
  if (PyArg_ParseTuple(args, "Op|p", &callable, &fullGraph, &dropsGrads) == 0) return nullptr;
  auto* self = reinterpret_cast<PyCompiled*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->function = new Function();
  self->function->callable = PyRef::borrow(callable);
  self->function->fullGraph = fullGraph != 0;
  self->function->dropsGrads = dropsGrads != 0;
  self->call = callCompiled;
  return reinterpret_cast<PyObject*>(self);
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyCompiled*>(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  if (self->function == nullptr) return 0;
  Py_VISIT(self->function->callable.get());
  // An entry that runs right now is held by its call, too: the collector is told of what the function alone holds.
  for (const auto& [key, entries] : self->function->entries) {
    for (const auto& entry : entries) {
      if (entry.use_count() > 1) continue;
      if (int r = entry->guards.traverse(visit, arg)) return r;
      if (int r = entry->results.traverse(visit, arg)) return r;
      for (const Held& h : entry->identities)
        if (int r = h.traverse(visit, arg)) return r;
    }
  }
  return 0;
}
int clear(PyObject* o) {
  auto* self = reinterpret_cast<PyCompiled*>(o);
  Py_CLEAR(self->dict);
  if (self->function != nullptr) {
    auto entries = std::move(self->function->entries);
    self->function->entries.clear();
    self->function->callable = PyRef::borrow(Py_None);
  }
  return 0;
}
void dealloc(PyObject* o) {
  auto* self = reinterpret_cast<PyCompiled*>(o);
  PyObject_GC_UnTrack(o);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  delete self->function;
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

PyObject* explain(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    auto* f = reinterpret_cast<PyCompiled*>(self)->function;
    CallSignature call;
    readSignature(args, n, keywords, f->terms, call);
    if (!f->entries.contains(call.key) && knownEntry(*f, call, args, n, keywords) == nullptr) {
      PyRef result(checked(callCompiled(self, args, static_cast<std::size_t>(n), keywords)));
      call = {};
      readSignature(args, n, keywords, f->terms, call);
    }
    if (auto it = f->entries.find(call.key); it != f->entries.end())
      return PyUnicode_FromString(
          ("Calls run the plan; the body is not run.\n" + it->second.front()->trace->plan->explanation).c_str());
    const std::string why = !f->reason.empty()     ? f->reason
                            : Observer::possible() ? "it was not watched yet"
                                                   : "this version of Python is not understood, or a debugger, "
                                                     "profiler or coverage tool watches";
    return PyUnicode_FromString(("The body runs on every call, recorded: " + why + "\n").c_str());
  });
}

/// (the function, fullgraph, are gradients dropped): what a copy or a pickle is made of.
PyObject* reduce(PyObject* self, PyObject*) {
  const auto* f = reinterpret_cast<PyCompiled*>(self)->function;
  return Py_BuildValue("(O(Oii))", reinterpret_cast<PyObject*>(Py_TYPE(self)), f->callable.get(), f->fullGraph ? 1 : 0,
                       f->dropsGrads ? 1 : 0);
}

PyMethodDef methods[] = {
    {"explain", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&explain)), METH_FASTCALL | METH_KEYWORDS,
     "explain(*args, **kwargs)\n\nWhether calls with these arguments run the body, and which line made it so; else "
     "what "
     "was traced for them, the regions it was fused to with their bytes and flops, and the kernels they run, as text. "
     "Calls the function if it was not traced for them yet."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyCompiled, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyCompiled, weakrefs), READONLY, nullptr},
                         {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyCompiled, call), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyObject* fullGraph(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<PyCompiled*>(self)->function->fullGraph ? 1 : 0);
}
PyObject* runs(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<PyCompiled*>(self)->function->runs);
}
PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {"runs", runs, nullptr, "How often the body ran.", nullptr},
                            {"fullgraph", fullGraph, nullptr, "Is it an error where calls need the body?", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}
PyType_Slot slots[] = {{Py_tp_new, slot(newCompiled)},
                       {Py_tp_traverse, slot(traverse)},
                       {Py_tp_clear, slot(clear)},
                       {Py_tp_dealloc, slot(dealloc)},
                       {Py_tp_call, slot(PyVectorcall_Call)},
                       {Py_tp_descr_get, slot(bind)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"tandem._C.CompiledFunction", sizeof(PyCompiled), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

}  // namespace

bool isCompiledFunction(PyObject* o) { return Py_TYPE(o) == compiledType; }
PyObject* compiledCallable(PyObject* o) { return reinterpret_cast<PyCompiled*>(o)->function->callable.get(); }

void initCompiledFunction(PyObject* module) {
  initRunTimeNumbers(module);
  PyRef type(checked(PyType_FromSpec(&spec)));
  compiledType = reinterpret_cast<PyTypeObject*>(type.get());
  checked(PyModule_AddObjectRef(module, "CompiledFunction", type.get()));
}

}  // namespace tandem::python
