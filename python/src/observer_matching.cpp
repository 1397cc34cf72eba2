// The rules of the observer for `match`: what its patterns ask of a subject.
#include <Python.h>

#include "python/src/call_rules.h"
#include "python/src/observer_frame.h"

namespace tandem::python {

/// Is it a mapping, or a sequence? Its class says that, and for classes written in Python abstract ones may.
void Observer::matchesKind(PyObject* subject) {
  guardNumber(subject);
  readType(subject);
  if ((Py_TYPE(subject)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) guards_.abstractClasses();
}

void Observer::matchesKeys(PyObject* subject, PyObject* keys) {
  if (!isDict(subject)) return refuse("keys of an object of type " + typeName(subject) + " are matched");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) dictItem(subject, PyTuple_GET_ITEM(keys, i), true);
}

/// Is it one of the class, and what are its attributes of these names? The first `count` are those that the class
/// names; of some of the interpreter's own types the only one is the object itself.
void Observer::matchesClass(PyObject* subject, PyObject* of, PyObject* names, int count) {
  guardNumber(subject);
  PyObject* const asked[] = {subject, of};
  rules::asksClass(*this, asked, 2);
  if (!PyType_Check(of) || !proved()) return;
  auto* type = reinterpret_cast<PyTypeObject*>(of);
  static PyObject* const className = interned("__class__");
  if (_PyType_Lookup(Py_TYPE(subject), className) != _PyType_Lookup(&PyBaseObject_Type, className))
    return refuse("an object that says what its class is is matched");
  if (PyType_IsSubtype(Py_TYPE(subject), type) == 0)
    return Py_TYPE(of) == &PyType_Type ? void() : refuse("a class is matched whose class decides");
  std::vector<PyRef> all;
  constexpr unsigned long kItself = 1UL << 22;  // _Py_TPFLAGS_MATCH_SELF
  if (count > 0 && (type->tp_flags & kItself) == 0) {
    static PyObject* const argsName = interned("__match_args__");
    attribute(of, argsName);
    const PyRef given(PyObject_GetAttr(of, argsName));
    PyErr_Clear();
    if (!given || !PyTuple_CheckExact(given.get()) || PyTuple_GET_SIZE(given.get()) < count) return;  // an error
    for (int i = 0; i < count; ++i) all.push_back(PyRef::borrow(PyTuple_GET_ITEM(given.get(), i)));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) all.push_back(PyRef::borrow(PyTuple_GET_ITEM(names, i)));
  for (const PyRef& name : all)
    if (PyUnicode_CheckExact(name.get())) attribute(subject, name.get());
}

}  // namespace tandem::python
