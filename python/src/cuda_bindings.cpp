#include "python/src/cuda_bindings.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "eager/host.h"
#include "eager/recorder.h"
#include "eager/sync_debug.h"
#include "python/src/device_object.h"
#include "python/src/errors.h"
#include "python/src/gpu_objects.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

thread_local constinit int currentGpu = 0;

DeviceKind cudaKind() {
  static const DeviceKind kind = parseDevice("cuda").kind;
  return kind;
}

int countDevices(DeviceKind kind) {
  static bool found = false;  // with the GIL
  if (kind == cudaKind() && !found) {
    found = true;
    PyRef wheels(checked(PyImport_ImportModule("tandem._nvidia")));
    PyRef done(checked(PyObject_CallMethod(wheels.get(), "name_folders", nullptr)));
  }
  return deviceCount(kind);
}

GpuControl* firstGpu() { return countDevices(cudaKind()) == 0 ? nullptr : executor({cudaKind(), 0}).gpu(); }

Tensor pinMemory(const Tensor& t) {
  if (!t.device().isCpu())
    fail("cannot pin '", deviceName(t.device()), "' memory: only dense CPU tensors can be pinned");
  GpuControl* gpu = firstGpu();
  if (gpu == nullptr) return t;  // as programs written for both expect
  return pinned(t, *gpu);
}

bool isPinned(const Tensor& t) {
  if (!otherDevices || !t.device().isCpu() || t.isPending()) return false;
  GpuControl* gpu = firstGpu();
  return gpu != nullptr && gpu->isPinned(t.impl()->storage->data());
}

GpuControl& gpuOf(Device device) {
  GpuControl* gpu = executor(device).gpu();
  if (gpu == nullptr) fail<NotImplementedError>(deviceName(device), " has no streams, events and graphs to choose");
  return *gpu;
}

Device deviceAt(PyObject* index) {
  const std::int64_t number = indexOf(index);
  const int devices = countDevices(cudaKind());
  if (number < 0 || number >= devices)
    fail("device 'cuda:", number, "' is not available: there are ", devices, " of its kind");
  return {cudaKind(), static_cast<std::int8_t>(number)};
}

void runRecorded(const char* why) {
  if (activeRecorder != nullptr) activeRecorder->runRecorded(why);
}

std::vector<const Stream*>& streamsOfGroups() {
  static auto* const streams = new std::vector<const Stream*>;
  return *streams;
}

namespace {

GpuControl& gpuAt(PyObject* index) { return gpuOf(deviceAt(index)); }

struct CapturedGraph {
  Device device;
  std::unique_ptr<GpuGraph> graph;
};
using GraphBox = Box<CapturedGraph>;

// ---- streams --------------------------------------------------------------------------------------------------------

/// The streams that had work, where the program has chosen any. With the GIL.
std::vector<GpuStream>& chosenStreams() {
  static auto* const streams = new std::vector<GpuStream>;
  return *streams;
}

void waitFor(GpuControl& gpu, Stream& waiting, Stream& other) {
  if (gpu.isCapturing(waiting) != gpu.isCapturing(other)) return;  // of two worlds
  const std::unique_ptr<Event> reached = gpu.makeEvent(false);
  reached->record(other);
  reached->waitOn(waiting);
}

/// Calls `f` for each of them that is not the current one of its device: its device, that one, and itself.
template <class F>
void forOtherStreams(F&& f) {
  for (const GpuStream& chosen : chosenStreams()) {
    Stream& current = executor(chosen.device).stream();
    if (chosen.stream->handle() != current.handle()) f(gpuOf(chosen.device), current, *chosen.stream);
  }
}

PyObject* newStream(PyObject*, PyObject* args) {
  PyObject* index;
  int priority;
  if (PyArg_ParseTuple(args, "Oi", &index, &priority) == 0) return nullptr;
  return guarded([&] {
    const Device device = deviceAt(index);
    return StreamBox::make({device, &gpuOf(device).pooledStream(priority)});
  });
}
PyObject* externalStream(PyObject*, PyObject* args) {
  PyObject *index, *handle;
  if (PyArg_ParseTuple(args, "OO", &index, &handle) == 0) return nullptr;
  return guarded([&] {
    const Device device = deviceAt(index);
    void* address = PyLong_AsVoidPtr(handle);
    if (address == nullptr && PyErr_Occurred() != nullptr) throw PythonError();
    return StreamBox::make({device, &gpuOf(device).externalStream(address)});
  });
}
PyObject* defaultStream(PyObject*, PyObject* index) {
  return guarded([&] {
    const Device device = deviceAt(index);
    return StreamBox::make({device, &gpuOf(device).defaultStream()});
  });
}
PyObject* currentStream(PyObject*, PyObject* index) {
  return guarded([&] {
    const Device device = deviceAt(index);
    return StreamBox::make({device, &executor(device).stream()});
  });
}
PyObject* setStream(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    const GpuStream& s = StreamBox::of(o);
    runRecorded("a stream is chosen");
    GpuControl& gpu = gpuOf(s.device);
    Stream& before = gpu.setCurrentStream(*s.stream);
    for (Stream* used : {&before, s.stream}) {
      auto& chosen = chosenStreams();
      if (std::ranges::find(streamsOfGroups(), used) != streamsOfGroups().end()) continue;
      const bool known = std::ranges::any_of(chosen, [&](const GpuStream& c) { return c.stream == used; });
      if (!known) chosen.push_back({s.device, used});
    }
    return StreamBox::make({s.device, &before});
  });
}

