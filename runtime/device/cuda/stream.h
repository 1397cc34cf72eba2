// Streams and events of a GPU. A stream knows what its work may still have to report: expectations that a kernel may
// prove wrong (faults.h), which whoever waits raises in their order.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/faults.h"
#include "runtime/device/executor.h"

namespace tandem::cuda {

class Gpu;

/// The expectations of a stream's work, in order, until somebody waits. Events keep them when the stream is gone.
class Expectations {
 public:
  Expectations(Gpu& gpu, StreamHandle stream) : gpu_(gpu), stream_(stream) {}
  ~Expectations();
  Expectations(const Expectations&) = delete;
  Expectations& operator=(const Expectations&) = delete;

  /// One of work that is queued.
  void add(std::shared_ptr<const Expectation> expected);
  /// The number of the last one.
  [[nodiscard]] std::uint64_t last();
  /// Those up to a number that go along with the work to streams which wait for it.
  std::vector<std::shared_ptr<const Expectation>> goingAlong(std::uint64_t upTo);
  /// Ends those up to a number, whose work is done; throws the error of the first one that was proved wrong.
  void raise(std::uint64_t upTo);

 private:
  struct Open {
    std::uint64_t number;
    std::shared_ptr<const Expectation> expected;
  };
  /// All expectations up to the number are of work before the event.
  struct Mark {
    std::uint64_t number;
    EventHandle event;
  };
  void thinOut();

  Gpu& gpu_;
  StreamHandle stream_;
  std::mutex mutex_;
  std::vector<Open> open_;
  std::uint64_t number_ = 0;
  std::deque<Mark> marks_;
};

/// What work that was captured stands on, for the graph.
struct Kept {
  std::vector<std::shared_ptr<const Expectation>> expectations;
  std::vector<std::shared_ptr<void>> memory;
};

/// The driver's number of the capture that a stream is part of; 0: of none. A stream that waits for a captured one is
/// part of its capture, too.
std::uint64_t captureOf(StreamHandle stream);

/// The captures of a device that are under way, and what their graphs are to keep.
class Captures {
 public:
  /// After the driver has begun, and when it has ended.
  void begin(StreamHandle stream);
  Kept end(StreamHandle stream);
  /// False where the stream is captured by nobody: what work of it stands on may go when the work is done.
  bool keep(StreamHandle stream, std::shared_ptr<void> memory);
  bool keep(StreamHandle stream, const std::shared_ptr<const Expectation>& expected);
  [[nodiscard]] bool has(StreamHandle stream);

 private:
  struct Capture {
    StreamHandle stream;
    std::uint64_t id;
    Kept kept;
  };
  Kept* keptFor(StreamHandle stream);

  std::atomic<int> count_{0};
  std::mutex mutex_;
  std::vector<Capture> captures_;
};

class CudaStream final : public Stream {
 public:
  struct Borrowed {};
  /// A stream of its own, of a handle that others had before.
  explicit CudaStream(Gpu& gpu);
  /// Of a handle that lives longer.
  CudaStream(Gpu& gpu, StreamHandle handle, Borrowed);
  ~CudaStream() override;

  void synchronize() override;
  [[nodiscard]] void* handle() const override { return handle_; }

  [[nodiscard]] Gpu& gpu() const { return gpu_; }
  [[nodiscard]] StreamHandle raw() const { return handle_; }
  /// Waits without raising what expectations say; throws what the driver says of kernels.
  void wait();
  /// Is all work done?
  [[nodiscard]] bool isDone() const;
  [[nodiscard]] bool isCapturing() const;

  /// Remembers what runs last, for the error of a kernel that failed. The name lives as long as the process.
  void note(const char* kernel) { last_.store(kernel, std::memory_order_relaxed); }
  /// Throws where a call of the driver failed in which errors of earlier kernels show.
  void checkWork(int result, std::string_view what) const;

  /// An expectation of work that is queued.
  void expect(std::shared_ptr<const Expectation> expected);
  [[nodiscard]] const std::shared_ptr<Expectations>& expectations() const { return expectations_; }

  /// Memory that work of the stream stands on is the graph's, if the stream is captured: true then.
  bool keep(std::shared_ptr<void> memory);

 private:
  Gpu& gpu_;
  StreamHandle handle_;
  bool owned_;
  std::shared_ptr<Expectations> expectations_;
  std::atomic<const char*> last_{nullptr};
};

class CudaEvent final : public Event {
 public:
  CudaEvent(Gpu& gpu, bool timed) : gpu_(gpu), timed_(timed) {}
  ~CudaEvent() override;
  void record(Stream& stream) override;
  void waitOn(Stream& stream) override;
  [[nodiscard]] bool done() const override;
  void synchronize() override;
  /// The same, but raises no expectation.
  void wait();
  [[nodiscard]] double millisecondsSince(const Event& earlier) const override;

 private:
  Gpu& gpu_;
  bool timed_;
  EventHandle event_ = nullptr;                 // made when it is first recorded
  std::shared_ptr<Expectations> expectations_;  // of the stream
  std::uint64_t expected_ = 0;                  // the last one then
};

/// Events that mark how far a stream is, used again and again.
class EventPool {
 public:
  explicit EventPool(Gpu& gpu) : gpu_(gpu) {}
  /// Recorded in the stream.
  EventHandle record(StreamHandle stream);
  [[nodiscard]] bool isDone(EventHandle event) const;
  void give(EventHandle event);

 private:
  Gpu& gpu_;
  std::mutex mutex_;
  std::vector<EventHandle> free_;
};

}  // namespace tandem::cuda
