#include "python/src/optim_bindings.h"

#include "eager/composites/optim.h"
#include "eager/each.h"
#include "eager/ops.h"
#include "ir/schema/op_table.h"
#include "python/src/errors.h"
#include "python/src/py_tensor.h"

namespace tandem::python {
namespace {

/// A list is a tensor for each parameter, None nothing, a tensor of one element or a number the same for all.
ops::UpdateOperand updateOperand(PyObject* o) {
  using Kind = ops::UpdateOperand::Kind;
  ops::UpdateOperand out;
  if (o == Py_None) return out;
  if (PyList_Check(o)) {
    out.kind = Kind::Each;
    out.each.reserve(static_cast<std::size_t>(PyList_GET_SIZE(o)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) {
      PyObject* t = PyList_GET_ITEM(o, i);
      if (!isTensor(t)) fail<TypeError>("optimizer step: expected tensors, got ", Py_TYPE(t)->tp_name);
      out.each.push_back(tensorOf(t));
    }
    return out;
  }
  out.kind = Kind::All;
  if (!isTensor(o)) {
    out.scalar = scalarOf(o);
    return out;
  }
  const Tensor& t = tensorOf(o);
  if (t.numel() != 1) fail<ValueError>("optimizer step: a hyperparameter is a tensor of ", t.numel(), " elements");
  out.tensor = t.dim() == 0 ? t : ops::reshape(t, {});
  return out;
}

/// _optimizer_update(name, differentiable, *operands)
PyObject* optimizerUpdate(PyObject*, PyObject* const* a, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    const char* name = n > 2 ? PyUnicode_AsUTF8(a[0]) : nullptr;
    const auto op = name != nullptr ? findOp(name) : std::nullopt;
    if (!op || !PyList_Check(a[2])) fail<TypeError>("_optimizer_update takes the name of an update and its operands");
    std::vector<ops::UpdateOperand> operands;
    operands.reserve(static_cast<std::size_t>(n - 2));
    for (Py_ssize_t i = 2; i < n; ++i) operands.push_back(updateOperand(a[i]));
    ops::optimizerStep(*op, operands, PyObject_IsTrue(a[1]) != 0);
    Py_RETURN_NONE;
  });
}

std::vector<Tensor> tensorsOf(PyObject* list) {
  std::vector<Tensor> tensors;
  tensors.reserve(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(list)));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    PyObject* t = PySequence_Fast_GET_ITEM(list, i);
    if (!isTensor(t)) fail<TypeError>("expected a list of tensors, got one with ", Py_TYPE(t)->tp_name);
    tensors.push_back(tensorOf(t));
  }
  return tensors;
}
bool isListOrTuple(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

/// _each(name, in_place, tensors, *operands): each a list or tuple as long as `tensors`, or one for all.
PyObject* each(PyObject*, PyObject* const* a, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    const char* name = n > 2 ? PyUnicode_AsUTF8(a[0]) : nullptr;
    const auto op = name != nullptr ? findOp(name) : std::nullopt;
    if (!op || !isListOrTuple(a[2])) fail<TypeError>("_each takes the name of an operation and a list of tensors");
    const bool inPlace = PyObject_IsTrue(a[1]) != 0;
    const auto width = static_cast<std::size_t>(n - 2);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(a[2]);
    std::vector<Tensor> tensors;  // which `rows` point to
    tensors.reserve(static_cast<std::size_t>(count) * width);
    std::vector<Operand> rows(static_cast<std::size_t>(count) * width);
    for (std::size_t k = 0; k < width; ++k) {
      PyObject* const given = a[k + 2];
      const bool list = isListOrTuple(given);
      if (list && PySequence_Fast_GET_SIZE(given) != count)
        fail<ValueError>("_each: lists of different lengths: ", count, " and ", PySequence_Fast_GET_SIZE(given));
      for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const o = list ? PySequence_Fast_GET_ITEM(given, i) : given;
        rows[static_cast<std::size_t>(i) * width + k] =
            isTensor(o) ? Operand(tensors.emplace_back(tensorOf(o))) : Operand(scalarOf(o));
      }
    }
    std::vector<Tensor> results = applyEach(*op, rows, width, inPlace);
    PyObject* made = checked(PyList_New(static_cast<Py_ssize_t>(results.size())));
    for (std::size_t i = 0; i < results.size(); ++i)
      PyList_SET_ITEM(made, static_cast<Py_ssize_t>(i), wrap(std::move(results[i])));
    return made;
  });
}

/// _square_sums(tensors), _any_infinite(tensors)
template <EachReduction what>
PyObject* reduceEach(PyObject*, PyObject* list) {
  return guarded([&]() -> PyObject* {
    if (!isListOrTuple(list) || PySequence_Fast_GET_SIZE(list) == 0) fail<TypeError>("expected a list of tensors");
    return wrap(tandem::reduceEach(what, tensorsOf(list)));
  });
}

PyCFunction fast(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}
PyMethodDef functions[] = {{"_optimizer_update", fast(&optimizerUpdate), METH_FASTCALL,
                            "One step of an optimizer over lists of tensors, by the name of its update."},
                           {"_each", fast(&each), METH_FASTCALL, "A pointwise operation of every tensor of a list."},
                           {"_square_sums", &reduceEach<EachReduction::SquareSum>, METH_O,
                            "The sums of the squares of tensors of one device, as a vector."},
                           {"_any_infinite", &reduceEach<EachReduction::AnyInfinite>, METH_O,
                            "Which of some tensors of one device have elements that are infinite or NaN, as a vector."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void initOptim(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace tandem::python