PyObject* streamSynchronize(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    runRecorded("a stream is waited for");
    const WithoutGil released;
    StreamBox::of(self).stream->synchronize();
    return Py_NewRef(Py_None);
  });
}
PyObject* streamIsDone(PyObject* self, PyObject*) {
  return guarded([&] {
    runRecorded("a stream is asked");
    const GpuStream& s = StreamBox::of(self);
    return PyBool_FromLong(withoutGil([&] { return gpuOf(s.device).isDone(*s.stream); }) ? 1 : 0);
  });
}
PyObject* streamIsCapturing(PyObject* self, PyObject*) {
  return guarded([&] {
    const GpuStream& s = StreamBox::of(self);
    return PyBool_FromLong(gpuOf(s.device).isCapturing(*s.stream) ? 1 : 0);
  });
}
PyObject* streamIndex(PyObject* self, void*) { return PyLong_FromLong(StreamBox::of(self).device.index); }
PyObject* streamHandle(PyObject* self, void*) {
  return PyLong_FromSize_t(std::bit_cast<std::size_t>(StreamBox::of(self).stream->handle()));
}

// ---- events ---------------------------------------------------------------------------------------------------------

PyObject* newEvent(PyObject*, PyObject* args) {
  PyObject* index;
  int timed;
  if (PyArg_ParseTuple(args, "Op", &index, &timed) == 0) return nullptr;
  return guarded([&] {
    const Device device = deviceAt(index);
    return EventBox::make({device, gpuOf(device).makeEvent(timed != 0)});
  });
}
PyObject* eventRecord(PyObject* self, PyObject* stream) {
  return guarded([&]() -> PyObject* {
    runRecorded("an event is recorded");
    EventBox::of(self).event->record(*StreamBox::of(stream).stream);
    Py_RETURN_NONE;
  });
}
PyObject* eventWaitOn(PyObject* self, PyObject* stream) {
  return guarded([&]() -> PyObject* {
    runRecorded("an event is waited for");
    EventBox::of(self).event->waitOn(*StreamBox::of(stream).stream);
    Py_RETURN_NONE;
  });
}
PyObject* eventIsDone(PyObject* self, PyObject*) {
  return guarded([&] {
    const Event& event = *EventBox::of(self).event;
    return PyBool_FromLong(withoutGil([&] { return event.done(); }) ? 1 : 0);
  });
}
PyObject* eventSynchronize(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const WithoutGil released;
    EventBox::of(self).event->synchronize();
    return Py_NewRef(Py_None);
  });
}
PyObject* eventMilliseconds(PyObject* self, PyObject* earlier) {
  return guarded(
      [&] { return PyFloat_FromDouble(EventBox::of(self).event->millisecondsSince(*EventBox::of(earlier).event)); });
}
PyObject* eventIndex(PyObject* self, void*) { return PyLong_FromLong(EventBox::of(self).device.index); }

