// A compiled function as Python sees it. A call:
//
//   1. inside another recording the function's body simply runs, and is recorded with the rest
//   2. the signature of the arguments (call_signature.h) finds the traces made for it
//   3. of those the first whose guards hold runs: containers by version (skipped while the process-wide epoch stands
//      still), globals and closure cells by identity, `.grad` slots by presence
//   4. none: the body is run once, recorded (lazy::Tracer). python/tandem/_compile.py watches which code it enters and
//      says what to guard
#include "python/src/compiled_function.h"

#include <algorithm>
#include <memory>
#include <structmember.h>
#include <unordered_map>

#include "lazy/compiled.h"
#include "python/src/call_signature.h"
#include "python/src/convert.h"
#include "python/src/float_proxy.h"
#include "python/src/py_tensor.h"

namespace tandem::python {
namespace {

std::uint64_t epoch = 1;  // bumped whenever any module or optimizer changes

struct NameGuard {
  PyRef holder;  // a dict of globals, or a cell
  PyRef name;    // null for a cell
  PyRef value;   // null: there was none

  [[nodiscard]] bool holds() const {
    PyObject* now = name ? PyDict_GetItemWithError(holder.get(), name.get()) : PyCell_GET(holder.get());
    return now == value.get();
  }
};
/// A list or dict that a name leads to: the same items, by identity.
struct ItemsGuard {
  PyRef collection;
  PyRef items;  // a tuple: the items of a list, keys and values of a dict in turn

  [[nodiscard]] bool holds() const {
    PyObject* c = collection.get();
    Py_ssize_t n = PyTuple_GET_SIZE(items.get());
    if (PyList_Check(c)) {
      if (PyList_GET_SIZE(c) != n) return false;
      for (Py_ssize_t i = 0; i < n; ++i)
        if (PyList_GET_ITEM(c, i) != PyTuple_GET_ITEM(items.get(), i)) return false;
      return true;
    }
    if (PyDict_GET_SIZE(c) * 2 != n) return false;
    for (Py_ssize_t i = 0; i < n; i += 2)
      if (PyDict_GetItemWithError(c, PyTuple_GET_ITEM(items.get(), i)) != PyTuple_GET_ITEM(items.get(), i + 1))
        return false;
    return true;
  }
};
struct ContainerGuard {
  PyRef attributes;  // the object's __dict__
  long version;

  [[nodiscard]] bool holds() const {
    static PyObject* key = PyUnicode_InternFromString("_version");
    PyObject* now = PyDict_GetItemWithError(attributes.get(), key);
    return now != nullptr && PyLong_AsLong(now) == version;
  }
};
/// A float of a container (a learning rate), read again at each call.
struct ScalarSource {
  PyRef holder;  // dict
  PyRef name;
  Py_ssize_t item;  // of a tuple or list in that place; -1: the value itself

  static bool isItems(PyObject* v) { return PyTuple_Check(v) || PyList_Check(v); }
  [[nodiscard]] Scalar read() const {
    PyObject* v = PyDict_GetItemWithError(holder.get(), name.get());
    if (v != nullptr && item >= 0)
      v = isItems(v) && item < PySequence_Fast_GET_SIZE(v) ? PySequence_Fast_GET_ITEM(v, item) : nullptr;
    double d = v != nullptr ? PyFloat_AsDouble(v) : -1;
    if (v == nullptr || PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      fail<TypeError>("compile: a run-time scalar is no longer a number");
    }
    return Scalar(d);
  }
};

/// Whether a number of a container (a momentum) is zero, which decided what was traced.
struct ZeroGuard {
  ScalarSource number;
  bool zero;
};

struct Entry {
  std::shared_ptr<lazy::CompiledTrace> trace;
  ResultTree results;
  std::vector<NameGuard> names;
  std::vector<ItemsGuard> collections;
  std::vector<ContainerGuard> containers;
  std::vector<ScalarSource> scalars;
  std::vector<ZeroGuard> zeros;
  std::vector<PyRef> alive;
  std::uint64_t epochSeen = 0;

