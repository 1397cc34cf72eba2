// Operators of tensors. The hot path of eager programs: from the slot to the dispatcher without parsing anything.
#include <array>
#include <optional>
#include <span>

#include "eager/dispatch.h"
#include "eager/ops.h"
#include "eager/overlap.h"
#include "python/src/arg_parser.h"
#include "python/src/autocast.h"
#include "python/src/convert.h"
#include "python/src/elements.h"
#include "python/src/py_tensor.h"
#include "python/src/torch_function.h"
#include "python/src/tracked_numbers.h"
#include "runtime/base/warn.h"

namespace tandem::python {

namespace {

/// One side of an operator, which is what `method` is: a tensor or a number. False: neither. It is written where the
/// operation reads it, as copies of operands that were only just written are slow.
bool readSide(PyObject* o, PyObject* other, Operand& side, const char* method) {
  if (isTensor(o)) {
    side = Operand(tensorOf(o));
  } else if (isFloat(o)) {
    const Scalar* slot = trackedSlot(o);
    side = Operand(slot != nullptr ? *slot : Scalar(PyFloat_AS_DOUBLE(o)));
  } else if (isNumber(o)) {
    if (isUnsignedInteger(o) && isTensor(other)) [[unlikely]]
      side = tensorOf(other).dtype() == DType::Bool ? Operand(unsignedAs(DType::Int64, o, ""))
                                                    : Operand(unsignedAs(tensorOf(other).dtype(), o, method));
    else
      side = Operand(scalarOf(o));
  } else {
    return false;
  }
  return true;
}

/// The methods that an operator stands for where a class is asked, and where the tensor is on the right.
struct Names {
  const char* method;
  const char* reflected;
};

/// NotImplemented where `ask` ends in a TypeError: Python goes on with the reflected method of the other side.
template <class F>
std::optional<PyObject*> elseNotImplemented(F&& ask) {
  try {
    return ask();
  } catch (const TypeError&) {
  } catch (const PythonError& error) {
    error.restore();
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw PythonError();
    PyErr_Clear();
  }
  return Py_NewRef(Py_NotImplemented);
}

/// What the class of a side says of an operator, or a null reference. `anyClass`: a side is no operand of operations.
std::optional<PyObject*> asked(const Names& names, PyObject* left, PyObject* right, bool anyClass = false) {
  if (isTensor(left)) {
    auto ask = [&] { return askClasses(names.method, left, right, anyClass); };
    if (anyClass) return elseNotImplemented(ask);
    if (names.reflected == nullptr || !isTensor(right) || Py_TYPE(left) == Py_TYPE(right)) return ask();
    try {
      return ask();
    } catch (const TypeError&) {
      // All refused, and so the right side is asked about its own method, as Python does where the slots differ.
      auto answer = elseNotImplemented([&] { return askClasses(names.reflected, right, left, false); });
      if (answer && *answer != Py_NotImplemented) return answer;
      if (answer) Py_DECREF(*answer);
      throw;
    }
  }
  if (names.reflected == nullptr) return std::nullopt;
  return askClasses(names.reflected, right, left, anyClass);
}

template <class F>
PyObject* binary(const Names& names, PyObject* left, PyObject* right, F&& compute) {
  return guarded([&]() -> PyObject* {
    std::array<Operand, 2> sides;
    if (!readSide(left, right, sides[0], names.method) || !readSide(right, left, sides[1], names.method)) {
      if (overridesOff == 0)
        if (auto answer = asked(names, left, right, true)) return *answer;
      Py_RETURN_NOTIMPLEMENTED;
    }
    if (overridesMayAct()) [[unlikely]]
      if (auto answer = asked(names, left, right)) return *answer;
    return wrap(compute(sides));
  });
}
/// What the operator of a primitive is called.
template <OpCode op>
constexpr Names namesOf() {
  switch (op) {
  case OpCode::add:
    return {"add", "add"};
  case OpCode::sub:
    return {"sub", "__rsub__"};
  case OpCode::mul:
    return {"mul", "mul"};
  case OpCode::div:
    return {"div", "__rtruediv__"};
  case OpCode::floor_divide:
    return {"__floordiv__", "__rfloordiv__"};
  case OpCode::remainder:
    return {"remainder", "__rmod__"};
  case OpCode::bitwise_left_shift:
    return {"__lshift__", "__rlshift__"};
  case OpCode::bitwise_right_shift:
    return {"__rshift__", "__rrshift__"};
  case OpCode::bitwise_and:
    return {"__and__", "__rand__"};
  case OpCode::bitwise_or:
    return {"__or__", "__ror__"};
  case OpCode::bitwise_xor:
    return {"__xor__", "__rxor__"};
  case OpCode::eq:
    return {"__eq__", nullptr};
  case OpCode::ne:
    return {"ne", nullptr};
  case OpCode::lt:
    return {"lt", nullptr};
  case OpCode::le:
    return {"le", nullptr};
  case OpCode::gt:
    return {"gt", nullptr};
  case OpCode::ge:
    return {"ge", nullptr};
  case OpCode::neg:
    return {"neg", nullptr};
  case OpCode::abs:
    return {"abs", nullptr};
  default:
    return {"__invert__", nullptr};
  }
}
template <OpCode op>
PyObject* primitive(PyObject* left, PyObject* right) {
  return binary(namesOf<op>(), left, right, [](std::span<const Operand> sides) { return apply(op, sides); });
}

/// A NumPy array of a dtype that tensors have, its memory as a tensor; nothing of anything else.
std::optional<Tensor> arrayAsTensor(PyObject* o) {
  if (PyObject_CheckBuffer(o) == 0 || PyObject_HasAttrString(o, "__array_interface__") == 0 || !bufferDType(o))
    return {};
  return fromBuffer(o, true);
}
/// `==` and `!=`, which take arrays too; by NumPy itself they would be of the objects.
template <OpCode op>
PyObject* equality(PyObject* left, PyObject* right) {
  PyObject* result = primitive<op>(left, right);
  if (result != Py_NotImplemented) return result;
  return guarded([&]() -> PyObject* {
    std::optional<Tensor> array = arrayAsTensor(isTensor(left) ? right : left);
    if (!array) return result;
    return wrap(apply(op, {tensorOf(isTensor(left) ? left : right), *array}));
  });
}
/// Of an array by a tensor: the array times the reciprocal, as PyTorch has it.
PyObject* divide(PyObject* left, PyObject* right) {
  PyObject* result = primitive<OpCode::div>(left, right);
  if (result != Py_NotImplemented || !isTensor(right)) return result;
  return guarded([&]() -> PyObject* {
    if (!arrayAsTensor(left)) return result;
    PyRef inverse(checked(wrap(apply(OpCode::reciprocal, {tensorOf(right)}))));
    return PyNumber_Multiply(inverse.get(), left);
  });
}

[[noreturn]] void refuseBool(const char* what, const char* instead) {
  fail(what, ", on a bool tensor is not supported. If you are trying to invert a mask, use ", instead, " instead.");
}
PyObject* subtract(PyObject* left, PyObject* right) { return primitive<OpCode::sub>(left, right); }
PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary({"pow", "__rpow__"}, left, right,
                [](std::span<const Operand> sides) { return ops::pow(sides[0], sides[1]); });
}
PyObject* matmul(PyObject* left, PyObject* right) {
  return guarded([&]() -> PyObject* {
    const bool known = isTensor(left) && isTensor(right);
    if (known ? overridesMayAct() : overridesOff == 0) [[unlikely]]
      if (auto answer = asked({"matmul", "__rmatmul__"}, left, right, !known)) return *answer;
    if (!known) Py_RETURN_NOTIMPLEMENTED;
    const Tensor &a = tensorOf(left), &b = tensorOf(right);
    const AutocastState::Place& cast = autocastState().at(a.device());
    if (!cast.enabled) return wrapAlone(ops::matmul(a, b));
    return wrapAlone(ops::matmul(autocasted(a, cast.dtype), autocasted(b, cast.dtype)));
  });
}

template <OpCode op, class F>
PyObject* one(PyObject* self, F&& compute) {
  return guarded([&]() -> PyObject* {
    if (overridesMayAct()) [[unlikely]]
      if (auto answer = askClasses(namesOf<op>().method, self, nullptr)) return *answer;
    return wrap(compute(tensorOf(self)));
  });
}
template <OpCode op>
PyObject* unary(PyObject* self) {
  return one<op>(self, [](const Tensor& t) { return apply(op, {t}); });
}
PyObject* negative(PyObject* self) {
  return one<OpCode::neg>(self, [](const Tensor& t) {
    if (t.dtype() == DType::Bool) {
      refuseBool("Negation, the `-` operator", "the `~` or `logical_not()` operator");
    }
    return apply(OpCode::neg, {t});
  });
}
PyObject* positive(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (tensorOf(self).dtype() == DType::Bool) fail("The `+` operator, on a bool tensor is not supported.");
    return Py_NewRef(self);
  });
}
PyObject* invert(PyObject* self) {
  return one<OpCode::bitwise_not>(self, [](const Tensor& t) {
    if (isFloating(t.dtype())) {
      fail<TypeError>("~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    }
    return apply(OpCode::bitwise_not, {t});
  });
}

/// `name`: the method that does the same, about which modes and classes are asked.
template <Name name, OpCode op>
PyObject* inPlace(PyObject* self, PyObject* other) {
  if (!isTensor(self)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&]() -> PyObject* {
    if (overridesMayAct()) [[unlikely]]
      if (auto answer = askClasses(name.text, self, other, true)) return *answer;
    std::array<Operand, 2> sides{Operand(tensorOf(self)), Operand()};
    if (!readSide(other, self, sides[1], name.text)) Py_RETURN_NOTIMPLEMENTED;
    refusePartialOverlap("an operator in place", tensorOf(self), {sides[1]});
    applyInto(tensorOf(self), op, std::span<const Operand>(sides));
    return Py_NewRef(self);
  });
}
PyObject* inPlacePower(PyObject* self, PyObject* other, PyObject*) { return inPlace<"pow_", OpCode::pow>(self, other); }

// ---- Python numbers
// ---------------------------------------------------------------------------------------------------

Scalar onlyElement(PyObject* self, const char* what) {
  const Tensor& t = tensorOf(self);
  if (t.numel() != 1) fail<ValueError>("only one element tensors can be converted to Python ", what);
  return itemOf(t);
}
/// What classes make of a conversion to a number, else `read()`.
template <class F>
PyObject* number(const char* name, PyObject* self, F read) {
  return guarded([&]() -> PyObject* {
    if (overridesMayAct()) [[unlikely]]
      if (auto answer = askReader(name, Call{self, nullptr, 0, nullptr})) return *answer;
    return read();
  });
}
PyObject* toFloat(PyObject* self) {
  return number("__float__", self, [&]() -> PyObject* {
    if (gradEnabled() && tensorOf(self).requiresGrad()) {
      warnOnce("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior. Consider "
               "using tensor.detach() first.");
    }
    if (PyObject* read = convertedNumber(self, &PyFloat_Type)) return read;
    return PyFloat_FromDouble(onlyElement(self, "scalars").asDouble());
  });
}
PyObject* toInt(PyObject* self) {
  return number("__int__", self, [&]() -> PyObject* {
    if (PyObject* read = convertedNumber(self, &PyLong_Type)) return read;
    Scalar s = onlyElement(self, "scalars");
    return s.isFloat() ? PyLong_FromDouble(s.asDouble()) : PyLong_FromLongLong(s.asInt());
  });
}
PyObject* toIndex(PyObject* self) {
  return number("__index__", self, [&] {
    const Tensor& t = tensorOf(self);
    if (t.numel() != 1 || isFloating(t.dtype())) {
      fail<TypeError>("only integer tensors of a single element can be converted to an index");
    }
    return PyLong_FromLongLong(itemOf(t).asInt());
  });
}
int truth(PyObject* self) {
  return guardedInt([&]() -> int {
    if (overridesMayAct()) [[unlikely]]
      if (auto answer = askReader("__bool__", Call{self, nullptr, 0, nullptr}))
        return PyObject_IsTrue(PyRef(*answer).get());
    const Tensor& t = tensorOf(self);
    if (t.numel() == 0) fail("Boolean value of Tensor with no values is ambiguous");
    if (t.numel() > 1) fail("Boolean value of Tensor with more than one value is ambiguous");
    if (t.impl()->batch)
      fail(
          "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support "
          "that yet; please use tandem.where instead.");
    Scalar s = itemOf(t);
    return s.isFloat() ? s.asDouble() != 0.0 : s.asInt() != 0;
  });
}

PyObject* compare(PyObject* left, PyObject* right, int op) {
  switch (op) {
  case Py_EQ:
    return equality<OpCode::eq>(left, right);
  case Py_NE:
    return equality<OpCode::ne>(left, right);
  case Py_LT:
    return primitive<OpCode::lt>(left, right);
  case Py_LE:
    return primitive<OpCode::le>(left, right);
  case Py_GT:
    return primitive<OpCode::gt>(left, right);
  default:
    return primitive<OpCode::ge>(left, right);
  }
}

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace

std::vector<PyType_Slot> numberSlots() {
  return {
      {Py_nb_add, slot(primitive<OpCode::add>)},
      {Py_nb_subtract, slot(subtract)},
      {Py_nb_multiply, slot(primitive<OpCode::mul>)},
      {Py_nb_true_divide, slot(divide)},
      {Py_nb_floor_divide, slot(primitive<OpCode::floor_divide>)},
      {Py_nb_remainder, slot(primitive<OpCode::remainder>)},
      {Py_nb_power, slot(power)},
      {Py_nb_matrix_multiply, slot(matmul)},
      {Py_nb_lshift, slot(primitive<OpCode::bitwise_left_shift>)},
      {Py_nb_rshift, slot(primitive<OpCode::bitwise_right_shift>)},
      {Py_nb_and, slot(primitive<OpCode::bitwise_and>)},
      {Py_nb_or, slot(primitive<OpCode::bitwise_or>)},
      {Py_nb_xor, slot(primitive<OpCode::bitwise_xor>)},
      {Py_nb_inplace_add, slot(inPlace<"add_", OpCode::add>)},
      {Py_nb_inplace_subtract, slot(inPlace<"sub_", OpCode::sub>)},
      {Py_nb_inplace_multiply, slot(inPlace<"mul_", OpCode::mul>)},
      {Py_nb_inplace_true_divide, slot(inPlace<"div_", OpCode::div>)},
      {Py_nb_inplace_floor_divide, slot(inPlace<"floor_divide_", OpCode::floor_divide>)},
      {Py_nb_inplace_remainder, slot(inPlace<"remainder_", OpCode::remainder>)},
      {Py_nb_inplace_power, slot(inPlacePower)},
      {Py_nb_inplace_lshift, slot(inPlace<"bitwise_left_shift_", OpCode::bitwise_left_shift>)},
      {Py_nb_inplace_rshift, slot(inPlace<"bitwise_right_shift_", OpCode::bitwise_right_shift>)},
      {Py_nb_inplace_and, slot(inPlace<"bitwise_and_", OpCode::bitwise_and>)},
      {Py_nb_inplace_or, slot(inPlace<"bitwise_or_", OpCode::bitwise_or>)},
      {Py_nb_inplace_xor, slot(inPlace<"bitwise_xor_", OpCode::bitwise_xor>)},
      {Py_nb_negative, slot(negative)},
      {Py_nb_positive, slot(positive)},
      {Py_nb_absolute, slot(unary<OpCode::abs>)},
      {Py_nb_invert, slot(invert)},
      {Py_nb_float, slot(toFloat)},
      {Py_nb_int, slot(toInt)},
      {Py_nb_index, slot(toIndex)},
      {Py_nb_bool, slot(truth)},
      {Py_tp_richcompare, slot(compare)},
  };
}

}  // namespace tandem::python
