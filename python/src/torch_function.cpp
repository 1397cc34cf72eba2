#include "python/src/torch_function.h"

#include <algorithm>

#include "python/src/convert.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

bool overridesExist = false;
thread_local constinit int overridesOff = 0;
thread_local constinit int modesActive = 0;

namespace {

/// The modes of this thread, the innermost last. Never freed: a thread may end after the interpreter.
std::vector<PyObject*>& modes() {
  thread_local auto* stack = new std::vector<PyObject*>;
  return *stack;
}
void pushMode(PyObject* mode) {
  modes().push_back(Py_NewRef(mode));
  ++modesActive;
}
PyRef popMode() {
  if (modes().empty()) fail("the stack of modes is empty");
  PyRef mode(modes().back());
  modes().pop_back();
  --modesActive;
  return mode;
}

PyObject* disabled = nullptr;  // what a class sets to have its tensors treated as plain ones

PyObject* runPlainly(PyObject*, PyObject* args) {
  PyObject *function, *types, *given = nullptr, *keywords = nullptr;
  if (PyArg_ParseTuple(args, "OO|OO", &function, &types, &given, &keywords) == 0) return nullptr;
  WithoutOverrides off;
  PyRef none(given == nullptr ? PyTuple_New(0) : PySequence_Tuple(given));
  if (!none) return nullptr;
  return PyObject_Call(function, none.get(), keywords == Py_None ? nullptr : keywords);
}

PyObject* ofClass(PyTypeObject* cls) {
  static PyObject* name = interned("__torch_function__");
  return _PyType_Lookup(cls, name);
}

/// Its own, not the one that subclasses of Tensor inherit.
bool hasOwn(PyTypeObject* cls) { return ofClass(cls) != ofClass(tensorType); }

bool classOverrides(PyTypeObject* cls) {
  PyObject* found = ofClass(cls);
  return found != nullptr && found != disabled;
}

PyObject* tupleOf(PyObject* first, PyObject* const* rest, Py_ssize_t n) {
  const Py_ssize_t lead = first != nullptr ? 1 : 0;
  PyObject* tuple = checked(PyTuple_New(n + lead));
  if (first != nullptr) PyTuple_SET_ITEM(tuple, 0, Py_NewRef(first));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple, i + lead, Py_NewRef(rest[i]));
  return tuple;
}

/// The objects whose classes are to be asked, one a class: a subclass before its bases, else in order of arguments.
class Asked {
 public:
  explicit Asked(bool anyClass, bool ownOnly = false) : anyClass_(anyClass || modesActive > 0), ownOnly_(ownOnly) {}

  void look(PyObject* o) {
    if (o == nullptr) return;
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) lookAt(PySequence_Fast_GET_ITEM(o, i));
    } else {
      lookAt(o);
    }
  }
  void look(const Call& call) {
    look(call.self);
    const Py_ssize_t total = call.numArgs + (call.keywords != nullptr ? PyTuple_GET_SIZE(call.keywords) : 0);
    for (Py_ssize_t i = 0; i < total; ++i) look(call.args[i]);
  }
  [[nodiscard]] bool empty() const { return objects_.empty() && modesActive == 0; }

  /// What they make of the call of the attribute `name` of `owner`.
  [[nodiscard]] PyObject* call(PyObject* owner, const char* name, const Call& call) const {
    PyRef function(checked(PyObject_GetAttrString(owner, name)));
    PyRef args(tupleOf(call.self, call.args, call.numArgs));
    PyRef keywords;
    if (call.keywords != nullptr) {
      keywords = PyRef(checked(PyDict_New()));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.keywords); ++i)
        if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(call.keywords, i), call.args[call.numArgs + i]) != 0)
          throw PythonError();
    }
    return ask(function.get(), name, args.get(), keywords ? keywords.get() : nullptr);
  }
  /// What the first that does not say NotImplemented returns for `function(*args, **keywords)`.
  PyObject* ask(PyObject* function, const char* name, PyObject* args, PyObject* keywords) const {
    PyRef types(checked(PyTuple_New(static_cast<Py_ssize_t>(objects_.size()))));
    for (std::size_t i = 0; i < objects_.size(); ++i)
      PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i), Py_NewRef(Py_TYPE(objects_[i])));
    auto answerOf = [&](PyObject* o) {
      PyRef handler(checked(PyObject_GetAttrString(o, "__torch_function__")));
      PyObject* arguments[] = {function, types.get(), args, keywords};
      return PyRef(checked(PyObject_Vectorcall(handler.get(), arguments, keywords != nullptr ? 4 : 3, nullptr)));
    };
    std::string text;
    if (modesActive > 0) {
      // What the mode calls goes to the next one out.
      struct Away {
        PyRef mode = popMode();
        ~Away() { pushMode(mode.get()); }
      } away;
      PyRef result = answerOf(away.mode.get());
      if (result.get() != Py_NotImplemented) return result.release();
      text = strcat("the mode ", Py_TYPE(away.mode.get())->tp_name);
    }
    for (PyObject* o : objects_) {
      PyRef result = answerOf(o);
      if (result.get() != Py_NotImplemented) return result.release();
    }
    for (PyObject* o : objects_) text += std::string(text.empty() ? "" : ", ") + Py_TYPE(o)->tp_name;
    fail<TypeError>("Multiple dispatch failed for '", name, "': __torch_function__ of ", text,
                    " returned NotImplemented");
  }

  void lookAt(PyObject* o) {
    PyTypeObject* cls = Py_TYPE(o);
    if (overridesOff > 0 || !overrides(o, anyClass_) || (ownOnly_ && !hasOwn(cls))) return;
    if (std::ranges::any_of(objects_, [&](PyObject* other) { return Py_TYPE(other) == cls; })) return;
    auto base = std::ranges::find_if(objects_, [&](PyObject* x) { return PyType_IsSubtype(cls, Py_TYPE(x)) != 0; });
    objects_.insert(base, o);
  }

 private:
  bool anyClass_;
  bool ownOnly_;
  std::vector<PyObject*> objects_;
};

