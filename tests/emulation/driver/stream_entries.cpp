// The driver's functions for streams, events, graphs and kernels.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/emulation/driver/entries.h"
#include "tests/emulation/driver/module.h"

namespace tandem::emulation {
namespace {

/// Objects that live, by the handles that callers have of them: what is no longer, or never was, is told.
template <class T>
class Handles {
 public:
  template <class Handle>
  Handle add(std::shared_ptr<T> object) {
    T* const at = object.get();
    objects_.push_back(std::move(object));
    return reinterpret_cast<Handle>(at);
  }
  template <class Handle>
  std::shared_ptr<T> find(Handle handle) const {
    const auto it = at(handle);
    return it == objects_.end() ? nullptr : *it;
  }
  template <class Handle>
  bool remove(Handle handle) {
    const auto it = at(handle);
    if (it == objects_.end()) return false;
    objects_.erase(it);
    return true;
  }

 private:
  template <class Handle>
  typename std::vector<std::shared_ptr<T>>::const_iterator at(Handle handle) const {
    // What is in use is what was made last, most of the time.
    const auto it = std::find_if(objects_.rbegin(), objects_.rend(),
                                 [&](const auto& o) { return reinterpret_cast<Handle>(o.get()) == handle; });
    return it == objects_.rend() ? objects_.end() : std::prev(it.base());
  }
  std::vector<std::shared_ptr<T>> objects_;
};

struct AllHandles {
  Handles<Event> events;
  Handles<Module> modules;
  Handles<Graph> graphs;
  Handles<Graph> execs;
};
AllHandles& handles() {
  static auto* const all = new AllHandles;
  return *all;
}

/// A graph as the executable that was made of it: another object with the same nodes.
std::shared_ptr<Graph> copyOf(const Graph& graph) { return std::make_shared<Graph>(graph); }

/// Calls f with the event, of a device that no kernel has failed on.
template <class F>
int onEvent(tandem::cuda::EventHandle handle, F&& f) {
  return locked([&](Lock& lock) -> int {
    const std::shared_ptr<Event> event = handles().events.find(handle);
    if (event == nullptr) return kInvalidHandle;
    if (event->device->failed != 0) return event->device->failed;
    const int result = f(lock, *event);
    return event->device->failed != 0 ? event->device->failed : result;
  });
}

bool isDone(const Mark& mark) { return mark.stream->done >= mark.number; }

/// Waiting for work that is being captured would never end: the capture is lost.
int refuseCaptured(const Event& event) {
  if (event.capture == nullptr) return tandem::cuda::kSuccess;
  invalidate(*event.capture);
  return kCapturedEvent;
}
int refuseCapturing(Stream& stream) {
  if (stream.capture == nullptr) return refuseWhileCapturing();
  invalidate(*stream.capture);
  return tandem::cuda::kStreamCaptureUnsupported;
}

/// The stream waits for the nodes after which an event was recorded, and takes part in the capture from then on.
int joinCapture(Stream& stream, const Event& event) {
  Capture& capture = *event.capture;
  if (!capture.isValid) return kCapturedEvent;
  if (&stream == stream.device->legacy.get()) {
    invalidate(capture);
    return kStreamCaptureImplicit;
  }
  if (stream.capture != nullptr && stream.capture != event.capture) {
    invalidate(capture);
    invalidate(*stream.capture);
    return kStreamCaptureMerge;
  }
  if (stream.capture == nullptr) stream.last.clear();
  stream.capture = event.capture;
  for (const unsigned node : event.nodes) {
    if (std::find(stream.last.begin(), stream.last.end(), node) == stream.last.end()) stream.last.push_back(node);
  }
  return tandem::cuda::kSuccess;
}

}  // namespace

std::shared_ptr<Stream> streamOf(Device& current, tandem::cuda::StreamHandle handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number <= 1) return current.legacy;  // 0, and CU_STREAM_LEGACY
  for (const auto& device : state().devices) {
    for (const auto& stream : device->streams) {
      if (reinterpret_cast<std::uintptr_t>(stream.get()) == number && !stream->isDestroyed) return stream;
    }
  }
  return nullptr;
}

}  // namespace tandem::emulation

namespace tandem::cuda {

namespace em = tandem::emulation;

extern "C" {

// ---- streams

int cuStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int) {
  return em::onDevice([&](em::Lock&, em::Device& device) -> int {
    std::erase_if(device.streams, [](const auto& s) { return s->isDestroyed && s->isDone() && !s->isBusy; });
    device.streams.push_back(std::make_shared<em::Stream>(&device, (flags & kStreamNonBlocking) == 0));
    *stream = reinterpret_cast<StreamHandle>(device.streams.back().get());
    return kSuccess;
  });
}

int cuStreamDestroy_v2(StreamHandle handle) {
  return em::onStream(handle, [&](em::Lock&, em::Stream& stream) -> int {
    if (&stream == stream.device->legacy.get()) return em::kInvalidHandle;
    if (stream.capture != nullptr) em::invalidate(*stream.capture);
    stream.isDestroyed = true;
    return kSuccess;
  });
}

int cuStreamSynchronize(StreamHandle handle) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    if (const int refused = em::refuseCapturing(stream)) return refused;
    stream.runUntil(lock, stream.pushed);
    return kSuccess;
  });
}

