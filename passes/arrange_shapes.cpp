#include "passes/arrange_shapes.h"

#include <algorithm>

#include "passes/windows.h"
#include "runtime/base/shape.h"

namespace tandem::passes {

namespace {

// Of elementwise work behind one another so much is looked at.
constexpr int kDeepest = 16;

/// An operand seen in another shape: a window on a value.
struct Reshaped {
  ValueRef of;
  Window window;
};

class Arranger final : public TraceCopy {
 public:
  Arranger(const Trace& from, const std::vector<TraceOutput>& outputs)
      : TraceCopy(from), isLive_(liveNodes(from, outputs)), users_(numResults(from)), leaves_(users_.size()),
        moved_(from.nodes.size()), behind_(from.nodes.size()) {
    findUsers();
    for (const TraceOutput& o : outputs) leaves_[indexOf(o.value)] = true;
    for (std::uint32_t i = 0; i < from.nodes.size(); ++i)
      if (isLive_[i] && isReshape(i)) look(i);
  }
  [[nodiscard]] bool changes() const { return changes_; }

 private:
  // ---- what is read by whom

  void findUsers() {
    for (std::uint32_t i = 0; i < from_.nodes.size(); ++i) {
      if (!isLive_[i]) continue;
      for (const TraceOperand& o : from_.operands(from_.nodes[i])) {
        if (o.kind != TraceOperand::Kind::Value) continue;
        std::vector<std::uint32_t>& users = users_[indexOf(o.value)];
        if (users.empty() || users.back() != i) users.push_back(i);
      }
    }
  }
  [[nodiscard]] const std::vector<std::uint32_t>& users(ValueRef v) const { return users_[indexOf(v)]; }
  /// Is `by` all that reads the value?
  [[nodiscard]] bool isReadOnlyBy(ValueRef v, std::uint32_t by) const {
    return !leaves_[indexOf(v)] && users(v).size() == 1 && users(v)[0] == by;
  }

  // ---- what nodes are

  /// Is it all of a value, in the same order and other dims?
  [[nodiscard]] bool isReshape(std::uint32_t i) const {
    if (node(i).kind != TraceNode::Kind::Window) return false;
    const Window& w = from_.window(node(i));
    const DimsRef from = shapeOf(from_.operands(node(i))[0].value);
    return w.offset == 0 && numelOf(w.shape) == numelOf(from) && numelOf(from) > 1 &&
           isContiguous(w.shape, w.strides) && coreDims(w.shape) != coreDims(from);
  }
  /// Does elementwise work in its shape lead from the value to a reduction?
  [[nodiscard]] bool isReduced(ValueRef v, int depth = kDeepest) const {
    return std::ranges::any_of(users(v), [&](std::uint32_t i) {
      if (isOf(i, OpKind::Reduction)) return true;
      const ValueRef result{i, 0};
      return depth > 0 && isElementwise(i) && shapeOf(result) == shapeOf(v) && isReduced(result, depth - 1);
    });
  }

  // ---- what moves

  void look(std::uint32_t i) {
    const ValueRef source = from_.operands(node(i))[0].value;
    const Dims& shape = from_.window(node(i)).shape;
    const ValueRef made{i, 0};
    if (isReduced(made)) {
      std::vector<std::uint32_t> chain;
      if (!canMove(source, i, shape, chain, kDeepest)) return;
      for (std::uint32_t k : chain) moved_[k] = true;
      return void(changes_ = true);
    }
    if (leaves_[indexOf(made)] || users(made).size() != 1 || !isComputed(source)) return;
    const std::uint32_t user = users(made)[0];
    if (!isElementwise(user) || isReduced({user, 0}) || shape != from_.results(node(user))[0].shape) return;
    for (const TraceOperand& o : from_.operands(node(user)))
      if (o.kind == TraceOperand::Kind::Value && o.value != made) return;
    behind_[user] = true;
    changes_ = true;
  }
  [[nodiscard]] bool isComputed(ValueRef v) const {
    return isOf(v.node, OpKind::Pointwise) || isOf(v.node, OpKind::Reduction);
  }