  /// Versions only grow: an entry that fails here will never hold again.
  [[nodiscard]] bool current() {
    if (epochSeen == epoch) return true;
    for (const auto& g : containers)
      if (!g.holds()) return false;
    epochSeen = epoch;
    return true;
  }
  [[nodiscard]] bool fits(const CallSignature& call) const {
    for (const auto& g : names)
      if (!g.holds()) return false;
    for (const auto& g : collections)
      if (!g.holds()) return false;
    for (const auto& g : zeros)
      if ((g.number.read().asDouble() == 0) != g.zero) return false;
    for (const auto& [number, value] : trace->guardedScalars)
      if (scalarAt(call, number).bits() != value.bits()) return false;
    return trace->fits(call.tensors);
  }
  /// Arguments come first, then the scalars of containers.
  [[nodiscard]] Scalar scalarAt(const CallSignature& call, std::uint32_t number) const {
    return number < call.scalars.size() ? call.scalars[number] : scalars[number - call.scalars.size()].read();
  }
};

/// Of one signature: traces differ by guards and by sizes that depend on data, of which there may be very many.
constexpr std::size_t kMostEntries = 64;

struct Function {
  PyRef callable;
  PyRef watch;  // tandem._compile.watch: a context that collects guards
  std::unordered_map<std::string, std::vector<std::shared_ptr<Entry>>> entries;
  std::set<std::size_t> whole;              // arguments whose storages are taken whole
  std::vector<Ref<Storage>> wholeCaptured;  // and captured ones
  std::string lastExplanation;
};

struct PyCompiled {
  PyObject_HEAD PyObject* dict;
  Function* function;
  vectorcallfunc call;
};

/// The trace being made on this thread, for _runtime_scalar.
struct ActiveTrace {
  lazy::Tracer* tracer;
  std::vector<ScalarSource> sources;
  std::vector<ZeroGuard> zeros;
  std::vector<Scalar> values;
  std::vector<PyRef> proxies;
  std::vector<PyRef> hooks;
};
thread_local ActiveTrace* activeTrace = nullptr;

class Slots final : public SlotArithmetic {
 public:
  explicit Slots(lazy::Session& s) : session_(s), before_(slotArithmetic) { slotArithmetic = this; }
  ~Slots() override { slotArithmetic = before_; }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  Scalar binary(char op, Scalar left, Scalar right) override { return session_.arithmetic(op, left, right); }
  double guard(const Scalar& s) override { return session_.guardScalar(s); }

 private:
  lazy::Session& session_;
  SlotArithmetic* before_;
};

// ---- tracing -------------------------------------------------------------------------------------------------------

/// Calls tandem._compile's watcher: `start()` before the body, `stop()` after; what stop returns is
/// (globals and cells, containers, collections): lists of (holder, name or None), of (object, its `_version` when first
/// seen) and of (list or dict, its items).
void readGuards(PyObject* found, Entry& entry) {
  PyObject* names = PyTuple_GET_ITEM(found, 0);
  PyObject* containers = PyTuple_GET_ITEM(found, 1);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
    PyObject* pair = PyList_GET_ITEM(names, i);
    PyObject* holder = PyTuple_GET_ITEM(pair, 0);
    PyObject* name = PyTuple_GET_ITEM(pair, 1);
    NameGuard g{PyRef::borrow(holder), name == Py_None ? PyRef() : PyRef::borrow(name), PyRef()};
    g.value = PyRef::borrow(g.name ? PyDict_GetItemWithError(holder, name) : PyCell_GET(holder));
    entry.names.push_back(std::move(g));
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(containers); ++i) {
    PyObject* o = PyTuple_GET_ITEM(PyList_GET_ITEM(containers, i), 0);
    PyRef attributes(checked(PyObject_GetAttrString(o, "__dict__")));
    entry.containers.push_back({attributes, PyLong_AsLong(PyTuple_GET_ITEM(PyList_GET_ITEM(containers, i), 1))});
    entry.alive.push_back(PyRef::borrow(o));
  }
  PyObject* collections = PyTuple_GET_ITEM(found, 2);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(collections); ++i) {
    PyObject* pair = PyList_GET_ITEM(collections, i);
    entry.collections.push_back({PyRef::borrow(PyTuple_GET_ITEM(pair, 0)), PyRef::borrow(PyTuple_GET_ITEM(pair, 1))});
  }
}

