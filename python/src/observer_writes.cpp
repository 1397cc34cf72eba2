// What a watched body writes: to what it made itself without more ado; to objects that were there before what a plan
// writes again (tensors, attributes and items that it did not look at before). Everything else is a refusal.
#include <Python.h>
#include <algorithm>

#include "autograd/autograd.h"
#include "autograd/node.h"
#include "python/src/convert.h"
#include "python/src/device_object.h"
#include "python/src/function_bindings.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"
#include "python/src/run_time_numbers.h"

namespace tandem::python {

void Observer::storeAttribute(PyObject* o, PyObject* name, PyObject* v) {
  static PyObject* gradName = interned("grad");
  static PyObject* requiresGradName = interned("requires_grad");
  PyTypeObject* type = Py_TYPE(o);
  if (isTensor(o)) {
    if (PyUnicode_Compare(name, gradName) == 0) return use(o);  // a slot of the trace (GradObserver)
    if (PyUnicode_Compare(name, requiresGradName) == 0) {       // what a tensor is is compared at the end
      v == Py_True ? makeLeaf(o) : use(o);
      return;
    }
    return refuse("an attribute of a tensor is assigned (" + nameText(name) + ")");
  }
  if (PyFunction_Check(o) && fresh(o)) return;
  if (!isPythonClass(type) && !isNamespace(o) &&
      !((isTuple(o) || type == &PyODict_Type || isDerivedValue(o)) && fresh(o)))
    return refuse("an attribute of an object of type " + typeName(o) + " is assigned");
  readType(o);
  static PyObject* setName = interned("__setattr__");
  PyObject* setter = _PyType_Lookup(type, setName);
  if (setter != nullptr && PyFunction_Check(setter)) return;
  PyObject* found = _PyType_Lookup(type, name);
  if (found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr && Py_TYPE(found) != &PyMemberDescr_Type) {
    readType(found);
    if (isPythonClass(Py_TYPE(found))) return;  // `__set__` is entered
    PyRef setter(Py_TYPE(found) == &PyProperty_Type ? PyObject_GetAttrString(found, "fset") : nullptr);
    PyErr_Clear();
    if (setter && (setter.get() == Py_None || PyFunction_Check(setter.get()))) return;
    return refuse("an attribute is assigned (" + nameText(name) + ")");
  }
  if (fresh(o)) return;
  PyRef dict(type->tp_dictoffset != 0 ? PyObject_GenericGetDict(o, nullptr) : nullptr);
  PyErr_Clear();
  assign(o, dict.get(), name, v,
         "an attribute of an object that was there before is assigned (" + nameText(name) + ")");
}

void Observer::assign(PyObject* owner, PyObject* dict, PyObject* key, PyObject* v, const std::string& what) {
  const char* name = dict != nullptr && PyUnicode_CheckExact(key) ? PyUnicode_AsUTF8(key) : nullptr;
  if (name == nullptr) return refuse(what);
  const Place place(dict, name);
  PyObject* holder = owner != nullptr ? owner : dict;
  if (!isLent(dict, key) && isThere(PyDict_GetItemWithError(dict, key), v)) {
    // The value that is there already is no change, as the tensor that `self.count += 1` and `counts["n"] += 1` give
    // back. Of arguments the signature knows; one that stands in an object by chance is another tensor at another call.
    if (covered(holder)) return;
    if (!covered(v)) {
      guards_.item(owner, dict, key, v);
      return value(v);
    }
  }
  if (lent_.contains(place) || covered(holder)) return refuse(what);
  if (!mayAssign_) {
    // Nobody assigns it again: at the end it must be what it was, at every call.
    if (slotOf(v) != nullptr) guardNumber(v);
    if (isRestored(place)) return;
    if (places_.contains(place)) return refuse(what);
    PyObject* before = PyDict_GetItemWithError(dict, key);
    if (before == nullptr) {
      checkRestored();  // what is to be told is the first that stays changed
      return refuse(what);
    }
    if (!guards_.has({holder, PyRef::borrow(key), owner != nullptr}, dict)) guards_.item(owner, dict, key, before);
    restored_.push_back({place, PyRef::borrow(dict), PyRef::borrow(before), atLine(what)});
    places_.insert(place);
    return;
  }
  if (!places_.insert(place).second) return;
  using Kind = AssignedPlace::Kind;
  assigns({owner == nullptr ? Kind::Item : Kind::Attribute, Held(holder), PyRef::borrow(key)}, dict, what);
}

bool Observer::assignable(PyObject* holder) const { return mayAssign_ && !covered(holder); }

void Observer::assignVariable(PyObject* cell) {
  static constexpr const char* kWhat = "a variable of an outer function is assigned";
  if (fresh(cell)) return;
  if (!assignable(cell)) return refuse(kWhat);
  if (places_.insert(Place(cell, "")).second) assigns({AssignedPlace::Kind::Variable, Held(cell), {}}, nullptr, kWhat);
}

void Observer::assignListItem(PyObject* list, PyObject* key) {
  static constexpr const char* kWhat = "an item is assigned in an object that was there before (list)";
  const Py_ssize_t size = PyList_GET_SIZE(list);
  Py_ssize_t index = PyLong_AsSsize_t(key);
  PyErr_Clear();
  if (!assignable(list) || appended_.contains(list) || index < -size || index >= size) return refuse(kWhat);
  sizeOf(list);
  if (index < 0) index += size;
  if (places_.insert(Place(list, std::to_string(index))).second)
    assigns({AssignedPlace::Kind::ListItem, Held(list), {}, index}, nullptr, kWhat);
}

void Observer::append(PyObject* list) {
  if (fresh(list)) return;
  if (!isKnown(list)) return mutate(list, "something is changed");
  const bool assigned = std::ranges::any_of(assigned_, [&](const AssignedPlace& a) { return a.owner.get() == list; });
  if (!PyList_CheckExact(list) || !mayAssign_ || covered(list) || (assigned && !appended_.contains(list)))
    return mutate(list, "something is changed");
  if (guards_.reads(list)) return refuse("a list is added to that is read");
  ++appended_[list];
  assigned_.push_back({AssignedPlace::Kind::Appended, Held(list), {}});
  owners_.push_back(PyRef::borrow(list));
}

std::vector<AssignedPlace> Observer::assigned() const {
  std::vector<AssignedPlace> all = assigned_;
  std::unordered_map<PyObject*, Py_ssize_t> left;
  for (const auto& [list, count] : appended_) left[list] = count;
  for (AssignedPlace& a : all)
    if (a.kind == AssignedPlace::Kind::Appended) a.index = left[a.owner.get()]--;
  return all;
}

void Observer::assigns(const AssignedPlace& assigned, PyObject* dict, const std::string& what) {
  const ValuePlace place = assigned.place();
  assigned_.push_back(assigned);
  owners_.push_back(PyRef::borrow(assigned.owner.get()));
  // Where a container of before died, one that a C function makes may lie.
  if (PyObject* before = place.read(); before != nullptr && led_.contains(before))
    owners_.push_back(PyRef::borrow(before));
  if (!guards_.has(place, dict)) return;
  PyObject* before = place.read();
  const bool taken =
      watchedRecording != nullptr && (watchedRecording->states.find(place) != nullptr || isStoodFor(place));
  if (taken || before == nullptr || before == Py_None || PyBool_Check(before)) {
    // Later calls find it as this one did, or they are others.
    guards_.assigned(place, dict);
    return;
  }
  if (isState(before) || isNumberPlace(before)) readState_.emplace_back(place, PyRef::borrow(before));
  if (readBefore_.empty()) readBefore_ = atLine(what);
}

void Observer::refuseChange(const std::string& what) {
  for (const auto& [place, before] : readState_) {
    if (Held(before.get()).is(place.read()) || changing_.contains(place)) continue;
    changing_.add(place);
    madeState_ = true;
  }
  refuse(readBefore_.empty() ? "it changes what it reads: " + what : readBefore_);
}

bool Observer::isThere(PyObject* now, PyObject* v) const {
  if (now == nullptr) return false;
  return isTensor(v) ? now == v : isPlain(v) && !tracked_.contains(v) && Held(now).is(v);
}

bool Observer::isRestored(const Place& place) const {
  return std::ranges::any_of(restored_, [&](const Restored& r) { return r.place == place; });
}

void Observer::setVariable(PyObject* variable) {
  if (variables_.contains(variable)) return;
  PyObject* before = nullptr;
  if (PyContextVar_Get(variable, nullptr, &before) != 0 || before == nullptr) {
    PyErr_Clear();
    return refuse("a context variable is set that has no value");
  }
  const PyRef get(PyObject_GetAttrString(variable, "get"));
  if (get) repeats(get.get(), nullptr, 0);
  variables_.emplace(variable, std::pair(PyRef::borrow(variable), PyRef(before)));
}

void Observer::checkRestored() {
  for (const Restored& was : restored_)
    if (PyObject* now = PyDict_GetItemString(was.dict.get(), was.place.second.c_str());
        now == nullptr || !Held(was.before.get()).is(now))
      return refuseFor(was.why);
  for (const auto& [variable, was] : variables_) {
    PyObject* now = nullptr;
    if (PyContextVar_Get(variable, nullptr, &now) != 0) PyErr_Clear();
    const PyRef held(now);
    if (now != was.second.get()) return refuse("a context variable is left with another value");
  }
}

void Observer::mutate(PyObject* o, const char* what) {
  if (fresh(o)) return;
  const bool made = (PyList_CheckExact(o) || isDict(o) || PySet_CheckExact(o)) && !isKnown(o);
  refuse(std::string(what) +
         (made ? " in an object that a C function made, or found (" : " in an object that was there before (") +
         typeName(o) + ")");
}

void Observer::use(PyObject* o, int depth) {
  if (o == nullptr || covered_.empty() || isPlain(o)) return;
  if (isTensor(o)) {
    if (covered(o)) used_.insert(o);
    return;
  }
  if (depth > 8) {
    used_.insert(covered_.begin(), covered_.end());
    return;
  }
  if (PyList_CheckExact(o) || PyTuple_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) use(PySequence_Fast_GET_ITEM(o, i), depth + 1);
  } else if (PyDict_Check(o)) {
    PyObject *k = nullptr, *v = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &k, &v) != 0;) use(v, depth + 1);
  }
}

