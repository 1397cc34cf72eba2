// The rules of the observer for what instructions and C functions do with objects: reading and setting attributes,
// items, truth, operators, calls. Each either records what was read as a guard, or refuses.
#include <Python.h>
#include <algorithm>
#include <structmember.h>

#include "python/src/compiled_function.h"
#include "python/src/convert.h"
#include "python/src/device_object.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"
#include "python/src/result_tree.h"
#include "python/src/run_time_numbers.h"
#include "python/src/torch_function.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python {
namespace {

constexpr const char* kClassDecides = "what operations do is decided by the class ";

/// What all views of dicts begin with; from 3.13 on the header that says so is internal.
struct DictView {
  PyObject_HEAD PyObject* dict;
};
bool isDictView(PyObject* o) {
  static PyTypeObject* views[] = {&PyDictKeys_Type,  &PyDictValues_Type,  &PyDictItems_Type,
                                  &PyODictKeys_Type, &PyODictValues_Type, &PyODictItems_Type};
  return std::ranges::any_of(views, [&](PyTypeObject* t) { return Py_TYPE(o) == t; });
}
bool isSet(PyObject* o) { return PyAnySet_CheckExact(o); }

/// Values that never change and whose operators run no code of others.
bool isConstant(PyObject* o) {
  return isPlain(o) || isDType(o) || isDevice(o) || (PyType_Check(o) && specialsAreWatched(Py_TYPE(o))) ||
         PyRange_Check(o) || PySlice_Check(o) || PyFunction_Check(o) || PyCFunction_Check(o) ||
         PyModule_CheckExact(o) || PyCode_Check(o) || std::string_view(Py_TYPE(o)->tp_name) == "types.UnionType";
}

/// A place in objects of a C type, or a slot; of the class itself, it is itself.
bool isField(PyObject* descriptor) {
  return Py_TYPE(descriptor) == &PyGetSetDescr_Type || Py_TYPE(descriptor) == &PyMemberDescr_Type;
}

/// What a function says of itself, besides what a call of it reads.
constexpr std::pair<const char*, Py_ssize_t> kFunctionFields[] = {
    {"__name__", offsetof(PyFunctionObject, func_name)},
    {"__qualname__", offsetof(PyFunctionObject, func_qualname)},
    {"__doc__", offsetof(PyFunctionObject, func_doc)},
    {"__module__", offsetof(PyFunctionObject, func_module)},
    {"__annotations__", offsetof(PyFunctionObject, func_annotations)},
};
/// What a class says of itself that leaves its version as it was when it is set, from Python 3.13 on.
constexpr std::pair<const char*, Py_ssize_t> kClassFields[] = {
    {"__name__", offsetof(PyHeapTypeObject, ht_name)},
    {"__qualname__", offsetof(PyHeapTypeObject, ht_qualname)},
};

}  // namespace

bool isIterator(PyObject* o) { return Py_TYPE(o)->tp_iternext != nullptr && Py_TYPE(o)->tp_iter == PyObject_SelfIter; }

bool isTuple(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  return PyTuple_Check(o) && specialsAreWatched(type) && type->tp_iter == PyTuple_Type.tp_iter &&
         type->tp_as_mapping->mp_subscript == PyTuple_Type.tp_as_mapping->mp_subscript &&
         type->tp_as_sequence->sq_length == PyTuple_Type.tp_as_sequence->sq_length;
}

std::string nameOf(PyObject* callable) {
  PyRef module(PyObject_GetAttrString(callable, "__module__"));
  PyErr_Clear();
  PyRef name(PyObject_GetAttrString(callable, "__qualname__"));
  PyErr_Clear();
  if (!name || !PyUnicode_Check(name.get())) return std::string("an object of type ") + Py_TYPE(callable)->tp_name;
  std::string text = PyUnicode_AsUTF8(name.get());
  if (module && PyUnicode_Check(module.get())) text = std::string(PyUnicode_AsUTF8(module.get())) + "." + text;
  return text;
}

static PyObject* namesOf(std::initializer_list<const char*> names) {
  PyObject* set = PyFrozenSet_New(nullptr);
  for (const char* s : names) {
    PyRef text(interned(s));
    PySet_Add(set, text.get());
  }
  return set;
}

