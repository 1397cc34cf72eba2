#include "python/src/device_object.h"

#include <optional>
#include <string>
#include <vector>

#include "eager/recorder.h"
#include "eager/tensor.h"
#include "python/src/convert.h"
#include "python/src/cuda_bindings.h"
#include "python/src/errors.h"
#include "python/src/py_tensor.h"
#include "runtime/device/executor.h"
#include "runtime/device/plugin.h"

namespace tandem::python {

namespace {

struct DeviceObject {
  PyObject_HEAD DeviceKind kind;
  int index;  // -1: none given
};
PyTypeObject* deviceType;
PyObject* cpu;

// What blocks that are open on this thread found when they began.
thread_local std::vector<Device> outerDevices;

DeviceObject* objectOf(PyObject* o) { return reinterpret_cast<DeviceObject*>(o); }
std::string kindOf(PyObject* o) { return kindName(objectOf(o)->kind); }

PyObject* newDevice(DeviceKind kind, int index) {
  auto* self = objectOf(checked(deviceType->tp_alloc(deviceType, 0)));
  self->kind = kind;
  self->index = index;
  return reinterpret_cast<PyObject*>(self);
}

/// The first kind of devices that compute, but the CPU's.
std::optional<DeviceKind> accelerator() {
  const auto count = static_cast<int>(deviceKinds().size());
  for (int k = 1; k < count; ++k) {
    const auto kind = static_cast<DeviceKind>(k);
    if (kind != metaKind() && countDevices(kind) > 0) return kind;
  }
  return {};
}

PyObject* create(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* const keywords[] = {"type", "index", nullptr};
  PyObject* type;
  int index = -1;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|i:device", const_cast<char**>(keywords), &type, &index) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    if (isDevice(type)) return Py_NewRef(type);
    if (PyLong_Check(type)) {
      const auto kind = accelerator();
      if (!kind) fail("Cannot access accelerator device when none is available.");
      return newDevice(*kind, static_cast<int>(PyLong_AsLong(type)));
    }
    const char* text = PyUnicode_Check(type) ? PyUnicode_AsUTF8(type) : nullptr;
    if (text == nullptr) fail<TypeError>("device(): argument 'type' must be str, not ", Py_TYPE(type)->tp_name);
    const Device named = parseDevice(text);
    const bool hasIndex = std::string_view(text).find(':') != std::string_view::npos;
    return newDevice(named.kind, hasIndex ? named.index : index);
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
std::string textOf(PyObject* self) {
  const int index = objectOf(self)->index;
  return index < 0 ? kindOf(self) : strcat(kindOf(self), ":", index);
}
PyObject* repr(PyObject* self) {
  const int index = objectOf(self)->index;
  return index < 0 ? PyUnicode_FromFormat("device(type='%s')", kindOf(self).c_str())
                   : PyUnicode_FromFormat("device(type='%s', index=%d)", kindOf(self).c_str(), index);
}
PyObject* str(PyObject* self) { return PyUnicode_FromString(textOf(self).c_str()); }
PyObject* compare(PyObject* left, PyObject* right, int op) {
  if ((op != Py_EQ && op != Py_NE) || !isDevice(left) || !isDevice(right)) Py_RETURN_NOTIMPLEMENTED;
  const bool same = objectOf(left)->kind == objectOf(right)->kind && objectOf(left)->index == objectOf(right)->index;
  return PyBool_FromLong(same == (op == Py_EQ) ? 1 : 0);
}
Py_hash_t hash(PyObject* self) {
  return static_cast<Py_hash_t>(objectOf(self)->kind) * 1000003 + objectOf(self)->index + 1;
}
PyObject* type(PyObject* self, void*) { return PyUnicode_FromString(kindOf(self).c_str()); }
PyObject* index(PyObject* self, void*) {
  if (objectOf(self)->index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(objectOf(self)->index);
}
PyObject* reduce(PyObject* self, PyObject*) { return Py_BuildValue("O(s)", deviceType, textOf(self).c_str()); }

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Device device = deviceFrom(self);
    outerDevices.push_back(currentDevice);
    currentDevice = device;
    return Py_NewRef(self);
  });
}
PyObject* exit(PyObject*, PyObject*) {
  if (!outerDevices.empty()) {
    currentDevice = outerDevices.back();
    outerDevices.pop_back();
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {"__enter__", enter, METH_NOARGS, "A block whose tensors are made here."},
                         {"__exit__", exit, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"type", type, nullptr, "`cpu`, `cuda`, ...", nullptr},
                            {"index", index, nullptr, "Its number, or None.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

// ---- functions ------------------------------------------------------------------------------------------------------

PyObject* checkDevice(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    deviceFrom(device);
    Py_RETURN_NONE;
  });
}
PyObject* getDefaultDevice(PyObject*, PyObject*) {
  return guarded([&] { return deviceObject(currentDevice); });
}
PyObject* setDefaultDevice(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    // In a block, of the block; as in PyTorch it is what was there before when that ends.
    currentDevice = device == Py_None ? Device{} : deviceFrom(device);
    Py_RETURN_NONE;
  });
}
PyObject* synchronize(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    if (activeRecorder != nullptr) activeRecorder->runRecorded("a device is synchronised");
    Stream& stream = executor(deviceFrom(device)).stream();
    const WithoutGil released;
    stream.synchronize();
    return Py_NewRef(Py_None);
  });
}
PyObject* count(PyObject*, PyObject* kind) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(kind);
    if (text == nullptr) throw PythonError();
    return PyLong_FromLong(countDevices(parseDevice(text).kind));
  });
}
PyObject* load(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(path);
    if (text == nullptr) throw PythonError();
    return PyUnicode_FromString(loadDevices(text).c_str());
  });
}