int cuStreamQuery(StreamHandle handle) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    if (const int refused = em::refuseCapturing(stream)) return refused;
    if (stream.isDone()) return kSuccess;
    stream.runSome(lock);
    return kNotReady;
  });
}

int cuStreamWaitEvent(StreamHandle handle, EventHandle eventHandle, unsigned) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    const std::shared_ptr<em::Event> event = em::handles().events.find(eventHandle);
    if (event == nullptr) return em::kInvalidHandle;
    if (event->capture != nullptr) return em::joinCapture(stream, *event);
    if (event->mark == nullptr) return kSuccess;
    if (stream.capture != nullptr) {
      em::invalidate(*stream.capture);
      return em::kStreamCaptureIsolation;
    }
    return stream.push(lock, [mark = event->mark](em::Lock& l) { mark->stream->runUntil(l, mark->number); });
  });
}

int cuLaunchHostFunc(StreamHandle handle, HostFunction function, void* data) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    return function == nullptr ? static_cast<int>(kInvalidValue) : stream.push(lock, em::hostFunction(function, data));
  });
}

// What the driver itself lacks: the stream goes on when `isReady(data)` is not 0. It may neither wait nor call the
// driver.
[[gnu::visibility("default")]] int tandemEmulatedWait(StreamHandle handle, int (*isReady)(void*), void* data) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    return stream.pushWait(lock, [isReady, data] { return isReady(data) != 0; });
  });
}

// What the runtime does not call: ranges of a profiler, which programs begin and end by the driver's own functions.
int profiles = 0;
[[gnu::visibility("default")]] int cuProfilerStart() {
  return em::onDevice([](em::Lock&, em::Device&) -> int { return ++profiles, kSuccess; });
}
[[gnu::visibility("default")]] int cuProfilerStop() {
  return em::onDevice([](em::Lock&, em::Device&) -> int { return --profiles, kSuccess; });
}
[[gnu::visibility("default")]] int tandemEmulatedProfiles() { return profiles; }

// For counting what a launch costs the host: kernels are taken from here on, and never run.
std::atomic<bool> idles = false;
[[gnu::visibility("default")]] void tandemEmulatedIdle() { idles = true; }

// A driver that refuses: the next `count` calls of the function have this result.
[[gnu::visibility("default")]] int tandemEmulatedRefuse(const char* function, int result, int count) {
  return em::locked([&](em::Lock&) -> int {
    em::state().refusals[function] = {result, count};
    return kSuccess;
  });
}

// ---- events

int cuEventCreate(EventHandle* event, unsigned flags) {
  return em::onDevice([&](em::Lock&, em::Device& device) -> int {
    auto made = std::make_shared<em::Event>();
    made->device = &device;
    made->hasTime = (flags & kEventDisableTiming) == 0;
    *event = em::handles().events.add<EventHandle>(std::move(made));
    return kSuccess;
  });
}

int cuEventDestroy_v2(EventHandle event) {
  return em::locked([&](em::Lock&) -> int {
    return em::handles().events.remove(event) ? static_cast<int>(kSuccess) : static_cast<int>(em::kInvalidHandle);
  });
}

int cuEventRecord(EventHandle eventHandle, StreamHandle handle) {
  return em::onStream(handle, [&](em::Lock& lock, em::Stream& stream) -> int {
    const std::shared_ptr<em::Event> event = em::handles().events.find(eventHandle);
    if (event == nullptr || event->device != stream.device) return em::kInvalidHandle;
    if (stream.capture != nullptr) {
      if (!stream.capture->isValid) return kStreamCaptureInvalidated;
      event->capture = stream.capture;
      event->nodes = stream.last;
      event->mark = nullptr;
      return kSuccess;
    }
    auto mark = std::make_shared<em::Mark>();
    mark->stream = stream.shared_from_this();
    const int result = stream.push(lock, [mark](em::Lock&) { mark->time = std::chrono::steady_clock::now(); });
    if (result != kSuccess) return result;
    mark->number = stream.pushed;
    event->capture = nullptr;
    event->mark = std::move(mark);
    return kSuccess;
  });
}

