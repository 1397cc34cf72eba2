// Memory between the GPUs of several processes: what python/tandem/distributed/_nccl.py has of GpuCommunicator.
#include <algorithm>
#include <string>

#include "python/src/cuda_bindings.h"
#include "python/src/gpu_objects.h"

namespace tandem::python {
namespace {

struct Connection {
  Device device;
  std::unique_ptr<GpuCommunicator> communicator;
  ~Connection() {
    if (communicator != nullptr) std::erase(streamsOfGroups(), &communicator->stream());
  }
  Connection(Device device, std::unique_ptr<GpuCommunicator> made) : device(device), communicator(std::move(made)) {}
  Connection(Connection&&) = default;
  Connection& operator=(Connection&&) = delete;
};
using AgreementBox = Box<std::shared_ptr<Agreement>>;
using ConnectionBox = Box<Connection>;

GpuCommunicator& communicatorOf(PyObject* self) { return *ConnectionBox::of(self).communicator; }
PyObject* text(const std::string& s) {
  return checked(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}

// ---- agreements -----------------------------------------------------------------------------------------------------

[[noreturn]] void raiseFailure(const std::string& why) {
  const WithGil held;
  const PyRef errors(checked(PyImport_ImportModule("tandem.distributed._errors")));
  const PyRef type(checked(PyObject_GetAttrString(errors.get(), "DistBackendError")));
  PyErr_SetString(type.get(), why.c_str());
  throw PythonError();
}
PyObject* newAgreement(PyObject*, PyObject*) {
  return guarded([] { return AgreementBox::make(std::make_shared<Agreement>(&raiseFailure)); });
}
PyObject* settle(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    AgreementBox::of(self)->settle();
    Py_RETURN_NONE;
  });
}
PyObject* failAgreement(PyObject* self, PyObject* why) {
  return guarded([&]() -> PyObject* {
    const char* given = PyUnicode_AsUTF8(why);
    if (given == nullptr) throw PythonError();
    AgreementBox::of(self)->fail(given);
    Py_RETURN_NONE;
  });
}
PyObject* isKnown(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(AgreementBox::of(self)->isKnown() ? 1 : 0); });
}
PyObject* failureOfAgreement(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::shared_ptr<Agreement> agreement = AgreementBox::of(self);
    return text(withoutGil([&] { return agreement->failure(); }));
  });
}
PyObject* expect(PyObject*, PyObject* args) {
  PyObject *stream, *agreement;
  if (PyArg_ParseTuple(args, "OO", &stream, &agreement) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    const GpuStream& s = StreamBox::of(stream);
    gpuOf(s.device).expect(*s.stream, AgreementBox::of(agreement));
    Py_RETURN_NONE;
  });
}

// ---- communicators --------------------------------------------------------------------------------------------------

PyObject* whyNone(PyObject*, PyObject* index) {
  return guarded([&] { return text(gpuOf(deviceAt(index)).whyNoCommunicator()); });
}
PyObject* identity(PyObject*, PyObject* index) {
  return guarded([&] {
    GpuControl& gpu = gpuOf(deviceAt(index));
    const std::string id = withoutGil([&] { return gpu.communicatorId(); });
    return checked(PyBytes_FromStringAndSize(id.data(), static_cast<Py_ssize_t>(id.size())));
  });
}
PyObject* connect(PyObject*, PyObject* args) {
  PyObject *index, *id, *agreement;
  int rank, size;
  if (PyArg_ParseTuple(args, "OSiiO", &index, &id, &rank, &size, &agreement) == 0) return nullptr;
  return guarded([&] {
    const Device device = deviceAt(index);
    GpuControl& gpu = gpuOf(device);
    const std::string known(PyBytes_AsString(id), static_cast<std::size_t>(PyBytes_Size(id)));
    const std::shared_ptr<Agreement> goesOn = AgreementBox::of(agreement);
    auto made = withoutGil([&] { return gpu.connect(known, rank, size, [&] { return goesOn->isKnown(); }); });
    streamsOfGroups().push_back(&made->stream());
    return ConnectionBox::make({device, std::move(made)});
  });
}

/// Of a list of (address, bytes, rank).
std::vector<GpuCommunicator::Part> partsOf(PyObject* list) {
  std::vector<GpuCommunicator::Part> parts;
  const Py_ssize_t n = checked(static_cast<int>(PyList_Size(list)));
  for (Py_ssize_t i = 0; i < n; ++i) {
    unsigned long long address;
    Py_ssize_t bytes;
    int rank;
    if (PyArg_ParseTuple(PyList_GetItem(list, i), "Kni", &address, &bytes, &rank) == 0) throw PythonError();
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    parts.push_back({reinterpret_cast<void*>(address), static_cast<std::size_t>(bytes), rank});
  }
  return parts;
}
PyObject* exchange(PyObject* self, PyObject* args) {
  PyObject *sends, *receives;
  if (PyArg_ParseTuple(args, "OO", &sends, &receives) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    GpuCommunicator& communicator = communicatorOf(self);
    const auto out = partsOf(sends), in = partsOf(receives);
    const WithoutGil released;
    communicator.exchange(out, in);
    return Py_NewRef(Py_None);
  });
}
PyObject* failure(PyObject* self, PyObject*) {
  return guarded([&] { return text(communicatorOf(self).failure()); });
}
PyObject* abort(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    GpuCommunicator& communicator = communicatorOf(self);
    const WithoutGil released;
    communicator.abort();
    return Py_NewRef(Py_None);
  });
}
PyObject* close(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    GpuCommunicator& communicator = communicatorOf(self);
    const WithoutGil released;
    communicator.close();
    return Py_NewRef(Py_None);
  });
}
PyObject* streamOf(PyObject* self, void*) {
  return guarded([&] {
    const Connection& c = ConnectionBox::of(self);
    return StreamBox::make({c.device, &c.communicator->stream()});
  });
}

PyMethodDef functions[] = {
    {"_gpu_new_agreement", newAgreement, METH_NOARGS, "Whether processes mean the same work, which is to be known."},
    {"_gpu_expect", expect, METH_VARARGS, "(stream, agreement): who waits for the stream gets its failure."},
    {"_gpu_why_no_communicator", whyNone, METH_O, "Why groups of processes have none on a GPU; empty where they can."},
    {"_gpu_communicator_id", identity, METH_O, "What the ranks of a group know each other by."},
    {"_gpu_connect", connect, METH_VARARGS, "(index, id, rank, size, agreement): until that is known, a connection."},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef agreementMethods[] = {{"settle", settle, METH_NOARGS, nullptr},
                                  {"fail", failAgreement, METH_O, nullptr},
                                  {"is_known", isKnown, METH_NOARGS, nullptr},
                                  {"failure", failureOfAgreement, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
PyGetSetDef agreementProperties[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef connectionMethods[] = {{"exchange", exchange, METH_VARARGS, nullptr},
                                   {"failure", failure, METH_NOARGS, nullptr},
                                   {"abort", abort, METH_NOARGS, nullptr},
                                   {"close", close, METH_NOARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};
PyGetSetDef connectionProperties[] = {{"stream", streamOf, nullptr, "Where its work is queued.", nullptr},
                                      {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

void initCommunicators(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  AgreementBox::init(module, "tandem._C._GpuAgreement", agreementMethods, agreementProperties);
  ConnectionBox::init(module, "tandem._C._GpuCommunicator", connectionMethods, connectionProperties);
}

}  // namespace tandem::python