// ---- graphs ---------------------------------------------------------------------------------------------------------

PyObject* beginCapture(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* index = nullptr;
    unsigned long long pool = 0;
    if (PyArg_ParseTuple(args, "OK:_gpu_begin_capture", &index, &pool) == 0) return nullptr;
    runRecorded("a stream is captured");
    const Device device = deviceAt(index);
    gpuOf(device).beginCapture(executor(device).stream(), pool);
    Py_RETURN_NONE;
  });
}
PyObject* endCapture(PyObject*, PyObject* index) {
  return guarded([&] {
    runRecorded("a stream is captured");
    const Device device = deviceAt(index);
    return GraphBox::make({device, gpuOf(device).endCapture(executor(device).stream())});
  });
}
PyObject* graphLaunch(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    runRecorded("a graph is launched");
    const CapturedGraph& g = GraphBox::of(self);
    g.graph->launch(executor(g.device).stream());
    Py_RETURN_NONE;
  });
}

// ---- the device and its memory --------------------------------------------------------------------------------------

PyObject* current(PyObject*, PyObject*) { return PyLong_FromLong(currentGpu); }
PyObject* setCurrent(PyObject*, PyObject* index) {
  return guarded([&] {
    const Device device = deviceAt(index);
    return PyLong_FromLong(std::exchange(currentGpu, static_cast<int>(device.index)));
  });
}
PyObject* synchronizeAll(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    runRecorded("a device is synchronised");
    GpuControl& gpu = gpuAt(index);
    const WithoutGil released;
    gpu.synchronize();
    return Py_NewRef(Py_None);
  });
}
PyObject* cudnnVersion(PyObject*, PyObject*) {
  return guarded([] {
    GpuControl* gpu = firstGpu();
    return PyLong_FromLong(gpu == nullptr ? 0 : gpu->cudnnVersion());
  });
}
PyObject* driverVersion(PyObject*, PyObject* index) {
  return guarded([&] { return PyLong_FromLong(gpuAt(index).driverVersion()); });
}
PyObject* canAccessPeer(PyObject*, PyObject* args) {
  PyObject *index, *peer;
  if (PyArg_ParseTuple(args, "OO", &index, &peer) == 0) return nullptr;
  return guarded([&] { return PyBool_FromLong(gpuAt(index).canAccessPeer(deviceAt(peer).index) ? 1 : 0); });
}

void put(PyObject* dict, const char* name, PyObject* owned) {
  const PyRef value(checked(owned));
  checked(PyDict_SetItemString(dict, name, value.get()));
}
void put(PyObject* dict, const char* name, std::size_t value) { put(dict, name, PyLong_FromSize_t(value)); }
void put(PyObject* dict, const char* name, int value) { put(dict, name, PyLong_FromLong(value)); }
void put(PyObject* dict, const char* name, bool value) { put(dict, name, PyBool_FromLong(value ? 1 : 0)); }
void put(PyObject* dict, const char* name, const std::string& value) {
  put(dict, name, PyUnicode_FromString(value.c_str()));
}

