#include "python/src/tracked_numbers.h"

#include "python/src/errors.h"
#include "python/src/observer.h"

namespace tandem::python {
namespace {

void ask(PyObject* o) {
  if (!isTracked(o)) return;
  useTracked(o);
  reveal(o);
}
/// Beside anything but a number, as a tensor, a number says that it does not know.
void askBoth(PyObject* a, PyObject* b) {
  for (PyObject* o : {a, b})
    if (!PyFloat_Check(o) && !PyLong_Check(o) && !PyComplex_Check(o)) return;
  ask(a);
  ask(b);
}

/// A class whose questions are those of `base`, after what is asked was told.
template <PyTypeObject& base, bool integers>
struct Tracked {
  template <auto member>
  static PyObject* one(PyObject* o) {
    return guarded([&] {
      ask(o);
      return (base.tp_as_number->*member)(o);
    });
  }
  template <auto member>
  static PyObject* two(PyObject* a, PyObject* b) {
    return guarded([&] {
      askBoth(a, b);
      return (base.tp_as_number->*member)(a, b);
    });
  }
  static PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
    return guarded([&] {
      askBoth(a, b);
      ask(modulus);
      return base.tp_as_number->nb_power(a, b, modulus);
    });
  }
  static int truth(PyObject* o) {
    return guardedInt([&] {
      ask(o);
      return base.tp_as_number->nb_bool(o);
    });
  }
  static Py_hash_t hash(PyObject* o) {
    const int failed = guardedInt([&] {
      ask(o);
      return 0;
    });
    return failed < 0 ? -1 : base.tp_hash(o);
  }
  static PyObject* compare(PyObject* a, PyObject* b, int how) {
    return guarded([&] {
      askBoth(a, b);
      return base.tp_richcompare(a, b, how);
    });
  }
  static PyObject* text(PyObject* o) {
    return guarded([&] {
      ask(o);
      return base.tp_repr(o);
    });
  }

  static PyNumberMethods numberMethods() {
    using N = PyNumberMethods;
    N n{};
    n.nb_add = two<&N::nb_add>;
    n.nb_subtract = two<&N::nb_subtract>;
    n.nb_multiply = two<&N::nb_multiply>;
    n.nb_remainder = two<&N::nb_remainder>;
    n.nb_divmod = two<&N::nb_divmod>;
    n.nb_floor_divide = two<&N::nb_floor_divide>;
    n.nb_true_divide = two<&N::nb_true_divide>;
    n.nb_power = power;
    n.nb_negative = one<&N::nb_negative>;
    n.nb_positive = one<&N::nb_positive>;
    n.nb_absolute = one<&N::nb_absolute>;
    n.nb_int = one<&N::nb_int>;
    n.nb_float = one<&N::nb_float>;
    n.nb_bool = truth;
    if constexpr (integers) {
      n.nb_lshift = two<&N::nb_lshift>;
      n.nb_rshift = two<&N::nb_rshift>;
      n.nb_and = two<&N::nb_and>;
      n.nb_or = two<&N::nb_or>;
      n.nb_xor = two<&N::nb_xor>;
      n.nb_invert = one<&N::nb_invert>;
      n.nb_index = one<&N::nb_index>;
    }
    return n;
  }
  static PyTypeObject made() {
    static PyNumberMethods methods = numberMethods();
    PyTypeObject t{};
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(&t), 1);
    t.tp_name = integers ? "int" : "float";
    t.tp_base = &base;
    t.tp_flags = Py_TPFLAGS_DEFAULT;
    t.tp_as_number = &methods;
    t.tp_hash = hash;
    t.tp_richcompare = compare;
    t.tp_repr = text;
    return t;
  }
};

}  // namespace

PyTypeObject trackedFloatType = Tracked<PyFloat_Type, false>::made();
PyTypeObject trackedIntType = Tracked<PyLong_Type, true>::made();

const Scalar* trackedSlot(PyObject* number) {
  return activeObserver != nullptr ? activeObserver->slotOf(number) : nullptr;
}
void useTracked(PyObject* number) {
  if (activeObserver != nullptr) activeObserver->guardNumber(number);
}

PyObject* readNumber(const Tensor& t) { return activeObserver != nullptr ? activeObserver->readNumber(t) : nullptr; }
PyObject* convertedNumber(PyObject* tensor, PyTypeObject* to) {
  return activeObserver != nullptr ? activeObserver->convertedNumber(tensor, to) : nullptr;
}

// The classes have no members of their own, so that objects of both are alike.
void disguise(PyObject* number) {
  if (PyFloat_CheckExact(number)) Py_SET_TYPE(number, &trackedFloatType);
  if (PyLong_CheckExact(number)) Py_SET_TYPE(number, &trackedIntType);
}
void reveal(PyObject* number) {
  if (Py_TYPE(number) == &trackedFloatType) Py_SET_TYPE(number, &PyFloat_Type);
  if (Py_TYPE(number) == &trackedIntType) Py_SET_TYPE(number, &PyLong_Type);
}

PyObject* ownNumber(PyObject* number) {
  if (isFloat(number)) return checked(PyFloat_FromDouble(PyFloat_AS_DOUBLE(number)));
  // An object of a class of its own is never one of the small ints that the interpreter shares.
  PyRef arguments(checked(PyTuple_Pack(1, number)));
  PyObject* own = checked(PyLong_Type.tp_new(&trackedIntType, arguments.get(), nullptr));
  reveal(own);
  return own;
}

void initTrackedNumbers() {
  for (PyTypeObject* t : {&trackedFloatType, &trackedIntType})
    if (PyType_Ready(t) < 0) throw PythonError();
}

}  // namespace tandem::python
