// The generated bindings: one wrapper a record, compiled here.
#include "python/src/bindings.h"

#include "autograd/autograd.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/ops.h"
#include "eager/overlap.h"
#include "python/src/arg_parser.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

#include "python/bindings.inc"

std::vector<PyMethodDef> generatedMethodDefs() {
  std::vector<PyMethodDef> defs;
  for (const PyMethodDef* d = kMethods; d->ml_name != nullptr; ++d) defs.push_back(*d);
  return defs;
}

void forGenerated(void (*f)(const PyMethodDef* definition)) {
  for (const PyMethodDef* table : {kFunctions, kNnFunctions, kLinalgFunctions, kSpecialFunctions})
    for (; table->ml_name != nullptr; ++table) f(table);
}
bool isGeneratedMethod(const char* name) {
  for (const PyMethodDef* d = kMethods; d->ml_name != nullptr; ++d)
    if (std::string_view(d->ml_name) == name) return true;
  return false;
}

namespace {
void addNamespace(PyObject* module, const char* name, PyMethodDef* functions) {
  // Found by its full name, which is what pickles of its functions hold.
  const std::string full = std::string("tandem._C.") + name;
  PyRef part(checked(PyModule_New(full.c_str())));
  checked(PyDict_SetItemString(PyImport_GetModuleDict(), full.c_str(), part.get()));
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