PyObject* inherited(PyObject* cls, PyObject* args, PyObject* kwargs) {
  static PyObject* function = nullptr;
  if (function == nullptr) {
    PyRef module(PyImport_ImportModule("tandem._support"));
    if (module) function = PyObject_GetAttrString(module.get(), "torch_function");
    if (function == nullptr) return nullptr;
  }
  return guarded([&] {
    PyRef all(tupleOf(cls, PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args)));
    return PyObject_Call(function, all.get(), kwargs);
  });
}

PyObject* turnOff(PyObject*, PyObject* on) {
  overridesOff += on == Py_True ? 1 : -1;
  Py_RETURN_NONE;
}
PyObject* areOn(PyObject*, PyObject*) { return PyBool_FromLong(overridesOff == 0 ? 1 : 0); }
PyObject* enterMode(PyObject*, PyObject* mode) {
  pushMode(mode);
  Py_RETURN_NONE;
}
PyObject* leaveMode(PyObject*, PyObject*) {
  return guarded([] { return popMode().release(); });
}
PyObject* modeList(PyObject*, PyObject*) {
  return guarded([] {
    PyRef list(checked(PyList_New(0)));
    for (PyObject* mode : modes()) checked(PyList_Append(list.get(), mode));
    return list.release();
  });
}
PyObject* anyOverrides(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyRef items(PySequence_Fast(args, "has_torch_function() takes a tuple of arguments"));
    if (!items) throw PythonError();
    bool found = modesActive > 0;
    for (Py_ssize_t i = 0; overridesOff == 0 && i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      found |= overrides(PySequence_Fast_GET_ITEM(items.get(), i), true);
    return PyBool_FromLong(found ? 1 : 0);
  });
}

/// handle_torch_function: `function`, a tuple of objects whose classes are asked, and the call's args and keywords.
PyObject* handle(PyObject*, PyObject* given) {
  PyObject *function, *relevant, *args, *keywords;
  const char* name;
  if (PyArg_ParseTuple(given, "OsO!O!O!", &function, &name, &PyTuple_Type, &relevant, &PyTuple_Type, &args,
                       &PyDict_Type, &keywords) == 0)
    return nullptr;
  return guarded([&] {
    Asked asked(true);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(relevant); ++i) asked.lookAt(PyTuple_GET_ITEM(relevant, i));
    return asked.ask(function, name, args, keywords);
  });
}

}  // namespace

bool overrides(PyObject* o, bool anyClass) {
  PyTypeObject* cls = Py_TYPE(o);
  if (cls == tensorType || (!anyClass && !isTensor(o)) || PyType_Check(o)) return false;
  return classOverrides(cls);
}

void noteClass(PyTypeObject* cls) { overridesExist = overridesExist || (cls != tensorType && classOverrides(cls)); }

