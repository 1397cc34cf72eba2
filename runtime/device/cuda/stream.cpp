#include "runtime/device/cuda/stream.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/sequence.h"

namespace tandem::cuda {
namespace {

// Nobody may wait for long: from so many open expectations on, those whose work is done are looked at, and from so many
// on the oldest are waited for.
constexpr std::uint64_t kMarkEvery = 256;
constexpr std::size_t kMostMarks = 64;

CudaStream& of(Stream& stream) { return static_cast<CudaStream&>(stream); }

}  // namespace

Expectations::~Expectations() {
  for (const Mark& mark : marks_) gpu_.events.give(mark.event);
}

void Expectations::add(std::shared_ptr<const Expectation> expected) {
  const std::lock_guard lock(mutex_);
  open_.push_back({++number_, std::move(expected)});
  if (number_ % kMarkEvery == 0) thinOut();
}

std::uint64_t Expectations::last() {
  const std::lock_guard lock(mutex_);
  return number_;
}

void Expectations::thinOut() {
  marks_.push_back({number_, gpu_.events.record(stream_)});
  std::uint64_t done = 0;
  while (!marks_.empty()) {
    const Mark first = marks_.front();
    if (marks_.size() > kMostMarks) check(driver().eventSynchronize(first.event), "waiting for checks of values");
    if (!gpu_.events.isDone(first.event)) break;
    done = first.number;
    gpu_.events.give(first.event);
    marks_.pop_front();
  }
  // What was proved wrong, or is not known yet, stays for whoever waits.
  std::erase_if(open_, [&](const Open& o) { return o.number <= done && o.expected->fine(); });
}

std::vector<std::shared_ptr<const Expectation>> Expectations::goingAlong(std::uint64_t upTo) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const Expectation>> found;
  for (const Open& o : open_)
    if (o.number <= upTo && o.expected->goesAlong() && !o.expected->fine()) found.push_back(o.expected);
  return found;
}

void Expectations::raise(std::uint64_t upTo) {
  std::vector<Open> over;
  {
    const std::lock_guard lock(mutex_);
    const auto end = std::ranges::find_if(open_, [&](const Open& o) { return o.number > upTo; });
    over.assign(std::make_move_iterator(open_.begin()), std::make_move_iterator(end));
    open_.erase(open_.begin(), end);
  }
  const auto failed = std::ranges::find_if(over, [](const Open& o) { return o.expected->failed(); });
  if (failed == over.end()) return;
  for (auto later = failed + 1; later != over.end(); ++later) later->expected->forget();
  failed->expected->raise();
}

std::uint64_t captureOf(StreamHandle stream) {
  int status = kCaptureNone;
  std::uint64_t id = 0;
  const int result = driver().streamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr);
  return result == kSuccess && status != kCaptureNone ? id : 0;
}

void Captures::begin(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  captures_.push_back({stream, captureOf(stream), {}});
  count_.store(static_cast<int>(captures_.size()));
}

Kept Captures::end(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(captures_, stream, &Capture::stream);
  TANDEM_CHECK(it != captures_.end(), "the stream is not captured");
  Kept kept = std::move(it->kept);
  captures_.erase(it);
  count_.store(static_cast<int>(captures_.size()));
  return kept;
}

Kept* Captures::keptFor(StreamHandle stream) {
  const std::uint64_t id = captureOf(stream);
  for (Capture& c : captures_)
    if (c.stream == stream || (id != 0 && c.id == id)) return &c.kept;
  return nullptr;
}