/// Attributes of tensors that say nothing of their elements and history.
static bool saysDims(PyObject* name) {
  static PyObject* names =
      namesOf({"shape",   "dtype",   "device",    "layout",    "ndim",          "itemsize",  "nbytes",   "is_cuda",
               "is_cpu",  "is_mps",  "is_meta",   "is_sparse", "is_quantized",  "is_nested", "is_xpu",   "is_ipu",
               "is_mtia", "is_maia", "is_vulkan", "is_mkldnn", "is_sparse_csr", "is_xla",    "__class__"});
  return PySet_Contains(names, name) == 1;
}

/// Attributes of tensors that say nothing but what guards or the trace know.
static bool understoodTensorAttribute(PyObject* name) {
  static PyObject* names =
      namesOf({"T", "mT", "H", "mH", "real", "requires_grad", "is_leaf", "retains_grad", "grad", "data", "__dict__"});
  return saysDims(name) || PySet_Contains(names, name) == 1;
}

// ---- reading -------------------------------------------------------------------------------------------------------

void Observer::value(PyObject* v) {
  if (v == nullptr) return;
  if (covered(v)) return refuse("an argument is reached by another way, too");
  if (isTensor(v) && !fresh(v)) guards_.tensor(v);
  if (PyList_CheckExact(v) || isDict(v) || isSet(v)) led_.insert(v);
}

PyObject* Observer::shownBy(PyObject* o) {
  PyObject* shown = behindProxy(o);
  if (shown != o) led_.insert(shown);
  return shown;
}

bool Observer::refusesUnknown(PyObject* container) {
  if (isKnown(container) || !(PyList_CheckExact(container) || isDict(container) || PySet_CheckExact(container)))
    return false;
  refuse("a " + typeName(container) + " is read that a C function made, or found");
  return true;
}

void Observer::sizeOf(PyObject* o) {
  if (fresh(o) || covered(o)) return;
  if (appended_.contains(o)) return refuse("a list is read that was added to");
  if (isDictView(o)) return iterate(o);
  if ((isTuple(o) && !guards_.names(o)) || refusesUnknown(o)) return;
  guards_.size(o);
}

void Observer::length(PyObject* o) {
  o = shownBy(o);
  if (isTensor(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyRange_Check(o) || isSize(o)) return;
  if (isTuple(o) || isDictView(o) || isSet(o) || readsAsList(o, {"__len__"}) || readsAsDict(o, {"__len__"}))
    return sizeOf(o);
  if (!special(o, "__len__")) refuse("len of an object of type " + typeName(o));
}

void Observer::items(PyObject* sequence, Py_ssize_t loaded) {
  auto accepts = [&](Py_ssize_t i, PyObject* item) {
    if (!PyList_CheckExact(sequence)) return Accepts::Same;
    if (isLent(sequence, i)) return Accepts::Anything;
    const ValuePlace place{sequence, {}, false, i};
    if (!isNumberPlace(item) || !changing_.contains(place) || !keepsNumbers()) return accepted(place, item);
    if (loaded == i) number_ = place;
    // Where all are gone through, the numbers that another instruction loaded are to be what they were.
    if (loaded < 0 && isStoodFor(place)) refuse("the items of a list are gone through, of which one changes");
    return loaded < 0 ? Accepts::Same : PyFloat_CheckExact(item) ? Accepts::Float : Accepts::Int;
  };
  guards_.sequence(sequence, accepts);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
    if (PyObject* item = PySequence_Fast_GET_ITEM(sequence, i); accepts(i, item) == Accepts::Same) value(item);
}

void Observer::iterate(PyObject* o) {
  if (isTensor(o)) return use(o);
  o = shownBy(o);
  if (fresh(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyRange_Check(o) || isSize(o)) return;
  if (isDictView(o)) {
    o = reinterpret_cast<DictView*>(o)->dict;
    if (!fresh(o) && !covered(o)) led_.insert(o);
  }
  if (fresh(o) || covered(o)) return;
  // A tuple that no place holds was made here, or is part of the code.
  if (isTuple(o) && !guards_.names(o)) return;
  if (appended_.contains(o)) return refuse("a list is read that was added to");
  if (refusesUnknown(o)) return;
  if (isTuple(o) || readsAsList(o, {"__iter__", "__getitem__"})) return items(o);
  if (readsAsDict(o, {"__iter__", "__getitem__"})) {
    auto owner = ownerOf_.find(o);
    auto accepts = [&](PyObject* key, PyObject* item) {
      if (isLent(o, key)) return Accepts::Anything;
      const bool owned = owner != ownerOf_.end();
      return accepted({owned ? owner->second : o, PyRef::borrow(key), owned}, item);
    };
    guards_.wholeDict(o, accepts);
    PyObject *k = nullptr, *v = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &k, &v) != 0;)
      if (accepts(k, v) == Accepts::Same) value(v);
    return hashesTensors(o);
  }
  if (isSet(o)) {
    guards_.set(o);
    return hashesTensors(o);
  }
  if (special(o, "__iter__")) return;
  refuse(isIterator(o) ? "an iterator that was there before is advanced"
                       : "an object of type " + typeName(o) + " is gone through");
}

