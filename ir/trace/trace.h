// The recorded graph: hash-consed nodes in the order they were recorded. No MLIR here; a trace is made in
// nanoseconds an operation and looked up by its hash, and only a miss is compiled.
//
// A *value* is a contiguous array of a known shape and dtype. Views are not tensors here but `Window` nodes on values,
// and in-place writes are `Write` nodes that make a new value of the base with a window replaced; which storage a value
// finally belongs to is the recorder's business (lazy/), not the trace's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/schema/op_table.h"
#include "runtime/base/hash.h"
#include "runtime/base/index_table.h"
#include "runtime/plan/plan.h"

namespace tandem {

/// A result of a node.
struct ValueRef {
  std::uint32_t node = 0;
  std::uint32_t result = 0;
  friend bool operator==(const ValueRef&, const ValueRef&) = default;
};

struct TraceOperand {
  enum class Kind : std::uint8_t { Value, Slot, Absent } kind = Kind::Absent;
  ValueRef value;
  std::int32_t slot = -1;
  static TraceOperand of(ValueRef v) { return {Kind::Value, v, -1}; }
  static TraceOperand ofSlot(std::int32_t s) { return {Kind::Slot, {}, s}; }
  friend bool operator==(const TraceOperand&, const TraceOperand&) = default;
};

/// A strided window on a contiguous value.
struct Window {
  Dims shape;
  Dims strides;  // in elements
  std::int64_t offset = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

struct TraceNode {
  enum class Kind : std::uint8_t {
    Input,   // memory that exists before the trace runs; `input` is its number
    Op,      // a primitive (pointwise, reduction, random, library)
    Window,  // operand 0 seen through `window`, as a value of its own
    Write,   // operand 0 with `window` of it replaced by operand 1 (which has the window's shape)
  };
  /// A part of one of the trace's lists.
  struct Part {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };
  Kind kind;
  OpCode op{};              // Op
  bool repeats = false;     // Op: found again on the same operands, it needs no look at values or sizes
  std::uint32_t input = 0;  // Input
  std::uint32_t line = 0;   // index into Trace::lines
  // What Trace::operands, attrs, results and window give; a part may be empty, and still begins where the lists stood.
  Part operands, attrs, results;
  std::uint32_t window = 0;
  Hash128 hash;  // of the node and all below it, extents included, scalars' values not
};

class Trace {
 public:
  /// A node for memory of this meta (contiguous).
  ValueRef addInput(const TensorMeta& meta);
  /// The node of an operation: an equal one if there is one already. Random operations are never merged.
  std::uint32_t addOp(OpCode op, std::span<const TraceOperand> operands, std::span<const std::int64_t> attrs,
                      std::span<const TensorMeta> results);
  /// A value seen through a window; `value` itself where the window is all of it in the same shape; windows of windows
  /// are composed where strides allow.
  ValueRef addWindow(ValueRef value, const Window& window);
  ValueRef addWrite(ValueRef base, ValueRef value, const Window& window);
  std::int32_t addSlot(const ScalarSlot& slot);
  /// Names the place in the user's code that the last node comes from.
  void setLine(const std::string& line);
  /// Makes the trace empty; it keeps memory for the next one.
  void clear();

  /// Starts again. While what is added is what was added the last time, in the same order, it is found by comparing:
  /// nothing is hashed or stored but the values of slots. Meanwhile `nodes` and `slots` hold the last trace whole, and
  /// only what was added again belongs to this one. The first addition that differs drops the rest.
  void restart();
  [[nodiscard]] bool following() const { return following_; }
  /// Nodes so far.
  [[nodiscard]] std::size_t size() const { return following_ ? size_ : nodes.size(); }
  /// Is it the last trace again, so far as that went?
  [[nodiscard]] bool repeated() const {
    return following_ && added_ == additions_.size() && addedSlots_ == slotAdditions_.size();
  }
  /// Drops what was not added again. To be called before `nodes` or `slots` are read as a whole.
  void settle();
  /// The default dtype that it is recorded under: what operations compute in may depend on it.
  [[nodiscard]] DType defaultDType() const { return defaultDType_; }
  /// While following: the operation that the next addition has to be. Null where that is no operation, or none is left.
  [[nodiscard]] const TraceNode* expected() const {
    if (!following_ || added_ == additions_.size() || defaultDType_ != schemaDefaultDType()) return nullptr;
    const TraceNode& n = nodes[additions_[added_]];
    return n.kind == TraceNode::Kind::Op ? &n : nullptr;
  }
  /// Adds that operation, whose operands the caller has compared; its number.
  std::uint32_t addExpected() {
    const std::uint32_t index = additions_[added_++];
    if (index == size_) ++size_;
    return index;
  }

