// Rules for C functions that hand the items of iterables to other functions, or look into them: `map(list, rows)`,
// `functools.reduce(operator.getitem, keys, settings)`, `dict(pairs)`, `max(rows, key=len)`. A function in Python is
// entered, and what it does is seen then. What C functions do with an item must be known for each of them, so that the
// items must be there before the call: those of an iterator are not.
#include <algorithm>
#include <string_view>
#include <vector>

#include "python/src/call_rules.h"
#include "python/src/convert.h"
#include "python/src/py_tensor.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python::rules {

namespace {

bool isMethodOfPython(PyObject* f) { return PyMethod_Check(f) && PyFunction_Check(PyMethod_GET_FUNCTION(f)); }
bool isFunctionOfPython(PyObject* f) { return PyFunction_Check(f) || isMethodOfPython(f); }

/// Is it Python's code that a call enters?
bool isEntered(PyObject* f) {
  return isFunctionOfPython(f) || isPythonClass(Py_TYPE(f)) ||
         (PyType_Check(f) && isPythonClass(reinterpret_cast<PyTypeObject*>(f)));
}
bool isType(PyObject* o, std::initializer_list<PyTypeObject*> types) {
  return std::ranges::any_of(types, [&](PyTypeObject* t) { return o == reinterpret_cast<PyObject*>(t); });
}
bool isContainer(PyObject* o) { return PyList_CheckExact(o) || PyDict_CheckExact(o) || PySet_CheckExact(o); }

/// The name of a function of the module `operator`, or nothing.
std::string_view nameOfOperator(PyObject* f) {
  if (!PyCFunction_Check(f)) return {};
  const auto* function = reinterpret_cast<PyCFunctionObject*>(f);
  PyObject* module = function->m_module;
  const bool is =
      module != nullptr && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "_operator") == 0;
  return is ? function->m_ml->ml_name : std::string_view();
}
bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}
/// A method of a type as it is found in that.
bool isMethodOf(PyObject* f, PyTypeObject& type, const char* name) {
  const PyRef key(interned(name));
  return f == _PyType_Lookup(&type, key.get());
}

std::vector<PyObject*> listed(PyObject* sequence) {
  return {PySequence_Fast_ITEMS(sequence), PySequence_Fast_ITEMS(sequence) + PySequence_Fast_GET_SIZE(sequence)};
}
bool isSimple(PyObject* o) { return isPlain(o) || isTensor(o); }

/// A C function that has nothing to look at but its arguments.
bool looksAtArguments(PyObject* f) {
  static PyTypeObject* const partial = typeNamed("functools", "partial");
  if (Py_TYPE(f) == partial) {
    const PyRef inner(PyObject_GetAttrString(f, "func")), bound(PyObject_GetAttrString(f, "args")),
        named(PyObject_GetAttrString(f, "keywords"));
    if (!inner || !bound || !named || !PyDict_CheckExact(named.get())) return PyErr_Clear(), false;
    const PyRef values(PyDict_Values(named.get()));
    return looksAtArguments(inner.get()) && std::ranges::all_of(listed(bound.get()), isSimple) &&
           std::ranges::all_of(listed(values.get()), isSimple);
  }
  PyObject* self = PyCFunction_Check(f) ? PyCFunction_GET_SELF(f) : nullptr;
  if (PyCFunction_Check(f)) return self == nullptr || PyModule_Check(self);
  return isType(f, {&PyLong_Type, &PyFloat_Type, &PyBool_Type, &PyUnicode_Type}) ||
         (Py_TYPE(f) == &PyMethodDescr_Type && (PyDescr_TYPE(f) == tensorType || PyDescr_TYPE(f) == &PyUnicode_Type));
}

/// The items of an iterable that was gone through; null where it must be advanced to tell them.
PyRef itemsOf(PyObject* o) {
  constexpr Py_ssize_t kMost = 100000;  // of what has no items in memory
  if (PyList_CheckExact(o) || isTuple(o)) return PyRef::borrow(o);
  if (PyRange_Check(o) && PyObject_Size(o) > kMost) return {};
  const bool again = isDict(o) || PyAnySet_CheckExact(o) || PyRange_Check(o) || PyUnicode_CheckExact(o) ||
                     PyBytes_CheckExact(o) || PyDictKeys_Check(o) || PyDictItems_Check(o) || PyDictValues_Check(o);
  PyRef list(again ? PySequence_List(o) : nullptr);
  PyErr_Clear();
  return list;
}

