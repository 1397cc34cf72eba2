#include "python/src/errors.h"

#include <cstring>
#include <frameobject.h>
#include <new>
#include <string_view>

namespace tandem::python {

namespace {
// Python's exception for each class of runtime/base/error.h: a class without one does not compile.
PyObject* pythonTypeOf(const ValueError*) { return PyExc_ValueError; }
PyObject* pythonTypeOf(const TypeError*) { return PyExc_TypeError; }
PyObject* pythonTypeOf(const IndexError*) { return PyExc_IndexError; }
PyObject* pythonTypeOf(const NotImplementedError*) { return PyExc_NotImplementedError; }
PyObject* outOfMemoryType;
PyObject* pythonTypeOf(const OutOfMemoryError*) { return outOfMemoryType; }
PyObject* linAlgType;
PyObject* pythonTypeOf(const LinAlgError*) { return linAlgType; }
PyObject* dataReadType;
PyObject* pythonTypeOf(const DataReadError*) { return dataReadType; }
PyObject* internalType;
PyObject* pythonTypeOf(const InternalError*) { return internalType; }

void dropUnderGil(PyObject* p) {
  // At interpreter exit the object goes with the process.
  if (p == nullptr || Py_IsInitialized() == 0) return;
  WithGil gil;
  Py_DECREF(p);
}

std::string textOf(PyObject* value) {
  PyRef text(value != nullptr ? PyObject_Str(value) : nullptr);
  const char* s = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (s == nullptr) PyErr_Clear();
  return s != nullptr ? s : "a Python exception";
}
}  // namespace

SharedObject::SharedObject(PyObject* borrowed) : object_(Py_NewRef(borrowed), dropUnderGil) {}

struct PythonError::State {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  ~State() {
    if (Py_IsInitialized() == 0) return;
    WithGil gil;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
  }
};

namespace {
// The exception that is set, normalised so that its text can be read; it stays set.
std::string pendingText() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  std::string text = textOf(value);
  PyErr_Restore(type, value, trace);
  return text;
}
}  // namespace

PythonError::PythonError() : Error(pendingText()), state_(std::make_shared<State>()) {
  PyErr_Fetch(&state_->type, &state_->value, &state_->trace);
}

void PythonError::restore() const {
  PyErr_Restore(Py_XNewRef(state_->type), Py_XNewRef(state_->value), Py_XNewRef(state_->trace));
}

void setPythonError() noexcept {
  try {
    throw;
  } catch (const PythonError& e) {
    e.restore();
#define TANDEM_TRANSLATE(E)                                                                                            \
  }                                                                                                                    \
  catch (const E& e) {                                                                                                 \
    PyErr_SetString(pythonTypeOf(&e), e.what());
    TANDEM_ERRORS(TANDEM_TRANSLATE)
#undef TANDEM_TRANSLATE
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "unknown C++ exception");
  }
}

namespace {
/// Of its code, which lives as long as the frame.
const char* fileOf(PyFrameObject* frame) {
  PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
  if (name == nullptr) PyErr_Clear();
  return name != nullptr ? name : "?";
}
std::string lineOf(PyFrameObject* frame) { return strcat(fileOf(frame), ":", PyFrame_GetLineNumber(frame)); }

/// The instruction at which the Python function `depth` calls above the one that asks stands.
PyObject* instructionAbove(PyObject*, PyObject* depth) {
  return guarded([&]() -> PyObject* {
    PyRef frame(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
    for (long left = PyLong_AsLong(depth); left > 0 && frame; --left)
      frame = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()))));
    const PyRef at(frame ? PyObject_GetAttrString(frame.get(), "f_lasti") : nullptr);
    const PyRef code(frame ? PyObject_GetAttrString(frame.get(), "f_code") : nullptr);
    const PyRef text(code ? PyObject_GetAttrString(code.get(), "co_code") : nullptr);
    if (!at || !text) return PyErr_Occurred() != nullptr ? nullptr : PyLong_FromLong(-1);
    const Py_ssize_t i = PyLong_AsSsize_t(at.get());
    if (i < 0 || i >= PyBytes_GET_SIZE(text.get())) return PyLong_FromLong(-1);
    return PyLong_FromLong(static_cast<unsigned char>(PyBytes_AS_STRING(text.get())[i]));
  });
}
// The code of the function that calls what programs register as custom operations; set once.
PyCodeObject* opaqueCode = nullptr;

