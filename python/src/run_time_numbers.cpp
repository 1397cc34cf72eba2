#include "python/src/run_time_numbers.h"

#include <algorithm>

#include "python/src/py_tensor.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python {

thread_local constinit WatchedRecording* watchedRecording = nullptr;

namespace {

bool isItems(PyObject* v) { return PyTuple_Check(v) || PyList_Check(v); }
bool isNumberObject(PyObject* v) { return PyFloat_CheckExact(v) || PyLong_Check(v); }

/// Is a body being watched that a number of `holder` can be a run-time value of? Not one that the body put there.
bool takesNumbers(PyObject* holder, PyObject* name) {
  if (watchedRecording == nullptr || activeObserver != watchedRecording->observer || !activeObserver->proved())
    return false;
  return activeObserver->guards().names(holder) && !activeObserver->isLent(holder, name);
}

/// The object that stands for the number, a new reference.
PyObject* numberOf(const NumberSource& source, PyObject* value) {
  WatchedRecording& w = *watchedRecording;
  for (std::size_t i = 0; i < w.sources.size(); ++i)
    if (w.sources[i].sameAs(source)) return Py_NewRef(w.numbers[i].get());
  const std::optional<Scalar> now = source.valueOf(value);
  if (!now) fail<TypeError>("a number is too large for a float");
  PyRef number(source.integer ? ownNumber(value) : checked(PyFloat_FromDouble(now->recorded())));
  w.observer->track(number.get(), w.tracer->scalar(*now), value);
  w.sources.push_back(source);
  w.values.push_back(*now);
  w.numbers.push_back(number);
  return number.release();
}

/// holder[name], borrowed.
PyObject* itemOf(const char* function, PyObject* holder, PyObject* name) {
  if (!PyDict_Check(holder)) fail<TypeError>(function, ": expected a dict, got ", Py_TYPE(holder)->tp_name);
  PyObject* value = PyDict_GetItemWithError(holder, name);
  if (value == nullptr) {
    if (PyErr_Occurred() == nullptr) PyErr_SetObject(PyExc_KeyError, name);
    throw PythonError();
  }
  return value;
}

/// _runtime_is_zero(holder, name): holder[name] == 0; a function that is being watched depends on the answer.
PyObject* runtimeIsZero(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 2) fail<TypeError>("_runtime_is_zero takes a dict and a key");
    PyRef value = PyRef::borrow(itemOf("_runtime_is_zero", args[0], args[1]));
    const bool taken = takesNumbers(args[0], args[1]);
    if (taken && !isNumberObject(value.get())) activeObserver->dictItem(args[0], args[1]);
    double d = PyFloat_AsDouble(value.get());
    if (d == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    useTracked(value.get());
    if (taken && isNumberObject(value.get()))
      watchedRecording->zeros.push_back({{{args[0], PyRef::borrow(args[1])}}, d == 0});
    return PyBool_FromLong(d == 0 ? 1 : 0);
  });
}

/// holder[name]; while a function is watched, a number in it (or in a tuple there) as one that is read again at every
/// call.
PyRef scalarOf(PyObject* holder, PyObject* name) {
  PyObject* value = itemOf("_runtime_scalars", holder, name);
  if (!takesNumbers(holder, name)) return PyRef::borrow(value);
  if (isNumberObject(value)) return PyRef(numberOf({{holder, PyRef::borrow(name)}}, value));
  const Py_ssize_t count = isItems(value) ? PySequence_Fast_GET_SIZE(value) : 0;
  bool numbers = count > 0;
  for (Py_ssize_t i = 0; i < count; ++i) numbers = numbers && isNumberObject(PySequence_Fast_GET_ITEM(value, i));
  if (!numbers) {
    activeObserver->dictItem(holder, name);
    return PyRef::borrow(value);
  }
  PyRef out(checked(PyTuple_New(count)));
  for (Py_ssize_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(out.get(), i,
                     numberOf({{holder, PyRef::borrow(name)}, i, count}, PySequence_Fast_GET_ITEM(value, i)));
  activeObserver->makeFresh(out.get());
  return out;
}

/// _runtime_scalars(holder, *names): a list of holder[name], the items of a pair one by one.
PyObject* runtimeScalars(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n < 1) fail<TypeError>("_runtime_scalars takes a dict and keys");
    PyRef out(checked(PyList_New(0)));
    for (Py_ssize_t k = 1; k < n; ++k) {
      const PyRef value = scalarOf(args[0], args[k]);
      if (!isItems(value.get())) {
        checked(PyList_Append(out.get(), value.get()));
        continue;
      }
      if (activeObserver != nullptr && !activeObserver->fresh(value.get())) activeObserver->iterate(value.get());
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value.get()); ++i)
        checked(PyList_Append(out.get(), PySequence_Fast_GET_ITEM(value.get(), i)));
    }
    return out.release();
  });
}

/// _tensor_read(value): the tensor whose element a body that is watched read as this number; None of other values.
PyObject* tensorRead(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    const Tensor* read = activeObserver != nullptr ? activeObserver->readOf(value) : nullptr;
    return read != nullptr ? wrap(*read) : Py_NewRef(Py_None);
  });
}

PyObject* makesState(PyObject*, PyObject*) {
  if (activeObserver != nullptr) activeObserver->makesState();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_runtime_scalars", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&runtimeScalars)),
                            METH_FASTCALL, "Entries of a dict, as run-time numbers while a function is watched."},
                           {"_runtime_is_zero", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&runtimeIsZero)),
                            METH_FASTCALL, "Is an entry of a dict zero? A watched function depends on the answer."},
                           {"_tensor_read", tensorRead, METH_O, "The tensor whose element a number is."},
                           {"_makes_state", makesState, METH_NOARGS,
                            "What follows makes state that later calls find, as an optimizer's first step does."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

std::optional<Scalar> NumberSource::read() const {
  PyObject* v = place.read();
  if (v != nullptr && item >= 0)
    v = isItems(v) && PySequence_Fast_GET_SIZE(v) == count ? PySequence_Fast_GET_ITEM(v, item) : nullptr;
  if (v != nullptr) return valueOf(v);
  PyErr_Clear();
  return std::nullopt;
}

std::optional<Scalar> NumberSource::valueOf(PyObject* v) const {
  if (integer) {
    if (!PyLong_CheckExact(v) || !isNumberPlace(v)) return std::nullopt;
    return Scalar(std::int64_t{PyLong_AsLongLong(v)});
  }
  if (!isNumberObject(v)) return std::nullopt;
  const double d = PyFloat_AsDouble(v);
  if (PyErr_Occurred() == nullptr) return Scalar(d);
  PyErr_Clear();
  return std::nullopt;
}

bool NumberSource::sameAs(const NumberSource& other) const {
  return item == other.item && integer == other.integer && place.sameAs(other.place);
}

bool standIn(PyObject*& number, const ValuePlace& place) {
  if (!isNumberPlace(number) || number != place.read() || watchedRecording == nullptr) return false;
  Py_SETREF(number, numberOf({place, -1, 0, PyLong_CheckExact(number) != 0}, number));
  return true;
}

bool isStoodFor(const ValuePlace& place) {
  return watchedRecording != nullptr && std::ranges::any_of(watchedRecording->sources, [&](const NumberSource& s) {
           return s.item < 0 && s.place.sameAs(place);
         });
}

void initRunTimeNumbers(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace tandem::python
