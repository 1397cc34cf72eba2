#include "python/src/py_tensor.h"

#include <cstddef>
#include <memory>
#include <new>
#include <structmember.h>

#include "autograd/autograd.h"
#include "python/src/arg_parser.h"
#include "python/src/autograd_bindings.h"
#include "python/src/convert.h"
#include "python/src/device_object.h"
#include "python/src/torch_function.h"

namespace tandem::python {

PyTypeObject* tensorType;

namespace {

// Objects of exactly tandem.Tensor are kept when freed: most tensors live for one operation.
constexpr int kMaxFree = 256;
PyTensor* freeObjects[kMaxFree];
int numFree = 0;

PyTensor* allocate(PyTypeObject* cls) {
  PyTensor* self;
  if (cls == tensorType && numFree > 0) {
    self = freeObjects[--numFree];
    PyObject_Init(reinterpret_cast<PyObject*>(self), cls);
    new (&self->tensor) Tensor();
    PyObject_GC_Track(self);
  } else {
    self = reinterpret_cast<PyTensor*>(cls->tp_alloc(cls, 0));
    if (self == nullptr) throw PythonError();
    new (&self->tensor) Tensor();
  }
  return self;
}

void dealloc(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  PyTypeObject* cls = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  if (self->tensor.defined() && self->tensor.impl()->pyObject == object) self->tensor.impl()->pyObject = nullptr;
  Py_CLEAR(self->dict);
  self->tensor.~Tensor();
  if (cls == tensorType && numFree < kMaxFree) {
    freeObjects[numFree++] = self;
  } else {
    cls->tp_free(object);
  }
  Py_DECREF(cls);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  Py_VISIT(self->dict);
  Py_VISIT(Py_TYPE(object));
  return traverseHooks(self->tensor, visit, arg);
}

// The tensor itself stays: objects with finalizers may still look at it while a cycle is taken apart.
int clear(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  Py_CLEAR(self->dict);
  clearHooks(self->tensor);
  return 0;
}

/// Of the keywords of the oldest constructor: there is `device` alone, and it is the CPU.
void checkOldKeywords(PyObject* kwargs) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &key, &value) != 0;) {
    if (PyUnicode_CompareWithASCIIString(key, "device") != 0)
      fail<TypeError>("Tensor() takes no keyword arguments but device; use tandem.tensor(data, dtype=...)");
    if (value != Py_None && !deviceFrom(value).isCpu())
      fail("Tensor(): legacy constructor expects device type: cpu but device type: ", deviceName(deviceFrom(value)),
           " was passed; use tandem.tensor(data, device=...)");
  }
}

// Tensor(), Tensor(2, 3) and Tensor(sequence), as PyTorch's oldest constructor.
PyObject* construct(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (kwargs != nullptr && cls == tensorType) checkOldKeywords(kwargs);
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (n == 0) return wrapAs(cls, makeEmpty(Dims{0}, defaultDType()));
    PyObject* first = PyTuple_GET_ITEM(args, 0);
    if (n == 1 && isTensor(first)) return wrapAs(cls, autograd::detach(tensorOf(first)));
    if (n == 1 && isSize(first)) return wrapAs(cls, makeEmpty(dimsOf(first, "Tensor"), defaultDType()));
    if (PyObject_HasAttrString(first, "_is_storage") != 0) {
      const PyRef dtype(wrap(defaultDType())), made(checked(callSupport("tensor_of_storage", {first, dtype.get()})));
      return wrapAs(cls, tensorOf(made.get()));
    }
    if (!PyLong_Check(first)) return wrapAs(cls, makeTensor(first, defaultDType()));
    return wrapAs(cls, makeEmpty(dimsOf(args, "Tensor"), defaultDType()));
  });
}

PyObject* representation(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (overridesMayAct())
      if (auto answer = askClasses("__repr__", self, nullptr)) return *answer;
    return callSupport("tensor_repr", {self});
  });
}

Py_hash_t identityHash(PyObject* self) { return _Py_HashPointer(self); }

PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensorOf(self);
    if (sized(t, 0).dim() == 0) fail<TypeError>("iteration over a 0-d tensor");
    PyRef slices(callSupport("unbind", {self}));
    if (!slices) return nullptr;
    return PyObject_GetIter(slices.get());
  });
}

Py_ssize_t length(PyObject* self) {
  if (overridesMayAct()) [[unlikely]] {
    Py_ssize_t asked = -1;
    bool answered = false;
    const int failed = guardedInt([&] {
      if (auto answer = askReader("__len__", Call{self, nullptr, 0, nullptr})) {
        answered = true;
        asked = PyNumber_AsSsize_t(PyRef(*answer).get(), PyExc_OverflowError);
      }
      return 0;
    });
    if (failed < 0 || answered) return asked;
  }
  const Tensor& t = tensorOf(self);
  if (t.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  if (guardedInt([&] { return sized(t, 0), 0; }) < 0) return -1;
  return t.shape()[0];
}

int contains(PyObject* self, PyObject* element) {
  return guardedInt([&] {
    std::optional<PyObject*> answer;
    if (overridesMayAct()) answer = askReader("__contains__", Call{self, &element, 1, nullptr});
    PyRef found(answer ? *answer : callSupport("contains", {self, element}));
    return found ? PyObject_IsTrue(found.get()) : -1;
  });
}

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

const char* const kDoc =
    "A multi-dimensional array of one dtype, whose operations can be differentiated, recorded and compiled.\n\n"
    "Made by `tandem.tensor`, `tandem.zeros`, `tandem.from_numpy` and their like.";

PyObject* wrapIn(PyTypeObject* cls, Tensor&& t) {
  PyTensor* self = allocate(cls);
  self->tensor = std::move(t);
  self->tensor.impl()->pyObject = self;
  return reinterpret_cast<PyObject*>(self);
}

}  // namespace

PyObject* wrapAs(PyTypeObject* cls, Tensor t) {
  noteClass(cls);
  return wrapIn(cls, std::move(t));
}

PyObject* wrap(Tensor t) {
  if (!t.defined()) Py_RETURN_NONE;
  if (auto* known = static_cast<PyObject*>(t.impl()->pyObject); known != nullptr) return Py_NewRef(known);
  return wrapIn(tensorType, std::move(t));
}

void initTensor(PyObject* module) {
  static std::vector<PyMethodDef> methods = tensorMethodDefs();
  // Where a method is written by hand, the generated one of that name gives way.
  for (const PyMethodDef& def : generatedMethodDefs()) {
    bool byHand = false;
    for (const PyMethodDef& m : methods) byHand |= std::string_view(m.ml_name) == def.ml_name;
    if (!byHand) methods.push_back(def);
  }
  methods.push_back(torchFunctionMethod());
  methods.push_back({nullptr, nullptr, 0, nullptr});
  static std::vector<PyGetSetDef> properties = propertyDefs();
  askAboutProperties(properties);
  properties.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});

  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_new, reinterpret_cast<void*>(construct)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_repr, reinterpret_cast<void*>(representation)},
      {Py_tp_hash, reinterpret_cast<void*>(identityHash)},
      {Py_tp_iter, reinterpret_cast<void*>(iterate)},
      {Py_tp_members, members},
      {Py_tp_methods, methods.data()},
      {Py_tp_getset, properties.data()},
      {Py_mp_length, reinterpret_cast<void*>(length)},
      {Py_mp_subscript, reinterpret_cast<void*>(tensorGetItem)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(tensorSetItem)},
      {Py_sq_length, reinterpret_cast<void*>(length)},
      {Py_sq_contains, reinterpret_cast<void*>(contains)},
  };
  for (const PyType_Slot& s : numberSlots()) slots.push_back(s);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"tandem.Tensor", sizeof(PyTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensorType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  // NumPy leaves operators of an array and a tensor to the tensor.
  PyRef priority(checked(PyLong_FromLong(1000)));
  if (PyDict_SetItemString(tensorType->tp_dict, "__array_priority__", priority.get()) < 0) throw PythonError();
  PyType_Modified(tensorType);
  checked(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensorType)));
}

}  // namespace tandem::python
