// What tandem.autograd.Function (autograd/function.py) stands on: one operation of the user's in the graph.
#pragma once

#include <Python.h>

#include "autograd/node.h"

namespace tandem::python {

/// What a Function's node saved, as a tuple; AttributeError (null) for other nodes.
PyObject* savedTensorsOf(Node& node);

/// The user's context of a Function's node, borrowed; null for other nodes.
PyObject* contextOf(Node& node);

void initFunction(PyObject* module);

}  // namespace tandem::python