int cuEventQuery(EventHandle handle) {
  return em::onEvent(handle, [&](em::Lock& lock, em::Event& event) -> int {
    if (const int refused = em::refuseCaptured(event)) return refused;
    if (const int refused = em::refuseWhileCapturing()) return refused;
    const std::shared_ptr<em::Mark> mark = event.mark;
    if (mark == nullptr || em::isDone(*mark)) return kSuccess;
    mark->stream->runSome(lock);
    return kNotReady;
  });
}

int cuEventSynchronize(EventHandle handle) {
  return em::onEvent(handle, [&](em::Lock& lock, em::Event& event) -> int {
    if (const int refused = em::refuseCaptured(event)) return refused;
    if (const int refused = em::refuseWhileCapturing()) return refused;
    const std::shared_ptr<em::Mark> mark = event.mark;
    if (mark != nullptr) mark->stream->runUntil(lock, mark->number);
    return kSuccess;
  });
}

int cuEventElapsedTime(float* milliseconds, EventHandle from, EventHandle to) {
  return em::onEvent(from, [&](em::Lock&, em::Event& first) -> int {
    const std::shared_ptr<em::Event> second = em::handles().events.find(to);
    if (second == nullptr || !first.hasTime || !second->hasTime || first.mark == nullptr || second->mark == nullptr)
      return em::kInvalidHandle;
    if (!em::isDone(*first.mark) || !em::isDone(*second->mark)) return kNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(second->mark->time - first.mark->time).count();
    return kSuccess;
  });
}

// ---- modules and kernels

int cuModuleLoadData(ModuleHandle* module, const void* image) {
  return em::onDevice([&](em::Lock&, em::Device& device) -> int {
    if (const int refused = em::refuseWhileCapturing()) return refused;
    auto made = std::make_shared<em::Module>();
    made->device = &device;
    const std::string wrong = made->load(image);
    if (!wrong.empty()) {
      em::state().failure = wrong;
      return kInvalidImage;
    }
    *module = em::handles().modules.add<ModuleHandle>(std::move(made));
    return kSuccess;
  });
}

int cuModuleUnload(ModuleHandle module) {
  return em::onDevice([&](em::Lock&, em::Device&) -> int {
    return em::handles().modules.remove(module) ? static_cast<int>(kSuccess) : static_cast<int>(em::kInvalidHandle);
  });
}

int cuModuleGetFunction(FunctionHandle* function, ModuleHandle handle, const char* name) {
  return em::onDevice([&](em::Lock&, em::Device&) -> int {
    const std::shared_ptr<em::Module> module = em::handles().modules.find(handle);
    if (module == nullptr) return em::kInvalidHandle;
    em::Function* found = module->find(name);
    *function = reinterpret_cast<FunctionHandle>(found);
    return found == nullptr ? kNotFound : kSuccess;
  });
}

int cuFuncGetAttribute(int* value, int attribute, FunctionHandle handle) {
  return em::onDevice([&](em::Lock&, em::Device&) -> int {
    const auto* function = reinterpret_cast<const em::Function*>(handle);
    switch (attribute) {
    case 0:  // threads of a block
      *value = static_cast<int>(function->record->mostThreads == 0 ? em::kMostThreads : function->record->mostThreads);
      return kSuccess;
    case kFunctionSharedBytes:
      *value = static_cast<int>(function->module->object.sharedBytes(function->record->name));
      return kSuccess;
    case kFunctionLocalBytes:
      *value = 0;
      return kSuccess;
    case kFunctionRegisters:
      *value = 32;
      return kSuccess;
    case kFunctionMaxDynamicSharedBytes:
      *value = function->mostDynamicShared;
      return kSuccess;
    default:
      return kInvalidValue;
    }
  });
}

int cuFuncSetAttribute(FunctionHandle handle, int attribute, int value) {
  return em::onDevice([&](em::Lock&, em::Device&) -> int {
    auto* function = reinterpret_cast<em::Function*>(handle);
    const int most = em::kMostShared - static_cast<int>(function->module->object.sharedBytes(function->record->name));
    if (attribute != kFunctionMaxDynamicSharedBytes || value < 0 || value > most) return kInvalidValue;
    function->mostDynamicShared = value;
    return kSuccess;
  });
}

int cuLaunchKernel(FunctionHandle handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, StreamHandle streamHandle, void** parameters,
                   void** extra) {
  if (idles.load(std::memory_order_relaxed)) return kSuccess;
  return em::onStream(streamHandle, [&](em::Lock& lock, em::Stream& stream) -> int {
    const auto* function = reinterpret_cast<const em::Function*>(handle);
    if (function == nullptr || function->module->device != stream.device) return em::kInvalidHandle;
    if (extra != nullptr) return kInvalidValue;
    int result = kSuccess;
    em::Work work =
        em::launchWork(*function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, parameters, result);
    return work == nullptr ? result : stream.push(lock, std::move(work));
  });
}