bool Captures::keep(StreamHandle stream, std::shared_ptr<void> memory) {
  if (count_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  Kept* kept = keptFor(stream);
  if (kept != nullptr) kept->memory.push_back(std::move(memory));
  return kept != nullptr;
}

bool Captures::keep(StreamHandle stream, const std::shared_ptr<const Expectation>& expected) {
  if (count_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  Kept* kept = keptFor(stream);
  if (kept != nullptr) kept->expectations.push_back(expected);
  return kept != nullptr;
}

bool Captures::has(StreamHandle stream) {
  if (count_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  return keptFor(stream) != nullptr;
}

CudaStream::CudaStream(Gpu& gpu)
    : gpu_(gpu), handle_(gpu.takeHandle()), owned_(true), expectations_(std::make_shared<Expectations>(gpu, handle_)) {
  gpu_.addStream(*this);
}

CudaStream::CudaStream(Gpu& gpu, StreamHandle handle, Borrowed)
    : gpu_(gpu), handle_(handle), owned_(false), expectations_(std::make_shared<Expectations>(gpu, handle)) {
  gpu_.addStream(*this);
}

CudaStream::~CudaStream() {
  gpu_.removeStream(*this);
  try {
    // The slots of its expectations are given to others, who must not find what its work still writes.
    wait();
    if (owned_) gpu_.giveHandle(handle_);
  } catch (const Error&) {
    // A kernel failed: the context is of no use any more, and its handle is used by nobody.
  }
}

void CudaStream::wait() {
  if (Tape* tape = Tape::now(); tape != nullptr) tape->wait();
  gpu_.use();
  checkWork(driver().streamSynchronize(handle_), "waiting for a stream");
}

void CudaStream::synchronize() {
  const std::uint64_t last = expectations_->last();
  wait();
  expectations_->raise(last);
}

bool CudaStream::isDone() const {
  gpu_.use();
  const int result = driver().streamQuery(handle_);
  if (result == kNotReady) return false;
  checkWork(result, "asking a stream");
  return true;
}

bool CudaStream::isCapturing() const {
  gpu_.use();
  int status = kCaptureNone;
  return driver().streamIsCapturing(handle_, &status) == kSuccess && status != kCaptureNone;
}

void CudaStream::checkWork(int result, std::string_view what) const {
  if (result == kSuccess) return;
  const char* kernel = last_.load(std::memory_order_relaxed);
  try {
    check(result, strcat(what, " on ", gpu_.name()));
  } catch (const Error& e) {
    if (result == kStreamCaptureUnsupported)
      failAs(e,
             strcat(e.what(), ": what the host waits for, as item(), tolist(), cpu(), print and sizes that depend on "
                              "data do, cannot be in a CUDA graph"));
    if (kernel == nullptr) throw;
    const char* rest = launchesBlock()
                           ? " failed"
                           : " was queued last, which need not be the one that failed: TANDEM_LAUNCH_BLOCKING=1 has "
                             "every kernel waited for, and the error raised at its line";
    failAs(e, strcat(e.what(), "; the kernel ", kernel, rest));
  }
}

void CudaStream::expect(std::shared_ptr<const Expectation> expected) {
  if (!gpu_.captures.keep(handle_, expected)) expectations_->add(std::move(expected));
}

bool CudaStream::keep(std::shared_ptr<void> memory) { return gpu_.captures.keep(handle_, std::move(memory)); }

CudaEvent::~CudaEvent() {
  if (event_ == nullptr) return;
  try {
    gpu_.use();
    driver().eventDestroy(event_);
  } catch (const Error&) {
    // In a forked process it is not ours.
  }
}

void CudaEvent::record(Stream& stream) {
  CudaStream& in = of(stream);
  gpu_.use();
  if (&in.gpu() != &gpu_)
    fail<Error>("an event of ", gpu_.name(), " cannot be recorded in a stream of ", in.gpu().name());
  if (event_ == nullptr) check(driver().eventCreate(&event_, timed_ ? 0 : kEventDisableTiming), "making an event");
  in.checkWork(driver().eventRecord(event_, in.raw()), "recording an event");
  expectations_ = in.expectations();
  expected_ = expectations_->last();
}

void CudaEvent::waitOn(Stream& stream) {
  if (event_ == nullptr) return;
  CudaStream& waiting = of(stream);
  waiting.gpu().use();
  waiting.checkWork(driver().streamWaitEvent(waiting.raw(), event_, 0), "waiting for an event");
  if (expectations_ == nullptr || expectations_ == waiting.expectations()) return;
  for (auto& e : expectations_->goingAlong(expected_)) waiting.expect(std::move(e));
}

bool CudaEvent::done() const {
  if (event_ == nullptr) return true;
  gpu_.use();
  const int result = driver().eventQuery(event_);
  if (result == kNotReady) return false;
  check(result, strcat("asking an event of ", gpu_.name()));
  return true;
}

void CudaEvent::wait() {
  if (event_ == nullptr) return;
  gpu_.use();
  check(driver().eventSynchronize(event_), strcat("waiting for an event of ", gpu_.name()));
}

void CudaEvent::synchronize() {
  wait();
  if (expectations_ != nullptr) expectations_->raise(expected_);
}

double CudaEvent::millisecondsSince(const Event& earlier) const {
  const auto& from = static_cast<const CudaEvent&>(earlier);
  if (!timed_ || !from.timed_) fail<Error>("an event was made without times");
  if (event_ == nullptr || from.event_ == nullptr) fail<Error>("an event was not recorded");
  gpu_.use();
  float milliseconds = 0;
  const int result = driver().eventElapsedTime(&milliseconds, from.event_, event_);
  if (result == kNotReady) fail<Error>("an event is not done: synchronize it first");
  check(result, "asking the time between two events");
  return static_cast<double>(milliseconds);
}

EventHandle EventPool::record(StreamHandle stream) {
  EventHandle event = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      event = free_.back();
      free_.pop_back();
    }
  }
  gpu_.use();
  if (event == nullptr) check(driver().eventCreate(&event, kEventDisableTiming), "making an event");
  check(driver().eventRecord(event, stream), "recording an event");
  return event;
}

bool EventPool::isDone(EventHandle event) const {
  gpu_.use();
  const int result = driver().eventQuery(event);
  if (result == kNotReady) return false;
  check(result, "asking an event");
  return true;
}

void EventPool::give(EventHandle event) {
  const std::lock_guard lock(mutex_);
  free_.push_back(event);
}

}  // namespace tandem::cuda