PyObject* setOpaque(PyObject*, PyObject* function) {
  return guarded([&]() -> PyObject* {
    if (!PyFunction_Check(function)) fail<TypeError>("_set_opaque: expected a function");
    PyObject* code = Py_NewRef(PyFunction_GET_CODE(function));
    Py_XSETREF(opaqueCode, reinterpret_cast<PyCodeObject*>(code));
    Py_RETURN_NONE;
  });
}
PyMethodDef functions[] = {
    {"_set_opaque", setOpaque, METH_O,
     "(function): what runs inside of calls of this Python function is not looked into by whole traces."},
    {"_instruction_above", instructionAbove, METH_O,
     "(depth): the number of the instruction at which the caller's caller that far up stands, or -1."},
    {nullptr, nullptr, 0, nullptr},
};

// The directory of the package, from the file of the extension module's parent; set once.
std::string packageDirectory;
// That of the standard library, which may have those of other packages in it.
std::string libraryDirectory;

bool isLibrary(std::string_view file) {
  return file.starts_with("<frozen ") || (!libraryDirectory.empty() && file.starts_with(libraryDirectory) &&
                                          file.find("-packages/", libraryDirectory.size()) == std::string_view::npos);
}
}  // namespace

std::string userLine() {
  PyFrameObject* frame = PyEval_GetFrame();
  return frame != nullptr ? lineOf(frame) : std::string();
}

std::string userLineOutside() {
  if (packageDirectory.empty()) {
    PyRef package(PyImport_ImportModule("tandem"));
    PyRef file(package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
    const char* path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    PyErr_Clear();
    std::string_view p = path != nullptr ? path : "/tandem/__init__.py";
    packageDirectory = std::string(p.substr(0, p.rfind('/') + 1));
    PyRef os(PyImport_ImportModule("os"));
    file = PyRef(os ? PyObject_GetAttrString(os.get(), "__file__") : nullptr);
    path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    PyErr_Clear();
    p = path != nullptr ? path : "";
    libraryDirectory = std::string(p.substr(0, p.rfind('/') + 1));
  }
  PyRef frame(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    const std::string_view file = fileOf(f);
    if (!file.starts_with(packageDirectory) && !isLibrary(file)) return lineOf(f);
    frame = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return userLine();
}

bool insideOpaque() {
  PyRef frame(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    const PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    if (code.get() == reinterpret_cast<PyObject*>(opaqueCode)) return true;
    frame = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return false;
}

void initErrors(PyObject* module) {
  outOfMemoryType = checked(PyErr_NewExceptionWithDoc("tandem.OutOfMemoryError",
                                                      "Memory for a tensor could not be had; the process goes on.",
                                                      PyExc_RuntimeError, nullptr));
  linAlgType = checked(PyErr_NewExceptionWithDoc("tandem.linalg.LinAlgError", "A matrix has no such factorisation.",
                                                 PyExc_RuntimeError, nullptr));
  dataReadType = checked(PyErr_NewExceptionWithDoc("tandem.DataReadError",
                                                   "The value of a tensor was read while a function was being traced.",
                                                   PyExc_RuntimeError, nullptr));
  internalType = checked(PyErr_NewExceptionWithDoc(
      "tandem.InternalError", "A fault of Tandem itself: please report it.", PyExc_RuntimeError, nullptr));
  checked(PyModule_AddObjectRef(module, "OutOfMemoryError", outOfMemoryType));
  checked(PyModule_AddObjectRef(module, "_LinAlgError", linAlgType));
  checked(PyModule_AddObjectRef(module, "DataReadError", dataReadType));
  checked(PyModule_AddObjectRef(module, "InternalError", internalType));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace tandem::python
