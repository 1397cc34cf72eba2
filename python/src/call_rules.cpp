// What kinds of C functions do with their arguments, as the tables (understood.cpp) name them.
#include "python/src/call_rules.h"

#include <algorithm>

#include "python/src/convert.h"
#include "python/src/py_tensor.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python::rules {

/// Depends on plain values; a tensor's value is read, an object's `__float__` and its like are entered.
void pure(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    o.guardNumber(args[i]);
    if (isPythonClass(Py_TYPE(args[i])))
      o.readType(args[i]);
    else
      o.operand(args[i]);
  }
}
/// Is asked of the class of its first argument.
void asksClass(Observer& o, Args args, Py_ssize_t n) {
  if (n > 0) {
    o.readType(args[0]);
    // What it is derived from may change.
    if (PyType_Check(args[0])) o.guards().type(reinterpret_cast<PyTypeObject*>(args[0]));
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (i > 0 && isTuple(args[i])) o.iterate(args[i]);
    o.askedClass(args[i]);
  }
}
void asksType(Observer& o, Args args, Py_ssize_t n) {
  if (n == 1) o.readType(args[0]);
}
void asksAbstract(Observer& o, Args args, Py_ssize_t n) {
  asksClass(o, args, n);
  if (n != 2 || !o.proved()) return;
  // Abstract classes keep what they said of a class until one is registered. Their code, which is asked the first time,
  // is run here, unwatched.
  static_cast<void>(PyObject_IsInstance(args[1], args[0]));
  if (PyType_Check(args[1])) static_cast<void>(PyObject_IsSubclass(args[1], args[0]));
  PyErr_Clear();
  o.guards().abstractClasses();
}
/// Goes through its arguments. Numbers in them are handed on, but to a class, which is called with them.
void iterates(Observer& o, Args args, Py_ssize_t n) {
  const bool looks = std::any_of(args, args + n, [](PyObject* arg) { return PyType_Check(arg) != 0; });
  (looks ? iteratesNumbers : handsItemsOn)(o, args, n);
}
void handsItemsOn(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    o.guardNumber(args[i]);
    if (!PyFunction_Check(args[i]) && !isPlain(args[i]) && PyType_Check(args[i]) == 0) o.iterate(args[i]);
  }
}
/// Goes through its arguments, and asks numbers in them for their values.
void iteratesNumbers(Observer& o, Args args, Py_ssize_t n) {
  handsItemsOn(o, args, n);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (PyList_CheckExact(args[i]) || isTuple(args[i]))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(args[i]); ++k)
        o.guardNumber(PySequence_Fast_GET_ITEM(args[i], k));
}
PyRef functionOfMap(PyObject* map) {
  const PyRef parts(PyObject_CallMethod(map, "__reduce__", nullptr));
  PyErr_Clear();
  return parts ? PyRef::borrow(PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), 0)) : PyRef();
}
/// Goes through its argument and asks C's questions of each item: is it true, is it less than another?
void weighs(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n && o.proved(); ++i) {
    PyObject* items = args[i];
    if (PyFunction_Check(items) || isPlain(items) || isTensor(items)) {
      o.guardNumber(items);
      continue;
    }
    iterates(o, args + i, 1);
    if (PyGen_CheckExact(items) || PyRange_Check(items)) continue;  // what it yields was looked at then
    if (Py_TYPE(items) == &PyMap_Type) {
      const PyRef function = functionOfMap(items);
      PyObject* f = function.get();
      const bool number =
          f == reinterpret_cast<PyObject*>(&PyLong_Type) || f == reinterpret_cast<PyObject*>(&PyFloat_Type);
      if (f == nullptr || (!number && !PyFunction_Check(f) && !givesPlain(f)))
        o.refuse("items made by a C function are weighed");
      continue;
    }
    PyRef list;
    if (!PyList_CheckExact(items) && !isTuple(items)) {
      if (Py_TYPE(items)->tp_iternext != nullptr) {
        o.refuse("items of an iterator are weighed");
        continue;
      }
      list = PyRef(PySequence_List(items));
      if (!list) {
        PyErr_Clear();
        o.refuse("items are weighed");
        continue;
      }
      items = list.get();
    }
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(items); ++k) {
      PyObject* item = PySequence_Fast_GET_ITEM(items, k);
      o.truth(item);
      if (!isTensor(item)) o.binary(item, item);
    }
  }
}
/// The first of several numbers than which no other is less, or greater, is one of them: which one, the trace holds
/// for.
bool choosesNumber(Observer& o, Args args, Py_ssize_t n, ScalarCondition::Is better) {
  if (n < 2 || !std::all_of(args, args + n, isOperand)) return false;
  PyObject* best = args[0];
  for (Py_ssize_t i = 1; i < n; ++i) {
    const bool own = o.slotOf(args[i]) != nullptr || o.slotOf(best) != nullptr;
    if (own && !o.compares(better, args[i], best)) return false;
    const int is = PyObject_RichCompareBool(args[i], best, better == ScalarCondition::Is::Less ? Py_LT : Py_GT);
    if (is > 0) best = args[i];
  }
  return true;
}
/// An operation each of whose numbers is an operand.
void scales(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) o.factor(args[i]);
}
void weighsFloats(Observer& o, Args args, Py_ssize_t n) {
  if (n > 0 && Py_TYPE(args[0]) == &PyMap_Type) return o.refuse("items made by a function are weighed");
  weighs(o, args, n);
}
/// `any` and `all`.
void asksEach(Observer& o, Args args, Py_ssize_t n) {
  if (n == 1 && (PyList_CheckExact(args[0]) || isTuple(args[0]))) {
    o.iterate(args[0]);
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(args[0]); ++k) o.truth(PySequence_Fast_GET_ITEM(args[0], k));
    return;
  }
  weighs(o, args, n);
}
void firstIterates(Observer& o, Args args, Py_ssize_t n) {
  if (n > 0) iterates(o, args, 1);
  if (n > 1) pure(o, args + 1, n - 1);
}
void mutates(Observer& o, Args args, Py_ssize_t n) {
  if (n > 0) o.mutate(args[0], "something is changed");
}
void mutatesKey(Observer& o, Args args, Py_ssize_t n) {
  if (n > 1) o.hashes(args[1]);
  mutates(o, args, n);
}
void setsDefault(Observer& o, Args args, Py_ssize_t n) {
  const bool there = n > 1 && PyDict_Contains(args[0], args[1]) == 1;
  PyErr_Clear();
  there ? o.dictItem(args[0], args[1]) : mutatesKey(o, args, n);
}
void mutatesAt(Observer& o, Args args, Py_ssize_t n) {
  if (n > 1) o.index(args[1]);
  mutates(o, args, n);
}
void removes(Observer& o, Args args, Py_ssize_t n) {
  mutates(o, args, 1);
  if (n > 1) o.searched(args[0], args[1]);
}
void searches(Observer& o, Args args, Py_ssize_t n) {
  firstIterates(o, args, n);
  if (n > 1 && o.proved()) o.searched(args[0], args[1]);
}
void iteratesKeys(Observer& o, Args args, Py_ssize_t n) {
  iterates(o, args, n);
  for (Py_ssize_t i = 0; i < n; ++i) o.hashesTensors(args[i]);
}
void asksKey(Observer& o, Args args, Py_ssize_t n) {
  firstIterates(o, args, n);
  if (n > 1) o.hashes(args[1]);
}
void hashed(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) o.hashOf(args[i]);
  pure(o, args, n);
}
void asksIdentity(Observer& o, Args args, Py_ssize_t n) {
  if (n == 2) o.identity(args[0], args[1]);
  if (n == 1) o.hashOf(args[0]);
}
void appends(Observer& o, Args args, Py_ssize_t n) {
  if (n == 2) o.append(args[0]);
}
void updates(Observer& o, Args args, Py_ssize_t n) {
  mutates(o, args, n);
  if (n > 1) (PyDict_Check(args[0]) ? iteratesPairs : iteratesKeys)(o, args + 1, n - 1);
}
void extends(Observer& o, Args args, Py_ssize_t n) {
  mutates(o, args, n);
  if (n > 1) iterates(o, args + 1, n - 1);
}
void getsItem(Observer& o, Args args, Py_ssize_t n) {
  if (n > 1) o.dictItem(args[0], args[1], n > 2);
}
void getsItemOrNone(Observer& o, Args args, Py_ssize_t n) {
  if (n > 1) o.dictItem(args[0], args[1], true);
}
void givesItemOrNone(Observer& o, Args args, Py_ssize_t n) {
  o.loading([&] { getsItemOrNone(o, args, n); });
}
void subscripts(Observer& o, Args args, Py_ssize_t n) {
  if (n != 2) return;
  o.subscript(args[0], args[1]);
  if (PySlice_Check(args[1]) && PyList_CheckExact(args[0])) o.gives(Observer::Gives::New);
}
void operation(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) o.operand(args[i]);
}
void makesLeaf(Observer& o, Args args, Py_ssize_t n) {
  if (n == 1 || (n == 2 && args[1] == Py_True)) return o.makeLeaf(args[0]);
  operation(o, args, n);
}
void endsFunction(Observer& o, Args args, Py_ssize_t n) {
  if (n > 1) o.keepContext(args[1]);
}
void hooks(Observer& o, Args args, Py_ssize_t n) {
  if (n < 1 || !isTensor(args[0])) return o.refuse("a hook of a node changes");
  o.changeHooks(args[0]);
}
void detaches(Observer& o, Args args, Py_ssize_t n) {
  if (n < 1 || !isTensor(args[0])) return o.refuse("something else than a tensor is detached");
  o.cutHistory(args[0]);
}
void views(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 1; i < n; ++i)
    if (isDType(args[i])) return o.refuse("memory is looked at in another dtype");
  operation(o, args, n);
}
void nothing(Observer&, Args, Py_ssize_t) {}
void length(Observer& o, Args args, Py_ssize_t n) {
  if (n == 1) o.length(args[0]);
}
void advances(Observer& o, Args args, Py_ssize_t n) {
  if (n > 0 && !o.fresh(args[0])) o.refuse("an iterator that was there before is advanced");
  if (n == 1 && o.isMaker(args[0])) o.gives(Observer::Gives::New);
}
void getsAttribute(Observer& o, Args args, Py_ssize_t n) {
  if (n >= 2 && PyUnicode_Check(args[1])) return o.attribute(args[0], args[1]);
  o.refuse("getattr");
}
/// `object.__reduce_ex__`, by which `copy` makes another object of the attributes of one.
void reducesToState(Observer& o, Args args, Py_ssize_t n) {
  PyTypeObject* type = Py_TYPE(args[0]);
  for (const char* name : {"__getstate__", "__reduce__", "__getnewargs__", "__getnewargs_ex__", "__slots__"}) {
    const PyRef key(interned(name));
    if (_PyType_Lookup(type, key.get()) != _PyType_Lookup(&PyBaseObject_Type, key.get()) || n != 2)
      return o.refuse("a copy that its class decides");
  }
  if (!isPythonClass(type)) return o.refuse("a copy of an object of type " + std::string(type->tp_name));
  static PyObject* dictName = interned("__dict__");
  o.attribute(args[0], dictName);
  const PyRef dict(checked(PyObject_GenericGetDict(args[0], nullptr)));
  o.iterate(dict.get());
}
void givesAttribute(Observer& o, Args args, Py_ssize_t n) {
  o.loading([&] { getsAttribute(o, args, n); });
}
void setsAttribute(Observer& o, Args args, Py_ssize_t n) {
  if (n == 3 && PyUnicode_Check(args[1])) return o.storeAttribute(args[0], args[1], args[2]);
  o.refuse("setattr");
}
void objectSetsAttribute(Observer& o, Args args, Py_ssize_t n) {
  if (n == 3 && o.fresh(args[0])) return;
  const std::string what = "an attribute of an object that was there before is assigned";
  if (n != 3 || !PyUnicode_Check(args[1])) return o.refuse(what);
  PyObject* found = _PyType_Lookup(Py_TYPE(args[0]), args[1]);
  if (found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr) return o.refuse(what);
  PyRef dict(PyObject_GenericGetDict(args[0], nullptr));
  PyErr_Clear();
  o.readType(args[0]);
  o.assign(args[0], dict.get(), args[1], args[2], what + " (" + nameText(args[1]) + ")");
}
void lends(Observer& o, Args args, Py_ssize_t n) {
  if (n == 3) o.lend(args[0], args[1], args[2]);
}
void identity(Observer& o, Args args, Py_ssize_t n) {
  if (n == 1 && o.covered(args[0])) o.refuse("the identity of an argument is asked");
}
void asText(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    o.guardNumber(args[i]);
    if (saysItself(args[i]) || PyType_Check(args[i])) continue;
    // Of the interpreter's own exceptions the text is made of what they were given.
    const PyTypeObject* type = Py_TYPE(args[i]);
    PyRef given(PyExceptionInstance_Check(args[i]) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 && o.fresh(args[i])
                    ? PyObject_GetAttrString(args[i], "args")
                    : nullptr);
    bool plain = given && PyTuple_Check(given.get());
    for (Py_ssize_t k = 0; plain && k < PyTuple_GET_SIZE(given.get()); ++k) {
      PyObject* part = PyTuple_GET_ITEM(given.get(), k);
      o.guardNumber(part);
      plain = isPlain(part);
    }
    if (!plain) o.refuse("an object is written as text");
  }
}
void formats(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PyList_CheckExact(args[i]) || (isTuple(args[i]) && !isSize(args[i]))) {
      o.iterate(args[i]);
      asText(o, PySequence_Fast_ITEMS(args[i]), PySequence_Fast_GET_SIZE(args[i]));
    } else {
      asText(o, args + i, 1);
    }
  }
}
void setsVariable(Observer& o, Args args, Py_ssize_t n) {
  if (n > 0) o.setVariable(args[0]);
}
void asksVariable(Observer& o, Args args, Py_ssize_t n) {
  if (n < 1 || o.hasSet(args[0])) return;
  const PyRef get(PyObject_GetAttrString(args[0], "get"));
  if (get) o.repeats(get.get(), args + 1, n - 1);
}
void makesSuper(Observer& o, Args args, Py_ssize_t n) {
  if (n > 1) o.readType(args[1]);
}
void asksContains(Observer& o, Args args, Py_ssize_t n) {
  if (n == 2) o.contains(args[0], args[1]);
}
void asksTruth(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) o.truth(args[i]);
}

}  // namespace tandem::python::rules
