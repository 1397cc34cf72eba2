#include "autograd/node.h"

#include <mutex>

#include "autograd/meta.h"
#include "autograd/saved_tensor.h"
#include "eager/tape_hook.h"

namespace tandem {

bool Node::tryRetain() const {
  std::int32_t n = refs_.load(std::memory_order_relaxed);
  while (n > 0)
    if (refs_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
  return false;
}

// Deleting a node releases those it leads to, directly or through tensors it saved. Nodes whose turn comes while
// another is being deleted on this thread wait in a list, linked through their sequence numbers, which no one asks for
// any more.
void Node::destroy(Node* node) {
  thread_local bool deleting = false;
  thread_local Node* waiting = nullptr;
  if (deleting) {
    node->sequence_ = reinterpret_cast<std::uintptr_t>(waiting);
    waiting = node;
    return;
  }
  deleting = true;
  delete node;
  while (waiting != nullptr) {
    Node* next = waiting;
    waiting = reinterpret_cast<Node*>(next->sequence_);
    delete next;
  }
  deleting = false;
}

Node::~Node() { delete extras(); }

NodeExtras& Node::needExtras() {
  if (extras() == nullptr) extras_.store(new NodeExtras, std::memory_order_release);
  return *extras();
}

std::uint64_t Node::takeSequence(std::uint64_t count) {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(count, std::memory_order_relaxed);
}

std::uint64_t nextHookId() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void failReleased() {
  fail("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
       "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
       "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
       "saved tensors after calling backward.");
}

LeafNode::LeafNode(const Tensor& leaf)
    : Node(Kind::Leaf, 0), leaf_(leaf), meta_{leaf.shape(), leaf.dtype(), leaf.device(), leaf.impl()->batch} {
  results_ = &meta_;
  numResults_ = 1;
}

LeafNode::~LeafNode() {
  AutogradMeta* m = metaOf(leaf_);
  std::scoped_lock guard(m->lock);
  if (m->accumulator == this) m->accumulator = nullptr;
}

void LeafNode::apply(std::span<const Tensor>, std::span<const bool>, std::span<Tensor>) {
  TANDEM_CHECK(false, "the engine accumulates into leaves itself");
}

Edge gradEdge(const Tensor& t) {
  TensorImpl* impl = t.impl();
  if (impl->viewBase) tapeHook->refreshView(impl);
  if (!impl->requiresGrad) return {};
  AutogradMeta& m = needMeta(impl);
  if (m.gradFn) return {m.gradFn, m.resultNr};
  std::scoped_lock guard(m.lock);
  if (m.accumulator != nullptr && m.accumulator->tryRetain()) {
    Edge e{Ref<Node>(m.accumulator), 0};
    m.accumulator->release();
    return e;
  }
  auto* node = new LeafNode(t);
  m.accumulator = node;
  return {Ref<Node>(node), 0};
}

SavedTensor SavedTensor::result(const Tensor& t, std::uint32_t nr) {
  if (Ref<PackedTensor> packed = packSaved(t)) return {std::move(packed), Kind::Result, nr};
  return {makeAlias(t, t.shape(), t.strides(), t.impl()->offset), versionOf(t), Kind::Result, nr};
}

namespace {
[[noreturn]] void failWritten(const SavedTensor& s, Node& owner) {
  const Tensor& t = s.tensor();
  std::string origin;
  if (s.kind() == SavedTensor::Kind::Result)
    origin = strcat(", which is output ", s.index(), " of ", owner.name(), ",");
  else if (const AutogradMeta* m = metaOf(t); m != nullptr && m->gradFn)
    origin = strcat(", which is output ", m->resultNr, " of ", m->gradFn->name(), ",");
  else
    origin = strcat(", which ", owner.name(), " saved,");
  fail("one of the variables needed for gradient computation has been modified by an inplace operation: [tandem.",
       dtypeName(t.dtype()), " ", shapeText(t.shape()), "]", origin, " is at version ", t.impl()->version(),
       "; expected version ", s.version(),
       " instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
       "autograd.set_detect_anomaly(True).");
}
}  // namespace

/// What a hook made again within another vmap, with the axes of the first.
static Tensor unpacked(PackedTensor& packed) {
  Tensor made = packed.unpack();
  if (!made.defined() || !packed.batch || !made.impl()->batch || made.impl()->batch == packed.batch) return made;
  std::vector<BatchDim> dims = made.impl()->batch->dims;
  const std::vector<BatchDim>& before = packed.batch->dims;
  if (dims.size() != before.size()) return made;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].axis->size != before[i].axis->size) return made;
    dims[i].axis = before[i].axis;
  }
  Tensor alias = makeAlias(made, made.shape(), made.strides(), made.impl()->offset);
  alias.impl()->batch = new BatchDims(std::move(dims));
  return alias;
}

Tensor SavedTensor::unpack(Node& owner) const {
  Tensor kept = packed_ ? unpacked(*packed_) : tensor_;
  if (!kept.defined()) return {};
  if (!packed_ && versionOf(kept) != version_) failWritten(*this, owner);
  if (kind_ == Kind::Operand || !gradEnabled()) return kept;
  Edge e{Ref<Node>(&owner), index_};
  if (kind_ == Kind::Detached) e = owner.edges()[index_];
  if (!e) return kept;
  Tensor t = makeAlias(kept, kept.shape(), kept.strides(), kept.impl()->offset);
  setHistory(t, std::move(e.node), e.result);
  return t;
}

}  // namespace tandem
