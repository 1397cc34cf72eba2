// A session: one trace being recorded, and the storages it knows. `tandem.lazy()` and the tracing of a compiled
// function are both a session that is the thread's active recorder for a while.
//
// How mutation and views become values:
//   - a storage the session has seen is either an *input* (memory that existed; read at the start of the run) or
//     *fresh* (made by a recorded operation). Its present content is one value of the trace.
//   - a tensor is read as a window on that value; an in-place write replaces the storage's value by a Write node and
//     so is seen by every tensor on the storage, as memory would be.
//   - at the flush every live storage whose value is not what its memory holds gets it: fresh ones new memory, inputs
//     in place.
//
// Hash-consing identifies values, not storages: two storages with one value get two memories.
//
//   session.cpp           inputs, values, operations and writes
//   at_once.cpp           what a recording may not put off
//   following.cpp         a recording that repeats the last one at its site
//   learnt_sizes.cpp      sizes that depend on data
//   run_time_scalars.cpp  numbers that a call brings
//   narrow.cpp            values of which a view of a part is all that is left
//   session_run.cpp       the run
//   scopes.cpp            where recordings begin and end
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "autograd/node.h"
#include "eager/generator.h"
#include "eager/recorder.h"
#include "ir/trace/trace.h"
#include "lazy/call_numbers.h"
#include "lazy/content.h"
#include "lazy/following.h"
#include "runtime/base/index_table.h"
#include "runtime/base/small_vector.h"

namespace tandem::lazy {

class KeptGrads;

/// Memory a trace reads. What of it: `meta.numel` elements from `offset` on, row-major in `meta.shape`.
struct SessionInput {
  std::uint32_t versionBefore = 0;  // of the storage
  bool constant = false;            // a copy of what was made from data while tracing; `root` belongs to the trace
  Ref<Storage> storage;
  Ref<TensorImpl> root;     // the tensor it was first seen through (its base, for a view)
  Tensor placed;            // of what it is a copy on the trace's device (lazy/placed.h)
  std::int64_t offset = 0;  // in elements
  ValueRef value;
  TensorMeta meta;
};

/// Thrown when the arguments of a function that is to be traced turn out to be several windows on one storage: it is
/// traced with that storage taken whole.
struct RestartTrace : Error {
  explicit RestartTrace(Storage* s) : Error("an argument's storage is reached beyond its window"), storage(s) {}
  Storage* storage;
};

class Session final : public Recorder {
 public:
  /// `tracing`: what is recorded is to be kept for later calls, so nothing may run before it is complete. Where
  /// something must, as when a value is read, the session gives the tracing up and records like any other from there
  /// on. `composite`: what is recorded is one operation for the program, which does nothing between its parts.
  explicit Session(bool tracing, bool composite = false)
      : started_(tracing ? Node::takeSequence() : 0), birth_(Storage::births()), tracing_(tracing),
        watched_(!tracing && !composite), holdsBack_(composite ? nullptr : this) {}
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void record(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
              std::span<const TensorMeta> metas, std::span<Tensor> results) override;
  bool repeat(const OpFacts& f, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
              std::span<Tensor> results) override;
  bool repeatUpdate(const OpFacts& f, std::span<const Operand> operands, std::span<const Tensor> outs) override;
  void recordWrite(const Tensor& into, const Tensor& value) override;
  void enter(Device device) override;
  void touch(const Tensor& base) override;
  void runRecorded(const char* why) override;
  Tensor place(const Tensor& t, Device device) override;
  void beforeRead(const Tensor& t) override;
  void beforeChange(Storage& memory) override;
  void beforeSizeRead(const Tensor& t, std::int64_t dim) override;
  std::int64_t learnSize(Tensor& count) override;
  /// An element that the program reads while a function is traced.
  struct Read {
    Tensor now;   // its value in this call, on the host; zero if nothing is to run
    Tensor each;  // what it is in each: recorded, and no other tensor's memory
  };
  /// Nothing where it is to be read as elsewhere: which ends the tracing.
  std::optional<Read> readAhead(const Tensor& t, bool run);
  [[nodiscard]] bool mayRead() override;

