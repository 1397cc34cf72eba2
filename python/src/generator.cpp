#include "python/src/generator.h"

#include <cstring>

#include "lazy/session.h"
#include "python/src/convert.h"
#include "python/src/device_object.h"
#include "python/src/errors.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

namespace {

struct GeneratorObject {
  PyObject_HEAD Generator own;
  Device device;
  bool isDefault;
};
PyTypeObject* generatorType;

GeneratorObject* objectOf(PyObject* o) { return reinterpret_cast<GeneratorObject*>(o); }
Generator& stateOf(PyObject* o) {
  return objectOf(o)->isDefault ? defaultGenerator(objectOf(o)->device) : objectOf(o)->own;
}

/// The default generator of the CPU stands for those of all devices.
void seedWith(PyObject* self, std::int64_t seed) {
  if (objectOf(self)->isDefault && objectOf(self)->device.isCpu())
    seedDefaultGenerators(seed);
  else
    stateOf(self).manualSeed(seed);
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* const keywords[] = {"device", nullptr};
  PyObject* device = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(keywords), &device) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const Device place = device == Py_None ? Device{} : deviceFrom(device);
    PyObject* self = checked(type->tp_alloc(type, 0));
    new (&objectOf(self)->own) Generator();
    objectOf(self)->device = place;
    objectOf(self)->isDefault = false;
    return self;
  });
}
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* manualSeed(PyObject* self, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    seedWith(self, seedOf(seed));
    return Py_NewRef(self);
  });
}
PyObject* initialSeed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(stateOf(self).seed()));
}
PyObject* seedRandomly(PyObject* self, PyObject*) {
  const std::optional<std::int64_t> seed = randomSeed();
  if (!seed) return PyErr_SetFromErrno(PyExc_OSError);
  seedWith(self, *seed);
  return PyLong_FromLongLong(*seed);
}

// The state as 16 bytes: seed and offset.
PyObject* getState(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor t = makeEmpty(Dims{16}, DType::UInt8, Device{});
    std::int64_t words[2] = {stateOf(self).seed(), stateOf(self).offset()};
    std::memcpy(t.data(), words, sizeof words);
    return wrap(std::move(t));
  });
}
PyObject* setState(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    if (!isTensor(state)) fail<TypeError>("expected a tandem.ByteTensor, but got ", Py_TYPE(state)->tp_name);
    const Tensor& t = tensorOf(state);
    if (t.dtype() != DType::UInt8 || t.numel() != 16 || !t.isContiguous()) {
      fail("the state of a generator is a contiguous uint8 tensor of 16 elements, not ", dtypeName(t.dtype()), " ",
           shapeText(t.shape()));
    }
    std::int64_t words[2];
    std::memcpy(words, t.data(), sizeof words);
    stateOf(self).manualSeed(words[0]);
    stateOf(self).setOffset(words[1]);
    return Py_NewRef(self);
  });
}
PyObject* getOffset(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(stateOf(self).offset()); });
}
PyObject* setOffset(PyObject* self, PyObject* offset) {
  return guarded([&]() -> PyObject* {
    const long long value = PyLong_AsLongLong(offset);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    if (value < 0) fail("set_offset: expected an offset that is not negative, but got ", value);
    stateOf(self).setOffset(value);
    return Py_NewRef(self);
  });
}
PyObject* cloneState(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* copy = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(generatorType)));
    objectOf(copy)->device = objectOf(self)->device;
    objectOf(copy)->own.manualSeed(stateOf(self).seed());
    objectOf(copy)->own.setOffset(stateOf(self).offset());
    return copy;
  });
}
/// The default generator is written as one of its own with the same state, as in PyTorch.
PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    PyRef place(checked(deviceObject(objectOf(self)->device)));
    PyRef state(checked(getState(self, nullptr)));
    return checked(Py_BuildValue("O(O)O", generatorType, place.get(), state.get()));
  });
}
PyObject* restore(PyObject* self, PyObject* state) {
  PyRef same(setState(self, state));
  return same ? Py_NewRef(Py_None) : nullptr;
}
PyObject* device(PyObject* self, void*) {
  return guarded([&] { return deviceObject(objectOf(self)->device); });
}

PyObject* makeDefault(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    const Device place = deviceFrom(device);
    PyRef standard(checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(generatorType))));
    objectOf(standard.get())->isDefault = true;
    objectOf(standard.get())->device = place;
    return standard.release();
  });
}
PyMethodDef functions[] = {
    {"_default_generator", makeDefault, METH_O, "What random operations on a device draw from."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef methods[] = {
    {"manual_seed", manualSeed, METH_O, "Starts the stream of random numbers that belongs to `seed`."},
    {"initial_seed", initialSeed, METH_NOARGS, "The seed of the stream."},
    {"seed", seedRandomly, METH_NOARGS, "Seeds from the operating system; returns the seed."},
    {"get_state", getState, METH_NOARGS, "The state, for `set_state`."},
    {"clone_state", cloneState, METH_NOARGS, "Another generator in the same state."},
    {"get_offset", getOffset, METH_NOARGS, "How far the stream of its seed was drawn from."},
    {"set_offset", setOffset, METH_O, "Goes on from an offset of `get_offset`."},
    {"set_state", setState, METH_O, "Goes on from a state of `get_state`."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__setstate__", restore, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef properties[] = {{"device", device, nullptr, "Where what is drawn from it is made.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace

std::int64_t seedOf(PyObject* o) {
  const PyRef number(checked(PyNumber_Index(o)));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) return value;
  const unsigned long long bits = PyLong_AsUnsignedLongLong(number.get());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    fail("Overflow when unpacking long long: a seed has 64 bits");
  }
  return static_cast<long long>(bits);
}

void checkGeneratorDevice(PyObject* o) {
  const Device own = objectOf(o)->device;
  if (own != currentDevice)
    fail("Expected a '", deviceName(currentDevice), "' device type for generator but found '", deviceName(own), "'");
}
bool isGenerator(PyObject* o) { return Py_TYPE(o) == generatorType; }
Generator* generatorOf(PyObject* o) { return objectOf(o)->isDefault ? nullptr : &objectOf(o)->own; }

void initGenerator(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Generator(device='cpu')\n\nThe state behind random numbers.")},
      {Py_tp_new, slot(create)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  PyType_Spec spec = {"tandem.Generator", sizeof(GeneratorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                      slots};
  generatorType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generatorType)));
  PyRef standard(checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(generatorType))));
  objectOf(standard.get())->isDefault = true;
  checked(PyModule_AddFunctions(module, functions));
  checked(PyModule_AddObjectRef(module, "default_generator", standard.get()));
}

}  // namespace tandem::python
