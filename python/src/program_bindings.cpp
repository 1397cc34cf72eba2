// Saved programs: `_C._ProgramMaker` makes the members of a file from compiled functions, `_C.Program` runs one.
// What of it is Python is python/tandem/export.
#define PY_SSIZE_T_CLEAN
#include "python/src/program_bindings.h"

#include <memory>
#include <optional>

#include "eager/host.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "lazy/program_maker.h"
#include "lazy/size_fit.h"
#include "python/src/compiled_function.h"
#include "python/src/convert.h"
#include "python/src/cuda_bindings.h"
#include "python/src/device_object.h"
#include "python/src/generator.h"
#include "python/src/program_values.h"
#include "python/src/py_tensor.h"
#include "runtime/base/long_work.h"
#include "runtime/program/program.h"
#include "runtime/program/state_file.h"

namespace tandem::python {
namespace {

using namespace program;

// ---- saving

struct PyMaker {
  PyObject_HEAD lazy::ProgramMaker* maker;
  lazy::SizeFit* fit;  // of the entry that is being traced for all of its sizes
};
PyMaker* makerOf(PyObject* o) { return reinterpret_cast<PyMaker*>(o); }
lazy::ProgramMaker& makerIn(PyObject* o) {
  TANDEM_CHECK(makerOf(o)->maker != nullptr, "a program that is finished");
  return *makerOf(o)->maker;
}

PyObject* newMaker(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* state = nullptr;
  if (PyArg_ParseTuple(args, "O", &state) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    auto made = std::make_unique<lazy::ProgramMaker>(each(state, [](PyObject* item) {
      PyObject *name = nullptr, *tensor = nullptr;
      int kind = 0;
      if (PyArg_ParseTuple(item, "UiO", &name, &kind, &tensor) == 0) throw PythonError();
      return lazy::ProgramMaker::NamedTensor{textOf(name), static_cast<StateData::Kind>(kind), checkedTensor(tensor)};
    }));
    PyObject* self = checked(type->tp_alloc(type, 0));
    makerOf(self)->maker = made.release();
    return self;
  });
}
void deallocMaker(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete makerOf(self)->fit;
  delete makerOf(self)->maker;
  type->tp_free(self);
  Py_DECREF(type);
}

/// An entry: (compiled function, args, kwargs, name, arguments, numbers, results, tree). `call` finds or makes its
/// trace; `keep` takes what there is to say of it. False where there is no trace.
template <class Call, class Keep>
bool addEntry(PyObject* o, Call call, Keep keep) {
  PyObject *compiled, *args, *keywords, *name, *arguments, *numbers, *results, *tree;
  if (PyArg_ParseTuple(o, "OO!O!UOOOU", &compiled, &PyTuple_Type, &args, &PyDict_Type, &keywords, &name, &arguments,
                       &numbers, &results, &tree) == 0)
    throw PythonError();
  lazy::ProgramMaker::Names names{textOf(name), {}, each(results, textOf), textOf(tree)};
  names.arguments = each(arguments, [](PyObject* pair) {
    PyObject *key = nullptr, *tensor = nullptr;
    if (PyArg_ParseTuple(pair, "UO", &key, &tensor) == 0) throw PythonError();
    return std::pair(textOf(key), checkedTensor(tensor));
  });
  KnownCall known = call(compiled, args, keywords);
  if (known.trace == nullptr) return false;
  const std::vector<std::string> own = each(numbers, textOf);
  TANDEM_CHECK(own.size() <= known.numbers.size(), own.size(), " ", known.numbers.size());
  for (std::size_t k = 0; k < own.size(); ++k) known.numbers[k].name = own[k];
  keep(names, known);
  return true;
}

PyObject* makerAdd(PyObject* self, PyObject* entry) {
  return guarded([&]() -> PyObject* {
    const bool known = addEntry(entry, knownCall, [&](const auto& names, KnownCall& call) {
      makerIn(self).add(names, *call.trace, call.tensors, std::move(call.numbers));
    });
    if (!known) fail("export: what a function reads has changed since it was traced");
    Py_RETURN_NONE;
  });
}

PyObject* makerBegin(PyObject* self, PyObject* args) {
  PyObject *sizes, *bound;
  if (PyArg_ParseTuple(args, "OO", &sizes, &bound) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    auto fit = std::make_unique<lazy::SizeFit>(
        each(sizes,
             [](PyObject* size) {
               PyObject* name = nullptr;
               long long least = 0, most = 0, example = 0;
               if (PyArg_ParseTuple(size, "ULLL", &name, &least, &most, &example) == 0) throw PythonError();
               return SizeData{textOf(name), least, most, example};
             }),
        each(bound, [](PyObject* dim) {
          unsigned argument = 0, number = 0, size = 0;
          long long factor = 0, add = 0;
          if (PyArg_ParseTuple(dim, "IIILL", &argument, &number, &size, &factor, &add) == 0) throw PythonError();
          return SizedDim{argument, number, size, factor, add};
        }));
    delete std::exchange(makerOf(self)->fit, fit.release());
    Py_RETURN_NONE;
  });
}