struct Traced {
  PyRef result;
  Entry* entry = nullptr;
};

/// Does a hook refer to a tensor that was computed while tracing, which at later calls is another one?
bool holdsTraced(PyObject* hook) {
  PyRef held(callSupport("tensors_held_by", {hook}));
  if (!held) throw PythonError();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(held.get()); ++i)
    if (tensorOf(PyList_GET_ITEM(held.get(), i)).isPending()) return true;
  return false;
}

/// Runs the body once, recorded. Null result and no exception set: to be done again with more storages taken whole.
PyRef traceOnce(Function& f, const CallSignature& call, PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords,
                Entry& entry) {
  std::vector<Storage*> whole;
  for (auto i : f.whole)
    if (i < call.tensors.size()) whole.push_back(call.tensors[i].impl()->storage.get());
  for (const auto& s : f.wholeCaptured) whole.push_back(s.get());
  std::unique_ptr<lazy::Tracer> tracer;
  try {
    tracer = std::make_unique<lazy::Tracer>(call.tensors, whole);
  } catch (const lazy::RestartTrace& restart) {
    for (std::size_t i = 0; i < call.tensors.size(); ++i)
      if (call.tensors[i].impl()->storage.get() == restart.storage) f.whole.insert(i);
    return {};
  }
  ActiveTrace active{tracer.get(), {}, {}, {}, {}, {}};
  std::vector<PyObject*> proxies;
  for (const Scalar& s : call.scalars) {
    Scalar slot = tracer->scalar(s.asDouble());
    active.proxies.emplace_back(checked(floatProxy(slot)));
    proxies.push_back(active.proxies.back().get());
  }
  Slots slots(tracer->session());

  std::size_t next = 0;
  Py_ssize_t numKeywords = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  std::vector<PyRef> owned;
  std::vector<PyObject*> passed;
  for (Py_ssize_t i = 0; i < numArgs + numKeywords; ++i) {
    owned.emplace_back(checked(withProxies(args[i], proxies, next)));
    passed.push_back(owned.back().get());
  }

  ActiveTrace* before = activeTrace;
  activeTrace = &active;
  PyRef watcher(checked(PyObject_CallOneArg(f.watch.get(), f.callable.get())));
  PyRef result(PyObject_Vectorcall(f.callable.get(), passed.data(), static_cast<std::size_t>(numArgs), keywords));
  activeTrace = before;
  PyObject* errorType = nullptr;
  PyObject* errorValue = nullptr;
  PyObject* errorTrace = nullptr;
  PyErr_Fetch(&errorType, &errorValue, &errorTrace);
  PyRef found(PyObject_CallMethod(watcher.get(), "stop", nullptr));
  PyErr_Restore(errorType, errorValue, errorTrace);
  if (!result) {
    if (Storage* s = tracer->session().restartStorage()) {
      PyErr_Clear();
      bool argument = false;
      for (std::size_t i = 0; i < call.tensors.size(); ++i)
        if (call.tensors[i].impl()->storage.get() == s) argument = f.whole.insert(i).second || argument;
      if (!argument) f.wholeCaptured.emplace_back(s);
      return {};
    }
    throw PythonError();
  }
  if (!found) throw PythonError();
  owned.clear();

  std::vector<Tensor> outputs;
  entry.results = ResultTree::of(result.get(), outputs);
  std::vector<Scalar> scalars = call.scalars;
  scalars.insert(scalars.end(), active.values.begin(), active.values.end());
  entry.scalars = std::move(active.sources);
  entry.zeros = std::move(active.zeros);
  bool hooksHold = std::ranges::any_of(active.hooks, [&](const PyRef& hook) { return holdsTraced(hook.get()); });
  entry.trace = tracer->finish(outputs, scalars, hooksHold);
  readGuards(found.get(), entry);
  for (PyObject* o : call.identities) entry.alive.push_back(PyRef::borrow(o));
  if (entry.results.readsValues()) return PyRef(entry.results.build(outputs));
  return result;
}

