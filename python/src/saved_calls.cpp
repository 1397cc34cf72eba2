// What saving needs to know of compiled functions (compiled_function.h): the trace of a call, and how numbers are
// named.
#include <map>
#include <utility>

#include "python/src/compiled_function.h"
#include "python/src/compiled_state.h"
#include "python/src/convert.h"
#include "runtime/base/error.h"

namespace tandem::python {

namespace {

/// What a call passes: the values of args and keywords, and the names of those.
struct Passed {
  Passed(PyObject* args, PyObject* keywords) : numArgs(PyTuple_GET_SIZE(args)) {
    for (Py_ssize_t i = 0; i < numArgs; ++i) values.push_back(PyTuple_GET_ITEM(args, i));
    names = PyRef(checked(PyTuple_New(PyDict_GET_SIZE(keywords))));
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; PyDict_Next(keywords, &at, &key, &value) != 0; ++i) {
      PyTuple_SET_ITEM(names.get(), i, Py_NewRef(key));
      values.push_back(value);
    }
  }
  std::vector<PyObject*> values;
  Py_ssize_t numArgs;
  PyRef names;
};

/// `own`: how many of the call's numbers are arguments; the others are those that the entry reads.
KnownCall describeCall(const Entry& entry, CallSignature& call, std::size_t own) {
  using Freedom = program::NumberData::Freedom;
  KnownCall known{entry.trace, std::move(call.tensors), {}, nullptr};
  std::map<std::string, int> met;
  for (std::size_t k = 0; k < call.scalars.size(); ++k) {
    std::string name;
    if (k >= own) {
      // `lr`, `betas.0`; of the second dict with such an entry `param_groups.1.lr`.
      const NumberSource& source = entry.sources[k - own];
      if (PyObject* key = source.place.name.get(); key != nullptr) name = PyUnicode_AsUTF8(key);
      if (source.item >= 0) name = strcat(name, ".", source.item);
      if (const int group = met[name]++; group > 0) name = strcat("param_groups.", group, ".", name);
    }
    known.numbers.push_back({std::move(name), call.scalars[k]});
  }
  for (const ZeroGuard& g : entry.zeros)
    for (std::size_t k = own; k < known.numbers.size(); ++k)
      if (entry.sources[k - own].sameAs(g.number)) known.numbers[k].freedom = Freedom::SameZero;
  for (const auto& [number, value] : entry.trace->guardedScalars) known.numbers[number].freedom = Freedom::Fixed;
  return known;
}

}  // namespace

KnownCall knownCall(PyObject* compiled, PyObject* args, PyObject* keywords) {
  Function& f = *reinterpret_cast<PyCompiled*>(compiled)->function;
  const Passed passed(args, keywords);
  CallSignature call;
  readSignature(passed.values.data(), passed.numArgs, passed.names.get(), f.terms, call);
  const std::size_t own = call.scalars.size();
  const std::shared_ptr<Entry> entry = knownEntry(f, call, passed.values.data(), passed.numArgs, passed.names.get());
  if (entry == nullptr) return {};
  KnownCall known = describeCall(*entry, call, own);
  known.keeper = entry;
  return known;
}

KnownCall dryCall(PyObject* compiled, PyObject* args, PyObject* keywords, PyRef& result, bool placeholders) {
  Function& f = *reinterpret_cast<PyCompiled*>(compiled)->function;
  const Passed passed(args, keywords);
  CallSignature call;
  readSignature(passed.values.data(), passed.numArgs, passed.names.get(), f.terms, call);
  const std::size_t own = call.scalars.size();
  std::shared_ptr<Entry> made;
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) all.insert(i);
  ArgumentLeaves leaves(all, call.tensors);
  leaves.expect();
  result = watch(f, call, passed.values.data(), passed.numArgs, passed.names.get(), made, true, placeholders);
  if (made == nullptr) return {};
  KnownCall known = describeCall(*made, call, own);
  known.keeper = made;
  if (!placeholders) {
    f.entries[call.key].push_back(std::move(made));
    ++f.numEntries;
  }
  return known;
}

}  // namespace tandem::python
