#include "lazy/save_less.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "lazy/max_flow.h"
#include "runtime/device/executor.h"

namespace tandem::lazy {

namespace {

std::uint64_t keyOf(ValueRef v) { return std::uint64_t{v.node} << 8 | v.result; }

class Choice {
 public:
  Choice(Session& session, TapeTemplate& tape)
      : session_(session), trace_(session.trace()), tape_(tape), target_(targetOf(trace_.device)) {}

  void run(std::span<const Tensor> seen) {
    findMakeable();
    findSeen(seen);
    findSaved();
    if (wanted_.empty()) return;
    for (const Saved& s : wanted_) add(s.value);
    cut();
    if (bytesSaved() < target_.cachedBytes) return;
    keep();
    write();
  }

 private:
  static constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max() / 4;
  // Operations that are made again one on the other, at most: kernels of longer chains have more values than registers,
  // or are cut and store what was saved. Of 30 steps of `x = x + 0.1 * sin(x * w)` over 4 MB the gradient takes 34 ms,
  // with chains of 16 operations 38, of 32 46.
  static constexpr int kLongest = 8;

  /// What the tape saves, by its number there, and that it is all of a value.
  struct Saved {
    std::uint32_t number;
    ValueRef value;
  };

  [[nodiscard]] std::int64_t bytes(ValueRef v) const {
    const TensorMeta& m = trace_.meta(v);
    return numelOf(m.shape) * static_cast<std::int64_t>(itemSize(m.dtype));
  }

  // ---- what there is

  void findSeen(std::span<const Tensor> seen) {
    for (const Tensor& t : seen)
      if (const Content* content = contentOf(t)) seen_.insert(keyOf(content->value));
    for (const TraceNode& node : trace_.nodes) {
      if (node.kind != TraceNode::Kind::Op || !isLibrary(facts(node.op).kind)) continue;
      for (const TraceOperand& o : trace_.operands(node))
        if (o.kind == TraceOperand::Kind::Value) stored_.insert(keyOf(rootOf(o.value)));
    }
  }
  // Null where the memory holds no value of the trace.
  [[nodiscard]] const Content* contentOf(const Tensor& t) const {
    if (!t.defined() || !t.isPending()) return nullptr;
    const auto* content = static_cast<const Content*>(t.impl()->storage->pending());
    return content->session == &session_ ? content : nullptr;
  }
  [[nodiscard]] ValueRef rootOf(ValueRef v) const {
    while (trace_.nodes[v.node].kind == TraceNode::Kind::Window) v = trace_.operands(trace_.nodes[v.node])[0].value;
    return v;
  }

  // Of what is saved, that which is all of a value that the trace makes; and of that, what may be made again.
  void findSaved() {
    std::vector<Saved> all;
    for (std::uint32_t i = 0; i < tape_.saved.size(); ++i) {
      const TapeTemplate::Saved& s = tape_.saved[i];
      const Content* content = contentOf(s.traced);
      if (content == nullptr || content->input >= 0 || s.input >= 0 || s.writtenSince > 0 || s.traced.impl()->batch)
        continue;
      const ValueRef v = content->value;
      const TensorMeta& m = trace_.meta(v);
      if (m.dtype != s.traced.dtype() || !(m.shape == s.traced.shape()) || !s.traced.isContiguous() ||
          s.traced.impl()->offset != 0) {
        if (m.dtype == s.traced.dtype() && !seen_.contains(keyOf(v)))
          wholes_.try_emplace(keyOf(v), makeAlias(s.traced, m.shape, contiguousStrides(m.shape), 0));
        continue;
      }
      all.push_back({i, v});
      savedAs_.try_emplace(keyOf(v), i);
    }
    for (const Saved& s : all) {
      const std::uint64_t key = keyOf(s.value);
      const bool isStored = stored_.contains(key) || seen_.contains(key) || wholes_.contains(key);
      if (isStored || bytes(s.value) < target_.leastSharedBytes || !makeable_[s.value.node]) continue;
      wanted_.push_back(s);
      isWanted_.insert(key);
    }
  }