void Observer::makeLeaf(PyObject* tensor) {
  if (!covered(tensor) || used_.contains(tensor)) return operand(tensor);
  leaves_.insert(tensorOf(tensor).impl());
  arguments_.expectLeaf(tensor);
  operand(tensor);
}

bool Observer::isComputed(const Tensor& t) const {
  return t.requiresGrad() && !autograd::isLeaf(t) && gradEdge(t).node->sequence() > firstSequence_;
}

void Observer::changeHooks(PyObject* tensor) {
  if (!isComputed(tensorOf(tensor))) refuse("hooks of a tensor change that was there before, or that nothing computed");
}

void Observer::cutHistory(PyObject* tensor) {
  const Tensor& t = tensorOf(tensor);
  if (t.requiresGrad() && !isComputed(t)) return refuse("a tensor that was there before is detached");
  operand(tensor);
}

bool Observer::contextsRepeat() {
  auto repeats = [&](auto& self, PyObject* o) -> bool {
    guardNumber(o);
    if (isPlain(o) || isDType(o) || isDevice(o) || isSize(o) || isFunctionHandle(o)) return true;
    if (!isTuple(o)) return false;
    iterate(o);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k)
      if (!self(self, PyTuple_GET_ITEM(o, k))) return false;
    return true;
  };
  for (const PyRef& context : contexts_) {
    if (isSpent(context.get())) continue;
    const PyRef dict(PyObject_GenericGetDict(context.get(), nullptr));
    PyErr_Clear();
    if (!dict) return false;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(dict.get(), &at, nullptr, &value) != 0;)
      if (!repeats(repeats, value)) return false;
  }
  return true;
}