PyObject* properties(PyObject*, PyObject* index) {
  return guarded([&] {
    const GpuProperties& p = gpuAt(index).properties();
    PyRef dict(checked(PyDict_New()));
    put(dict.get(), "name", p.name);
    put(dict.get(), "architecture", p.architecture);
    put(dict.get(), "major", p.major);
    put(dict.get(), "minor", p.minor);
    put(dict.get(), "total_memory", p.totalMemory);
    put(dict.get(), "multi_processor_count", p.multiprocessors);
    put(dict.get(), "warp_size", p.warpSize);
    put(dict.get(), "max_threads_per_block", p.maxThreadsPerBlock);
    put(dict.get(), "max_threads_per_multi_processor", p.maxThreadsPerMultiprocessor);
    put(dict.get(), "regs_per_multiprocessor", p.registersPerMultiprocessor);
    put(dict.get(), "shared_memory_per_block", p.sharedMemoryPerBlock);
    put(dict.get(), "shared_memory_per_block_optin", p.sharedMemoryPerBlockOptin);
    put(dict.get(), "shared_memory_per_multiprocessor", p.sharedMemoryPerMultiprocessor);
    put(dict.get(), "L2_cache_size", p.l2CacheSize);
    put(dict.get(), "clock_rate", p.clockRate);
    put(dict.get(), "memory_clock_rate", p.memoryClockRate);
    put(dict.get(), "memory_bus_width", p.memoryBusWidth);
    put(dict.get(), "pci_bus_id", p.pciBus);
    put(dict.get(), "pci_device_id", p.pciDevice);
    put(dict.get(), "pci_domain_id", p.pciDomain);
    put(dict.get(), "is_integrated", p.integrated);
    put(dict.get(), "is_multi_gpu_board", p.multiGpuBoard);
    put(dict.get(), "uuid",
        PyBytes_FromStringAndSize(reinterpret_cast<const char*>(p.uuid.data()),
                                  static_cast<Py_ssize_t>(p.uuid.size())));
    return dict.release();
  });
}

PyObject* memoryInfo(PyObject*, PyObject* index) {
  return guarded([&] {
    const GpuControl::MemoryInfo info = gpuAt(index).memoryInfo();
    return checked(Py_BuildValue("(nn)", static_cast<Py_ssize_t>(info.free), static_cast<Py_ssize_t>(info.total)));
  });
}
template <auto kAsk>
PyObject* statistics(PyObject*, PyObject* index) {
  return guarded([&] {
    PyRef dict(checked(PyDict_New()));
    for (const auto& [name, value] : (gpuAt(index).*kAsk)()) put(dict.get(), name.c_str(), PyLong_FromLongLong(value));
    return dict.release();
  });
}
template <auto kDo>
PyObject* done(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    (gpuAt(index).*kDo)();
    Py_RETURN_NONE;
  });
}
PyObject* setMemoryFraction(PyObject*, PyObject* args) {
  PyObject* index;
  double fraction;
  if (PyArg_ParseTuple(args, "Od", &index, &fraction) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    gpuAt(index).setMemoryFraction(fraction);
    Py_RETURN_NONE;
  });
}

const char* nameOf(GpuSegment::Block::State state) {
  switch (state) {
  case GpuSegment::Block::State::Active:
    return "active_allocated";
  case GpuSegment::Block::State::Awaiting:
    return "active_awaiting_free";
  case GpuSegment::Block::State::Free:
    return "inactive";
  }
  return "";
}

PyObject* blockObject(const GpuSegment::Block& b) {
  PyRef dict(checked(PyDict_New()));
  put(dict.get(), "address", static_cast<std::size_t>(b.address));
  put(dict.get(), "size", b.bytes);
  put(dict.get(), "requested_size", b.requested);
  put(dict.get(), "state", std::string(nameOf(b.state)));
  return dict.release();
}

PyObject* memorySnapshot(PyObject*, PyObject* index) {
  return guarded([&] {
    PyRef list(checked(PyList_New(0)));
    for (const GpuSegment& s : gpuAt(index).memorySnapshot()) {
      PyRef blocks(checked(PyList_New(0)));
      for (const GpuSegment::Block& b : s.blocks) {
        const PyRef block(blockObject(b));
        checked(PyList_Append(blocks.get(), block.get()));
      }
      PyRef dict(checked(PyDict_New()));
      put(dict.get(), "address", static_cast<std::size_t>(s.address));
      put(dict.get(), "total_size", s.bytes);
      put(dict.get(), "stream", std::bit_cast<std::size_t>(s.stream));
      put(dict.get(), "segment_type", std::string(s.large ? "large" : "small"));
      put(dict.get(), "of_graph", s.ofGraph);
      put(dict.get(), "blocks", blocks.release());
      checked(PyList_Append(list.get(), dict.get()));
    }
    return list.release();
  });
}

using PoolBox = Box<std::shared_ptr<void>>;