std::optional<PyObject*> askClasses(PyObject* owner, const char* name, const Call& call, bool anyClass) {
  Asked asked(anyClass);
  asked.look(call);
  if (asked.empty()) return std::nullopt;
  if (anyClass) return asked.call(owner, name, call);
  // Beside a tensor of such a class, one that is no Tensor is asked in its turn.
  Asked all(true);
  all.look(call);
  return all.call(owner, name, call);
}

std::optional<PyObject*> askClasses(const char* name, PyObject* self, PyObject* other, bool anyClass) {
  return askClasses(reinterpret_cast<PyObject*>(tensorType), name,
                    Call{self, &other, other != nullptr ? 1 : 0, nullptr}, anyClass);
}

std::optional<PyObject*> askReader(const char* name, const Call& call) {
  Asked asked(false, true);
  asked.look(call.self);
  if (asked.empty()) return std::nullopt;
  return asked.call(reinterpret_cast<PyObject*>(tensorType), name, call);
}

namespace {

/// What a property of Tensor is beside the question: the closure of its descriptor.
struct Property {
  const char* name;
  getter get;
  setter set;
  bool makesTensor;  // then inheriting classes are asked too: the result is to have their class
};

/// What classes make of `property.__get__(self)`, `__set__(self, value)` or `__delete__(self)`.
std::optional<PyObject*> askAbout(const Property& property, const char* what, PyObject* self, PyObject* value) {
  Asked asked(false, !property.makesTensor);
  asked.look(self);
  if (asked.empty()) return std::nullopt;
  PyRef descriptor(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensorType), property.name)));
  return asked.call(descriptor.get(), what, Call{self, &value, value != nullptr ? 1 : 0, nullptr});
}
PyObject* getProperty(PyObject* self, void* closure) {
  const auto& property = *static_cast<const Property*>(closure);
  if (!overridesMayAct()) [[likely]]
    return property.get(self, nullptr);
  return guarded([&]() -> PyObject* {
    if (auto answer = askAbout(property, "__get__", self, nullptr)) return *answer;
    return property.get(self, nullptr);
  });
}
int setProperty(PyObject* self, PyObject* value, void* closure) {
  const auto& property = *static_cast<const Property*>(closure);
  if (!overridesMayAct()) [[likely]]
    return property.set(self, value, nullptr);
  return guardedInt([&] {
    if (auto answer = askAbout(property, value != nullptr ? "__set__" : "__delete__", self, value))
      return PyRef(*answer), 0;
    return property.set(self, value, nullptr);
  });
}

}  // namespace

void askAboutProperties(std::vector<PyGetSetDef>& defs) {
  // Descriptors keep pointers to them for as long as the program runs.
  static std::vector<Property> properties;
  properties.reserve(defs.size());
  for (PyGetSetDef& def : defs) {
    const std::string_view name = def.name;
    if (name == "__dict__") continue;
    const bool makesTensor =
        name == "T" || name == "mT" || name == "H" || name == "mH" || name == "real" || name == "data";
    properties.push_back({def.name, def.get, def.set, makesTensor});
    def.closure = &properties.back();
    def.get = getProperty;
    if (def.set != nullptr) def.set = setProperty;
  }
}

PyMethodDef torchFunctionMethod() {
  return {"__torch_function__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(inherited)),
          METH_VARARGS | METH_KEYWORDS | METH_CLASS,
          "__torch_function__(func, types, args=(), kwargs=None): runs `func`, and gives its results this class."};
}

void initTorchFunction(PyObject* module) {
  static PyMethodDef functions[] = {
      {"_disabled_torch_function_impl", runPlainly, METH_VARARGS,
       "For the attribute `__torch_function__` of a class whose tensors operations treat as plain ones."},
      {"_torch_function_off", turnOff, METH_O,
       "Operations of this thread ask no class (True), or one time less (False)."},
      {"_torch_function_is_on", areOn, METH_NOARGS, "Do operations of this thread ask classes?"},
      {"_push_mode", enterMode, METH_O, "Asks this mode about the operations of this thread, before all others."},
      {"_pop_mode", leaveMode, METH_NOARGS, "Ends the innermost mode, and gives it."},
      {"_modes", modeList, METH_NOARGS, "The modes of this thread, the innermost last."},
      {"_handle_torch_function", handle, METH_VARARGS,
       "(function, name, relevant, args, kwargs): what modes and the classes of `relevant` make of the call."},
      {"_has_torch_function", anyOverrides, METH_O, "Does one of the arguments say what operations do?"},
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, functions));
  disabled = checked(PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
}

}  // namespace tandem::python
