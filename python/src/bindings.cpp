// The generated bindings: one wrapper a record, compiled here.
#include "python/src/bindings.h"

#include "autograd/autograd.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "python/src/arg_parser.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

#include "python/bindings.inc"

std::vector<PyMethodDef> generatedMethodDefs() {
  std::vector<PyMethodDef> defs;
  for (const PyMethodDef* d = kMethods; d->ml_name != nullptr; ++d) defs.push_back(*d);
  return defs;
}

namespace {
void addNamespace(PyObject* module, const char* name, PyMethodDef* functions) {
  PyRef part(checked(PyModule_New(name)));
  checked(PyModule_AddFunctions(part.get(), functions));
  checked(PyModule_AddObjectRef(module, name, part.get()));
}
}  // namespace

void initGenerated(PyObject* module) {
  checked(PyModule_AddFunctions(module, kFunctions));
  addNamespace(module, "_nn", kNnFunctions);
  addNamespace(module, "_linalg", kLinalgFunctions);
  addNamespace(module, "_special", kSpecialFunctions);
}

}  // namespace tandem::python