PyObject* makerTrace(PyObject* self, PyObject* entry) {
  return guarded([&]() -> PyObject* {
    TANDEM_CHECK(makerOf(self)->fit != nullptr, "no entry was begun");
    PyRef result;
    auto call = [&](PyObject* compiled, PyObject* args, PyObject* keywords) {
      return dryCall(compiled, args, keywords, result, true);
    };
    const bool made = addEntry(entry, call, [&](const auto& names, KnownCall& known) {
      makerIn(self).addTo(*makerOf(self)->fit, names, *known.trace, known.tensors, std::move(known.numbers));
    });
    return checked(Py_BuildValue("(OO)", made ? Py_True : Py_False, made ? result.get() : Py_None));
  });
}

PyObject* makerEnd(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const std::unique_ptr<lazy::SizeFit> fit(std::exchange(makerOf(self)->fit, nullptr));
    TANDEM_CHECK(fit != nullptr, "no entry was begun");
    makerIn(self).add(std::move(*fit));
    Py_RETURN_NONE;
  });
}

PyObject* makerDevice(PyObject* self, PyObject*) {
  return guarded([&] { return textObject(deviceName(makerIn(self).device())); });
}
PyObject* makerFinish(PyObject* self, PyObject* args) {
  PyObject *targets, *producer, *notes;
  if (PyArg_ParseTuple(args, "OUO", &targets, &producer, &notes) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    auto pairs = textPairs(notes);
    static_cast<void>(makerIn(self));
    const std::unique_ptr<lazy::ProgramMaker> maker(std::exchange(makerOf(self)->maker, nullptr));
    lazy::ProgramMaker::Members made =
        std::move(*maker).members(each(targets, textOf), textOf(producer), std::move(pairs));
    PyRef out(checked(PyDict_New()));
    putItem(out.get(), kManifest, bytesObject(made.manifest));
    for (const auto& [name, object] : made.code) putItem(out.get(), name, bytesObject(object));
    putItem(out.get(), kWeights, checked(wrap(made.weights)));
    return out.release();
  });
}

/// _add_target(manifest, target): the new manifest, and the members that it names beside the old ones.
PyObject* addTarget(PyObject*, PyObject* args) {
  const char* manifest = nullptr;
  Py_ssize_t size = 0;
  const char* target = nullptr;
  if (PyArg_ParseTuple(args, "y#s", &manifest, &size, &target) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    ProgramData data = decodeManifest({manifest, static_cast<std::size_t>(size)});
    PyRef out(checked(PyDict_New()));
    for (const auto& [name, object] : program::addTarget(data, target)) putItem(out.get(), name, bytesObject(object));
    putItem(out.get(), kManifest, bytesObject(encodeManifest(data)));
    return out.release();
  });
}

/// _is_known(compiled, args, kwargs)
PyObject* isKnown(PyObject*, PyObject* args) {
  PyObject *compiled, *passed, *keywords;
  if (PyArg_ParseTuple(args, "OO!O!", &compiled, &PyTuple_Type, &passed, &PyDict_Type, &keywords) == 0) return nullptr;
  return guarded([&] { return PyBool_FromLong(knownCall(compiled, passed, keywords).trace != nullptr ? 1 : 0); });
}

/// _trace_dry(compiled, args, kwargs): the result, without elements, and the tensors that the function uses beside its
/// arguments, where such calls then run without the body and nothing was run; None where the body was run.
PyObject* traceDry(PyObject*, PyObject* args) {
  PyObject *compiled, *passed, *keywords;
  if (PyArg_ParseTuple(args, "OO!O!", &compiled, &PyTuple_Type, &passed, &PyDict_Type, &keywords) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    PyRef result;
    const KnownCall known = dryCall(compiled, passed, keywords, result, false);
    if (known.trace == nullptr) Py_RETURN_NONE;
    std::vector<Tensor> captured;
    known.trace->visitCaptured([&](const TensorImpl* t) { captured.emplace_back(const_cast<TensorImpl*>(t)); });
    PyRef list(listOf(captured, [](const Tensor& t) { return checked(wrap(t)); }));
    return checked(PyTuple_Pack(2, result.get(), list.get()));
  });
}