  static constexpr const char* kValueRead = "the value of a tensor is read";
  static constexpr const char* kFails = "an operation fails";
  /// What is recorded will not be kept. `why` is told to `onGivenUp`, which may throw instead.
  void giveUp(const char* why);
  std::function<void(const char* why)> onGivenUp;
  /// Where what is recorded stands in the program, as for Fusion.
  std::uint64_t site = 0;
  /// Giving up would be an error: library code leaves out what only checks values.
  bool strict = false;
  /// The elements of the arguments stand for others, of which nothing is known: none is looked at, and whether an
  /// operation fails by one is left to the plan.
  bool placeholders = false;
  /// What is recorded becomes a saved program, of which tensors on the CPU beside others are state or arguments as they
  /// lie in memory.
  bool saved = false;
  /// Those of the thread, while it records a lazy block; else null.
  std::shared_ptr<KeptGrads> grads;

  /// The sizes that depend on data, in the order in which they were learnt: what is recorded holds for them only.
  [[nodiscard]] const std::vector<std::int64_t>& learntSizes() const { return learntSizes_; }
  /// The value of a run-time scalar: the trace then holds for calls only whose scalars it was computed from are equal.
  double guardScalar(const Scalar& s);
  [[nodiscard]] const std::set<std::uint32_t>& guardedScalars() const { return guardedScalars_; }
  /// The trace then holds for calls only in which the run-time scalar is at most so large, infinite or NaN.
  void boundScalar(const Scalar& s, double most);
  /// Slots and their bounds.
  [[nodiscard]] const std::set<std::pair<std::int32_t, double>>& boundedScalars() const { return boundedScalars_; }

  /// Runs what is recorded and needed, and starts an empty trace.
  void flush();
  /// Compiles what is recorded, without running it.
  std::shared_ptr<Plan> compile(std::vector<TraceOutput>& outputs, std::vector<Content*>& fresh);
  /// Runs a plan of `compile` into the storages of the trace itself, which are then memory.
  void run(const Plan& plan, std::span<Content* const> fresh, std::span<const Scalar> scalars = {});
  /// Forgets the trace; pending storages that had memory show it again, fresh ones are lost: to read one is an error.
  void abandon() noexcept;

  /// Where `results` are all that sees a value, and see a small part of it, that part becomes a value of its own, and
  /// the rest need not be computed.
  void narrow(std::span<const Tensor> results);

  /// Operations that may fail by a value are run by a plan whether or not something needs their results.
  void keepChecks();

  /// Makes the window of an argument an input before anything is recorded; its number.
  std::uint32_t addArgument(const Tensor& t);
  /// Between two recordings: what is known of storages, which may die, is forgotten.
  void rest() {
    whole_.clear();
    turnTo(0);
  }
  /// Of the traces that are kept to be followed.
  [[nodiscard]] std::size_t nodesKept() const;
  void takeWhole(Storage* s) { whole_.insert(s); }
  [[nodiscard]] bool isWhole(Storage* s) const { return whole_.contains(s); }

  /// Memory that was made from data while a function is traced, and that no operation read, is a value like others.
  void include(const Tensor& t) {
    if (isConstant(t.impl()->storage.get())) (void)valueOf(t);
  }

  /// A run-time scalar: argument `number` of the call, `value` while tracing.
  Scalar addScalarArgument(std::uint32_t number, Scalar value);
  /// Python's arithmetic on run-time scalars (`right` is not looked at where it is on one); nothing where the result is
  /// none, or an error.
  std::optional<Scalar> arithmetic(ScalarSlot::Source source, Scalar left, Scalar right);
  /// The trace then holds for calls only in which the two compare as they do now. False where that cannot be said.
  bool compare(ScalarCondition::Is is, const Scalar& left, const Scalar& right);
  [[nodiscard]] const std::vector<ScalarCondition>& conditions() const { return conditions_; }

  /// What is read at present through the tensor, as a value of the trace.
  ValueRef valueOf(const Tensor& t);
  /// A tensor of its own that holds a value of the trace.
  Tensor tensorOf(ValueRef value) { return fresh(value, trace_.meta(value)); }
  [[nodiscard]] const std::vector<SessionInput>& inputs() const { return inputs_; }
  /// Tensors with requires_grad that were read and are memory: where gradients may have to go.
  struct Differentiable {
    Tensor tensor;
    Edge edge;  // as it was then
  };
  [[nodiscard]] const std::vector<Differentiable>& differentiable() const { return differentiable_; }
  [[nodiscard]] const Trace& trace() const { return trace_; }
  /// A storage for whose sake the tracing was given up: it must be taken whole. Null if there is none.
  [[nodiscard]] const Ref<Storage>& restartStorage() const { return restart_; }
  [[nodiscard]] bool tracing() const { return tracing_; }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  /// The live pending storages, oldest first.
  [[nodiscard]] Content* first() const { return first_; }