void Observer::dictItem(PyObject* dict, PyObject* key, bool absent) {
  dict = shownBy(dict);
  guardNumber(key);
  hashes(key);
  if (isTensor(key) && covered(key)) hashesTensors(dict);
  if (fresh(dict) && !absent) ownItem(dict, key);
  if (fresh(dict) || covered(dict) || refusesUnknown(dict)) return;
  if (!isPlain(key) && !isTensor(key) && !isConstant(key) && Py_TYPE(key)->tp_hash != PyBaseObject_Type.tp_hash &&
      !PyTuple_CheckExact(key) && !isEnumeration(Py_TYPE(key)))
    return refuse("a dict is asked for a key of type " + typeName(key));
  auto owner = ownerOf_.find(dict);
  PyObject* found = PyDict_GetItemWithError(dict, key);
  if (found == nullptr && PyErr_Occurred() != nullptr) PyErr_Clear();
  if (found == nullptr && !absent && !PyDict_CheckExact(dict) && Py_TYPE(dict) != &PyODict_Type)
    return refuse("a key is added to a dict");  // a defaultdict
  // A tuple of classes and plain values is known by these.
  bool known = PyTuple_CheckExact(key);
  for (Py_ssize_t i = 0; known && i < PyTuple_GET_SIZE(key); ++i) {
    PyObject* part = PyTuple_GET_ITEM(key, i);
    guardNumber(part);
    known = isPlain(part) || (PyType_Check(part) && Py_TYPE(part)->tp_hash == PyBaseObject_Type.tp_hash);
  }
  if (!known && (PyTuple_CheckExact(key) || (!isPlain(key) && fresh(key))))
    return refuse("a dict is asked for a key made here");
  if (isLent(dict, key)) return;
  PyObject* holder = owner != ownerOf_.end() ? owner->second : nullptr;
  const Accepts accepts = accepted({holder != nullptr ? holder : dict, PyRef::borrow(key), holder != nullptr}, found);
  guards_.item(holder, dict, key, found, accepts);
  if (accepts == Accepts::Same) value(found);
}

void Observer::ownItem(PyObject* dict, PyObject* key) {
  static PyTypeObject* const withDefault = typeNamed("collections", "defaultdict");
  if (Py_TYPE(dict) != withDefault) return;
  bool plain = isPlain(key) || PyTuple_CheckExact(key);
  for (Py_ssize_t i = 0; PyTuple_CheckExact(key) && i < PyTuple_GET_SIZE(key); ++i)
    plain = plain && isPlain(PyTuple_GET_ITEM(key, i));
  const bool there = plain && PyDict_GetItemWithError(dict, key) != nullptr;
  PyErr_Clear();
  const PyRef factory(PyObject_GetAttrString(dict, "default_factory"));
  PyErr_Clear();
  if (!there && factory && factory.get() != Py_None && call(factory.get(), nullptr, 0) && plain) gives(Gives::New);
}

void Observer::subscript(PyObject* container, PyObject* key) {
  container = shownBy(container);
  if (isTensor(container)) {
    operand(container);
    return operand(key);
  }
  if (readsAsDict(container, {"__getitem__", "__missing__"})) return dictItem(container, key);
  if (PyUnicode_CheckExact(container) || PyBytes_CheckExact(container) || PyRange_Check(container) || isSize(container))
    return index(key);
  if (isTuple(container) || readsAsList(container, {"__getitem__"})) {
    index(key);
    const bool before = PyList_CheckExact(container) && !fresh(container) && !covered(container);
    if (before && refusesUnknown(container)) return;
    if (!before || !loads_ || !PyLong_CheckExact(key) || appended_.contains(container)) return iterate(container);
    const Py_ssize_t at = PyLong_AsSsize_t(key);
    PyErr_Clear();
    return items(container, at < 0 ? at + PyList_GET_SIZE(container) : at);
  }
  guardNumber(key);
  if (special(container, "__getitem__")) return;
  refuse("an object of type " + typeName(container) + " is indexed");
}

