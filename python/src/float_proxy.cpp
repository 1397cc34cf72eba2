#include "python/src/float_proxy.h"

#include <vector>

#include "python/src/errors.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

thread_local SlotArithmetic* slotArithmetic = nullptr;

namespace {

struct Proxy {
  PyObject_HEAD Scalar scalar;
};
PyTypeObject* proxyType;

double valueOf(PyObject* o) {
  if (slotArithmetic == nullptr)
    fail<DataReadError>(userLineOutside(), ": a float argument of a traced function outlived the tracing");
  return slotArithmetic->guard(slotOf(o));
}

template <char op>
PyObject* binary(PyObject* left, PyObject* right) {
  if (isTensor(left) || isTensor(right) || !isNumber(left) || !isNumber(right)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&]() -> PyObject* {
    if (slotArithmetic == nullptr)
      fail<DataReadError>(userLineOutside(), ": a float argument of a traced function outlived the tracing");
    return floatProxy(slotArithmetic->binary(op, scalarOf(left), scalarOf(right)));
  });
}
PyObject* power(PyObject* left, PyObject* right, PyObject*) { return binary<'^'>(left, right); }
PyObject* negative(PyObject* self) {
  PyRef minusOne(PyFloat_FromDouble(-1.0));
  return minusOne ? binary<'*'>(self, minusOne.get()) : nullptr;
}
PyObject* positive(PyObject* self) { return Py_NewRef(self); }

PyObject* asFloat(PyObject* self) {
  return guarded([&]() -> PyObject* { return PyFloat_FromDouble(valueOf(self)); });
}
/// What a float of the guarded value gives.
template <class F>
PyObject* ofFloat(PyObject* self, F* f) {
  PyRef value(asFloat(self));
  return value ? f(value.get()) : nullptr;
}
PyObject* asInt(PyObject* self) { return ofFloat(self, PyNumber_Long); }
PyObject* absolute(PyObject* self) { return ofFloat(self, PyNumber_Absolute); }
int asBool(PyObject* self) {
  return guardedInt([&]() -> int { return valueOf(self) != 0 ? 1 : 0; });
}
Py_hash_t hash(PyObject* self) {
  PyRef value(asFloat(self));
  return value ? PyObject_Hash(value.get()) : -1;
}
// With a tensor the comparison is an operation, the tensor's to record.
PyObject* compare(PyObject* self, PyObject* other, int how) {
  if (isTensor(other) || !isNumber(other)) Py_RETURN_NOTIMPLEMENTED;
  PyRef value(asFloat(self));
  if (!value) return nullptr;
  PyRef right(isFloatProxy(other) ? asFloat(other) : Py_NewRef(other));
  return right ? PyObject_RichCompare(value.get(), right.get(), how) : nullptr;
}
PyObject* representation(PyObject* self) {
  return PyUnicode_FromFormat("<float argument in slot %d>", slotOf(self).slot);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace

bool isFloatProxy(PyObject* o) { return Py_TYPE(o) == proxyType; }
const Scalar& slotOf(PyObject* o) { return reinterpret_cast<Proxy*>(o)->scalar; }

PyObject* floatProxy(const Scalar& s) {
  auto* self = reinterpret_cast<Proxy*>(checked(proxyType->tp_alloc(proxyType, 0)));
  self->scalar = s;
  return reinterpret_cast<PyObject*>(self);
}

void initFloatProxy(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A float argument of a function that is being traced.")},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_repr, slot(representation)},
      {Py_tp_hash, slot(hash)},
      {Py_tp_richcompare, slot(compare)},
      {Py_nb_add, slot(binary<'+'>)},
      {Py_nb_subtract, slot(binary<'-'>)},
      {Py_nb_multiply, slot(binary<'*'>)},
      {Py_nb_true_divide, slot(binary<'/'>)},
      {Py_nb_floor_divide, slot(binary<'f'>)},
      {Py_nb_remainder, slot(binary<'%'>)},
      {Py_nb_power, slot(power)},
      {Py_nb_negative, slot(negative)},
      {Py_nb_positive, slot(positive)},
      {Py_nb_absolute, slot(absolute)},
      {Py_nb_bool, slot(asBool)},
      {Py_nb_float, slot(asFloat)},
      {Py_nb_int, slot(asInt)},
      {0, nullptr},
  };
  PyType_Spec spec = {"tandem.FloatProxy", sizeof(Proxy), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
  proxyType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "FloatProxy", reinterpret_cast<PyObject*>(proxyType)));
}

}  // namespace tandem::python
