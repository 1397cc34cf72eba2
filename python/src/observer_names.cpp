// Names that a watched body looks up outside of itself: globals, and modules that it imports.
#include <string>

#include "python/src/observer_frame.h"

namespace tandem::python {

void Observer::loadGlobal(Frame& f, PyObject* name) {
  // Of a derived dict a `__getitem__` of its own is asked.
  if (!PyDict_CheckExact(f.globals) || !PyDict_CheckExact(f.builtins)) return refuse("the globals are no plain dict");
  if (isLent(f.globals, name)) return;
  PyObject* found = PyDict_GetItemWithError(f.globals, name);
  const Accepts accepts = accepted({f.globals, PyRef::borrow(name), false}, found);
  guards_.item(nullptr, f.globals, name, found, accepts);
  if (found == nullptr) {
    found = PyDict_GetItemWithError(f.builtins, name);
    guards_.item(nullptr, f.builtins, name, found);
  }
  if (accepts == Accepts::Same) value(found);
}

void Observer::importName(Frame& f, PyObject* name, long level) {
  PyObject* modules = PyImport_GetModuleDict();
  PyRef absolute = PyRef::borrow(name);
  if (level > 0) {
    static PyObject* packageName = interned("__package__");
    PyObject* package = PyDict_GetItemWithError(f.globals, packageName);
    if (package == nullptr || !PyUnicode_CheckExact(package)) return refuse("a relative import outside of a package");
    guards_.item(nullptr, f.globals, packageName, package);
    std::string text = PyUnicode_AsUTF8(package);
    for (; level > 1; --level) text.resize(std::min(text.rfind('.'), text.size()));
    if (PyUnicode_GET_LENGTH(name) > 0) text += std::string(".") + PyUnicode_AsUTF8(name);
    absolute = PyRef(checked(PyUnicode_FromString(text.c_str())));
  }
  static PyObject* import = interned("__import__");
  guards_.item(nullptr, f.builtins, import, PyDict_GetItemWithError(f.builtins, import));
  // `import a.b` gives `a`, and looks for both.
  for (PyRef part = absolute; part;) {
    PyObject* module = PyDict_GetItemWithError(modules, part.get());
    if (module == nullptr) return refuse("a module is imported for the first time");
    guards_.item(nullptr, modules, part.get(), module);
    Py_ssize_t dot = PyUnicode_FindChar(part.get(), '.', 0, PyUnicode_GET_LENGTH(part.get()), -1);
    part = dot >= 0 ? PyRef(PyUnicode_Substring(part.get(), 0, dot)) : PyRef();
  }
}

}  // namespace tandem::python