// ---- graphs

int cuStreamBeginCapture_v2(StreamHandle handle, int mode) {
  return em::onStream(handle, [&](em::Lock&, em::Stream& stream) -> int {
    const int refused = em::refusalOf("cuStreamBeginCapture");
    return refused != kSuccess ? refused : em::beginCapture(stream, mode);
  });
}

int cuStreamEndCapture(StreamHandle handle, GraphHandle* graph) {
  return em::onStream(handle, [&](em::Lock&, em::Stream& stream) -> int {
    *graph = nullptr;
    std::unique_ptr<em::Graph> made;
    const int result = em::endCapture(stream, made);
    if (result == kSuccess) *graph = em::handles().graphs.add<GraphHandle>(std::shared_ptr<em::Graph>(std::move(made)));
    return result;
  });
}

int cuStreamIsCapturing(StreamHandle handle, int* status) {
  return em::onStream(handle, [&](em::Lock&, em::Stream& stream) -> int {
    *status = stream.capture == nullptr ? kCaptureNone : stream.capture->isValid ? 1 : 2;
    return kSuccess;
  });
}

// The handle of a node is its number: it is asked for only with the graph that it is one of.
int cuStreamGetCaptureInfo_v2(StreamHandle handle, int* status, std::uint64_t* id, GraphHandle*,
                              const GraphNodeHandle** last, std::size_t* count) {
  return em::onStream(handle, [&](em::Lock&, em::Stream& stream) -> int {
    *status = stream.capture == nullptr ? kCaptureNone : stream.capture->isValid ? 1 : 2;
    if (*status != 1) return kSuccess;
    if (id != nullptr) *id = reinterpret_cast<std::uintptr_t>(stream.capture.get());
    std::vector<GraphNodeHandle>& handles = stream.capture->last;
    handles.clear();
    for (const unsigned node : stream.last)
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      handles.push_back(reinterpret_cast<GraphNodeHandle>(std::uintptr_t{node} + 1));
    if (last != nullptr) *last = handles.data();
    if (count != nullptr) *count = handles.size();
    return kSuccess;
  });
}

int cuGraphExecKernelNodeSetParams_v2(GraphExecHandle exec, GraphNodeHandle node, const KernelNodeParameters* p) {
  return em::onDevice([&](em::Lock&, em::Device& device) -> int {
    const std::shared_ptr<em::Graph> graph = em::handles().execs.find(exec);
    const auto number = reinterpret_cast<std::uintptr_t>(node);
    const auto* function = reinterpret_cast<const em::Function*>(p->function);
    if (graph == nullptr || number == 0 || number > graph->nodes.size() || function == nullptr) return kInvalidValue;
    if (const int refused = em::refusalOf("cuGraphExecKernelNodeSetParams")) return refused;
    if (function->module->device != &device || p->extra != nullptr) return kInvalidValue;
    int result = kSuccess;
    em::Work work = em::launchWork(*function, {p->grid[0], p->grid[1], p->grid[2]},
                                   {p->block[0], p->block[1], p->block[2]}, p->sharedBytes, p->parameters, result);
    if (work != nullptr) graph->nodes[number - 1].work = std::move(work);
    return result;
  });
}

int cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle handle, unsigned long long) {
  return em::onDevice([&](em::Lock&, em::Device&) -> int {
    const std::shared_ptr<em::Graph> graph = em::handles().graphs.find(handle);
    if (graph == nullptr) return kInvalidValue;
    if (const int refused = em::refusalOf("cuGraphInstantiate")) return refused;
    *exec = em::handles().execs.add<GraphExecHandle>(em::copyOf(*graph));
    return kSuccess;
  });
}

int cuGraphLaunch(GraphExecHandle handle, StreamHandle streamHandle) {
  return em::onStream(streamHandle, [&](em::Lock& lock, em::Stream& stream) -> int {
    const std::shared_ptr<em::Graph> graph = em::handles().execs.find(handle);
    if (graph == nullptr || graph->device != stream.device) return kInvalidValue;
    if (const int refused = em::refusalOf("cuGraphLaunch")) return refused;
    // As it is now: what is set in it later is for later launches.
    return stream.push(lock, em::graphWork(em::copyOf(*graph)));
  });
}

int cuGraphExecDestroy(GraphExecHandle exec) {
  return em::locked([&](em::Lock&) -> int {
    return em::handles().execs.remove(exec) ? static_cast<int>(kSuccess) : static_cast<int>(kInvalidValue);
  });
}

int cuGraphDestroy(GraphHandle graph) {
  return em::locked([&](em::Lock&) -> int {
    return em::handles().graphs.remove(graph) ? static_cast<int>(kSuccess) : static_cast<int>(kInvalidValue);
  });
}

}  // extern "C"

}  // namespace tandem::cuda