PyMethodDef functions[] = {
    {"_check_device", checkDevice, METH_O, "Error unless the device is here."},
    {"_get_default_device", getDefaultDevice, METH_NOARGS, "Where tensors are made by default."},
    {"_set_default_device", setDefaultDevice, METH_O, "Sets it, for this thread; None for the CPU."},
    {"_synchronize", synchronize, METH_O, "Waits for all work of a device."},
    {"_device_count", count, METH_O, "How many devices of a kind there are."},
    {"_load_devices", load, METH_O, "Adds the devices of a shared object; the name of their kind."},
    {nullptr, nullptr, 0, nullptr},
};

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace

bool isDevice(PyObject* o) { return Py_TYPE(o) == deviceType; }

DeviceKind metaKind() {
  static const DeviceKind kind = parseDevice("meta").kind;
  return kind;
}

PyObject* deviceObject(Device device) {
  return device.isCpu() ? Py_NewRef(cpu) : newDevice(device.kind, isMeta(device) ? -1 : device.index);
}

Device deviceFrom(PyObject* o) {
  if (o == Py_None) return currentDevice;
  if (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, "cpu") == 0) return {};
  PyRef made;
  if (!isDevice(o)) {
    made = PyRef(checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(deviceType), o)));
    o = made.get();
  }
  const DeviceObject& d = *objectOf(o);
  if (d.kind == DeviceKind::Cpu) return {};
  const int devices = countDevices(d.kind);
  if (devices == 0) {
    const char* known =
        accelerator() ? "Tandem computes on other devices here" : "Tandem computes on the CPU only here";
    fail("device '", kindOf(o), "' is not available: ", known, ", as ", whyNoDevice(d.kind));
  }
  if (d.index >= devices) fail("device '", textOf(o), "' is not available: there are ", devices, " of its kind");
  const int implied = d.kind == cudaKind() ? currentGpu : 0;
  return {d.kind, static_cast<std::int8_t>(d.index < 0 ? implied : d.index)};
}

void initDevice(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("device(type, index=None)\n\nWhere a tensor lives.")},
      {Py_tp_new, slot(create)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_repr, slot(repr)},
      {Py_tp_str, slot(str)},
      {Py_tp_richcompare, slot(compare)},
      {Py_tp_hash, slot(hash)},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  PyType_Spec spec = {"tandem.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
  deviceType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(deviceType)));
  cpu = newDevice(DeviceKind::Cpu, -1);
  if (PyModule_AddFunctions(module, functions) != 0) throw PythonError();
}

}  // namespace tandem::python