 private:
  friend class Content;
  /// Was the memory made while tracing, so that it holds the same in every call?
  [[nodiscard]] bool isConstant(Storage* s) const {
    if (s->birth() <= birth_) return false;
    const std::uint32_t known = inputNumbers_.find(s);
    return known == inputNumbers_.kNone || !inputs_[known].placed.defined();
  }
  std::int32_t slotOf(const Scalar& s);
  Scalar addSlot(ScalarSlot slot, Scalar now);
  std::int32_t inputOf(const Tensor& t);
  void note(const Tensor& t);
  /// Is all of `value` what is read at present through the tensor?
  [[nodiscard]] bool isWhole(const TensorImpl& t, ValueRef value) const;
  /// Is `written` all that the tensor's memory, as far as it is known, is to hold? To write it runs nothing.
  [[nodiscard]] bool takesAll(const TensorImpl& t, const TensorMeta& written) const;
  /// The node of the operation, if it is the one that follows in the last trace and its results fit `outs`.
  std::optional<std::uint32_t> follow(const OpFacts& f, std::span<const Operand> operands,
                                      std::span<const std::int64_t> attrs, std::span<const Tensor> outs);
  /// What memory holds at present that this session knows: a value, from element `begin` of it on.
  struct Held {
    ValueRef value;
    std::int64_t begin;
    std::int32_t input;  // -1: made by the recording
  };
  [[nodiscard]] Held heldBy(Storage* s) const {
    const Content* c = contentOf(s);
    const std::int32_t input = c != nullptr ? c->input : static_cast<std::int32_t>(inputNumbers_.find(s));
    return {c != nullptr ? c->value : inputs_[input].value, input >= 0 ? inputs_[input].offset : 0, input};
  }
  /// `into`, whose memory is known, becomes `value`.
  void write(const Tensor& into, ValueRef value);
  /// What a value is in this call, on the host: what is recorded so far is run for it. Nothing that others can see
  /// changes.
  Tensor valueNow(ValueRef v);
  /// Is an operation that was recorded found again by its operands alone?
  static bool mayRepeat(const OpFacts& f, std::size_t operands, std::span<const TensorMeta> metas);
  /// Memory made from data while a function is traced (`tandem.tensor([1, 2])`): its elements become a constant of the
  /// trace and the storage a fresh one, so that what is written to it does not outlive the call.
  void adopt(const Tensor& t);
  std::int32_t addInput(const Tensor& root, Storage* storage);
  /// An input on some of the same memory by another storage; null if there is none.
  [[nodiscard]] const SessionInput* overlapping(const Storage& s) const;
  static Content* contentOf(const Storage* s) { return static_cast<Content*>(s->pending()); }
  [[nodiscard]] std::uint64_t dataDimsOf(const Tensor& t) const;
  [[nodiscard]] std::uint64_t dataDimsOf(const OpFacts& f, std::span<const Operand> operands,
                                         std::span<const std::int64_t> attrs, std::size_t number,
                                         const TensorMeta& result) const;
  using Pointers = SmallVector<void*, 8>;
  [[nodiscard]] Pointers inputPointers() const;
  Tensor fresh(ValueRef value, const TensorMeta& meta);
  // What may not be put off (at_once.cpp).
  static bool isLarge(const TensorMeta& meta);
  bool canWait(const OpFacts& f, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
               std::span<const TensorMeta> metas);
  bool indicesFit(std::span<const Operand> indices, const Tensor& into, std::int64_t first, bool wrapped);
  [[nodiscard]] bool areClasses(const Tensor& index, std::int64_t size) const;
  bool offsetsFit(const Tensor& offsets, std::int64_t length);
  bool classesFit(const Tensor& target, std::int64_t classes, std::int64_t ignored);
  bool holds(const Tensor& good);
  using Nodes = SmallVector<std::uint32_t, kMostSlight>;
  [[nodiscard]] Nodes slightNodes(ValueRef value) const;
  Tensor look(const Tensor& t);
  /// Runs a recorded operation that may fail, while a function is traced, so that its error is raised where it stands.
  void tryOut(std::uint32_t node);
  /// Another thread may be running what was recorded here: nothing is recorded meanwhile.
  void awaitRun() const {
    while (running_) [[unlikely]]
      Content::letOthersGoOn();
  }
  /// Others may change memory that they share before the next operation, or look at it.
  void endShared() {
    if (shared_ && !tracing_) flush();
  }
  std::int32_t draw(ScalarSlot& seed, ScalarSlot& offset);
  void narrow(Content& content, std::span<TensorImpl* const> views);
  void reset();
  void turnTo(std::size_t part);
  /// Makes the trace one of the session's device, before anything is recorded.
  void turnToDevice();
  /// Runs a plan into storages of the trace, which stay pending.
  void execute(const Plan& plan, std::span<Content* const> fresh, std::span<const Scalar> scalars);
  /// When memory ran out before anything was written: makes the values that fit, in the trace's order, and the writes
  /// before the first that does not, as eager would have.
  void rescue();