  // Which nodes can be made again: chains of them begin at what is stored.
  void findMakeable() {
    std::vector<int> depth(trace_.nodes.size());
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const TraceNode& node = trace_.nodes[i];
      const bool isWindow = node.kind == TraceNode::Kind::Window;
      if (isWindow || isWorthwhile(node)) {
        for (const TraceOperand& o : trace_.operands(node))
          if (o.kind == TraceOperand::Kind::Value) depth[i] = std::max(depth[i], depth[o.value.node]);
        depth[i] += isWindow ? 0 : 1;
        makeable_.push_back(depth[i] <= kLongest);
      } else {
        makeable_.push_back(false);
      }
      if (!makeable_.back()) depth[i] = 0;
    }
  }
  // Elementwise work that depends on its operands alone, and is worth doing twice.
  [[nodiscard]] bool isWorthwhile(const TraceNode& node) const {
    if (node.kind != TraceNode::Kind::Op) return false;
    const OpFacts& f = facts(node.op);
    if (f.kind != OpKind::Pointwise || f.failure != OpFailure::Never || f.usesIndex) return false;
    const TensorMeta& m = trace_.results(node)[0];
    const std::int64_t size = numelOf(m.shape) * static_cast<std::int64_t>(itemSize(m.dtype));
    if (!f.cheap && size >= target_.leastSharedBytes && size < target_.leastDear) return false;
    return !readsDefaultDType(node, f);
  }
  // The default dtype, in which numbers meet integers, may be another one when the backward runs.
  [[nodiscard]] bool readsDefaultDType(const TraceNode& node, const OpFacts& f) const {
    bool numbers = false;
    for (const TraceOperand& o : trace_.operands(node)) {
      if (o.kind == TraceOperand::Kind::Value && isFloating(trace_.meta(o.value).dtype)) return false;
      numbers |= o.kind == TraceOperand::Kind::Slot;
    }
    return f.role != OpRole::Convert && (numbers || isFloating(trace_.results(node)[0].dtype));
  }

  // ---- the cut

  // A value is two places of the flow, which its bytes connect.
  int add(ValueRef v) {
    const auto [it, isNew] = places_.try_emplace(keyOf(v), static_cast<int>(values_.size()));
    if (!isNew) return it->second;
    values_.push_back(v);
    makes_.push_back(makeable_[v.node]);
    return it->second;
  }

  [[nodiscard]] std::int64_t costOf(ValueRef v) const {
    const TraceNode& node = trace_.nodes[v.node];
    if (node.kind == TraceNode::Kind::Window) return kAny;  // what it shows is stored
    // Of what others may write to a copy would be kept.
    if (node.kind == TraceNode::Kind::Input || seen_.contains(keyOf(v))) return 2 * bytes(v) + 1;
    const bool isSaved = savedAs_.contains(keyOf(v)) || wholes_.contains(keyOf(v));
    return isSaved && !isWanted_.contains(keyOf(v)) ? 0 : bytes(v) + 1;
  }

  void cut() {
    for (std::size_t i = 0; i < values_.size(); ++i) {  // grows
      if (!makes_[i]) continue;
      for (const TraceOperand& o : trace_.operands(trace_.nodes[values_[i].node]))
        if (o.kind == TraceOperand::Kind::Value) reads_.emplace_back(add(o.value), static_cast<int>(i));
    }
    const auto count = static_cast<int>(values_.size());
    const int source = 2 * count, sink = source + 1;
    MaxFlow flow(2 * count + 2);
    for (int i = 0; i < count; ++i) {
      flow.connect(2 * i, 2 * i + 1, costOf(values_[i]));
      if (!makes_[i]) flow.connect(source, 2 * i, kAny);
      if (isWanted_.contains(keyOf(values_[i]))) flow.connect(2 * i + 1, sink, kAny);
    }
    for (const auto& [from, to] : reads_) flow.connect(2 * from + 1, 2 * to, kAny);
    flow.run(source, sink);
    const std::vector<bool> behind = flow.reaching(sink);
    for (int i = 0; i < count; ++i) isKept_.push_back(!behind[2 * i] && behind[2 * i + 1]);
  }

  [[nodiscard]] std::int64_t bytesSaved() const {
    std::int64_t saved = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (isWanted_.contains(keyOf(values_[i])))
        saved += isKept_[i] ? 0 : bytes(values_[i]);
      else if (isKept_[i] && costOf(values_[i]) > 0)
        saved -= bytes(values_[i]);
    }
    return saved;
  }

  // ---- what follows from it

