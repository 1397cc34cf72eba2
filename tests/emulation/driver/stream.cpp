#include <queue>
#include <utility>

#include "tests/emulation/driver/device.h"

namespace tandem::emulation {
namespace {

/// So much work waits at most in a stream.
constexpr std::size_t kMost = 2000;
/// How often it is asked whether what is not the device's is there.
constexpr std::chrono::microseconds kPoll(200);
thread_local bool insideHostFunction = false;
thread_local int waits = 0;  // how deep this thread waits: streams wait for one another

/// While this thread does work; at its end memory is closed.
class Waiting {
 public:
  Waiting() { ++waits; }
  ~Waiting() {
    if (--waits == 0) closeMemory();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

Work waitFor(std::shared_ptr<Stream> stream, std::uint64_t mark) {
  return [stream = std::move(stream), mark](Lock& lock) { stream->runUntil(lock, mark); };
}

void enqueue(Stream& stream, Work work, std::function<bool()> isReady = nullptr) {
  stream.queue.push_back({std::move(work), std::move(isReady)});
  ++stream.pushed;
}

}  // namespace

State& state() {
  // Devices are used until the process ends: never destroyed.
  static auto* const one = new State;
  return *one;
}

Device::Device(int ordinal) : ordinal(ordinal), legacy(std::make_shared<Stream>(this, false)) {}

void openMemory(Device* first, Device* second) {
  for (const auto& device : state().devices) {
    if (device.get() != first && device.get() != second) device->memory.close();
  }
  if (first != nullptr) first->memory.open();
  if (second != nullptr) second->memory.open();
}

void closeMemory() { openMemory(nullptr); }

int Stream::push(Lock& lock, Work work) {
  if (capture != nullptr) {
    if (!capture->isValid) return tandem::cuda::kStreamCaptureInvalidated;
    capture->graph.nodes.push_back({std::move(work), last});
    last = {static_cast<unsigned>(capture->graph.nodes.size() - 1)};
    return tandem::cuda::kSuccess;
  }
  // The legacy stream and those that block with it do what was queued first, first.
  if (this == device->legacy.get()) {
    for (const auto& other : device->streams) {
      if (!other->blocks) continue;
      if (other->capture != nullptr) {
        invalidate(*other->capture);
        return kStreamCaptureImplicit;
      }
      if (!other->isDone()) enqueue(*this, waitFor(other, other->pushed));
    }
  } else if (blocks && !device->legacy->isDone()) {
    enqueue(*this, waitFor(device->legacy, device->legacy->pushed));
  }
  enqueue(*this, std::move(work));
  if (queue.size() > kMost) runUntil(lock, pushed);
  return tandem::cuda::kSuccess;
}

int Stream::pushWait(Lock&, std::function<bool()> isReady) {
  if (capture != nullptr) {
    invalidate(*capture);
    return tandem::cuda::kStreamCaptureUnsupported;
  }
  enqueue(*this, [](Lock&) {}, std::move(isReady));
  return tandem::cuda::kSuccess;
}

void Stream::runFront(Lock& lock) {
  const Waiting waiting;
  Work work = std::move(queue.front().work);
  const std::function<bool()> isReady = std::move(queue.front().isReady);
  queue.pop_front();
  isBusy = true;
  while (isReady != nullptr && device->failed == 0 && !isReady()) {
    closeMemory();
    state().changed.wait_for(lock, kPoll);
  }
  if (device->failed == 0) work(lock);
  work = nullptr;
  isBusy = false;
  ++done;
  state().changed.notify_all();
}

void Stream::runUntil(Lock& lock, std::uint64_t mark) {
  const Waiting waiting;
  while (done < mark) {
    if (isBusy)
      state().changed.wait(lock);
    else
      runFront(lock);
  }
}

void Stream::runSome(Lock& lock) {
  if (isBusy || isDone()) return;
  if (const auto& isReady = queue.front().isReady; isReady == nullptr || isReady()) runFront(lock);
}

void Device::synchronize(Lock& lock) {
  // Streams may be made meanwhile, while a function of the host runs.
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const std::shared_ptr<Stream> stream = streams[i];
    stream->runUntil(lock, stream->pushed);
  }
  legacy->runUntil(lock, legacy->pushed);
}

bool inHostFunction() { return insideHostFunction; }

Work hostFunction(tandem::cuda::HostFunction function, void* data) {
  return [function, data](Lock& lock) {
    closeMemory();
    lock.unlock();
    insideHostFunction = true;
    function(data);
    insideHostFunction = false;
    lock.lock();
  };
}

Work graphWork(std::shared_ptr<const Graph> graph) {
  return [graph = std::move(graph)](Lock& lock) {
    const std::size_t n = graph->nodes.size();
    std::vector<std::vector<unsigned>> then(n);
    std::vector<std::size_t> missing(n);
    std::priority_queue<unsigned> ready;  // the last first
    for (unsigned i = 0; i < n; ++i) {
      missing[i] = graph->nodes[i].after.size();
      for (const unsigned before : graph->nodes[i].after) then[before].push_back(i);
      if (missing[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const unsigned i = ready.top();
      ready.pop();
      if (graph->device->failed == 0) graph->nodes[i].work(lock);
      for (const unsigned next : then[i]) {
        if (--missing[next] == 0) ready.push(next);
      }
    }
  };
}

int refusalOf(const char* function) {
  const auto found = state().refusals.find(function);
  return found == state().refusals.end() || found->second.count-- <= 0 ? 0 : found->second.result;
}

// ---- capture

int beginCapture(Stream& stream, int mode) {
  if (stream.capture != nullptr || &stream == stream.device->legacy.get())
    return tandem::cuda::kStreamCaptureUnsupported;
  auto capture = std::make_shared<Capture>();
  capture->graph.device = stream.device;
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  stream.capture = std::move(capture);
  stream.last.clear();
  return tandem::cuda::kSuccess;
}

int endCapture(Stream& stream, std::unique_ptr<Graph>& graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return tandem::cuda::kInvalidValue;
  if (capture->origin != &stream) return kStreamCaptureUnmatched;
  if (capture->mode != kForNobody && capture->thread != std::this_thread::get_id()) return kStreamCaptureWrongThread;
  // What the origin's last nodes depend on; other streams must have come back to it.
  std::vector<bool> reached(capture->graph.nodes.size());
  std::vector<unsigned> open = stream.last;
  while (!open.empty()) {
    const unsigned i = open.back();
    open.pop_back();
    if (reached[i]) continue;
    reached[i] = true;
    for (const unsigned before : capture->graph.nodes[i].after) open.push_back(before);
  }
  bool isJoined = true;
  for (const auto& device : state().devices) {
    for (const auto& other : device->streams) {
      if (other->capture != capture) continue;
      for (const unsigned i : other->last) isJoined = isJoined && reached[i];
      other->capture = nullptr;
      other->last.clear();
    }
  }
  if (!capture->isValid) return tandem::cuda::kStreamCaptureInvalidated;
  capture->isValid = false;  // for events that were recorded in it
  if (!isJoined) return kStreamCaptureUnjoined;
  graph = std::make_unique<Graph>(std::move(capture->graph));
  return tandem::cuda::kSuccess;
}

int refuseWhileCapturing() {
  bool refused = false;
  for (const auto& device : state().devices) {
    for (const auto& stream : device->streams) {
      if (stream->capture == nullptr) continue;
      Capture& capture = *stream->capture;
      const bool isMine = capture.thread == std::this_thread::get_id();
      if (capture.mode == kForAll || (capture.mode == kForTheThread && isMine)) {
        invalidate(capture);
        refused = true;
      }
    }
  }
  return refused ? static_cast<int>(tandem::cuda::kStreamCaptureUnsupported) : static_cast<int>(tandem::cuda::kSuccess);
}

void invalidate(Capture& capture) { capture.isValid = false; }

}  // namespace tandem::emulation