PyObject* newPool(PyObject*, PyObject* args) {
  PyObject* index;
  unsigned long long id;
  if (PyArg_ParseTuple(args, "OK", &index, &id) == 0) return nullptr;
  return guarded([&] { return PoolBox::make(gpuAt(index).makePool(id)); });
}
PyObject* choosePool(PyObject*, PyObject* args) {
  PyObject *index, *pool;
  if (PyArg_ParseTuple(args, "OO", &index, &pool) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    auto before = gpuAt(index).choosePool(pool == Py_None ? nullptr : PoolBox::of(pool));
    return before == nullptr ? Py_NewRef(Py_None) : PoolBox::make(std::move(before));
  });
}
PyObject* setSyncDebug(PyObject*, PyObject* mode) {
  return guarded([&]() -> PyObject* {
    syncDebug = static_cast<SyncDebug>(std::clamp<std::int64_t>(indexOf(mode), 0, 2));
    Py_RETURN_NONE;
  });
}
PyObject* getSyncDebug(PyObject*, PyObject*) { return PyLong_FromLong(static_cast<int>(syncDebug.load())); }
PyObject* ncclVersion(PyObject*, PyObject*) {
  return guarded([] {
    GpuControl* gpu = firstGpu();
    return PyLong_FromLong(gpu == nullptr ? 0 : gpu->ncclVersion());
  });
}

PyObject* recordStream(PyObject*, PyObject* args) {
  PyObject *o, *stream;
  if (PyArg_ParseTuple(args, "OO", &o, &stream) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!isTensor(o)) fail<TypeError>("record_stream: expected a Tensor, not ", Py_TYPE(o)->tp_name);
    const Tensor& t = tensorOf(o);
    const GpuStream& s = StreamBox::of(stream);
    if (t.device() != s.device)
      fail("record_stream: the tensor is on ", deviceName(t.device()), ", the stream on ", deviceName(s.device));
    static_cast<void>(addressOf(t));  // memory that is recorded only is nobody's yet
    gpuOf(s.device).recordStream(t.impl()->storage->data(), *s.stream);
    Py_RETURN_NONE;
  });
}

PyObject* whyNone(PyObject*, PyObject*) {
  return guarded([&] {
    countDevices(cudaKind());
    return PyUnicode_FromString(whyNoDevice(cudaKind()).c_str());
  });
}
PyObject* devicesWereUsed(PyObject*, PyObject*) { return PyBool_FromLong(otherDevices ? 1 : 0); }