  /// Can what computes the value, for `by` alone, do so in the shape?
  [[nodiscard]] bool canMove(ValueRef v, std::uint32_t by, const Dims& shape, std::vector<std::uint32_t>& chain,
                             int depth) const {
    if (depth == 0 || !isElementwise(v.node) || !isReadOnlyBy(v, by)) return false;
    chain.push_back(v.node);
    return std::ranges::all_of(from_.operands(node(v.node)), [&](const TraceOperand& o) {
      if (o.kind != TraceOperand::Kind::Value) return true;
      if (isOf(o.value.node, OpKind::Pointwise) && shapeOf(o.value) == shapeOf(v))
        return canMove(o.value, v.node, shape, chain, depth - 1);
      return reshaped(o.value, shapeOf(v), shape).has_value();
    });
  }
  /// A value that is spread over dims of size `from`, in the shape; nothing where no strides say so.
  [[nodiscard]] std::optional<Reshaped> reshaped(ValueRef v, DimsRef from, const Dims& shape) const {
    const TraceNode& n = node(v.node);
    Reshaped r{v, {shape, contiguousStrides(shapeOf(v)), 0}};
    // What a reshape that moved was of is not made again; the reshape is.
    if (n.kind == TraceNode::Kind::Window && !moved_[from_.operands(n)[0].value.node]) {
      r.of = from_.operands(n)[0].value;
      r.window.strides = from_.window(n).strides;
      r.window.offset = from_.window(n).offset;
    }
    const Dims spread = broadcastStrides(shapeOf(v), r.window.strides, from);
    if (!viewStrides(from, spread, shape, r.window.strides)) return {};
    return r;
  }

  // ---- the trace that comes of it

  void add(const TraceNode& n) override {
    const auto i = static_cast<std::uint32_t>(&n - from_.nodes.data());
    // What nobody reads may read what has moved; inputs are numbered.
    if (moved_[i] || (!isLive_[i] && n.kind != TraceNode::Kind::Input)) return;
    if (behind_[i]) return makes(n, 0, before(n));
    if (n.kind == TraceNode::Kind::Window && moved_[from_.operands(n)[0].value.node] && isReshape(i))
      return makes(n, 0, inShape(from_.operands(n)[0].value, from_.window(n).shape));
    copy(n);
  }

  ValueRef inShape(ValueRef v, const Dims& shape) {
    const TraceNode& n = node(v.node);
    const Dims& from = shapeOf(v);
    auto there = [&](ValueRef operand) {
      if (moved_[operand.node]) return inShape(operand, shape);
      const std::optional<Reshaped> r = reshaped(operand, from, shape);
      return r ? to_.addWindow(now(r->of), r->window) : operand;
    };
    return addLike(n, operandsOf(n, there), shape);
  }
  /// The work of a node on what its operand is a reshape of, and then the reshape.
  ValueRef before(const TraceNode& n) {
    Dims shape;
    const Operands operands = operandsOf(n, [&](ValueRef v) {
      const ValueRef source = from_.operands(node(v.node))[0].value;
      shape = Dims(shapeOf(source));
      return now(source);
    });
    const Dims& after = from_.results(n)[0].shape;
    return to_.addWindow(addLike(n, operands, shape), {after, contiguousStrides(after), 0});
  }
  std::vector<bool> isLive_;
  std::vector<std::vector<std::uint32_t>> users_;  // of every result, each once
  std::vector<bool> leaves_;                       // is a result of the trace
  std::vector<bool> moved_;                        // nodes that are computed where a reshape of what comes of them was
  std::vector<bool> behind_;                       // nodes that are computed before the reshape that they read
  bool changes_ = false;
};

}  // namespace

std::optional<MadeTrace> arrangeShapes(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  if (std::ranges::none_of(trace.nodes, [](const TraceNode& n) { return n.kind == TraceNode::Kind::Window; }))
    return {};
  Arranger arranger(trace, outputs);
  if (!arranger.changes()) return {};
  return arranger.run(outputs);
}

}  // namespace tandem::passes
