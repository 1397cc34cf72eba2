// The interface through which an operation reaches the recorder that `lazy` implements: when a thread is inside
// `tandem.lazy()`, while a function is traced, or when an operand is pending.
#pragma once

#include <atomic>
#include <span>
#include <utility>

#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem {

class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Records `op` and makes `results` pending tensors of the given metas.
  virtual void record(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                      std::span<const TensorMeta> metas, std::span<Tensor> results) = 0;
  /// Records `op` if that is what was recorded here the last time, on the same values: the metas of its results are
  /// then known. False: nothing is recorded, it must be `record`.
  virtual bool repeat(const OpFacts& f, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                      std::span<Tensor> results) = 0;
  /// As `repeat`, of an operation without attributes whose results become the values of `outs`, those that are defined:
  /// nothing is made for results that nobody else sees.
  virtual bool repeatUpdate(const OpFacts& f, std::span<const Operand> operands, std::span<const Tensor> outs) = 0;
  /// Records a write of `value` (same shape and dtype) through the window `into`; its storage becomes pending.
  virtual void recordWrite(const Tensor& into, const Tensor& value) = 0;
  /// What follows is work of another device than what was recorded so far, which is then run: a trace is of one.
  virtual void enter(Device device) = 0;
  /// A view was taken of `base`, which may be memory that no recorded operation has read.
  virtual void touch(const Tensor& base) = 0;
  /// Runs what is recorded so far, as what follows is recorded under other conditions: `why`.
  virtual void runRecorded(const char* why) = 0;
  /// A tensor on the CPU that was there before is used on the device of what is recorded: its copy there, which every
  /// run of a recording that is kept finds for itself. Undefined where nothing is kept.
  virtual Tensor place(const Tensor& t, Device device) = 0;
  /// The elements of a tensor that is memory are about to be read by the program.
  virtual void beforeRead(const Tensor& t) = 0;
  /// `memory` is about to change by what is not recorded here: what is recorded that reads it runs first.
  virtual void beforeChange(Storage& memory) = 0;
  /// The program is about to read the size of `dim`, or all sizes where that is negative.
  virtual void beforeSizeRead(const Tensor& t, std::int64_t dim) = 0;
  /// See `learnSize` below.
  virtual std::int64_t learnSize(Tensor& count) = 0;
  /// Values are about to be looked at. False: that is not possible, and the plan must check what it can.
  [[nodiscard]] virtual bool mayRead() = 0;
};

/// The recorder of this thread: set inside `lazy()` and while tracing; null otherwise.
extern thread_local constinit Recorder* activeRecorder;

/// While it lives, operations of this thread run at once, whatever is recording; what they read of the recording is run
/// first.
class AtOnce {
 public:
  AtOnce() : before_(std::exchange(activeRecorder, nullptr)) {}
  ~AtOnce() { activeRecorder = before_; }
  AtOnce(const AtOnce&) = delete;
  AtOnce& operator=(const AtOnce&) = delete;

 private:
  Recorder* before_;
};

/// A recorder that holds operations back while the program goes on, for as long as this lives.
class HoldsBack {
 public:
  explicit HoldsBack(Recorder* recorder);
  ~HoldsBack();
  HoldsBack(const HoldsBack&) = delete;
  HoldsBack& operator=(const HoldsBack&) = delete;
  static bool any() { return count_.load(std::memory_order_relaxed) > 0; }
  static bool several() { return count_.load(std::memory_order_relaxed) > 1; }

 private:
  static inline std::atomic<int> count_{0};
  Recorder* recorder_;
};

/// Has all that hold work back but `one` run what reads `memory`. Only where threads of a host run one at a time:
/// elsewhere nobody may look at what another thread records.
void settleOthers(Storage& memory, const Recorder* one);
/// The same of all threads: `memory` is about to be changed at once, or shown to others who may change it.
inline void settleReads(Storage& memory) {
  if (activeRecorder != nullptr) activeRecorder->beforeChange(memory);
  if (HoldsBack::any()) settleOthers(memory, activeRecorder);
}

/// The value of a 0-d int64 tensor, to be the size of what is computed next: the one way in which sizes depend on data.
/// While a function is traced, what follows holds for calls with the same value only; `count` becomes a tensor that has
/// been checked for that when it is read.
std::int64_t learnSize(Tensor& count);

/// The recorder an operation on these operands must go to. Null: run it; the operands are memory.
Recorder* recorderFor(std::span<const Operand> operands);

}  // namespace tandem