/// `itertools.repeat(item)`, which has no end.
struct Repeat {
  PyObject_HEAD PyObject* item;
  Py_ssize_t left;  // less than 0: for ever
};
bool isEndless(PyObject* o) {
  static PyTypeObject* const repeat = typeNamed("itertools", "repeat");
  return Py_TYPE(o) == repeat && reinterpret_cast<Repeat*>(o)->left < 0;
}

/// How many of the arguments of the call that is looked at have names, which are the last of `n`.
Py_ssize_t numNamed(const Observer& o, Py_ssize_t n) {
  PyObject* names = o.keywords();
  return names != nullptr && PyTuple_GET_SIZE(names) < n ? PyTuple_GET_SIZE(names) : 0;
}

/// `all[0][all[1]][all[2]]`, or the like by `dict.get`.
void follows(Observer& o, const std::vector<PyObject*>& all, bool absent) {
  PyRef at = PyRef::borrow(all[0]);
  for (std::size_t i = 1; i < all.size() && o.proved(); ++i) {
    PyObject* key = all[i];
    PyObject* from = at.get();
    if (isSimple(from)) return pure(o, &all[i - 1], 1);
    const bool dict = PyDict_CheckExact(from);
    if (!isPlain(key) || !(dict || (!absent && (PyList_CheckExact(from) || PyTuple_CheckExact(from)))))
      return o.refuse("items are looked up by a C function in an object of type " + typeName(from));
    auto look = [&] { absent ? o.dictItem(from, key, true) : o.subscript(from, key); };
    if (i + 1 == all.size())
      o.loading(look);
    else
      look();
    at = dict ? PyRef::borrow(PyDict_GetItemWithError(from, key)) : PyRef(PyObject_GetItem(from, key));
    PyErr_Clear();
    if (!at) return;  // None, or an error
  }
}

/// A C function is called with the first two, with what it gives and the third, and so on.
void folds(Observer& o, PyObject* f, const std::vector<PyObject*>& all, bool givesLast) {
  auto are = [&](auto&& kind) { return std::ranges::all_of(all, kind); };
  const std::string_view name = nameOfOperator(f);
  const bool simple = looksAtArguments(f) && are(isSimple);
  const bool ofClasses =
      isOneOf(name, {"add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_", "xor", "matmul", "pow"}) &&
      are([](PyObject* item) { return isSimple(item) || isPythonClass(Py_TYPE(item)); });
  if (simple || ofClasses) {
    for (PyObject* item : all) pure(o, &item, 1);
    return static_cast<void>(o.call(f, nullptr, 0));
  }
  const bool get = isMethodOf(f, PyDict_Type, "get");
  if (givesLast && !all.empty() && (get || name == "getitem" || isMethodOf(f, PyDict_Type, "__getitem__")))
    return follows(o, all, get);
  const bool joined =
      (name == "add" && (are([](PyObject* i) { return PyList_CheckExact(i); }) ||
                         are([](PyObject* i) { return PyTuple_CheckExact(i); }))) ||
      (name == "or_" && are([](PyObject* i) { return PyDict_CheckExact(i); })) ||
      (isOneOf(name, {"or_", "and_", "xor", "sub"}) && are([](PyObject* i) { return PySet_CheckExact(i); }));
  if (!joined) return o.refuse("items meet in a C function (" + nameOf(f) + ")");
  for (PyObject* item : all) o.iterate(item);
  if (givesLast && all.size() > 1 && !PyTuple_CheckExact(all[0])) o.gives(Observer::Gives::New);
}

