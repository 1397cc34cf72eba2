// autograd in Python: grad_fn objects, backward and grad, hooks, what tandem.autograd.Function stands on.
#pragma once

#include <Python.h>

#include "autograd/node.h"

namespace tandem::python {

/// The object of a node (a new reference), None for null. Objects of one node are equal, not identical.
PyObject* nodeObject(Ref<Node> node);

/// Tensor.backward.
PyMethodDef backwardMethod();

void initAutograd(PyObject* module);
/// Adds what autograd.graph.saved_tensors_hooks stands on (saved_hooks_bindings.cpp).
void initSavedHooks(PyObject* module);

}  // namespace tandem::python