  void keep() {
    keptAs_.assign(values_.size(), -1);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!isKept_[i]) continue;
      const ValueRef v = values_[i];
      auto saved = static_cast<std::uint32_t>(tape_.saved.size());
      const auto known = savedAs_.find(keyOf(v));
      const auto window = wholes_.find(keyOf(v));
      if (known != savedAs_.end() && !seen_.contains(keyOf(v)))
        saved = known->second;
      else
        tape_.saved.push_back({window != wholes_.end() ? window->second : session_.tensorOf(v), -1, 0, -1});
      keptAs_[i] = static_cast<std::int32_t>(tape_.kept.size());
      tape_.kept.push_back(saved);
    }
  }

  // Values are in the order in which they were found, operands behind those that read them; steps in the trace's order.
  void write() {
    Recipe recipe;
    std::vector<std::size_t> order;
    std::unordered_set<std::size_t> found;
    for (const Saved& s : wanted_) {
      const auto at = static_cast<std::size_t>(places_.at(keyOf(s.value)));
      if (!isKept_[at] && found.insert(at).second) order.push_back(at);
    }
    std::unordered_map<std::size_t, std::vector<std::size_t>> operands;
    for (const auto& [from, to] : reads_)
      operands[static_cast<std::size_t>(to)].push_back(static_cast<std::size_t>(from));
    for (std::size_t k = 0; k < order.size(); ++k)  // grows
      for (const std::size_t from : operands[order[k]])
        if (!isKept_[from] && found.insert(from).second) order.push_back(from);
    std::ranges::sort(order, {}, [&](std::size_t i) { return keyOf(values_[i]); });
    for (const std::size_t i : order) {
      const auto [it, isNew] = stepOf_.try_emplace(values_[i].node, static_cast<std::uint32_t>(recipe.steps.size()));
      if (isNew) recipe.steps.push_back(stepFor(trace_.nodes[values_[i].node]));
    }
    for (const Saved& s : wanted_) {
      if (isKept_[static_cast<std::size_t>(places_.at(keyOf(s.value)))]) continue;
      tape_.saved[s.number].again = static_cast<std::int32_t>(recipe.values.size());
      recipe.values.push_back(sourceOf(TraceOperand::of(s.value)));
    }
    tape_.recipe = std::make_shared<const Recipe>(std::move(recipe));
  }

  Recipe::Step stepFor(const TraceNode& node) {
    Recipe::Step step;
    for (const TraceOperand& o : trace_.operands(node)) step.sources.push_back(sourceOf(o));
    step.results = static_cast<std::uint32_t>(trace_.results(node).size());
    step.isWindow = node.kind == TraceNode::Kind::Window;
    if (step.isWindow) {
      const Window& w = trace_.window(node);
      step.shape = w.shape;
      step.strides = w.strides;
      step.offset = w.offset;
    } else {
      step.op = node.op;
      const auto attrs = trace_.attrs(node);
      step.attrs.assign(attrs.begin(), attrs.end());
    }
    return step;
  }

  Recipe::Source sourceOf(const TraceOperand& o) {
    using Kind = Recipe::Source::Kind;
    if (o.kind == TraceOperand::Kind::Absent) return {};
    if (o.kind == TraceOperand::Kind::Slot) {
      tape_.numbers.push_back(o.slot);
      return {Kind::Number, static_cast<std::uint32_t>(tape_.numbers.size() - 1), 0};
    }
    const auto place = static_cast<std::size_t>(places_.at(keyOf(o.value)));
    if (isKept_[place]) return {Kind::Kept, static_cast<std::uint32_t>(keptAs_[place]), 0};
    return {Kind::Step, stepOf_.at(o.value.node), o.value.result};
  }

  Session& session_;
  const Trace& trace_;
  TapeTemplate& tape_;
  const Target& target_;
  std::vector<bool> makeable_;                // by node
  std::unordered_set<std::uint64_t> seen_;    // the program gets them
  std::unordered_set<std::uint64_t> stored_;  // library functions read them
  std::unordered_map<std::uint64_t, std::uint32_t> savedAs_;
  std::unordered_map<std::uint64_t, Tensor> wholes_;  // of which windows are saved
  std::vector<Saved> wanted_;                         // what the cut is for
  std::unordered_set<std::uint64_t> isWanted_;
  // Of the flow.
  std::vector<ValueRef> values_;
  std::unordered_map<std::uint64_t, int> places_;
  std::vector<bool> makes_;
  std::vector<std::pair<int, int>> reads_;  // operand, reader
  std::vector<bool> isKept_;
  std::vector<std::int32_t> keptAs_;
  std::unordered_map<std::uint32_t, std::uint32_t> stepOf_;  // of the nodes
};

}  // namespace

void saveLess(Session& session, TapeTemplate& tape, std::span<const Tensor> seen) {
  if (!tape.large || !tape.functions.empty() || !session.learntSizes().empty()) return;
  Choice(session, tape).run(seen);
}

}  // namespace tandem::lazy