/// What a C function gives for an item is weighed.
void weighsBy(Observer& o, PyObject* key, PyObject* item) {
  static PyTypeObject* const getter = typeNamed("operator", "itemgetter");
  PyObject* self = PyCFunction_Check(key) ? PyCFunction_GET_SELF(key) : nullptr;
  const bool looksUp = self != nullptr && PyDict_CheckExact(self) && isPlain(item) &&
                       std::string_view(reinterpret_cast<PyCFunctionObject*>(key)->m_ml->ml_name) == "get";
  const bool takes =
      Py_TYPE(key) == getter && (PyList_CheckExact(item) || PyTuple_CheckExact(item) || PyDict_CheckExact(item));
  if (looksUp)
    o.dictItem(self, item, true);
  else if (takes || givesPlain(key) || (isPlain(item) && looksAtArguments(key)))
    static_cast<void>(o.call(key, &item, 1));
  else
    return o.refuse("items are weighed by a C function (" + nameOf(key) + ")");
  if (!o.proved() || !(looksUp || takes)) return;
  const PyRef value(PyObject_CallOneArg(key, item));
  PyErr_Clear();
  if (value) o.truth(value.get());
  if (value && !isTensor(value.get())) o.binary(value.get(), value.get());
}

/// What a function in Python gives, or a generator yields, is compared as a whole.
void weighsGiven(Observer& o, PyObject* giver) {
  PyRef f = Py_TYPE(giver) == &PyMap_Type ? functionOfMap(giver) : PyRef::borrow(giver);
  if (f && PyMethod_Check(f.get())) f = PyRef::borrow(PyMethod_GET_FUNCTION(f.get()));
  if (!f || !(PyFunction_Check(f.get()) || PyGen_CheckExact(f.get()))) return;
  const PyRef code(PyObject_GetAttrString(f.get(), PyFunction_Check(f.get()) ? "__code__" : "gi_code"));
  PyErr_Clear();
  if (code) o.weighsWhatGives(code.get());
}
void weighsWhole(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) weighsGiven(o, args[i]);
  weighs(o, args, n);
}

/// `items` are weighed by what `key` says of them.
void weighsEachBy(Observer& o, PyObject* key, Args items, Py_ssize_t n) {
  if (isFunctionOfPython(key)) {
    weighsGiven(o, key);
    return handsItemsOn(o, items, n);
  }
  iteratesNumbers(o, items, n);
  if (!o.proved()) return;
  const PyRef all = n == 1 ? itemsOf(items[0]) : PyRef();
  if (!all) return o.refuse("items of an iterator are weighed by a C function");
  for (PyObject* item : listed(all.get()))
    if (o.proved()) weighsBy(o, key, item);
  o.gives(Observer::Gives::NothingNew);
}

/// Types whose call gives a new container each time.
bool makesContainers(PyObject* f) { return isType(f, {&PyList_Type, &PyDict_Type, &PySet_Type}); }

/// `f` is called with items of all iterables that come behind it.
void callsForEach(Observer& o, PyObject* f, Args args, Py_ssize_t n) {
  if (n > 1) (isFunctionOfPython(f) ? handsItemsOn : iteratesNumbers)(o, args + 1, n - 1);
  // Numbers say by operators what is asked of them (tracked_numbers.h).
  if (isEntered(f) || isType(f, {&PyLong_Type, &PyFloat_Type})) return static_cast<void>(o.call(f, nullptr, 0));
  if (n == 2 && isType(f, {&PyList_Type, &PyTuple_Type}) && makesTuples(args[1])) return;
  constexpr Py_ssize_t kEndless = PY_SSIZE_T_MAX;
  std::vector<PyRef> lists;
  Py_ssize_t count = kEndless;
  for (Py_ssize_t i = 1; i < n; ++i) {
    const bool repeats = isEndless(args[i]);
    lists.push_back(repeats ? PyRef::borrow(args[i]) : itemsOf(args[i]));
    if (!lists.back()) return o.refuse("a C function is mapped over an iterator");
    if (!repeats) count = std::min(count, PySequence_Fast_GET_SIZE(lists.back().get()));
  }
  if (count == kEndless) return o.refuse("a C function is mapped over an iterator");
  std::vector<PyObject*> items(lists.size());
  for (Py_ssize_t k = 0; k < count && o.proved(); ++k) {
    std::ranges::transform(lists, items.begin(), [&](const PyRef& list) {
      return isEndless(list.get()) ? reinterpret_cast<Repeat*>(list.get())->item
                                   : PySequence_Fast_GET_ITEM(list.get(), k);
    });
    (void)o.call(f, items.data(), static_cast<Py_ssize_t>(items.size()));
  }
}
void chooses(Observer& o, Args args, Py_ssize_t n, ScalarCondition::Is better) {
  PyObject* names = o.keywords();
  const Py_ssize_t named = numNamed(o, n);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* key = args[n - named + i];
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "key") != 0 || key == Py_None) continue;
    return weighsEachBy(o, key, args, n - named);
  }
  if (!choosesNumber(o, args, n, better)) weighsWhole(o, args, n);
}

}  // namespace