void Observer::storeItem(PyObject* container, PyObject* key, PyObject* v) {
  if (isTensor(container)) return use(container), operand(key), operand(v);
  guardNumber(key);
  if (PyDict_Check(container)) hashes(key);
  if (PyList_CheckExact(container)) index(key);
  if (isPythonClass(Py_TYPE(container)) && special(container, "__setitem__")) return;
  if (!isKnown(container)) return mutate(container, "an item is assigned");
  // `counts[0] += 1` gives a list the tensor that it has.
  if (PyList_CheckExact(container) && !fresh(container) && isTensor(v) && PyLong_CheckExact(key)) {
    const PyRef now(PyObject_GetItem(container, key));
    PyErr_Clear();
    if (isThere(now.get(), v)) return subscript(container, key);
  }
  if (PyList_CheckExact(container) && !fresh(container) && PyLong_CheckExact(key))
    return assignListItem(container, key);
  if (PyDict_CheckExact(container) && !fresh(container)) {
    auto owner = ownerOf_.find(container);
    return assign(owner != ownerOf_.end() ? owner->second : nullptr, container, key, v,
                  "an item is assigned in an object that was there before (dict)");
  }
  mutate(container, "an item is assigned");
}

void Observer::lend(PyObject* dict, PyObject* key, PyObject* value) {
  if (!PyDict_CheckExact(dict) || !PyUnicode_CheckExact(key) || PyUnicode_AsUTF8(key) == nullptr)
    return refuse("an item of another container is lent");
  dictItem(dict, key);
  const std::pair place(dict, std::string(PyUnicode_AsUTF8(key)));
  const PyRef own = PyRef::borrow(PyDict_GetItemWithError(dict, key));
  auto it = lent_.try_emplace(place, own).first;
  if (it->second.get() == value) lent_.erase(it);
}

bool Observer::isLent(PyObject* list, Py_ssize_t index) const {
  return !places_.empty() && places_.contains(Place(list, std::to_string(index)));
}

bool Observer::isLent(PyObject* dict, PyObject* key) const {
  if ((lent_.empty() && places_.empty()) || !PyUnicode_CheckExact(key)) return false;
  const char* name = PyUnicode_AsUTF8(key);
  if (name == nullptr) {
    PyErr_Clear();
    return false;
  }
  const Place place(dict, name);
  return lent_.contains(place) || places_.contains(place);
}

}  // namespace tandem::python
