// The values of a trace in canonical form: what each of them reads, windows composed and equal operations one. It does
// without a program in the dialect what canonicalize and cse do to one, for those of their rules that keep the trace's
// operations as they are: by it a placed program is recognised in its trace, and the trace of other sizes in that.
//
//   %0 = input; %1 = window of %0; %2 = window of %1; %3 = neg %2      %3 reads a window on %0
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/trace/trace.h"
#include "passes/windows.h"

namespace tandem::passes {

/// A window on what an input, an operation or a write makes.
struct Seen {
  ValueRef root;
  bool copied = false;  // on a copy of `root`, which is itself a window that this one does not compose with
  Dims shape;
  Strided at;

  /// Strides of dims of size 1 do not count.
  void addTo(Hash128& h) const;
  friend bool operator==(const Seen& a, const Seen& b);
  /// All of the root's elements, in their order.
  [[nodiscard]] bool isAllOf(DimsRef rootShape) const {
    return at.offset == 0 && numelOf(shape) == numelOf(rootShape) && isContiguous(shape, at.strides);
  }
};

/// An operand of an operation: what it reads, a slot, or nothing.
struct OperandKey {
  const Seen* seen = nullptr;
  std::int32_t slot = -1;
};
Hash128 operationKey(OpCode op, std::span<const OperandKey> operands, std::span<const std::int64_t> attrs);
Hash128 writeKey(const Seen& base, const Seen& value, DimsRef strides, std::int64_t offset);

class TraceValues {
 public:
  explicit TraceValues(const Trace& trace);
  [[nodiscard]] const Seen& seen(ValueRef v) const { return seen_[indexOf(v)]; }
  /// Is `v` what its node makes, and not what another does? Others are found by what they see.
  [[nodiscard]] bool isRoot(ValueRef v) const { return !seen(v).copied && seen(v).root == v; }
  /// The node that has this key; of equal ones the first.
  [[nodiscard]] std::optional<std::uint32_t> find(const Hash128& key) const;
  /// The value whose copy is read where windows do not compose with this one.
  [[nodiscard]] std::optional<ValueRef> copyOf(const Seen& seen) const;

 private:
  [[nodiscard]] std::size_t indexOf(ValueRef v) const { return trace_.nodes[v.node].results.begin + v.result; }
  void visit(std::uint32_t node);
  [[nodiscard]] Seen throughWindow(ValueRef v, const Window& w);
  [[nodiscard]] std::optional<Seen> unchanged(const TraceNode& node) const;
  [[nodiscard]] std::optional<Seen> unfolded(const Seen& wide, const TensorMeta& to) const;
  void makes(std::uint32_t node, const Hash128& key);

  const Trace& trace_;
  std::vector<Seen> seen_;  // of every result
  std::unordered_map<Hash128, std::uint32_t, Hash128Hasher> nodes_;
  std::unordered_map<Hash128, ValueRef, Hash128Hasher> copies_;
};

}  // namespace tandem::passes