/// The first entry that fits the call and, as far as it is known, the sizes that depend on its data.
std::shared_ptr<Entry> entryFor(const std::vector<std::shared_ptr<Entry>>& known, const CallSignature& call,
                                const std::vector<std::int64_t>& sizes) {
  for (const auto& entry : known) {
    const std::vector<std::int64_t>& expected = entry->trace->sizes;
    bool same = expected.size() >= sizes.size() && std::equal(sizes.begin(), sizes.end(), expected.begin());
    if (same && entry->fits(call)) return entry;
  }
  return nullptr;
}

PyObject* callCompiled(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    Function& f = *reinterpret_cast<PyCompiled*>(self)->function;
    Py_ssize_t numArgs = PyVectorcall_NARGS(flagged);
    if (activeRecorder != nullptr)
      return checked(PyObject_Vectorcall(f.callable.get(), args, static_cast<std::size_t>(numArgs), keywords));
    for (int attempt = 0; attempt < 8; ++attempt) {
      CallSignature call;
      readSignature(args, numArgs, keywords, f.whole, call);
      auto& known = f.entries[call.key];
      std::erase_if(known, [](const auto& entry) { return !entry->current(); });
      // Sizes that depend on data are met as the plans run; each narrows down which entry can fit.
      std::vector<std::int64_t> sizes;
      while (std::shared_ptr<Entry> entry = entryFor(known, call, sizes)) {
        std::size_t numArguments = call.scalars.size();
        for (const auto& s : entry->scalars) call.scalars.push_back(s.read());
        try {
          return entry->results.build(entry->trace->run(call.tensors, call.scalars));
        } catch (const SizeChanged& changed) {
          sizes.assign(entry->trace->sizes.begin(), entry->trace->sizes.begin() + changed.number);
          sizes.push_back(changed.size);
          call.scalars.resize(numArguments);
        }
      }
      auto entry = std::make_shared<Entry>();
      PyRef result = traceOnce(f, call, args, numArgs, keywords, *entry);
      if (!result) continue;
      f.lastExplanation = entry->trace->plan->explanation;
      known.insert(known.begin(), std::move(entry));
      if (known.size() > kMostEntries) known.pop_back();
      return result.release();
    }
    fail<InternalError>("compile: tracing was started over too often");
  });
}

// ---- the type ------------------------------------------------------------------------------------------------------

PyObject* newCompiled(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* callable = nullptr;
  PyObject* watch = nullptr;
  if (PyArg_ParseTuple(args, "OO", &callable, &watch) == 0) return nullptr;
  auto* self = reinterpret_cast<PyCompiled*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->function = new Function{PyRef::borrow(callable), PyRef::borrow(watch), {}, {}, {}, {}};
  self->call = callCompiled;
  return reinterpret_cast<PyObject*>(self);
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyCompiled*>(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  if (self->function != nullptr) Py_VISIT(self->function->callable.get());
  return 0;
}
int clear(PyObject* o) {
  auto* self = reinterpret_cast<PyCompiled*>(o);
  Py_CLEAR(self->dict);
  if (self->function != nullptr) {
    self->function->entries.clear();
    self->function->callable = PyRef::borrow(Py_None);
  }
  return 0;
}
void dealloc(PyObject* o) {
  auto* self = reinterpret_cast<PyCompiled*>(o);
  PyObject_GC_UnTrack(o);
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
    readSignature(args, n, keywords, f->whole, call);
    auto it = f->entries.find(call.key);
    if (it == f->entries.end() || it->second.empty()) {
      PyRef result(checked(callCompiled(self, args, static_cast<std::size_t>(n), keywords)));
      return PyUnicode_FromString(f->lastExplanation.c_str());
    }
    return PyUnicode_FromString(it->second.front()->trace->plan->explanation.c_str());
  });
}

