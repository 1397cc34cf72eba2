// autograd in Python: grad_fn objects, backward and grad, hooks, what tandem.autograd.Function stands on.
#pragma once

#include <Python.h>

#include "autograd/node.h"
#include "python/src/errors.h"

namespace tandem::python {

/// The object of a node (a new reference), None for null. Objects of one node are equal, not identical.
PyObject* nodeObject(Ref<Node> node);

/// Python functions as hooks of a tensor or node: by name, as the collector of garbage goes through them.
struct PythonTensorHook {
  SharedObject call;
  Tensor operator()(const Tensor& grad) const;
};
struct PythonLeafHook {
  SharedObject call;
  void operator()(const Tensor& leaf) const;
};
struct PythonNodeHook {
  SharedObject call;
  void operator()(std::vector<Tensor>& grads, std::span<const Tensor> cotangents) const;
};
struct PythonNodePreHook {
  SharedObject call;
  void operator()(std::vector<Tensor>& cotangents) const;
};
/// The hooks of the leaf that `object` is, where nothing but `object` holds that: others can reach them otherwise.
int traverseHooks(const Tensor& t, visitproc visit, void* arg);
/// Drops them, to break a cycle.
void clearHooks(const Tensor& t);

/// Tensor.backward.
PyMethodDef backwardMethod();

void initAutograd(PyObject* module);
/// Adds what autograd.graph.saved_tensors_hooks stands on (saved_hooks_bindings.cpp).
void initSavedHooks(PyObject* module);

}  // namespace tandem::python
