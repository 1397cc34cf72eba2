// For the kernels that are shipped (scripts/ship_kernels.py): a device that notes what code operations need, and making
// that code for GPUs that are not here.
#include "python/src/code_survey.h"

#include "python/src/convert.h"
#include "python/src/errors.h"
#include "runtime/device/plugin.h"
#include "runtime/kernel/kernel_compiler.h"

namespace tandem::python {
namespace {

// The process's own: its device lives as long as that.
CodeSurvey* survey = nullptr;

/// _survey_device(kind, architecture): the name of its kind.
PyObject* surveyDevice(PyObject*, PyObject* args) {
  const char *kind = nullptr, *architecture = nullptr;
  if (PyArg_ParseTuple(args, "ss", &kind, &architecture) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    constexpr const char* kName = "survey";
    std::unique_ptr<CodeSurvey> made = surveyCode(kind, architecture);
    Executor* const device = &made->device();
    registerExecutors(addDeviceKind(kName), {&device, 1});
    survey = made.release();
    return checked(PyUnicode_FromString(kName));
  });
}

/// _compile_surveyed(target, part, parts): every `parts`th piece of code, from the part'th on; how many these are.
PyObject* compileSurveyed(PyObject*, PyObject* args) {
  const char* target = nullptr;
  Py_ssize_t part = 0, parts = 1;
  if (PyArg_ParseTuple(args, "snn", &target, &part, &parts) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    if (survey == nullptr) fail<Error>("no device was surveyed");
    if (part < 0 || part >= parts) fail<ValueError>("there is no part ", part, " of ", parts);
    const LoadCode ignored = [](const std::string&, const std::string&) {};
    Py_ssize_t at = 0, made = 0;
    auto isOurs = [&] { return at++ % parts == part && ++made != 0; };
    for (const KernelSignature& signature : survey->kernels())
      if (isOurs()) findCode(signature, target, ignored);
    for (const KernelSource& source : survey->sources())
      if (isOurs()) findSourceCode(source, target, ignored);
    return checked(PyLong_FromSsize_t(made));
  });
}

/// _kernel_compiler(architecture): `11-nvrtc13.0`, with nothing behind `nvrtc` where that cannot be opened.
PyObject* compilerVersion(PyObject*, PyObject* architecture) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(architecture);
    if (text == nullptr) throw PythonError();
    return checked(PyUnicode_FromString(kernelCompiler(text).version().c_str()));
  });
}

PyMethodDef functions[] = {
    {"_kernel_compiler", compilerVersion, METH_O, "(architecture): the version of what compiles kernels for it."},
    {"_survey_device", surveyDevice, METH_VARARGS,
     "(kind, architecture): adds a device that notes what code operations on it need; the name of its kind."},
    {"_compile_surveyed", compileSurveyed, METH_VARARGS,
     "(target, part, parts): makes one of the parts of that code for a target; how many kernels and texts it has."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void initCodeSurvey(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace tandem::python