/// _with_notes(manifest, notes): the manifest with these texts in the place of those of the same names, or beside them.
PyObject* withNotes(PyObject*, PyObject* args) {
  const char* manifest = nullptr;
  Py_ssize_t size = 0;
  PyObject* notes = nullptr;
  if (PyArg_ParseTuple(args, "y#O", &manifest, &size, &notes) == 0) return nullptr;
  return guarded([&] {
    ProgramData data = decodeManifest({manifest, static_cast<std::size_t>(size)});
    for (auto& [name, text] : textPairs(notes)) {
      std::erase_if(data.notes, [&](const auto& note) { return note.first == name; });
      data.notes.emplace_back(name, text);
    }
    return bytesObject(encodeManifest(data));
  });
}

/// _sign(bytes, secret key): their signature. _public_key(secret key)
PyObject* sign(PyObject*, PyObject* args) {
  const char *bytes = nullptr, *secret = nullptr;
  Py_ssize_t size = 0, secretSize = 0;
  if (PyArg_ParseTuple(args, "y#y#", &bytes, &size, &secret, &secretSize) == 0) return nullptr;
  return guarded([&] {
    return bytesObject(
        signatureOf({bytes, static_cast<std::size_t>(size)}, {secret, static_cast<std::size_t>(secretSize)}));
  });
}
PyObject* publicKey(PyObject*, PyObject* args) {
  const char* secret = nullptr;
  Py_ssize_t size = 0;
  if (PyArg_ParseTuple(args, "y#", &secret, &size) == 0) return nullptr;
  return guarded([&] { return bytesObject(publicKeyOf({secret, static_cast<std::size_t>(size)})); });
}

// ---- running

struct PyProgram {
  PyObject_HEAD std::shared_ptr<Context> context;
};
PyTypeObject* programType;
Context& contextOf(PyObject* o) { return *reinterpret_cast<PyProgram*>(o)->context; }
const ProgramData& dataOf(PyObject* o) { return contextOf(o).program().data(); }

/// A file's path, or a dict of its members (bytes, and the weights as a tensor).
Archive archiveOf(PyObject* source) {
  if (PyUnicode_Check(source)) return Archive::open(textOf(source));
  if (!PyDict_Check(source)) fail<TypeError>("expected a path or a dict, got ", Py_TYPE(source)->tp_name);
  struct Owner {
    std::map<std::string, std::string> bytes;
    std::vector<Tensor> tensors;
  };
  auto owner = std::make_shared<Owner>();
  std::map<std::string, std::string_view, std::less<>> members;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(source, &at, &key, &value) != 0;) {
    const std::string name = textOf(key);
    if (isTensor(value)) {
      owner->tensors.push_back(tensorOf(value));
      const Tensor& t = owner->tensors.back();
      members[name] = {static_cast<const char*>(t.data()), static_cast<std::size_t>(t.numel())};
    } else {
      if (!PyBytes_Check(value)) fail<TypeError>("expected bytes, got ", Py_TYPE(value)->tp_name);
      members[name] = owner->bytes[name] =
          std::string(PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value)));
    }
  }
  return {std::move(members), std::move(owner)};
}

PyObject* newProgram(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"source", "signed_by", "verify", "ir_only", "device", nullptr};
  PyObject* source = nullptr;
  const char* key = nullptr;
  const char* device = nullptr;
  Py_ssize_t keySize = 0;
  int verify = 0, irOnly = 0;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O|y#ppz:Program", const_cast<char**>(names), &source, &key, &keySize,
                                  &verify, &irOnly, &device) == 0)
    return nullptr;
  return guarded([&]() -> PyObject* {
    OpenOptions options{
        key != nullptr ? std::string(key, static_cast<std::size_t>(keySize)) : "", verify != 0, irOnly != 0, {}};
    if (device != nullptr) options.device = deviceFrom(PyRef(textObject(device)).get());
    options.index = static_cast<std::int8_t>(currentGpu);
    auto context = std::make_shared<Context>(Program::open(archiveOf(source), options));
    auto* self = reinterpret_cast<PyProgram*>(checked(type->tp_alloc(type, 0)));
    new (&self->context) std::shared_ptr<Context>(std::move(context));
    return reinterpret_cast<PyObject*>(self);
  });
}
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<PyProgram*>(self)->context.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* numberObject(const Scalar& s) {
  return checked(s.isFloat() ? PyFloat_FromDouble(s.asDouble()) : PyLong_FromLongLong(s.asInt()));
}

