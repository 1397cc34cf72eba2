// Devices of the driver's stand-in, and late work: streams, events, graphs.
//
//   - Work that is queued in a stream is done when somebody waits for it, in the thread that waits. A query does one
//     piece of work and says that it is not done, if it was not before.
//   - Work may wait for what is not the device's (`tandemEmulatedWait`). A query does none that would.
//   - One lock guards everything. It is held while work is done, but for functions of the host, which may take locks of
//     their own.
//   - A stream that captures keeps what is queued as the nodes of a graph, each with those it depends on. A launch does
//     them in an order that the dependencies allow and that is as far from that of the capture as they allow.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "tests/emulation/driver/memory.h"

namespace tandem::emulation {

using Lock = std::unique_lock<std::mutex>;
using Work = std::function<void(Lock&)>;

/// Results that driver.h does not tell apart.
enum MoreResults : int {
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kLaunchOutOfResources = 701,
  kNotPermitted = 800,
  kStreamCaptureMerge = 902,
  kStreamCaptureUnmatched = 903,
  kStreamCaptureUnjoined = 904,
  kStreamCaptureIsolation = 905,
  kStreamCaptureImplicit = 906,
  kCapturedEvent = 907,
  kStreamCaptureWrongThread = 908,
};

/// CUstreamCaptureMode: for whom calls that might wait are forbidden while a stream captures.
enum CaptureMode : int { kForAll = 0, kForTheThread = 1, kForNobody = 2 };

struct Stream;
struct Device;

/// What a capture makes.
struct Graph {
  struct Node {
    Work work;
    std::vector<unsigned> after;  // nodes that it depends on
  };
  std::vector<Node> nodes;
  Device* device = nullptr;
};

struct Capture {
  Graph graph;
  Stream* origin = nullptr;
  int mode = kForAll;
  std::thread::id thread;
  bool isValid = true;
  std::vector<tandem::cuda::GraphNodeHandle> last;  // for who asked last
};

/// A point in a stream.
struct Mark {
  std::shared_ptr<Stream> stream;
  std::uint64_t number = 0;  // of pieces of work that are done by then
  std::chrono::steady_clock::time_point time;
};

struct Event {
  Device* device = nullptr;
  bool hasTime = true;
  std::shared_ptr<Mark> mark;        // null: not recorded
  std::shared_ptr<Capture> capture;  // recorded in a capture,
  std::vector<unsigned> nodes;       // after these nodes
};

struct Stream : std::enable_shared_from_this<Stream> {
  Stream(Device* device, bool blocks) : device(device), blocks(blocks) {}

  Device* device;
  bool blocks;  // with the legacy stream
  struct Piece {
    Work work;
    std::function<bool()> isReady;  // where it waits for what is not the device's
  };
  std::deque<Piece> queue;
  std::uint64_t pushed = 0;
  std::uint64_t done = 0;
  bool isBusy = false;       // a thread does its work
  bool isDestroyed = false;  // it stays until its work is done
  std::shared_ptr<Capture> capture;
  std::vector<unsigned> last;  // nodes that what is captured next depends on

  /// Queues work, or makes it a node.
  int push(Lock& lock, Work work);
  /// Queues nothing but waiting, which no graph can have.
  int pushWait(Lock& lock, std::function<bool()> isReady);
  [[nodiscard]] bool isDone() const { return done == pushed; }
  /// Does what was queued before the mark.
  void runUntil(Lock& lock, std::uint64_t mark);
  /// Does one piece of work, if there is one and nobody else does it.
  void runSome(Lock& lock);

 private:
  void runFront(Lock& lock);
};

struct Device {
  explicit Device(int ordinal);

  int ordinal;
  Memory memory;
  std::shared_ptr<Stream> legacy;                // the stream 0
  std::vector<std::shared_ptr<Stream>> streams;  // also destroyed ones with work to do
  int failed = 0;                                // once a kernel failed every call says so

  /// Does all that was queued.
  void synchronize(Lock& lock);
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<Device>> devices;
  std::string failure;  // of the kernel that failed
  struct Refusal {
    int result;
    int count;
  };
  std::map<std::string, Refusal> refusals;  // by the name of the function, `tandemEmulatedRefuse`
};
State& state();

/// What a test has the function answer instead of doing its work.
int refusalOf(const char* function);

/// Makes the memory of these devices accessible, and of no others. Whoever does work opens what it
/// needs, and whoever waited closes everything at the end.
void openMemory(Device* first, Device* second = nullptr);
void closeMemory();

/// In a function of the host that a stream calls: it may not call the driver.
bool inHostFunction();
Work hostFunction(tandem::cuda::HostFunction function, void* data);

/// A launch of a graph's nodes.
Work graphWork(std::shared_ptr<const Graph> graph);

// ---- capture

int beginCapture(Stream& stream, int mode);
int endCapture(Stream& stream, std::unique_ptr<Graph>& graph);
/// An error where this thread captures and must not call what might wait; the capture is lost then.
int refuseWhileCapturing();
void invalidate(Capture& capture);

}  // namespace tandem::emulation