PyMethodDef methods[] = {
    {"explain", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&explain)), METH_FASTCALL | METH_KEYWORDS,
     "explain(*args, **kwargs)\n\nWhat was traced for these arguments, the regions it was fused to with their bytes "
     "and "
     "flops, and the kernels they run, as text. Calls the function if it was not traced for them yet."},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyCompiled, dict), READONLY, nullptr},
                         {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyCompiled, call), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
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

PyObject* bumpEpoch(PyObject*, PyObject*) {
  ++epoch;
  Py_RETURN_NONE;
}

PyObject* runtimeScalarAt(PyObject* holder, PyObject* name, Py_ssize_t item, PyObject* value) {
  if (!PyFloat_Check(value) && !PyLong_Check(value)) return Py_NewRef(value);
  for (std::size_t i = 0; i < activeTrace->sources.size(); ++i) {
    const ScalarSource& s = activeTrace->sources[i];
    if (s.holder.get() != holder || s.item != item) continue;
    int same = PyObject_RichCompareBool(s.name.get(), name, Py_EQ);
    if (same == 1)
      return Py_NewRef(activeTrace->proxies[activeTrace->proxies.size() - activeTrace->sources.size() + i].get());
  }
  double d = PyFloat_AsDouble(value);
  if (d == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  Scalar slot = activeTrace->tracer->scalar(d);
  activeTrace->sources.push_back({PyRef::borrow(holder), PyRef::borrow(name), item});
  activeTrace->values.emplace_back(d);
  activeTrace->proxies.emplace_back(checked(floatProxy(slot)));
  return Py_NewRef(activeTrace->proxies.back().get());
}

/// args[0][args[1]], borrowed.
PyObject* itemOf(const char* function, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !PyDict_Check(args[0])) fail<TypeError>(function, " takes a dict and a key");
  PyObject* value = PyDict_GetItemWithError(args[0], args[1]);
  if (value == nullptr) {
    if (PyErr_Occurred() == nullptr) PyErr_SetObject(PyExc_KeyError, args[1]);
    throw PythonError();
  }
  return value;
}

/// _runtime_is_zero(holder, name): holder[name] == 0; a function that is being traced depends on the answer.
PyObject* runtimeIsZero(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    PyRef value = PyRef::borrow(itemOf("_runtime_is_zero", args, n));
    double d = PyFloat_AsDouble(value.get());
    if (d == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    if (activeTrace != nullptr && activeRecorder == &activeTrace->tracer->session())
      activeTrace->zeros.push_back({{PyRef::borrow(args[0]), PyRef::borrow(args[1]), -1}, d == 0});
    return PyBool_FromLong(d == 0 ? 1 : 0);
  });
}

/// _runtime_scalar(holder, name): holder[name]; while a function is traced, a number in it (or in a tuple there) as a
/// run-time scalar that is read again at every call.
PyObject* runtimeScalar(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    PyObject* value = itemOf("_runtime_scalar", args, n);
    if (activeTrace == nullptr || activeRecorder != &activeTrace->tracer->session()) return Py_NewRef(value);
    if (!ScalarSource::isItems(value)) return runtimeScalarAt(args[0], args[1], -1, value);
    PyRef out(checked(PyTuple_New(PySequence_Fast_GET_SIZE(value))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out.get()); ++i)
      PyTuple_SET_ITEM(out.get(), i, runtimeScalarAt(args[0], args[1], i, PySequence_Fast_GET_ITEM(value, i)));
    return out.release();
  });
}

PyMethodDef functions[] = {{"_bump_epoch", bumpEpoch, METH_NOARGS, "Says that some module or optimizer changed."},
                           {"_runtime_scalar", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&runtimeScalar)),
                            METH_FASTCALL, "An entry of a dict, as a run-time scalar while a function is traced."},
                           {"_runtime_is_zero", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&runtimeIsZero)),
                            METH_FASTCALL, "Is an entry of a dict zero? A traced function depends on the answer."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void noteHook(PyObject* hook) {
  if (activeTrace != nullptr) activeTrace->hooks.push_back(PyRef::borrow(hook));
}

void initCompiledFunction(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  PyRef type(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "CompiledFunction", type.get()));
}

}  // namespace tandem::python