void leastOf(Observer& o, Args args, Py_ssize_t n) { chooses(o, args, n, ScalarCondition::Is::Less); }
void greatestOf(Observer& o, Args args, Py_ssize_t n) { chooses(o, args, n, ScalarCondition::Is::Greater); }

void sums(Observer& o, Args args, Py_ssize_t n) {
  weighsWhole(o, args, n);
  auto isList = [](PyObject* item) { return PyList_CheckExact(item) != 0; };
  if (n != 2 || !isList(args[1]) || !(isList(args[0]) || PyTuple_CheckExact(args[0]))) return;
  const std::vector<PyObject*> items = listed(args[0]);
  if (!items.empty() && std::ranges::all_of(items, isList)) o.gives(Observer::Gives::New);
}

namespace {
/// Items that are no tuples are taken apart.
void takesApart(Observer& o, PyObject* from) {
  if (isDict(from) || isPlain(from) || isTensor(from)) return;
  if (const PyRef items = itemsOf(from)) {
    for (PyObject* item : listed(items.get()))
      if (!isPlain(item) && !isTuple(item)) o.iterate(item);
  } else if (Py_TYPE(from) == &PyMap_Type) {
    const PyRef f = functionOfMap(from);
    if (!f || !(isFunctionOfPython(f.get()) || o.isMaker(from))) o.refuse("items made by a C function are taken apart");
  } else if (isIterator(from) && !makesTuples(from) && !PyGen_CheckExact(from)) {
    o.refuse("items of an iterator are taken apart");
  }
}
}  // namespace

void iteratesPairs(Observer& o, Args args, Py_ssize_t n) {
  iterates(o, args, n);
  for (Py_ssize_t i = 0; i < n && o.proved(); ++i) {
    o.hashesTensors(args[i], true);
    takesApart(o, args[i]);
  }
}
void chains(Observer& o, Args args, Py_ssize_t n) {
  if (n != 1) return;
  handsItemsOn(o, args, n);
  if (!o.proved()) return;
  if (!isDict(args[0])) return takesApart(o, args[0]);
  const PyRef keys = itemsOf(args[0]);
  takesApart(o, keys.get());
}
void named(Observer& o, Args, Py_ssize_t n) {
  PyObject* names = o.keywords();
  if (n > 0 && (names == nullptr || PyTuple_GET_SIZE(names) != n)) o.refuse("a namespace is made of another object");
}

/// A function, and iterables whose items it is called with.
void maps(Observer& o, Args args, Py_ssize_t n) {
  if (n < 1) return;
  PyObject* f = args[0];
  callsForEach(o, f, args, n);
  o.gives(makesContainers(f) ? Observer::Gives::Maker : Observer::Gives::NothingNew);
}
/// `filter`, which asks whether items are true, or what a function says of them.
void filters(Observer& o, Args args, Py_ssize_t n) {
  if (n != 2) return;
  if (args[0] == Py_None) return asksEach(o, args + 1, 1);
  takesWhile(o, args, n);
}
void takesWhile(Observer& o, Args args, Py_ssize_t n) {
  if (n != 2) return;
  if (!isFunctionOfPython(args[0]) && !givesPlain(args[0]) && !isType(args[0], {&PyBool_Type}))
    return o.refuse("items are filtered by a C function");
  maps(o, args, n);
}
/// `sorted` and its like: the key function is entered if it is Python's.
void sorts(Observer& o, Args args, Py_ssize_t n) {
  bool keyed = false;
  for (Py_ssize_t i = 1; i < n; ++i) {
    if (isPlain(args[i])) continue;
    weighsEachBy(o, args[i], args, 1);
    keyed = true;
  }
  if (n > 0 && !keyed) weighsWhole(o, args, 1);
}
void sortsInPlace(Observer& o, Args args, Py_ssize_t n) {
  mutates(o, args, 1);
  sorts(o, args, n);
}

