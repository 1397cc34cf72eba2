#include "python/src/places.h"

#include <cstring>

#include "python/src/tracked_numbers.h"

namespace tandem::python {
namespace {

bool isContainer(PyObject* o) {
  return PyDict_CheckExact(o) || PyList_CheckExact(o) || PyTuple_CheckExact(o) || PyCell_Check(o);
}

}  // namespace

PyObject* attributesOf(PyObject* owner) {
#if PY_VERSION_HEX >= 0x030D0000
  if ((Py_TYPE(owner)->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) {
    // Asking for it gives objects that keep their attributes in line a dict, which they keep.
    PyRef dict(PyObject_GenericGetDict(owner, nullptr));
    if (!dict) PyErr_Clear();
    return dict.get();
  }
#endif
  PyObject** at = _PyObject_GetDictPtr(owner);
  return at != nullptr ? *at : nullptr;
}

unsigned versionOf(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030D0000
  if ((type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) == 0) return 0;
#endif
  return type->tp_version_tag;
}

bool isPlain(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || isInt(o) || isFloat(o) || PyUnicode_CheckExact(o) ||
         PyBytes_CheckExact(o) || PyComplex_CheckExact(o) || o == Py_Ellipsis || o == Py_NotImplemented;
}

bool isNumberPlace(PyObject* value) {
  if (PyFloat_CheckExact(value)) return true;
  int beyond = 0;
  return PyLong_CheckExact(value) && (static_cast<void>(PyLong_AsLongLongAndOverflow(value, &beyond)), beyond == 0);
}

Held::Held(PyObject* o) : object_(o) {
  if (o == nullptr) return;
  if (isContainer(o)) {
    container_ = Py_TYPE(o);
    return;
  }
  if (!isPlain(o) && PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) {
    keeper_ = PyRef(PyWeakref_NewRef(o, nullptr));
    weak_ = static_cast<bool>(keeper_);
    if (weak_) return;
    PyErr_Clear();
  }
  keeper_ = PyRef::borrow(o);
}

bool Held::dead() const { return weak_ && reinterpret_cast<PyWeakReference*>(keeper_.get())->wr_object != object_; }

bool Held::equalPlain(PyObject* now) const {
  if (now == nullptr || object_ == nullptr || weak_ || !keeper_) return false;
  if (Py_TYPE(now) != Py_TYPE(object_) || !isPlain(now)) return false;
  if (PyFloat_CheckExact(now)) {
    double a = PyFloat_AS_DOUBLE(now);
    double b = PyFloat_AS_DOUBLE(object_);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  if (PyComplex_CheckExact(now)) {
    Py_complex a = PyComplex_AsCComplex(now);
    Py_complex b = PyComplex_AsCComplex(object_);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  return PyObject_RichCompareBool(now, object_, Py_EQ) == 1;
}

int Held::traverse(visitproc visit, void* arg) const {
  Py_VISIT(keeper_.get());
  return 0;
}

PyObject* ValuePlace::read() const {
  if (index >= 0)
    return PyList_CheckExact(holder) && index < PyList_GET_SIZE(holder) ? PyList_GET_ITEM(holder, index) : nullptr;
  if (!name) return PyCell_GET(holder);
  PyObject* dict = owned ? attributesOf(holder) : holder;
  PyObject* value = dict != nullptr ? PyDict_GetItemWithError(dict, name.get()) : nullptr;
  if (value == nullptr) PyErr_Clear();
  return value;
}

bool ValuePlace::sameAs(const ValuePlace& other) const {
  PyObject *mine = name.get(), *others = other.name.get();
  return holder == other.holder && owned == other.owned && index == other.index &&
         (mine == nullptr) == (others == nullptr) &&
         (mine == nullptr || PyObject_RichCompareBool(mine, others, Py_EQ) == 1);
}

std::string ChangingPlaces::textOf(const ValuePlace& place) {
  if (place.index >= 0) return std::to_string(place.index);
  PyObject* name = place.name.get();
  const char* s = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (s == nullptr) PyErr_Clear();
  return s != nullptr ? s : "";
}

}  // namespace tandem::python