  /// In the record's order; random operations: (seed slot, offset slot, ...).
  [[nodiscard]] std::span<const TraceOperand> operands(const TraceNode& n) const { return part(operands_, n.operands); }
  /// Op: in the record's encoding.
  [[nodiscard]] std::span<const std::int64_t> attrs(const TraceNode& n) const { return part(attrs_, n.attrs); }
  [[nodiscard]] std::span<const TensorMeta> results(const TraceNode& n) const { return part(results_, n.results); }
  /// Window, Write.
  [[nodiscard]] const Window& window(const TraceNode& n) const { return windows_[n.window]; }
  [[nodiscard]] const TensorMeta& meta(ValueRef v) const { return results(nodes[v.node])[v.result]; }
  /// `%3 = add %1, %2 : f32[4, 8]`, a line a node.
  [[nodiscard]] std::string text() const;

  Device device;  // of all values
  std::vector<TraceNode> nodes;
  std::vector<ScalarSlot> slots;
  std::vector<std::string> lines;  // `file:line` of users' code; 0 is ""
  std::uint32_t numInputs = 0;
  std::uint32_t numRandom = 0;

 private:
  template <class T>
  static std::span<const T> part(const std::vector<T>& list, TraceNode::Part p) {
    return std::span(list).subspan(p.begin, p.count);
  }
  /// What is given must not lie in the trace's own lists.
  std::uint32_t add(TraceNode node, std::span<const TraceOperand> operands, std::span<const std::int64_t> attrs,
                    std::span<const TensorMeta> results, const Window* window = nullptr);
  std::uint32_t append(TraceNode node, std::span<const TraceOperand> operands, std::span<const std::int64_t> attrs,
                       std::span<const TensorMeta> results, const Window* window);
  /// Its number where it may be the next of the last trace; else -1.
  std::int32_t followSlot(const ScalarSlot& slot);
  /// The number of an equal constant among the first slots, so that equal operations are one node; -1: none.
  [[nodiscard]] std::int32_t knownConstant(const ScalarSlot& slot, std::size_t among) const;

  std::vector<TraceOperand> operands_;
  std::vector<std::int64_t> attrs_;
  std::vector<TensorMeta> results_;
  std::vector<Window> windows_;
  IndexTable<Hash128> consed_;
  // What each addition gave: a new number, or that of an equal node or slot.
  std::vector<std::uint32_t> additions_;
  std::vector<std::int32_t> slotAdditions_;
  DType defaultDType_ = schemaDefaultDType();
  // While following: how many additions were made again, and how many nodes and slots they made.
  bool following_ = false;
  bool slotsChanged_ = false;  // a constant has another value than the last time
  std::size_t added_ = 0, addedSlots_ = 0;
  std::uint32_t size_ = 0;
  std::int32_t numSlots_ = 0;
};

/// A value that leaves the trace.
struct TraceOutput {
  friend bool operator==(const TraceOutput&, const TraceOutput&) = default;
  ValueRef value;
  /// -1: into a fresh buffer, the plan's output number = its place among the fresh ones. Else the number of the input
  /// whose memory becomes this value when the trace has run (an in-place write that users can see). Every input is
  /// named at most once, and all reads of the old content see it as it was.
  std::int32_t intoInput = -1;
};

/// The key of a plan: structure, extents, dtypes, outputs; not the values of scalars.
Hash128 traceHash(const Trace& trace, const std::vector<TraceOutput>& outputs);

}  // namespace tandem
