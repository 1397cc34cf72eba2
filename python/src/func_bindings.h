// What tandem.func and tandem.vmap stand on: hidden dims and the two transforms of autograd/functional.h.
#pragma once

#include <Python.h>

#include "eager/tensor.h"

namespace tandem::python {

/// Adds _vmap_enter, _vmap_exit, _batch_in, _batch_out, _batch_axes, _vjp, _linearize, _call_linear,
/// _differentiation_point, _close_point, _push_forward.
void initFunc(PyObject* module);

/// Is it a tensor of many examples to the function that runs, and no variable that a transform within the vmap made?
bool isOfExamples(const Tensor& t);

}  // namespace tandem::python
