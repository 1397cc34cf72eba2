// What tandem.autograd.Function (autograd/function.py) stands on: one operation of the user's in the graph.
#pragma once

#include <Python.h>

#include "autograd/node.h"

namespace tandem::python {

/// What a Function's node saved, as a tuple; AttributeError (null) for other nodes.
PyObject* savedTensorsOf(Node& node);

/// The user's context of a Function's node, borrowed; null for other nodes.
PyObject* contextOf(Node& node);

/// Was the call that a context is of no one's history any more, or its backward run for the last time?
bool isSpent(PyObject* context);
/// Is it what a context knows its call by?
bool isFunctionHandle(PyObject* o);

void initFunction(PyObject* module);

}  // namespace tandem::python
