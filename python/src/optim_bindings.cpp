#include "python/src/optim_bindings.h"

#include "eager/composites/optim.h"
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

PyMethodDef functions[] = {{"_optimizer_update",
                            reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&optimizerUpdate)), METH_FASTCALL,
                            "One step of an optimizer over lists of tensors, by the name of its update."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void initOptim(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace tandem::python