template <class T>
PyObject* tensorInfo(const T& t, bool changes) {
  return checked(Py_BuildValue("(NONO)", textObject(t.name), dtypeObject(t.dtype), sizeObject(t.shape),
                               changes ? Py_True : Py_False));
}

PyObject* entryInfo(const EntryData& e) {
  auto size = [](const SizeData& s) {
    return checked(Py_BuildValue("(NLLL)", textObject(s.name), static_cast<long long>(s.least),
                                 static_cast<long long>(s.most), static_cast<long long>(s.example)));
  };
  auto bound = [](const SizedDim& d) {
    return checked(Py_BuildValue("(IIILL)", d.tensor, d.dim, d.size, static_cast<long long>(d.factor),
                                 static_cast<long long>(d.add)));
  };
  auto argument = [](const ArgumentData& a) { return tensorInfo(a, a.changes); };
  auto number = [](const NumberData& n) {
    return checked(Py_BuildValue("(NNi)", textObject(n.name), numberObject(n.value), static_cast<int>(n.freedom)));
  };
  auto result = [](const ResultData& r) { return tensorInfo(r, false); };
  return checked(Py_BuildValue("{sNsNsNsNsNsNsNsNsN}", "name", textObject(e.name), "arguments",
                               listOf(e.arguments, argument), "numbers", listOf(e.numbers, number), "results",
                               listOf(e.results, result), "tree", textObject(e.tree), "explanation",
                               textObject(e.plan.explanation), "sizes", listOf(e.sizes, size), "bound",
                               listOf(e.bound, bound), "given", listOf(e.given, bound)));
}

PyObject* describe(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const ProgramData& d = dataOf(self);
    auto state = [&](const StateData& s) {
      return checked(Py_BuildValue("(NiONO)", textObject(s.name), static_cast<int>(s.kind), dtypeObject(s.dtype),
                                   sizeObject(s.shape), d.memories[s.memory].changes ? Py_True : Py_False));
    };
    auto note = [](const auto& n) { return checked(Py_BuildValue("(NN)", textObject(n.first), textObject(n.second))); };
    return checked(Py_BuildValue(
        "{sNsNsNsNsNsNsNsNsNsn}", "made_on", textObject(d.device), "producer", textObject(d.producer), "targets",
        listOf(d.targets, textObject), "target", textObject(contextOf(self).program().target()), "device",
        textObject(deviceName(contextOf(self).program().device())), "entries", listOf(d.entries, entryInfo), "state",
        listOf(d.state, state), "notes", listOf(d.notes, note), "functions",
        listOf(contextOf(self).program().functions(), textObject), "kernels",
        static_cast<Py_ssize_t>(d.kernels.size())));
  });
}

/// Where the results of a call shall be: on the CPU where all arguments are, else on the program's GPU, as without
/// arguments. Beside those there tensors of no dims may stand on the CPU, and what was there in the function.
Device runsOn(const Context& context, const EntryData& e, std::span<const Tensor> given) {
  const Device own = context.program().device();
  if (given.empty()) return own;
  const auto there = std::ranges::find_if(given, [](const Tensor& t) { return !t.device().isCpu(); });
  if (there == given.end()) return {};
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Device device = given[k].device();
    const ArgumentData& a = e.arguments[k];
    if (device == own || (device.isCpu() && (a.onHost || a.shape.empty()))) continue;
    if (!device.isCpu())
      fail<TypeError>(e.name, ": ", a.name, " is on ", deviceName(device), ", and the program runs on ",
                      deviceName(own));
    fail<TypeError>(e.name, ": ", a.name, " is on the CPU, and ",
                    e.arguments[static_cast<std::size_t>(there - given.begin())].name, " on ", deviceName(own),
                    ": expected all of them on one device");
  }
  return own;
}

/// All that a tensor reaches over.
program::Bytes reachOf(const Tensor& t) {
  if (t.numel() == 0) return {};
  return {static_cast<const char*>(addressOf(t)),
          static_cast<std::size_t>(reach(t.shape(), t.strides())) * itemSize(t.dtype())};
}

