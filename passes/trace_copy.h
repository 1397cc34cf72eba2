// A trace made of another one, node by node: what passes on traces have in common. They are for what shape programs are
// to know, too (shape_program.h): a rule of canonicalize would leave them with operations that no trace has.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/schema/op_table.h"
#include "ir/trace/trace.h"

namespace tandem::passes {

struct MadeTrace {
  Trace trace;
  std::vector<TraceOutput> outputs;
};

/// Which nodes the outputs follow from.
std::vector<bool> liveNodes(const Trace& trace, const std::vector<TraceOutput>& outputs);
/// Of all nodes.
std::size_t numResults(const Trace& trace);

class TraceCopy {
 public:
  MadeTrace run(const std::vector<TraceOutput>& outputs);

 protected:
  explicit TraceCopy(const Trace& from);
  TraceCopy(const TraceCopy&) = delete;
  TraceCopy& operator=(const TraceCopy&) = delete;
  virtual ~TraceCopy() = default;
  /// Makes what stands for the results of a node; `copy` makes them as they are.
  virtual void add(const TraceNode& node) { copy(node); }
  void copy(const TraceNode& node);
  /// What stands for a value.
  [[nodiscard]] ValueRef now(ValueRef v) const { return now_[indexOf(v)]; }
  void makes(const TraceNode& node, std::uint32_t result, ValueRef v) { now_[node.results.begin + result] = v; }
  using Operands = SmallVector<TraceOperand, 8>;
  /// Those of a node, with what `of` gives for each value.
  template <class F>
  Operands operandsOf(const TraceNode& n, F of) const {
    Operands operands;
    for (TraceOperand o : from_.operands(n)) {
      if (o.kind == TraceOperand::Kind::Value) o.value = of(o.value);
      operands.push_back(o);
    }
    return operands;
  }
  /// An operation like `n` of other operands, with a result of this shape.
  ValueRef addLike(const TraceNode& n, const Operands& operands, const Dims& shape);

  // What nodes are.
  [[nodiscard]] const TraceNode& node(std::uint32_t i) const { return from_.nodes[i]; }
  [[nodiscard]] const Dims& shapeOf(ValueRef v) const { return from_.meta(v).shape; }
  [[nodiscard]] bool isOf(std::uint32_t i, OpKind kind) const;
  /// One result, the elements of which follow from those of the operands at their place.
  [[nodiscard]] bool isElementwise(std::uint32_t i) const;
  [[nodiscard]] std::size_t indexOf(ValueRef v) const { return from_.nodes[v.node].results.begin + v.result; }

  const Trace& from_;
  Trace to_;

 private:
  std::vector<ValueRef> now_;  // of every result
};

}  // namespace tandem::passes