  [[nodiscard]] Look lookAt(ValueRef value, const Nodes& needed) const;

  // A recording may run in parts, as where values are read in the middle. Those before and after the present one wait
  // here; of very many the last stands for all that come after it.
  static constexpr std::size_t kMostParts = 4;
  std::vector<Followed> parts_;
  std::size_t part_ = 0;

  // A recording is run by itself when it reaches this size: a loop in a lazy block must not grow without bound. What
  // the program holds anyway is not counted: batches of data that were dropped are, and parameters are not.
  static constexpr std::size_t kMostNodes = 20000;
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  [[nodiscard]] bool mayHoldMuch() const { return watched_ && (pendingBytes_ > kMostBytes || inputBytes_ > lookAt_); }
  [[nodiscard]] bool holdsMuch();

  Device device_;  // of what is recorded
  Trace trace_;
  std::vector<TraceOutput> lastOutputs_;
  std::shared_ptr<Plan> lastPlan_;
  std::vector<Look> looks_;  // the first `looked_` in this run, the rest in the last one
  std::size_t looked_ = 0;
  std::vector<SessionInput> inputs_;
  IndexTable<Storage*> inputNumbers_;
  std::unordered_set<Storage*> whole_;
  std::vector<Differentiable> differentiable_;
  std::unordered_set<TensorImpl*> noted_;
  Content* first_ = nullptr;
  Content* last_ = nullptr;
  // What `flush` runs; they keep their memory.
  std::vector<TraceOutput> outputs_;
  std::vector<Content*> made_;
  std::int64_t pendingBytes_ = 0;
  std::int64_t inputBytes_ = 0;
  std::int64_t lookAt_ = kMostBytes;  // so many bytes of inputs, for who else holds them
  std::uint64_t resets_ = 0;          // counted: values of a trace before the last are no more
  Ref<Storage> restart_;
  Generator firstDraw_;                   // the default generator before the trace's first draw from it
  std::uint16_t number_ = ++recordings_;  // of this recording, about: they are counted round
  inline static std::atomic<std::uint16_t> recordings_{0};
  std::vector<Scalar> scalarArguments_;
  std::set<std::uint32_t> guardedScalars_;
  std::set<std::pair<std::int32_t, double>> boundedScalars_;
  std::vector<ScalarCondition> conditions_;
  std::vector<std::int64_t> learntSizes_;
  static constexpr int kMostReads = 16;  // each runs what it needs once more
  int reads_ = 0;
  std::vector<Tensor> checks_;  // kept, so that a plan makes them whether or not they are used
  std::uint64_t started_;       // sequence number: older nodes of the tape were there before
  std::uint64_t birth_;         // likewise, of storages
  bool tracing_;
  bool watched_;          // the program sees what each operation does: errors, and memory that it shares with others
  bool untried_ = false;  // the operation that is being recorded may fail, and is to be tried out
  bool asked_ = false;    // values were looked at to know that it does not
  bool shared_ = false;   // the operation reads or writes such memory
  bool running_ = false;
  HoldsBack holdsBack_;
  bool begun_ = false;  // the last run has written something
};
}  // namespace tandem::lazy