/// run(entry, tensors, numbers)
PyObject* run(PyObject* self, PyObject* args) {
  unsigned long number = 0;
  PyObject *tensors = nullptr, *numbers = nullptr;
  if (PyArg_ParseTuple(args, "kOO", &number, &tensors, &numbers) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    const std::shared_ptr<Context> context = reinterpret_cast<PyProgram*>(self)->context;
    const std::vector<Tensor> passed = each(tensors, checkedTensor);
    if (std::ranges::any_of(passed, [](const Tensor& t) { return t.impl()->batch != nullptr; }))
      fail<NotImplementedError>(context->entry(number).name,
                                ": a saved program has no batching rule: export the function under vmap");
    if (const std::size_t expected = context->entry(number).arguments.size(); passed.size() != expected)
      fail<TypeError>(context->entry(number).name, " takes ", expected, " tensors, not ", passed.size());
    std::vector<DimsRef> shapes;
    for (const Tensor& t : passed) shapes.emplace_back(t.shape());
    context->resizeFor(number, shapes);
    const EntryData& e = context->entry(number);
    std::vector<Tensor> given = passed;
    std::vector<Located> arguments;
    const Device device = runsOn(*context, e, given);
    std::vector<program::Bytes> bytes;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const ArgumentData& a = e.arguments[k];
      Tensor& t = given[k];
      if (t.dtype() != a.dtype || !(t.shape() == a.shape))
        fail<ValueError>(e.name, ": expected ", a.name, " to be ", dtypeName(a.dtype), " ", shapeText(a.shape),
                         ", got ", dtypeName(t.dtype()), " ", shapeText(t.shape()));
      if (a.changes && !t.isContiguous()) fail<ValueError>(e.name, ": ", a.name, " is changed, and must be contiguous");
      bytes.push_back(reachOf(t));
    }
    context->checkApart(e, bytes);  // before copies of those with gaps hide it
    for (Tensor& t : given) {
      if (!t.isContiguous()) t = ops::contiguous(t);
      arguments.push_back({addressOf(t), t.device()});
    }
    for (std::size_t k = 0; k < given.size(); ++k)
      if (e.arguments[k].changes) settleReads(*given[k].impl()->storage);
    const std::vector<Scalar> values = each(numbers, scalarOf);
    std::vector<Tensor> results;
    std::vector<Located> places;
    for (const ResultData& r : e.results) {
      results.push_back(makeEmpty(r.shape, r.dtype, device));
      places.push_back({addressOf(results.back()), device});
    }
    {
      const LongWork away(e.plan.elements);
      context->run(number, arguments, values, places);
    }
    for (std::size_t k = 0; k < given.size(); ++k)
      if (e.arguments[k].changes) ++given[k].impl()->version();
    return listOf(results, [](const Tensor& t) { return checked(wrap(t)); });
  });
}

/// state(number): a tensor on the program's own memory, or a copy of what no entry changes.
PyObject* state(PyObject* self, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const std::size_t k = PyLong_AsSize_t(number);
    if (PyErr_Occurred() != nullptr) throw PythonError();
    const ProgramData& d = dataOf(self);
    if (k >= d.state.size()) fail<IndexError>("the program has ", d.state.size(), " tensors");
    const StateData& s = d.state[k];
    const bool own = d.memories[s.memory].changes;
    std::int64_t reach = 1;
    for (std::size_t i = 0; i < s.shape.size(); ++i) reach += std::max<std::int64_t>(s.shape[i] - 1, 0) * s.strides[i];
    auto* keeper = new std::shared_ptr<Context>(reinterpret_cast<PyProgram*>(self)->context);
    Ref<Storage> memory(new Storage(
        const_cast<void*>(contextOf(self).state(k)), static_cast<std::size_t>(reach) * itemSize(s.dtype),
        [](void* context) { delete static_cast<std::shared_ptr<Context>*>(context); }, keeper, nullptr,
        contextOf(self).program().device()));
    const Tensor t(new TensorImpl(std::move(memory), s.dtype, s.shape, s.strides, 0));
    return wrap(own ? t : ops::clone(t));
  });
}

PyObject* fork(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    // A context of its own, which starts with the state of the file.
    auto context = std::make_shared<Context>(contextOf(self).shared());
    auto* made = reinterpret_cast<PyProgram*>(checked(programType->tp_alloc(programType, 0)));
    new (&made->context) std::shared_ptr<Context>(std::move(context));
    return reinterpret_cast<PyObject*>(made);
  });
}

PyObject* seed(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    contextOf(self).seed = seedOf(value);
    contextOf(self).draws = 0;
    Py_RETURN_NONE;
  });
}

