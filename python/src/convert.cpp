// dtype and Size objects.
#include "python/src/convert.h"

#include <cstring>
#include <string>

#include "python/src/errors.h"
#include "python/src/py_tensor.h"
#include "runtime/device/device.h"

namespace tandem::python {

namespace {
std::string shownPackage = "tandem";
}  // namespace

const char* packageName() { return shownPackage.c_str(); }
PyObject* setPackageName(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) throw PythonError();
    shownPackage = text;
    // Programs ask the class whose tensors they are: opt_einsum calls the functions of that package.
    if (PyDict_SetItemString(tensorType->tp_dict, "__module__", name) < 0) throw PythonError();
    PyType_Modified(tensorType);
    Py_RETURN_NONE;
  });
}

namespace {

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

// ---- dtype
// ------------------------------------------------------------------------------------------------------------

/// A dtype without tensors: programs name it, and ask what it is like.
struct Named {
  const char* name;
  const char* alias;  // or null
  int bytes;
  bool floating, isComplex, isSigned;
};
constexpr Named kNamed[] = {
    {"complex32", "chalf", 4, false, true, true},       {"complex64", "cfloat", 8, false, true, true},
    {"complex128", "cdouble", 16, false, true, true},   {"uint16", nullptr, 2, false, false, false},
    {"uint32", nullptr, 4, false, false, false},        {"uint64", nullptr, 8, false, false, false},
    {"float8_e4m3fn", nullptr, 1, true, false, true},   {"float8_e5m2", nullptr, 1, true, false, true},
    {"float8_e4m3fnuz", nullptr, 1, true, false, true}, {"float8_e5m2fnuz", nullptr, 1, true, false, true},
    {"float8_e8m0fnu", nullptr, 1, true, false, false}, {"quint8", nullptr, 1, false, false, false},
    {"qint8", nullptr, 1, false, false, true},          {"qint32", nullptr, 4, false, false, true},
    {"quint4x2", nullptr, 1, false, false, false},      {"quint2x4", nullptr, 1, false, false, false},
};

struct DTypeObject {
  PyObject_HEAD DType type;
  const Named* named;  // where there are no tensors of it; null else
};
PyTypeObject* dtypeType;
PyObject* dtypes[kNumDTypes];

const DTypeObject& dtypeOf(PyObject* o) { return *reinterpret_cast<DTypeObject*>(o); }
std::string nameOf(PyObject* o) {
  const DTypeObject& d = dtypeOf(o);
  return d.named != nullptr ? d.named->name : std::string(dtypeName(d.type));
}
DType typeOf(PyObject* o) {
  const DTypeObject& d = dtypeOf(o);
  if (d.named != nullptr)
    fail<NotImplementedError>("dtype ", d.named->name, ": this build of Tandem has no tensors of it",
                              d.named->isComplex ? "; use two real tensors, or a last dim of size 2" : "");
  return d.type;
}

PyObject* dtypeRepr(PyObject* self) { return PyUnicode_FromFormat("%s.%s", packageName(), nameOf(self).c_str()); }
// The name under which pickle finds the one object.
PyObject* dtypeReduce(PyObject* self, PyObject*) { return PyUnicode_FromString(nameOf(self).c_str()); }
PyObject* dtypeIsFloating(PyObject* self, void*) {
  const DTypeObject& d = dtypeOf(self);
  return PyBool_FromLong((d.named != nullptr ? d.named->floating : isFloating(d.type)) ? 1 : 0);
}
PyObject* dtypeIsComplex(PyObject* self, void*) {
  const Named* named = dtypeOf(self).named;
  return PyBool_FromLong(named != nullptr && named->isComplex ? 1 : 0);
}
PyObject* dtypeIsSigned(PyObject* self, void*) {
  const DTypeObject& d = dtypeOf(self);
  return PyBool_FromLong((d.named != nullptr ? d.named->isSigned : isSigned(d.type)) ? 1 : 0);
}
PyObject* dtypeItemSize(PyObject* self, void*) {
  const DTypeObject& d = dtypeOf(self);
  return PyLong_FromLong(d.named != nullptr ? d.named->bytes : static_cast<long>(itemSize(d.type)));
}

PyObject* dtypeAbbreviation(PyObject* self, void*) {
  std::string name = nameOf(self);
  if (name == "bool") return PyUnicode_FromString("b8");
  const std::size_t digit = name.find_first_of("0123456789");
  const std::string kind = name.substr(0, digit);
  std::erase(name, '_');
  const std::string letter = kind == "bfloat" ? "bf" : kind.substr(0, 1);
  return PyUnicode_FromString((letter + name.substr(digit)).c_str());
}

// What a complex number of each dtype is made of; of one dtype the first row counts.
struct Parts {
  const char *real, *complex;
};
constexpr Parts kParts[] = {
    {"float16", "complex32"}, {"float32", "complex64"}, {"float64", "complex128"}, {"bfloat16", "complex64"}};

PyObject* dtypeNamed(const char* name) {
  PyRef module(checked(PyImport_ImportModule("tandem._C")));
  return checked(PyObject_GetAttrString(module.get(), name));
}
PyObject* dtypeToReal(PyObject* self, PyObject*) {
  return guarded([&] {
    for (const Parts& p : kParts)
      if (nameOf(self) == p.complex) return dtypeNamed(p.real);
    return Py_NewRef(self);
  });
}
PyObject* dtypeToComplex(PyObject* self, PyObject*) {
  return guarded([&] {
    for (const Parts& p : kParts) {
      if (nameOf(self) == p.complex) return Py_NewRef(self);
      if (nameOf(self) == p.real) return dtypeNamed(p.complex);
    }
    fail("to_complex: there is no complex dtype of ", nameOf(self));
  });
}

PyMethodDef dtypeMethods[] = {
    {"to_real", dtypeToReal, METH_NOARGS, "The dtype of the parts of a complex one; any other one itself."},
    {"to_complex", dtypeToComplex, METH_NOARGS,
     "The complex dtype whose parts have this one; RuntimeError without one."},
    {"__reduce__", dtypeReduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef dtypeProperties[] = {
    {"is_floating_point", dtypeIsFloating, nullptr, "Is it a floating-point type?", nullptr},
    {"is_complex", dtypeIsComplex, nullptr, "Is it a complex type? There are no tensors of those.", nullptr},
    {"is_signed", dtypeIsSigned, nullptr, "Can it hold negative numbers?", nullptr},
    {"itemsize", dtypeItemSize, nullptr, "Bytes of one element.", nullptr},
    {"abbr", dtypeAbbreviation, nullptr, "Its name in short: f32, i64, b8, ...", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

void initDTypes(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The type of a tensor's elements: tandem.float32, tandem.int64, ...")},
      {Py_tp_repr, slot(dtypeRepr)},
      {Py_tp_methods, dtypeMethods},
      {Py_tp_getset, dtypeProperties},
      {0, nullptr},
  };
  PyType_Spec spec = {"tandem.dtype", sizeof(DTypeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
  dtypeType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(dtypeType)));
  auto add = [&](DType type, const Named* named) {
    auto* o = reinterpret_cast<DTypeObject*>(checked(dtypeType->tp_alloc(dtypeType, 0)));
    o->type = type;
    o->named = named;
    auto* object = reinterpret_cast<PyObject*>(o);
    checked(PyModule_AddObjectRef(module, nameOf(object).c_str(), object));
    if (named != nullptr && named->alias != nullptr) checked(PyModule_AddObjectRef(module, named->alias, object));
    return object;
  };
  for (int i = 0; i < kNumDTypes; ++i) dtypes[i] = add(static_cast<DType>(i), nullptr);
  for (const Named& named : kNamed) add(DType::Float32, &named);
}

// ---- Size
// -------------------------------------------------------------------------------------------------------------

PyTypeObject* sizeType;

PyObject* sizeOfTuple(PyObject* tuple) {
  if (tuple == nullptr) return nullptr;
  PyRef owned(tuple);
  Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  PyObject* size = sizeType->tp_alloc(sizeType, n);
  for (Py_ssize_t i = 0; size != nullptr && i < n; ++i) {
    PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  }
  return size;
}
/// A Size of what an owned tuple has, integers of other types (tensors, NumPy's) as ints; TypeError for anything else.
PyObject* sizeOfItems(PyObject* tuple) {
  PyRef size(sizeOfTuple(tuple));
  for (Py_ssize_t i = 0; size && i < PyTuple_GET_SIZE(size.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(size.get(), i);
    if (PyLong_CheckExact(item)) continue;
    PyObject* number = PyNumber_Index(item);
    if (number == nullptr) {
      PyErr_Format(PyExc_TypeError, "%s.Size() takes an iterable of 'int' (item %zd is '%s')", packageName(), i,
                   Py_TYPE(item)->tp_name);
      return nullptr;
    }
    PyTuple_SET_ITEM(size.get(), i, number);
    Py_DECREF(item);
  }
  return size.release();
}
PyObject* sizeNew(PyTypeObject*, PyObject* args, PyObject*) {
  return sizeOfItems(PyObject_Call(reinterpret_cast<PyObject*>(&PyTuple_Type), args, nullptr));
}
PyObject* sizeRepr(PyObject* self) {
  return guarded(
      [&] { return PyUnicode_FromFormat("%s.Size(%s)", packageName(), shapeText(dimsOf(self, "Size")).c_str()); });
}
PyObject* sizeConcat(PyObject* left, PyObject* right) {
  return sizeOfItems(PyTuple_Type.tp_as_sequence->sq_concat(left, right));
}
/// The sum with a tuple on either side.
PyObject* sizeAdd(PyObject* left, PyObject* right) {
  return PyTuple_Check(left) && PyTuple_Check(right) ? sizeConcat(left, right) : Py_NewRef(Py_NotImplemented);
}
PyObject* sizeRepeat(PyObject* self, Py_ssize_t times) {
  return sizeOfTuple(PyTuple_Type.tp_as_sequence->sq_repeat(self, times));
}
PyObject* sizeSubscript(PyObject* self, PyObject* index) {
  PyObject* part = PyTuple_Type.tp_as_mapping->mp_subscript(self, index);
  return part != nullptr && PySlice_Check(index) && PyTuple_CheckExact(part) ? sizeOfTuple(part) : part;
}
PyObject* sizeNumel(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(numelOf(dimsOf(self, "numel"))); });
}
/// For the pickle protocols 0 and 1, which cannot write an instance of a type of ours without it.
PyObject* sizeReduce(PyObject* self, PyObject*) {
  PyRef plain(PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self)));
  return plain ? Py_BuildValue("O(O)", sizeType, plain.get()) : nullptr;
}
PyMethodDef sizeMethods[] = {{"numel", sizeNumel, METH_NOARGS, "Product of the sizes."},
                             {"__reduce__", sizeReduce, METH_NOARGS, nullptr},
                             {nullptr, nullptr, 0, nullptr}};

void initSize(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The sizes of a tensor, as a tuple.")},
      {Py_tp_new, slot(sizeNew)},
      {Py_tp_repr, slot(sizeRepr)},
      {Py_sq_concat, slot(sizeConcat)},
      {Py_nb_add, slot(sizeAdd)},
      {Py_sq_repeat, slot(sizeRepeat)},
      {Py_mp_subscript, slot(sizeSubscript)},
      {Py_tp_methods, sizeMethods},
      {0, nullptr},
  };
  PyType_Spec spec = {"tandem.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
  PyRef bases(checked(PyTuple_Pack(1, &PyTuple_Type)));
  sizeType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&spec, bases.get())));
  checked(PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(sizeType)));
}

}  // namespace

