// The work of a plan as a CUDA graph: one launch instead of one a kernel.
//
// A plan queues the same work each time but for the arguments of its kernels. The first time it is queued as it comes,
// the second time it is captured, and what was queued is kept beside the graph, as a *tape*. From then on the plan's
// instructions run against the tape: what a launch is given is compared with what it was given last, and only the
// parameters that differ are set in the graph, which is then launched as a whole. Memory that library functions ask for
// meanwhile is what they got while they were captured. Example: a training step whose batch lies elsewhere each time
// sets the parameters of the two kernels that read it.
//
// What a graph cannot hold (waiting for a stream, a copy of host memory whose content changes) ends that for the plan:
// its work is queued as it comes. So does a driver that refuses to capture, to make or to launch the graph, or to set
// parameters in it; it is asked once a plan.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/base/function_ref.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/queue.h"
#include "runtime/device/cuda/stream.h"

namespace tandem::cuda {

class CudaGraph;
class Function;
class Gpu;

/// A call of another library, which queues what it likes: a graph cannot be told that the operands lie elsewhere.
struct ForeignCall {
  std::uint64_t moving = 0;  // operands that did before, a bit each: it takes copies, which kernels make (copyByKernel)
  bool isInGraph = false;    // it is not to be made again
};

/// What is queued on this thread while a plan is captured or follows its tape.
class Tape {
 public:
  /// That of this thread; null where work is queued as it comes.
  static Tape* now();

  /// Each of these is called instead of queueing. False: the caller is to queue it, which is being captured.
  bool launch(const Function& function, FunctionHandle handle, const Grid& grid, std::span<const Parameter> parameters);
  /// A copy within the device or a fill (`from` is then the byte).
  bool move(const void* to, const void* from, std::size_t bytes);
  bool copyFromHost(const void* to, const void* from, std::size_t bytes);
  /// To be asked before such a call, with the addresses that it reads and writes.
  ForeignCall foreign(std::span<const void* const> operands);
  /// Memory of a library function: null where it is to be allocated.
  void* allocate(std::size_t bytes);
  /// True: it is the graph's.
  bool deallocate();
  /// After the caller has queued a launch, or allocated.
  void launched(CudaStream& stream);
  void allocated(void* memory);
  /// An expectation of what is queued: true where it is the stream's when the graph is launched.
  bool expect(const std::shared_ptr<const Expected>& expected);
  /// Somebody is about to wait for the stream: what is only compared has not been queued.
  void wait();

 private:
  friend class Sequence;
  enum class Kind : std::uint8_t { Launch, Move, CopyFromHost, Foreign, Memory };
  struct Entry {
    Kind kind;
    const Function* function = nullptr;
    GraphNodeHandle node = nullptr;
    Grid grid{};
    const void* to = nullptr;
    const void* from = nullptr;
    std::size_t bytes = 0;
    std::vector<char> content;  // parameters, or the host's memory
  };
  const Entry& next(Kind kind);

  std::vector<Entry> entries_;
  std::vector<std::shared_ptr<const Expected>> expected_;
  std::size_t at_ = 0;
  std::vector<std::uint64_t>* moving_ = nullptr;  // of each foreign call
  std::size_t foreign_ = 0;                       // how many there were
  bool moved_ = false;                            // operands of one lie elsewhere
  bool follows_ = false;
  GraphExecHandle graph_ = nullptr;
};

class Sequence {
 public:
  explicit Sequence(Gpu& gpu);
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  /// Queues in the current stream what `queue` queues there.
  void run(FunctionRef<void()> queue);

 private:
  void record(CudaStream& stream, FunctionRef<void()> queue);
  bool follow(CudaStream& stream, FunctionRef<void()> queue);

  Gpu& gpu_;
  std::mutex mutex_;
  std::unique_ptr<CudaStream> capturing_;
  std::unique_ptr<CudaGraph> graph_;
  Tape tape_;
  std::vector<std::uint64_t> moving_;
  int runs_ = 0;
  int changes_ = 0;
  bool refused_ = false;
};

/// The sequences of the plans that ran last on a device.
class Sequences {
 public:
  explicit Sequences(Gpu& gpu) : gpu_(gpu) {}
  void run(std::uint64_t plan, FunctionRef<void()> queue);

 private:
  struct Kept {
    std::uint64_t plan;
    std::shared_ptr<Sequence> sequence;
  };
  Gpu& gpu_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // the last used first
  std::unordered_map<std::uint64_t, std::list<Kept>::iterator> places_;
};

}  // namespace tandem::cuda