PyObject* generator(PyObject* self, PyObject* args) {
  long long seed = contextOf(self).seed, draws = contextOf(self).draws;
  if (PyArg_ParseTuple(args, "|LL", &seed, &draws) == 0) return nullptr;
  contextOf(self).seed = seed;
  contextOf(self).draws = draws;
  return Py_BuildValue("(LL)", seed, draws);
}

PyObject* member(PyObject* self, PyObject* name) {
  return guarded([&] { return bytesObject(contextOf(self).program().archive().member(textOf(name))); });
}
PyObject* members(PyObject* self, PyObject*) {
  return guarded([&] {
    return listOf(contextOf(self).program().archive().members(), [](const auto& m) { return textObject(m.first); });
  });
}
PyObject* save(PyObject* self, PyObject* path) {
  return guarded([&]() -> PyObject* {
    saveState(contextOf(self), textOf(path));
    Py_RETURN_NONE;
  });
}
PyObject* load(PyObject* self, PyObject* path) {
  return guarded([&]() -> PyObject* {
    loadState(contextOf(self), textOf(path));
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"describe", describe, METH_NOARGS, "What the file says of itself."},
    {"run", run, METH_VARARGS, "(entry, tensors, numbers): the results of an entry."},
    {"state", state, METH_O, "(number): a tensor of the state; of what no entry changes a copy."},
    {"fork", fork, METH_NOARGS, "The same program with a state of its own, that of the file."},
    {"seed", seed, METH_O, "(seed): of the random generator."},
    {"generator", generator, METH_VARARGS, "(seed, draws): puts the random generator there, or says where it is."},
    {"member", member, METH_O, "(name): the bytes of a member of the file."},
    {"members", members, METH_NOARGS, "Their names."},
    {"save_state", save, METH_O, "(path): writes the state as a file of tensors."},
    {"load_state", load, METH_O, "(path): reads such a file."},
    {nullptr, nullptr, 0, nullptr}};
template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}
PyType_Slot slots[] = {
    {Py_tp_new, slot(newProgram)}, {Py_tp_dealloc, slot(dealloc)}, {Py_tp_methods, methods}, {0, nullptr}};
PyType_Spec spec = {"tandem._C.Program", sizeof(PyProgram), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

PyMethodDef makerMethods[] = {
    {"add", makerAdd, METH_O, "(entry): adds what a compiled function was traced to."},
    {"begin", makerBegin, METH_VARARGS, "(sizes, bound): of an entry that is to be traced for all of its sizes."},
    {"trace", makerTrace, METH_O,
     "(entry): traces it for the next combination of sizes. (whether that could be done, the result)"},
    {"end", makerEnd, METH_NOARGS, "Adds the entry that was begun."},
    {"device", makerDevice, METH_NOARGS, "The device that its entries were traced on."},
    {"finish", makerFinish, METH_VARARGS, "(targets, producer, notes): the members of the file."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot makerSlots[] = {
    {Py_tp_new, slot(newMaker)}, {Py_tp_dealloc, slot(deallocMaker)}, {Py_tp_methods, makerMethods}, {0, nullptr}};
PyType_Spec makerSpec = {"tandem._C._ProgramMaker", sizeof(PyMaker), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                         makerSlots};

PyMethodDef functions[] = {
    {"_add_target", addTarget, METH_VARARGS,
     "(manifest, target): the members that change when a program gets code for a target."},
    {"_is_known", isKnown, METH_VARARGS, "(compiled, args, kwargs): do such calls run without the body?"},
    {"_trace_dry", traceDry, METH_VARARGS,
     "(compiled, args, kwargs): traces such a call and runs nothing: its result, and the tensors that it uses."},
    {"_with_notes", withNotes, METH_VARARGS, "(manifest, notes): the manifest with these texts."},
    {"_sign", sign, METH_VARARGS, "(bytes, secret key): their Ed25519 signature."},
    {"_public_key", publicKey, METH_VARARGS, "(secret key): the public key that belongs to it."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void initProgram(PyObject* module) {
  PyRef type(checked(PyType_FromSpec(&spec)));
  programType = reinterpret_cast<PyTypeObject*>(type.get());
  checked(PyModule_AddObjectRef(module, "Program", type.get()));
  PyRef maker(checked(PyType_FromSpec(&makerSpec)));
  checked(PyModule_AddObjectRef(module, "_ProgramMaker", maker.get()));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace tandem::python