void Observer::truth(PyObject* o) {
  static PyObject* zero = checked(PyLong_FromLong(0));
  if (compares(ScalarCondition::Is::NotEqual, o, zero)) return;
  guardNumber(o);
  if (isTensor(o)) return operand(o);
  if (isConstant(o)) return;
  if (isTuple(o) || isDictView(o) || isSet(o) || readsAsList(o, {"__bool__", "__len__"}) ||
      readsAsDict(o, {"__bool__", "__len__"}))
    return sizeOf(o);
  if (isPythonClass(Py_TYPE(o)) || (isDerivedValue(o) && !PyDict_Check(o))) {
    readType(o);
    return;  // `__bool__` and `__len__` are Python's code, or the object is true
  }
  if (PyMethod_Check(o) || Py_TYPE(o)->tp_as_number == nullptr) {
    if (Py_TYPE(o)->tp_as_mapping == nullptr && Py_TYPE(o)->tp_as_sequence == nullptr) return;
  }
  refuse("the truth of an object of type " + typeName(o) + " is asked");
}

void Observer::binary(PyObject* a, PyObject* b) {
  if (isTensor(a) || isTensor(b)) {
    operand(a);
    operand(b);
    return;
  }
  compared(a);
  if (b != a) compared(b);
}

/// It and what it holds meet operators. Of tensors these are recorded, and asking for the truth of what they give is a
/// reading of values.
void Observer::compared(PyObject* o, int depth) {
  guardNumber(o);
  if (isConstant(o) || isSize(o)) return;
  if (depth > 8) return refuse("containers in containers are compared");
  if (isTensor(o)) return operand(o);
  auto all = [&](PyObject* items) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items) && proved(); ++i)
      compared(PySequence_Fast_GET_ITEM(items, i), depth + 1);
  };
  if (PyList_CheckExact(o) || isTuple(o)) return iterate(o), all(o);
  if (isDict(o) || isSet(o) || isDictView(o)) {
    iterate(o);
    PyRef items(isDict(o) ? PyDict_Values(o) : PySequence_List(o));
    if (!items) PyErr_Clear();
    return items ? all(items.get()) : refuse("a container is compared");
  }
  if (isPythonClass(Py_TYPE(o)) || (isDerivedValue(o) && !PyDict_Check(o))) return readType(o);
  refuse("an operator meets an object of type " + typeName(o));
}

void Observer::contains(PyObject* container, PyObject* item) {
  guardNumber(item);
  use(item);
  container = shownBy(container);
  if (readsAsDict(container, {"__contains__"})) return dictItem(container, item, true);
  if (PyUnicode_CheckExact(container) || (isSize(container) && isConstant(item))) return;
  if (PyList_CheckExact(container) || isTuple(container) || isSet(container) || isDictView(container)) {
    iterate(container);
    if (isSet(container) || Py_TYPE(container) == &PyDictKeys_Type || Py_TYPE(container) == &PyODictKeys_Type)
      return hashes(item);
    if (isConstant(item) || isTensor(item) || isTuple(item) || isDerivedValue(item)) return searched(container, item);
  }
  if (special(container, "__contains__")) return;
  if (isTensor(container)) return operand(container), operand(item);
  refuse("it is asked whether an object of type " + typeName(container) + " contains one of type " + typeName(item));
}

// ---- attributes ----------------------------------------------------------------------------------------------------

void Observer::typeAttribute(PyTypeObject* type, PyObject* name) {
  guards_.type(type);
  guards_.type(Py_TYPE(type));
  if (!specialsAreWatched(Py_TYPE(type))) return refuse("an attribute of a class of a class that is not understood");
  PyObject* meta = _PyType_Lookup(Py_TYPE(type), name);
  PyObject* found = _PyType_Lookup(type, name);
  auto* self = reinterpret_cast<PyObject*>(type);
  for (const auto& [field, offset] : kClassFields)
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && PyUnicode_CompareWithASCIIString(name, field) == 0)
      guards_.slot(self, offset);
  if (meta != nullptr && !isField(meta)) through(meta, self, name);
  if (found != nullptr && PyType_IsSubtype(Py_TYPE(found), &PyProperty_Type) == 0 && !isField(found))
    through(found, self, name);
  value(found);
}

