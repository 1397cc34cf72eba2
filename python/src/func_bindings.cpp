#include "python/src/func_bindings.h"

#include <algorithm>
#include <array>
#include <memory>

#include "autograd/functional.h"
#include "autograd/kept_saved.h"
#include "eager/batch.h"
#include "eager/ops.h"
#include "python/src/arg_parser.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

namespace {

// ---- vmap -----------------------------------------------------------------------------------------------------------

/// How many functions that a user has transformed run on this thread, one within another.
thread_local int usersTransforms = 0;

struct OpenScope {
  std::unique_ptr<BatchScope> scope;
  int transforms;  // that it was begun in
};
std::vector<OpenScope>& openScopes() {
  thread_local std::vector<OpenScope> scopes;
  return scopes;
}

PyObject* vmapEnter(PyObject*, PyObject* args) {
  long long size;
  const char* randomness;
  if (PyArg_ParseTuple(args, "Ls", &size, &randomness) == 0) return nullptr;
  return guarded([&] {
    std::string_view r(randomness);
    auto mode = r == "same" ? Randomness::Same : r == "different" ? Randomness::Different : Randomness::Error;
    openScopes().push_back({std::make_unique<BatchScope>(size, mode), usersTransforms});
    return PyLong_FromLongLong(openScopes().back().scope->axis().id);
  });
}
PyObject* vmapExit(PyObject*, PyObject*) {
  if (!openScopes().empty()) openScopes().pop_back();
  Py_RETURN_NONE;
}
PyObject* transformedInside(PyObject*, PyObject* axis) {
  const long long id = PyLong_AsLongLong(axis);
  if (id == -1 && PyErr_Occurred() != nullptr) return nullptr;
  for (const OpenScope& open : openScopes())
    if (open.scope->axis().id == id) return PyBool_FromLong(usersTransforms > open.transforms ? 1 : 0);
  Py_RETURN_FALSE;
}

}  // namespace

bool isOfExamples(const Tensor& t) {
  const BatchDims* batch = t.impl()->batch.get();
  if (batch == nullptr || batch->dims.empty()) return false;
  const std::int64_t innermost = batch->dims.back().axis->id;
  const bool within = std::ranges::any_of(openScopes(), [&](const OpenScope& open) {
    return open.scope->axis().id == innermost && usersTransforms > open.transforms;
  });
  return !(within && t.requiresGrad());
}

namespace {

template <Tensor (*function)(const Tensor&, std::int64_t, std::int64_t)>
PyObject* moveAxis(PyObject*, PyObject* args) {
  PyObject* tensor;
  long long dim, axis;
  if (PyArg_ParseTuple(args, "O!LL", tensorType, &tensor, &dim, &axis) == 0) return nullptr;
  return guarded([&] { return wrap(function(tensorOf(tensor), dim, axis)); });
}

PyObject* batchAxes(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    PyRef list(checked(PyList_New(0)));
    if (isTensor(object))
      if (const BatchDims* batch = tensorOf(object).impl()->batch.get())
        for (const BatchDim& d : batch->dims) {
          PyRef id(checked(PyLong_FromLongLong(d.axis->id)));
          checked(PyList_Append(list.get(), id.get()));
        }
    return list.release();
  });
}

PyObject* activeAxesList(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef list(checked(PyList_New(0)));
    for (const auto& axis : activeAxes()) {
      const char* mode = axis->randomness == Randomness::Same        ? "same"
                         : axis->randomness == Randomness::Different ? "different"
                                                                     : "error";
      PyRef pair(
          checked(Py_BuildValue("(LLs)", static_cast<long long>(axis->id), static_cast<long long>(axis->size), mode)));
      checked(PyList_Append(list.get(), pair.get()));
    }
    return list.release();
  });
}

// ---- transforms -----------------------------------------------------------------------------------------------------

constexpr const char* kMap = "tandem.linear_map";

std::vector<Tensor> listOf(PyObject* o) {
  std::vector<Tensor> list;
  PyRef items(PySequence_Fast(o, "expected a sequence of Tensors"));
  if (!items) throw PythonError();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (item != Py_None && !isTensor(item))
      fail<TypeError>("expected Tensors or None, but got ", Py_TYPE(item)->tp_name);
    list.push_back(item == Py_None ? Tensor() : tensorOf(item));
  }
  return list;
}

void freeMap(PyObject* capsule) { delete static_cast<autograd::TensorFunction*>(PyCapsule_GetPointer(capsule, kMap)); }

PyObject* inTransform(PyObject*, PyObject*) { return PyBool_FromLong(usersTransforms > 0 ? 1 : 0); }

