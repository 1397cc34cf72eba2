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

[[noreturn]] void refuse(const char* what) {
  fail<DataReadError>(userLineOutside(), ": ", what,
                      " of a float argument is read while its function is being traced. Its value is known only when "
                      "the compiled function runs: compute with it, choose with tandem.where or tandem.cond, pass an "
                      "int or a str to specialise on it, or use tandem.lazy");
}

template <char op>
PyObject* binary(PyObject* left, PyObject* right) {
  if (isTensor(left) || isTensor(right) || !isNumber(left) || !isNumber(right)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&]() -> PyObject* {
    if (slotArithmetic == nullptr) {
      fail<DataReadError>(userLineOutside(), ": a float argument of a traced function outlived the tracing");
    }
    return floatProxy(slotArithmetic->binary(op, scalarOf(left), scalarOf(right)));
  });
}
PyObject* power(PyObject* left, PyObject* right, PyObject*) { return binary<'^'>(left, right); }
PyObject* negative(PyObject* self) {
  PyRef minusOne(PyFloat_FromDouble(-1.0));
  return minusOne ? binary<'*'>(self, minusOne.get()) : nullptr;
}
PyObject* positive(PyObject* self) { return Py_NewRef(self); }

PyObject* refuseFloat(PyObject*) {
  return guarded([]() -> PyObject* { refuse("float()"); });
}
PyObject* refuseInt(PyObject*) {
  return guarded([]() -> PyObject* { refuse("int()"); });
}
PyObject* refuseAbs(PyObject*) {
  return guarded([]() -> PyObject* { refuse("abs()"); });
}
int refuseBool(PyObject*) {
  return guardedInt([]() -> int { refuse("bool()"); });
}
Py_hash_t refuseHash(PyObject*) {
  return guardedInt([]() -> int { refuse("hash()"); });
}
// With a tensor the comparison is an operation, the tensor's to record; with a number it asks for the value.
PyObject* compare(PyObject*, PyObject* other, int) {
  if (isTensor(other) || !isNumber(other)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([]() -> PyObject* { refuse("a comparison"); });
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
      {Py_tp_hash, slot(refuseHash)},
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
      {Py_nb_absolute, slot(refuseAbs)},
      {Py_nb_bool, slot(refuseBool)},
      {Py_nb_float, slot(refuseFloat)},
      {Py_nb_int, slot(refuseInt)},
      {0, nullptr},
  };
  PyType_Spec spec = {"tandem.FloatProxy", sizeof(Proxy), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
  proxyType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "FloatProxy", reinterpret_cast<PyObject*>(proxyType)));
}

}  // namespace tandem::python