void Observer::tensorAttribute(PyObject* o, PyObject* name) {
  if (overrides(o)) return refuse(kClassDecides + typeName(o));
  guards_.type(Py_TYPE(o));
  PyObject* found = _PyType_Lookup(Py_TYPE(o), name);
  if (found != nullptr) {
    if (Py_TYPE(found) == &PyGetSetDescr_Type) {
      if (!understoodTensorAttribute(name)) refuse("Tensor." + nameText(name) + " is read");
      if (!saysDims(name)) use(o);
      return;
    }
    if (Py_TYPE(found)->tp_descr_set != nullptr) {
      return through(found, o, name);
    }
    through(found, o, name);
  }
  // Attributes that users set. Tensors are not known to be fresh, but those that were there before are guarded.
  PyObject* dict = reinterpret_cast<PyTensor*>(o)->dict;
  const bool before = guards_.names(o);
  if (dict == nullptr) {
    // Of an argument the signature says whether it has any.
    if (before) guards_.slot(o, offsetof(PyTensor, dict));
    return;
  }
  if (!before) {
    if (hasAttributes(o)) refuse("an attribute of a tensor is read (" + nameText(name) + ")");
    return;
  }
  PyObject* own = PyDict_GetItemWithError(dict, name);
  guards_.item(o, dict, name, own);
  value(own);
}