bool isDType(PyObject* o) { return Py_TYPE(o) == dtypeType; }
PyObject* dtypeObject(DType t) { return dtypes[static_cast<int>(t)]; }

std::optional<DType> asDType(PyObject* o) {
  if (isDType(o)) return typeOf(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  return std::nullopt;
}

bool isSize(PyObject* o) { return Py_TYPE(o) == sizeType; }

PyObject* sizeObject(DimsRef dims) {
  PyObject* size = sizeType->tp_alloc(sizeType, static_cast<Py_ssize_t>(dims.size()));
  if (size == nullptr) throw PythonError();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    PyTuple_SET_ITEM(size, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(dims[i]));
  }
  return size;
}

MemoryFormat memoryFormatOf(PyObject* o, const char* op) {
  static constexpr const char* kNames[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  if (std::string_view(Py_TYPE(o)->tp_name) == "memory_format") {
    PyRef name(checked(PyObject_GetAttrString(o, "_name")));
    for (std::uint8_t i = 0; i < std::size(kNames); ++i) {
      if (PyUnicode_CompareWithASCIIString(name.get(), kNames[i]) == 0) return static_cast<MemoryFormat>(i);
    }
  }
  fail<TypeError>(op, "(): argument 'memory_format' must be ", packageName(), ".memory_format, not ",
                  Py_TYPE(o)->tp_name);
}

bool isLayout(PyObject* o) { return std::string_view(Py_TYPE(o)->tp_name) == "layout"; }

void denseLayout(PyObject* layout, const char* op) {
  const PyRef name(checked(PyObject_GetAttrString(layout, "_name")));
  if (PyUnicode_CompareWithASCIIString(name.get(), "strided") == 0) return;
  fail<NotImplementedError>(op, "(): layout=", packageName(), ".", PyUnicode_AsUTF8(name.get()),
                            " is not part of Tandem: all tensors are dense");
}

Dims dimsOf(PyObject* o, const char* op) {
  Dims dims;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(o, i);
      if (!PyIndex_Check(item)) fail<TypeError>(op, "(): sizes must be ints, not ", Py_TYPE(item)->tp_name);
      dims.push_back(indexOf(item));
    }
  } else {
    if (!PyIndex_Check(o)) fail<TypeError>(op, "(): sizes must be ints, not ", Py_TYPE(o)->tp_name);
    dims.push_back(indexOf(o));
  }
  return dims;
}

PyObject* callSupport(const char* name, std::initializer_list<PyObject*> args) {
  static PyObject* support = nullptr;
  if (support == nullptr) support = PyImport_ImportModule("tandem._support");
  if (support == nullptr) return nullptr;
  PyRef function(PyObject_GetAttrString(support, name));
  if (!function) return nullptr;
  return PyObject_Vectorcall(function.get(), args.begin(), args.size(), nullptr);
}

void initConvert(PyObject* module) {
  initDTypes(module);
  initSize(module);
}

}  // namespace tandem::python