void reduces(Observer& o, Args args, Py_ssize_t n) {
  if (n < 2) return;
  PyObject* f = args[0];
  (isFunctionOfPython(f) ? handsItemsOn : iteratesNumbers)(o, args + 1, 1);
  if (n > 2 && !isFunctionOfPython(f)) o.guardNumber(args[2]);
  if (isEntered(f)) return static_cast<void>(o.call(f, nullptr, 0));
  const PyRef items = itemsOf(args[1]);
  if (!items) return o.refuse("a C function meets the items of an iterator");
  std::vector<PyObject*> all = listed(items.get());
  if (n > 2) all.insert(all.begin(), args[2]);
  folds(o, f, all, true);
}
void accumulates(Observer& o, Args args, Py_ssize_t n) {
  if (n < 1) return;
  static PyObject* const add =
      checked(PyObject_GetAttrString(PyRef(checked(PyImport_ImportModule("operator"))).get(), "add"));
  PyObject* names = o.keywords();
  const Py_ssize_t named = numNamed(o, n);
  PyObject* f = n - named > 1 ? args[1] : add;
  PyObject* first = nullptr;
  for (Py_ssize_t i = 0; i < named; ++i)
    (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "func") == 0 ? f : first) = args[n - named + i];
  if (f == Py_None) f = add;
  if (first == Py_None) first = nullptr;
  if (isFunctionOfPython(f)) {
    handsItemsOn(o, args, 1);
    return static_cast<void>(o.call(f, nullptr, 0));
  }
  iteratesNumbers(o, args, 1);
  const PyRef items = itemsOf(args[0]);
  if (!items) return o.refuse("a C function meets the items of an iterator");
  std::vector<PyObject*> all = listed(items.get());
  if (first != nullptr) {
    o.guardNumber(first);
    all.insert(all.begin(), first);
  }
  folds(o, f, all, false);
}
void starmaps(Observer& o, Args args, Py_ssize_t n) {
  if (n != 2) return;
  PyObject* f = args[0];
  handsItemsOn(o, args + 1, 1);
  const PyRef rows = itemsOf(args[1]);
  if (!rows && !(isEntered(f) && (makesTuples(args[1]) || PyGen_CheckExact(args[1]))))
    return o.refuse("items of an iterator are taken apart");
  if (isEntered(f)) (void)o.call(f, nullptr, 0);
  for (PyObject* row : rows ? listed(rows.get()) : std::vector<PyObject*>()) {
    if (!o.proved()) return;
    isFunctionOfPython(f) ? handsItemsOn(o, &row, 1) : iteratesNumbers(o, &row, 1);
    const PyRef items = itemsOf(row);
    if (!items) return o.refuse("items of an iterator are taken apart");
    if (!isEntered(f)) (void)o.call(f, listed(items.get()).data(), PySequence_Fast_GET_SIZE(items.get()));
  }
  o.gives(makesContainers(f) ? Observer::Gives::Maker : Observer::Gives::NothingNew);
}

void arithmetic(Observer& o, Args args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    o.guardNumber(args[i]);
    o.binary(args[i], args[i]);
  }
}
void joins(Observer& o, Args args, Py_ssize_t n) {
  arithmetic(o, args, n);
  auto known = [](PyObject* i) { return isContainer(i) || isPlain(i); };
  if (n == 2 && known(args[0]) && known(args[1]) && (isContainer(args[0]) || isContainer(args[1])))
    o.gives(Observer::Gives::New);
}
void changesFirst(Observer& o, Args args, Py_ssize_t n) {
  arithmetic(o, args, n);
  if (n > 0 && (PyList_Check(args[0]) || PyDict_Check(args[0]) || PySet_Check(args[0])))
    o.mutate(args[0], "something is changed");
}

}  // namespace tandem::python::rules