/// (f, primals, are they a user's function and what it is transformed at) to (outputs, map).
template <class Transform>
PyObject* transformed(PyObject*, PyObject* args) {
  PyObject *f, *primals;
  int users = 0;
  if (PyArg_ParseTuple(args, "OO|p", &f, &primals, &users) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    struct Inside {
      explicit Inside(int more) : count(more) { usersTransforms += count; }
      ~Inside() { usersTransforms -= count; }
      int count;
    } inside(users);
    auto call = [f](std::span<const Tensor> points) {
      PyRef in(checked(wrap(points)));
      beforeCall(f, std::array{in.get()}.data(), 1);
      PyRef out(checked(PyObject_CallOneArg(f, in.get())));
      return listOf(out.get());
    };
    autograd::Transformed result = Transform()(call, listOf(primals), users != 0);
    PyRef outputs(checked(wrap(result.outputs)));
    auto map = std::make_unique<autograd::TensorFunction>(std::move(result.map));
    PyRef capsule(checked(PyCapsule_New(map.get(), kMap, freeMap)));
    (void)map.release();
    return Py_BuildValue("(OO)", outputs.get(), capsule.get());
  });
}

struct Vjp {
  autograd::Transformed operator()(const autograd::TensorFunction& f, std::span<const Tensor> at, bool users) const {
    return autograd::vjp(f, at, users);
  }
};
struct Linearize {
  autograd::Transformed operator()(const autograd::TensorFunction& f, std::span<const Tensor> at, bool) const {
    return autograd::linearize(f, at);
  }
};

PyObject* callLinear(PyObject*, PyObject* args) {
  PyObject *capsule, *weights;
  if (PyArg_ParseTuple(args, "OO", &capsule, &weights) == 0) return nullptr;
  return guarded([&] {
    auto* map = static_cast<autograd::TensorFunction*>(PyCapsule_GetPointer(capsule, kMap));
    if (map == nullptr) throw PythonError();
    std::vector<Tensor> given = listOf(weights);
    std::vector<Tensor> result;
    {
      WithoutGil released;
      result = (*map)(given);
    }
    return wrap(result);
  });
}

PyObject* differentiationPoint(PyObject*, PyObject* tensor) {
  return guarded([&] {
    const Tensor point = autograd::differentiationPoint(tensorOf(tensor), gradEnabled());
    return wrap(std::vector<Tensor>{point, autograd::anchorOf(point)});
  });
}

PyObject* closePoint(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    autograd::closePoint(tensorOf(tensor));
    Py_RETURN_NONE;
  });
}

PyObject* keepSaved(PyObject*, PyObject* on) {
  if (on == Py_True)
    beginKeepingSaved(true);
  else
    endKeepingSaved(true);
  Py_RETURN_NONE;
}

PyObject* pushForward(PyObject*, PyObject* args) {
  PyObject *outputs, *points, *tangents;
  if (PyArg_ParseTuple(args, "OOO", &outputs, &points, &tangents) == 0) return nullptr;
  return guarded([&] {
    std::vector<Tensor> ys = listOf(outputs);
    std::vector<Tensor> xs = listOf(points);
    std::vector<Tensor> ts = listOf(tangents);
    std::vector<Tensor> result;
    {
      WithoutGil released;
      result = autograd::pushForward(ys, xs, ts);
    }
    return wrap(result);
  });
}

PyObject* primalOf(PyObject*, PyObject* args) {
  PyObject *output, *points;
  if (PyArg_ParseTuple(args, "O!O", tensorType, &output, &points) == 0) return nullptr;
  return guarded([&] { return wrap(autograd::primalOf(tensorOf(output), listOf(points))); });
}

}  // namespace

void initFunc(PyObject* module) {
  static PyMethodDef functions[] = {
      {"_vmap_enter", vmapEnter, METH_VARARGS, "(size, randomness): begins a vmap; the number of its axis."},
      {"_vmap_exit", vmapExit, METH_NOARGS, "Ends the innermost vmap."},
      {"_batch_in", moveAxis<ops::batch_in>, METH_VARARGS, "(tensor, dim, axis): the dim hidden as the axis."},
      {"_batch_out", moveAxis<ops::batch_out>, METH_VARARGS, "(tensor, dim, axis): the axis shown as a dim."},
      {"_batch_axes", batchAxes, METH_O, "The axes of a tensor, outermost first."},
      {"_active_axes", activeAxesList, METH_NOARGS,
       "(axis, size, randomness) of every vmap this is called in, outermost first."},
      {"_transformed_inside", transformedInside, METH_O,
       "(axis): is a function of the user's differentiated within the vmap of that axis?"},
      {"_vjp", transformed<Vjp>, METH_VARARGS, "(f, primals, users=False): the outputs, and the pullback."},
      {"_linearize", transformed<Linearize>, METH_VARARGS,
       "(f, primals, users=False): the outputs, and the pushforward."},
      {"_in_transform", inTransform, METH_NOARGS,
       "Is this called by a function that a transform of `func` (`users`) runs?"},
      {"_call_linear", callLinear, METH_VARARGS, "(map, tensors): calls a pullback or pushforward."},
      {"_differentiation_point", differentiationPoint, METH_O,
       "A fresh tensor equal to this one, to differentiate by."},
      {"_close_point", closePoint, METH_O, "No one will differentiate by this point any more."},
      {"_keep_saved", keepSaved, METH_O,
       "(on): from here on, or no longer, what this thread's operations save outlives writes."},
      {"_push_forward", pushForward, METH_VARARGS, "(outputs, points, tangents): the tangents of the outputs."},
      {"_primal_of", primalOf, METH_VARARGS, "(output, points): an alias with the history that is not the points'."},
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace tandem::python
