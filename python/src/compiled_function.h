// tandem._C.CompiledFunction: a function with the traces made of it. See compiled_function.cpp.
#pragma once

#include <Python.h>
#include <memory>
#include <vector>

#include "eager/tensor.h"
#include "lazy/compiled.h"
#include "python/src/errors.h"
#include "runtime/program/program_data.h"

namespace tandem::python {
bool isCompiledFunction(PyObject* o);
/// What was compiled, borrowed.
PyObject* compiledCallable(PyObject* o);
/// What calls with these arguments run: the trace, and what it is given.
struct KnownCall {
  std::shared_ptr<lazy::CompiledTrace> trace;
  std::vector<Tensor> tensors;
  /// Float arguments by position, then the numbers that a call reads elsewhere, by the name they have there.
  std::vector<program::NumberData> numbers;
  std::shared_ptr<const void> keeper;  // of what the trace captured
};
/// Without a trace where such calls run the body.
KnownCall knownCall(PyObject* compiled, PyObject* args, PyObject* keywords);
/// Traces such a call without running what was recorded: `result` has tensors without elements, and all that the body
/// did to tensors is undone. Without a trace where that took more than one run of the body, which then was run; try
/// again.
/// With `placeholders` the arguments' elements stand for others: no operation is found to fail by one. Otherwise the
/// trace is kept, and calls know it.
KnownCall dryCall(PyObject* compiled, PyObject* args, PyObject* keywords, PyRef& result, bool placeholders);
void initCompiledFunction(PyObject* module);
}  // namespace tandem::python