void Observer::attribute(PyObject* o, PyObject* name) {
  guardNumber(o);
  PyTypeObject* type = Py_TYPE(o);
  if (isTensor(o)) return tensorAttribute(o, name);
  if (PyModule_Check(o)) return moduleAttribute(o, name);
  if (PyType_Check(o)) return typeAttribute(reinterpret_cast<PyTypeObject*>(o), name);
  if (isConstant(o) || isSize(o) || PyList_CheckExact(o) || PyTuple_CheckExact(o) || isDict(o) || isSet(o) ||
      isDictView(o) || PyMethod_Check(o) || Py_TYPE(o) == &PyDictProxy_Type || Py_TYPE(o) == &PyMethodDescr_Type ||
      Py_TYPE(o) == &PyWrapperDescr_Type) {
    if (PyFunction_Check(o) && fresh(o) && PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) {
      PyRef dict(PyObject_GenericGetDict(o, nullptr));
      if (dict) makeFresh(dict.get());
    }
    if (PyFunction_Check(o) && !fresh(o)) {
      guards_.function(o);
      for (const auto& [field, offset] : kFunctionFields)
        if (PyUnicode_CompareWithASCIIString(name, field) == 0) guards_.slot(o, offset);
      if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) {
        const PyRef all(checked(PyObject_GenericGetDict(o, nullptr)));
        guards_.slot(o, offsetof(PyFunctionObject, func_dict));
        return value(all.get());
      }
      PyObject* dict = reinterpret_cast<PyFunctionObject*>(o)->func_dict;
      if (dict == nullptr)
        guards_.slot(o, offsetof(PyFunctionObject, func_dict));
      else
        guards_.item(o, dict, name, PyDict_GetItemWithError(dict, name));
      if (dict != nullptr) value(PyDict_GetItemWithError(dict, name));
    }
    if (PyMethod_Check(o)) attribute(PyMethod_GET_FUNCTION(o), name);
    if (isDict(o)) (void)field(o, name);
    return;
  }
  if (type == &PySuper_Type) {
    // A base of the object's class; the object itself is what the method was called on.
    PyRef cls(PyObject_GetAttrString(o, "__self_class__"));
    if (!cls || !PyType_Check(cls.get())) return refuse("super() without an object");
    auto* own = reinterpret_cast<PyTypeObject*>(cls.get());
    guards_.type(own);
    PyRef after(PyObject_GetAttrString(o, "__thisclass__"));
    bool behind = false;
    for (Py_ssize_t i = 0; after && i < PyTuple_GET_SIZE(own->tp_mro); ++i) {
      PyObject* base = PyTuple_GET_ITEM(own->tp_mro, i);
      PyObject* dict = reinterpret_cast<PyTypeObject*>(base)->tp_dict;
      PyObject* found = behind && dict != nullptr ? PyDict_GetItemWithError(dict, name) : nullptr;
      if (found != nullptr) {
        PyRef self(PyObject_GetAttrString(o, "__self__"));
        if (self.get() != cls.get()) readType(self.get());
        return isField(found) ? void() : through(found, self.get(), name);
      }
      behind = behind || base == after.get();
    }
    return;
  }
  if (PyGen_CheckExact(o)) return;  // methods, which need a fresh one
  static PyObject* dictName = interned("__dict__");
  static PyObject* className = interned("__class__");
  if (PyExceptionInstance_Check(o) && fresh(o)) {
    if (PyObject* found = _PyType_Lookup(type, name); found != nullptr && !isField(found)) through(found, o, name);
    return;
  }
  const bool named = isTuple(o);
  if (!isPythonClass(type) && !named && !isDerivedValue(o) && !isDerivedList(o) && !isNamespace(o)) {
    if (understoodObject(o)) return understoodAttribute(o, name);
    return refuse("an attribute of an object of type " + typeName(o) + " is read (" + nameText(name) + ")");
  }
  readType(o);
  PyObject* found = _PyType_Lookup(type, name);
  if (name == className || (PyUnicode_Compare(name, className) == 0)) return;
  if (found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr) {
    PyTypeObject* kind = Py_TYPE(found);
    if (PyType_IsSubtype(kind, &PyProperty_Type) != 0 || isPythonClass(kind)) return through(found, o, name);
    if (kind == &PyMemberDescr_Type && named) return iterate(o);
    if (kind == &PyMemberDescr_Type) {
      auto* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
      if (member->type != T_OBJECT_EX) return refuse("a slot of another kind is read (" + nameText(name) + ")");
      if (!fresh(o)) {
        guards_.slot(o, member->offset);
        value(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + member->offset));
      }
      return;
    }
    if (PyUnicode_Compare(name, dictName) == 0) {
      PyRef dict(PyObject_GenericGetDict(o, nullptr));
      if (!dict) return refuse("an object without a dict");
      if (fresh(o)) return makeFresh(dict.get());
      ownerOf_[dict.get()] = o;
      return;
    }
    if (named) return iterate(o);
    return refuse("an attribute is read through a descriptor of type " + std::string(kind->tp_name));
  }
  if (named) iterate(o);
  PyRef dict(type->tp_dictoffset != 0 ? PyObject_GenericGetDict(o, nullptr) : nullptr);
  if (!dict) PyErr_Clear();
  PyObject* own = dict ? PyDict_GetItemWithError(dict.get(), name) : nullptr;
  if (dict && isLent(dict.get(), name)) return;
  if (dict && !fresh(o) && !covered(o)) {
    const Accepts accepts = accepted({o, PyRef::borrow(name), true}, own);
    guards_.item(o, dict.get(), name, own, accepts);
    if (accepts == Accepts::Same) value(own);
  }
  if (own != nullptr || found == nullptr) return;  // none: `__getattr__`, which is entered, or an error
  through(found, o, name);
  value(found);
}

// ---- calls ---------------------------------------------------------------------------------------------------------

void Observer::operand(PyObject* o, int depth) {
  guardRead(o);
  if (o != nullptr && isInt(o)) guardNumber(o);  // a size, an index
  if (o != nullptr && isTensor(o)) {
    use(o);
    if (overrides(o)) return refuse(kClassDecides + typeName(o));
    if (!specialsAreWatched(Py_TYPE(o))) refuse("a tensor of class " + typeName(o) + " is used");
    return;
  }
  if (o == nullptr || isConstant(o) || isSize(o)) {
    if (o != nullptr && PySlice_Check(o)) {
      auto* s = reinterpret_cast<PySliceObject*>(o);
      for (PyObject* part : {s->start, s->stop, s->step}) operand(part, depth + 1);
    }
    return;
  }
  if (depth > 8) return refuse("lists in lists");
  if (PyList_CheckExact(o) || isTuple(o)) {
    iterate(o);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      guardNumber(PySequence_Fast_GET_ITEM(o, i));
      operand(PySequence_Fast_GET_ITEM(o, i), depth + 1);
    }
    return;
  }
  if (understoodObject(o)) return;
  refuse("an operation is given an object of type " + typeName(o));
}

}  // namespace tandem::python
