#include "autograd/engine.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "autograd/op_node.h"
#include "autograd/recomputed.h"
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/host.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "eager/recorder.h"
#include "runtime/base/index_table.h"

namespace tandem {

namespace {

class GradMode {
 public:
  explicit GradMode(bool on) : before_(gradEnabled()) { setGradEnabled(on); }
  ~GradMode() { setGradEnabled(before_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

std::uint32_t tapeGroupOf(const Node& node) {
  return node.kind() == Node::Kind::Op ? static_cast<const OpNode&>(node).tapeGroup() : 0;
}

/// A node that received cotangents.
struct Visit {
  Ref<Node> node;
  std::size_t first;  // of its cotangents, by result, among those of all visits
};

/// The site of the tape group whose first node this is: what it and its first cotangent are like is all that is known.
std::uint64_t siteOf(const Node& node, const Tensor& g) {
  const auto op = static_cast<std::uint64_t>(static_cast<const OpNode&>(node).op());
  return tandem::siteOf(op, g.defined() ? static_cast<std::uint64_t>(g.numel()) : 0);
}

/// Is a node's derivative, of several steps over large cotangents, worth being fused by itself?
bool fusesAlone(const Node& node, const Tensor& g) {
  if (node.kind() != Node::Kind::Op) return false;
  return g.defined() && worthFusing(g.numel()) && derivativeHasSteps(static_cast<const OpNode&>(node).op());
}

struct Entry {
  std::uint64_t sequence;
  std::uint32_t visit;
  /// The highest sequence first; leaves, which share one, in the order they were reached.
  bool operator<(const Entry& o) const { return sequence != o.sequence ? sequence < o.sequence : visit > o.visit; }
};

/// What a run fills, whose memory the thread's next one takes.
struct Lists {
  IndexTable<const Node*> table;
  std::vector<Visit> visits;
  std::vector<Tensor> cotangents;  // of all visits; grows only between the runs of two nodes
  std::vector<Tensor> gradients;   // of the operands of the node that runs
  std::vector<Entry> heap;

  void clear() {
    table.clear();
    visits.clear();
    cotangents.clear();
    gradients.clear();
    heap.clear();
  }
};
constexpr std::size_t kMostKeptVisits = std::size_t{1} << 14;
thread_local std::unique_ptr<Lists> keptLists;

class Run {
 public:
  explicit Run(const EngineRun& run)
      : run_(run), outer_(std::exchange(innermost, this)),
        lists_(keptLists ? std::move(keptLists) : std::make_unique<Lists>()), visits_(lists_->visits),
        cotangents_(lists_->cotangents), heap_(lists_->heap) {
    for (std::size_t i = 0; i < run.captures.size(); ++i) captures_[run.captures[i].node.get()].push_back(i);
    captured_.resize(run.captures.size());
    if (!run.captures.empty()) findNeeded();
    if (run.accumulate && leafHooksUsed.load(std::memory_order_relaxed)) countEdgesToHooks();
  }

  ~Run() {
    innermost = outer_;
    if (visits_.size() > kMostKeptVisits) return;
    lists_->clear();
    keptLists = std::move(lists_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  static thread_local Run* innermost;
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const Run* outer() const { return outer_; }
  [[nodiscard]] bool hasCaptures() const { return !run_.captures.empty(); }
  void callAtEnd(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }
  void runCallbacks() {
    for (std::size_t i = 0; i < callbacks_.size(); ++i) std::exchange(callbacks_[i], nullptr)();
  }
  /// Looked for when first asked.
  bool reaches(const Node* node) {
    if (!run_.captures.empty()) return needed_.contains(node);
    if (reached_.empty()) {
      std::vector<const Node*> open;
      for (const Edge& e : run_.roots)
        if (e && reached_.insert(e.node.get()).second) open.push_back(e.node.get());
      while (!open.empty()) {
        const Node* at = open.back();
        open.pop_back();
        for (const Edge& e : at->edges())
          if (e && reached_.insert(e.node.get()).second) open.push_back(e.node.get());
      }
    }
    return reached_.contains(node);
  }

  std::vector<Tensor> go() {
    GradMode mode(run_.createGraph);
    FusedRecording recording;
    const RecomputedScope recomputed;
    std::uint32_t recorded = 0;
    bool alone = false;
    auto endRecording = [&] {
      RecomputedScope::forget();
      recording.end();
      runComplete();
    };
    for (std::size_t i = 0; i < run_.roots.size(); ++i) deliver(run_.roots[i], run_.cotangents[i]);
    runComplete();
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      std::uint32_t number = heap_.back().visit;
      heap_.pop_back();
      Node& node = *visits_[number].node;
      // Additions to the gradients of leaves belong to what led there.
      if (node.kind() != Node::Kind::Leaf) {
        const Tensor& g = cotangents_[visits_[number].first];
        const std::uint32_t group = tapeGroupOf(node);
        const bool byItself = group == 0 && fusesAlone(node, g);
        if (group != recorded || alone || byItself) {
          endRecording();
          if (group != 0 || byItself) recording.begin(siteOf(node, g));
          recorded = group;
          alone = byItself;
        }
      }
      runVisit(number);
      // Hooks read what a recording has not computed yet: they wait for its end.
      if (recorded == 0 && !alone) runComplete();
    }
    endRecording();
    return std::move(captured_);
  }

 private:
  [[nodiscard]] bool needed(const Edge& e) const {
    return static_cast<bool>(e) && (run_.captures.empty() || needed_.contains(e.node.get()));
  }

  /// Nodes run that get no cotangent, too: their hooks and those of Functions are called.
  void deliver(const Edge& e, Tensor g) {
    if (!needed(e)) return;
    std::uint32_t number = lists_->table.findOrAdd(e.node.get(), static_cast<std::uint32_t>(visits_.size()));
    if (number == visits_.size()) {
      visits_.push_back({e.node, cotangents_.size()});
      cotangents_.resize(cotangents_.size() + e.node->results().size());
      if (edgesToHooks_.empty() || !edgesToHooks_.contains(e.node.get())) {
        heap_.push_back({e.node->sequence(), number});
        std::push_heap(heap_.begin(), heap_.end());
      }
    }
    if (g.defined()) {
      Tensor& sum = cotangents_[visits_[number].first + e.result];
      sum = sum.defined() ? ops::add(sum, g) : std::move(g);
    }
    if (edgesToHooks_.empty()) return;
    if (auto it = edgesToHooks_.find(e.node.get()); it != edgesToHooks_.end() && --it->second == 0)
      complete_.push_back(number);
  }

  void runVisit(std::uint32_t number) {
    const Visit visit = std::move(visits_[number]);
    runNode(*visit.node, cotangentsOf(visit));
    for (Tensor& g : cotangentsOf(visit)) g = {};
  }
  /// The leaves with hooks at which all has arrived.
  void runComplete() {
    for (std::uint32_t number : complete_) runVisit(number);
    complete_.clear();
  }

  [[nodiscard]] std::span<Tensor> cotangentsOf(const Visit& visit) {
    return {cotangents_.data() + visit.first, visit.node->results().size()};
  }
  void runNode(Node& node, std::span<Tensor> cotangents);
  void runLeaf(LeafNode& node, std::span<Tensor> cotangents);
  void runOperation(Node& node, std::span<Tensor> cotangents);
  void findNeeded();
  void countEdgesToHooks();

  const EngineRun& run_;
  Run* outer_;
  std::uint64_t number_ = ++numRuns;
  static inline std::atomic<std::uint64_t> numRuns{0};
  std::unordered_set<const Node*> reached_;
  std::unique_ptr<Lists> lists_;
  std::vector<Visit>& visits_;
  std::vector<Tensor>& cotangents_;
  std::vector<Entry>& heap_;
  std::unordered_map<const Node*, std::vector<std::size_t>> captures_;
  std::unordered_set<const Node*> needed_;  // lead to a capture
  std::vector<Tensor> captured_;
  // Of leaves with hooks: how many edges have not delivered yet, each of which will; and those for which all have.
  std::unordered_map<const Node*, std::uint32_t> edgesToHooks_;
  std::vector<std::uint32_t> complete_;
  std::vector<std::function<void()>> callbacks_;
};

thread_local Run* Run::innermost = nullptr;

void Run::findNeeded() {
  std::vector<Node*> order;
  std::unordered_set<const Node*> seen;
  for (const Edge& e : run_.roots)
    if (e && seen.insert(e.node.get()).second) order.push_back(e.node.get());
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const Edge& e : order[i]->edges())
      if (e && seen.insert(e.node.get()).second) order.push_back(e.node.get());
  std::sort(order.begin(), order.end(), [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  for (const Node* node : order) {
    bool leads = captures_.contains(node);
    for (const Edge& e : node->edges()) leads |= e && needed_.contains(e.node.get());
    if (leads) needed_.insert(node);
  }
}

bool hasLeafHooks(const LeafNode& node) {
  {
    AutogradMeta& m = *metaOf(node.leaf());
    std::scoped_lock guard(m.lock);
    if (m.hooks != nullptr || m.afterAccumulate != nullptr) return true;
  }
  const NodeExtras* extras = node.extras();
  if (extras == nullptr) return false;
  std::scoped_lock guard(node.lock());
  return extras->preHooks != nullptr || extras->postHooks != nullptr;
}

void Run::countEdgesToHooks() {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  auto count = [&](const Edge& e) {
    if (!needed(e)) return;
    const Node* node = e.node.get();
    if (node->kind() != Node::Kind::Leaf) {
      if (seen.insert(node).second) open.push_back(node);
    } else if (edgesToHooks_.contains(node) || hasLeafHooks(static_cast<const LeafNode&>(*node))) {
      ++edgesToHooks_[node];
    }
  };
  for (const Edge& e : run_.roots) count(e);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Edge& e : node->edges()) count(e);
  }
}

void runTensorHooks(const HookList<TensorHook>& hooks, Tensor& g) {
  if (!hooks) return;
  for (const auto& h : *hooks) {
    Tensor r = h.run(g);
    if (r.defined()) g = std::move(r);
  }
}

void runHooks(Node& node, std::span<Tensor> cotangents) {
  NodeExtras* extras = node.extras();
  if (extras == nullptr) return;
  for (std::size_t r = 0; r < cotangents.size(); ++r) {
    HookList<TensorHook> hooks;
    Ref<TensorImpl> keeper;
    {
      std::scoped_lock guard(node.lock());
      if (r < extras->tensorHooks.size()) hooks = extras->tensorHooks[r];
    }
    runTensorHooks(hooks, cotangents[r]);
    {
      std::scoped_lock guard(node.lock());
      TensorImpl* t = r < extras->retained.size() ? extras->retained[r] : nullptr;
      if (t != nullptr && t->tryRetain()) {
        keeper = Ref<TensorImpl>(t);
        t->release();
      }
    }
    if (keeper && cotangents[r].defined()) {
      AutogradMeta& m = needMeta(keeper.get());
      if (gradObserver != nullptr) gradObserver->onRead(keeper.get());
      if (gradObserver != nullptr) gradObserver->onWrite(keeper.get());
      m.grad = m.grad.defined() ? ops::add(m.grad, cotangents[r]) : ops::clone(cotangents[r]);
    }
  }
}

void Run::runNode(Node& node, std::span<Tensor> cotangents) {
  if (node.kind() == Node::Kind::Leaf) {
    const Tensor& leaf = static_cast<LeafNode&>(node).leaf();
    HookList<TensorHook> hooks;
    {
      AutogradMeta& m = *metaOf(leaf);
      std::scoped_lock guard(m.lock);
      hooks = m.hooks;
    }
    runTensorHooks(hooks, cotangents[0]);
  } else {
    runHooks(node, cotangents);
  }
  if (auto it = captures_.find(&node); it != captures_.end())
    for (std::size_t i : it->second) captured_[i] = cotangents[run_.captures[i].result];
  if (node.kind() == Node::Kind::Leaf) {
    if (run_.accumulate) runLeaf(static_cast<LeafNode&>(node), cotangents);
    return;
  }
  runOperation(node, cotangents);
}

void checkNan(const Node& node, std::span<const Tensor> grads) {
  if (!autograd::anomalyMode() || !autograd::anomalyChecksNan()) return;
  if (activeRecorder != nullptr && !activeRecorder->mayRead()) return;
  for (std::size_t i = 0; i < grads.size(); ++i)
    if (grads[i].defined() && !grads[i].impl()->batch && readElement<bool>(ops::any(ops::isnan(grads[i]))))
      fail("Function '", node.name(), "' returned nan values in its ", i, "th output.");
}

/// The hooks of a node as they are when it runs.
struct NodeHooks {
  HookList<NodeHook> before;
  HookList<NodePostHook> after;

  explicit NodeHooks(Node& node) {
    NodeExtras* extras = node.extras();
    if (extras == nullptr) return;
    std::scoped_lock guard(node.lock());
    before = extras->preHooks;
    after = extras->postHooks;
  }
  void runBefore(std::span<Tensor> cotangents) const {
    if (!before) return;
    std::vector<Tensor> given(cotangents.begin(), cotangents.end());
    for (const auto& h : *before) h.run(given);
    std::ranges::move(given, cotangents.begin());
  }
  void runAfter(std::vector<Tensor>& grads, std::span<const Tensor> cotangents) const {
    if (!after) return;
    for (const auto& h : *after) h.run(grads, cotangents);
  }
};

void Run::runLeaf(LeafNode& node, std::span<Tensor> cotangents) {
  if (!node.leaf().requiresGrad()) return;  // it was turned off after the graph was made
  NodeHooks hooks(node);
  hooks.runBefore(cotangents);
  // Handed over, so that it can become the gradient as it is; a hook that looks at it afterwards keeps it.
  accumulateGrad(node.leaf(), hooks.after ? cotangents[0] : std::exchange(cotangents[0], {}), run_.createGraph);
  std::vector<Tensor> none;
  hooks.runAfter(none, cotangents);
}

void Run::runOperation(Node& node, std::span<Tensor> cotangents) {
  std::span<const Edge> edges = node.edges();
  SmallVector<bool, 8> wanted(edges.size(), false);
  bool any = false;
  for (std::size_t i = 0; i < edges.size(); ++i) any |= wanted[i] = needed(edges[i]);
  if (!any) return;
  NodeExtras* extras = node.extras();
  NodeHooks hooks(node);
  hooks.runBefore(cotangents);
  std::vector<Tensor>& grads = lists_->gradients;
  grads.assign(edges.size(), {});
  bool given = std::any_of(cotangents.begin(), cotangents.end(), [](const Tensor& t) { return t.defined(); });
  try {
    if (given || node.kind() == Node::Kind::Function)
      node.apply(cotangents, std::span<const bool>(wanted.data(), wanted.size()), grads);
    checkNan(node, grads);
  } catch (const Error& e) {
    if (extras == nullptr || extras->line.empty()) throw;
    // In anomaly mode it says where the operation was called.
    failAs(e, strcat(e.what(), "\nThe forward call of ", node.name(), " was at ", extras->line));
  }
  hooks.runAfter(grads, cotangents);
  if (!run_.keepGraph) node.releaseSaved();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (!wanted[i]) continue;
    const Edge& e = edges[i];
    if (!grads[i].defined()) {
      deliver(e, {});
      continue;
    }
    deliver(e, conform(std::exchange(grads[i], {}), e.node->results()[e.result], node, i));
  }
}

/// No one else can see the tensor or its memory, and it holds no more memory than it shows.
bool isOurs(const Tensor& g) {
  TensorImpl* t = g.impl();
  return t->refCount() == 1 && t->storage->refCount() == 1 && t->offset == 0 && !t->requiresGrad &&
         t->storage->bytes() == static_cast<std::size_t>(t->numel) * itemSize(t->dtype);
}

/// A leaf's first gradient, which lies as the leaf does where that has no gaps, so that who updates it walks both as
/// one run of memory; else row-major.
Tensor firstGrad(const Tensor& leaf, Tensor g, bool createGraph) {
  const bool mayKeep = !createGraph && isOurs(g);
  if (!leaf.isContiguous()) {
    const Dims order = orderOfStrides(leaf.shape(), {&leaf.strides(), 1});
    if (isDense(leaf, order)) return mayKeep && isDense(g, order) ? std::move(g) : laidOut(g, order, ops::clone);
  }
  return mayKeep && g.isContiguous() ? std::move(g) : ops::clone(g);
}

/// With the leaf's gradient as others see it locked. The hooks to be called after it.
HookList<LeafHook> addToGrad(AutogradMeta& m, const Tensor& leaf, Tensor g, bool createGraph) {
  if (gradObserver != nullptr) gradObserver->onRead(leaf.impl());
  if (!m.grad.defined()) {
    if (gradObserver != nullptr) gradObserver->onWrite(leaf.impl());
    m.grad = firstGrad(leaf, std::move(g), createGraph);
  } else if (createGraph) {
    if (gradObserver != nullptr) gradObserver->onWrite(leaf.impl());
    m.grad = ops::add(m.grad, g);
  } else {
    applyInto(m.grad, OpCode::add, {m.grad, g});
  }
  std::scoped_lock hooks(m.lock);
  return m.afterAccumulate;
}

std::mutex& accumulateMutex(const TensorImpl* t) {
  static std::mutex stripes[64];
  return stripes[(reinterpret_cast<std::uintptr_t>(t) >> 6) % 64];
}

}  // namespace

std::atomic<bool> leafHooksUsed = false;

std::uint64_t currentRun() { return Run::innermost != nullptr ? Run::innermost->number() : 0; }

std::vector<bool> reachedByCurrentRun(std::span<const Node* const> nodes) {
  std::vector<bool> reached;
  for (const Node* node : nodes) reached.push_back(Run::innermost != nullptr && Run::innermost->reaches(node));
  return reached;
}

bool runsReachAllLeaves() {
  for (const Run* run = Run::innermost; run != nullptr; run = run->outer())
    if (run->hasCaptures()) return false;
  return true;
}

void failInsideTransform() {
  fail("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
       "functorch.vjp instead or call backward() outside of functorch transforms.");
}

std::vector<Tensor> runEngine(const EngineRun& run) {
  Run running(run);
  std::vector<Tensor> captured = running.go();
  running.runCallbacks();
  return captured;
}

void callAtEndOfRun(std::function<void()> callback) {
  if (Run::innermost == nullptr) fail("Final callbacks can only be installed during backward pass.");
  Run::innermost->callAtEnd(std::move(callback));
}

namespace {
/// Over the examples of a vmap that has ended, for an operand that was the same for all of them.
Tensor sumOverExamples(Tensor g, const ResultMeta& meta) {
  Ref<const BatchDims> batch = g.impl()->batch;
  for (const BatchDim& d : batch->dims) {
    if (d.axis->active || (meta.batch && meta.batch->find(d.axis.get()) >= 0)) continue;
    g = ops::sum(ops::batch_out(g, 0, d.axis->id), Dims{0}, false);
  }
  return g;
}
}  // namespace

Tensor conform(const Tensor& g, const ResultMeta& meta, const Node& from, std::size_t at) {
  Tensor t = g.impl()->batch ? sumOverExamples(g, meta) : g;
  if (!(t.shape() == meta.shape)) {
    const Dims& have = t.shape();
    std::size_t extra = have.size() - meta.shape.size();
    bool fits = have.size() >= meta.shape.size();
    Dims dims;
    for (std::size_t d = 0; fits && d < have.size(); ++d) {
      if (d < extra || (meta.shape[d - extra] == 1 && have[d] != 1))
        dims.push_back(static_cast<std::int64_t>(d));
      else
        fits = meta.shape[d - extra] == have[d];
    }
    if (!fits)
      fail("Function ", from.name(), " returned an invalid gradient at index ", at, " - got ", shapeText(have),
           " but expected shape compatible with ", shapeText(meta.shape));
    if (!dims.empty()) t = ops::sum(t, dims, true);
    if (extra != 0) t = ops::reshape(t, meta.shape);
  }
  if (t.device() != meta.device) {
    if (t.dim() != 0)
      fail("Function ", from.name(), " returned an invalid gradient at index ", at, " - expected device ",
           deviceName(meta.device), " but got ", deviceName(t.device()));
    t = toDevice(t, meta.device);
  }
  return t.dtype() == meta.dtype ? t : ops::to(t, meta.dtype);
}

void accumulateGrad(const Tensor& leaf, Tensor g, bool createGraph) {
  TensorImpl* impl = leaf.impl();
  if (g.defined() && g.impl()->batch) failInsideTransform();
  AutogradMeta& m = needMeta(impl);
  HookList<LeafHook> after;
  {
    std::scoped_lock guard(accumulateMutex(impl));
    if (!g.defined()) {
      std::scoped_lock hooks(m.lock);
      after = m.afterAccumulate;
    } else {
      after = addToGrad(m, leaf, std::move(g), createGraph);
    }
  }
  if (!after) return;
  for (const auto& h : *after) h.run(leaf);
}

}  // namespace tandem