PyMethodDef functions[] = {
    {"_gpu_why_none", whyNone, METH_NOARGS, "Why there is no GPU; empty where there is one."},
    {"_other_devices", devicesWereUsed, METH_NOARGS, "Was a device other than the CPU found so far?"},
    {"_gpu_current", current, METH_NOARGS, "The GPU that names without an index mean."},
    {"_gpu_set_current", setCurrent, METH_O, "Sets it, for this thread; what it was."},
    {"_gpu_synchronize", synchronizeAll, METH_O, "Waits for all streams of a GPU."},
    {"_gpu_properties", properties, METH_O, "What a GPU is, by PyTorch's names."},
    {"_gpu_cudnn_version", cudnnVersion, METH_NOARGS, "The version of cuDNN: 92800; 0 without one, or a GPU."},
    {"_gpu_driver_version", driverVersion, METH_O, "The version of CUDA that the driver knows: 13000."},
    {"_gpu_can_access_peer", canAccessPeer, METH_VARARGS, "(index, peer): can it reach that one's memory?"},
    {"_gpu_new_stream", newStream, METH_VARARGS, "(index, priority): a stream."},
    {"_gpu_external_stream", externalStream, METH_VARARGS, "(index, handle): the stream of a driver's handle."},
    {"_gpu_default_stream", defaultStream, METH_O, "The default stream of a GPU."},
    {"_gpu_current_stream", currentStream, METH_O, "The stream of this thread's work on a GPU."},
    {"_gpu_set_stream", setStream, METH_O, "Makes a stream the current one of its GPU; the one before."},
    {"_gpu_new_event", newEvent, METH_VARARGS, "(index, timed): an event."},
    {"_gpu_begin_capture", beginCapture, METH_VARARGS,
     "Keeps what the current stream of a GPU gets from now on, with memory of the pool of that number."},
    {"_gpu_end_capture", endCapture, METH_O, "Ends that; the graph."},
    {"_gpu_memory_info", memoryInfo, METH_O, "(free, total) bytes of a GPU."},
    {"_gpu_memory_stats", statistics<&GpuControl::memoryStats>, METH_O, "Of the allocator, by PyTorch's names."},
    {"_gpu_reset_peak_stats", done<&GpuControl::resetPeakStats>, METH_O, "Peaks become what is there now."},
    {"_gpu_reset_accumulated_stats", done<&GpuControl::resetAccumulatedStats>, METH_O, "Sums become 0."},
    {"_gpu_host_memory_stats", statistics<&GpuControl::hostMemoryStats>, METH_O, "Of page-locked memory."},
    {"_gpu_reset_peak_host_stats", done<&GpuControl::resetPeakHostStats>, METH_O, "Peaks become what is there now."},
    {"_gpu_reset_accumulated_host_stats", done<&GpuControl::resetAccumulatedHostStats>, METH_O, "Sums become 0."},
    {"_gpu_memory_snapshot", memorySnapshot, METH_O, "The segments of the allocator and their blocks."},
    {"_gpu_empty_cache", done<&GpuControl::emptyCache>, METH_O, "Gives unused memory back to the driver."},
    {"_gpu_set_memory_fraction", setMemoryFraction, METH_VARARGS, "(index, fraction): what this process may take."},
    {"_gpu_new_pool", newPool, METH_VARARGS, "(index, id): memory of its own."},
    {"_gpu_choose_pool", choosePool, METH_VARARGS,
     "(index, pool or None): of this thread from now on; the one before."},
    {"_gpu_set_sync_debug", setSyncDebug, METH_O, "What reads by the host do: 0 nothing, 1 warn, 2 raise."},
    {"_gpu_get_sync_debug", getSyncDebug, METH_NOARGS, "That."},
    {"_gpu_nccl_version", ncclVersion, METH_NOARGS, "The version of NCCL: 22809; 0 without one, or a GPU."},
    {"_gpu_record_stream", recordStream, METH_VARARGS, "(tensor, stream): the stream uses the tensor's memory, too."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef streamMethods[] = {{"synchronize", streamSynchronize, METH_NOARGS, nullptr},
                               {"is_done", streamIsDone, METH_NOARGS, nullptr},
                               {"is_capturing", streamIsCapturing, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyGetSetDef streamProperties[] = {{"index", streamIndex, nullptr, "Of its GPU.", nullptr},
                                  {"handle", streamHandle, nullptr, "The driver's.", nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef eventMethods[] = {{"record", eventRecord, METH_O, nullptr},
                              {"wait_on", eventWaitOn, METH_O, nullptr},
                              {"is_done", eventIsDone, METH_NOARGS, nullptr},
                              {"synchronize", eventSynchronize, METH_NOARGS, nullptr},
                              {"milliseconds_since", eventMilliseconds, METH_O, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyGetSetDef eventProperties[] = {{"index", eventIndex, nullptr, "Of its GPU.", nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef graphMethods[] = {{"launch", graphLaunch, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef graphProperties[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

AcrossStreams::AcrossStreams() {
  forOtherStreams([](GpuControl& gpu, Stream& current, Stream& other) { waitFor(gpu, current, other); });
}
AcrossStreams::~AcrossStreams() {
  try {
    forOtherStreams([](GpuControl& gpu, Stream& current, Stream& other) { waitFor(gpu, other, current); });
  } catch (const Error&) {
    // Of a device that failed, whoever waits next hears.
  }
}

void initCuda(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  StreamBox::init(module, "tandem._C._GpuStream", streamMethods, streamProperties);
  EventBox::init(module, "tandem._C._GpuEvent", eventMethods, eventProperties);
  PoolBox::init(module, "tandem._C._GpuPool", graphMethods + 1, graphProperties);
  GraphBox::init(module, "tandem._C._GpuGraph", graphMethods, graphProperties);
}

}  // namespace tandem::python
