// A node of the tape: one differentiable operation that was done, and the engine's view of it.
//
//   edges       one an operand: where that operand's gradient goes (a node and which of its results), or nowhere
//   results     shape and dtype of each result; cotangents are brought to them by the engine before `apply`
//   sequence    process-wide and increasing; an edge always leads to a smaller one, so running nodes by decreasing
//               sequence visits each once, after all that feed it. Leaves have 0
//   extras      hooks, retained gradients, the forward line; null for nearly every node
//
// Nodes own the nodes they lead to. A chain of a million is freed by a work list, not by recursion (node.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eager/tensor.h"

namespace tandem {

class Node;

struct Edge {
  Ref<Node> node;
  std::uint32_t result = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
};

struct ResultMeta {
  Dims shape;
  DType dtype = DType::Float32;
  Device device = {};
  /// Whose axes a cotangent keeps (strides do not matter); null but inside `vmap`.
  Ref<const BatchDims> batch = {};
};

/// May return a replacement; undefined leaves the cotangent as it is.
using TensorHook = std::function<Tensor(const Tensor&)>;
using LeafHook = std::function<void(const Tensor& leaf)>;
/// Change the list in place to replace entries.
using NodeHook = std::function<void(std::vector<Tensor>& cotangents)>;
using NodePostHook = std::function<void(std::vector<Tensor>& gradients, std::span<const Tensor> cotangents)>;

template <class F>
struct Hook {
  std::uint64_t id = 0;
  F run;
};
/// Never changed in place, so that a backward on another thread goes on with the list it took; null when empty.
template <class F>
using HookList = std::shared_ptr<const std::vector<Hook<F>>>;
/// Adds to a list (by replacing it); the number to remove the hook by, which no other hook has.
template <class F>
std::uint64_t addHook(HookList<F>& list, F run);
/// Was it there?
template <class F>
bool dropHook(HookList<F>& list, std::uint64_t id);

/// A lock for a few instructions, one word long. Never held while operations or hooks run.
class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

struct NodeExtras {
  std::vector<HookList<TensorHook>> tensorHooks;  // by result
  std::vector<TensorImpl*> retained;              // by result; the tensor clears its entry when it dies
  HookList<NodeHook> preHooks;
  HookList<NodePostHook> postHooks;
  std::string line;  // of the forward, in anomaly mode
};

class Node {
 public:
  enum class Kind : std::uint8_t { Op, Leaf, Function };

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(const_cast<Node*>(this));
  }
  [[nodiscard]] std::int32_t refCount() const { return refs_.load(std::memory_order_relaxed); }
  /// Takes a reference unless the last one is already gone.
  [[nodiscard]] bool tryRetain() const;

  /// `MulBackward0`, `AccumulateGrad`, or what a Function is called.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Gradients of the operands from cotangents of the results; undefined stands for zero on both sides. Only entries
  /// of `grads` whose edge is wanted need be set; shapes and dtypes are brought right by the engine.
  virtual void apply(std::span<const Tensor> cotangents, std::span<const bool> wanted, std::span<Tensor> grads) = 0;
  /// Drops what was saved for `apply`, which then fails.
  virtual void releaseSaved() {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  [[nodiscard]] std::span<const Edge> edges() const { return {edges_, numEdges_}; }
  [[nodiscard]] std::span<const ResultMeta> results() const { return {results_, numResults_}; }
  [[nodiscard]] NodeExtras* extras() const { return extras_.load(std::memory_order_acquire); }
  /// Made when first asked for. Call with the lock held.
  NodeExtras& needExtras();
  /// Guards the saved tensors and the extras against other threads' backward.
  SpinLock& lock() const { return lock_; }

  /// The next `count` sequence numbers; the first of them.
  static std::uint64_t takeSequence(std::uint64_t count = 1);

 protected:
  Node(Kind kind, std::uint64_t sequence) : sequence_(sequence), kind_(kind) {}
  virtual ~Node();

  std::uint64_t sequence_;
  Edge* edges_ = nullptr;  // where they live is the subclass's business
  ResultMeta* results_ = nullptr;
  std::uint32_t numEdges_ = 0;
  std::uint32_t numResults_ = 0;

 private:
  static void destroy(Node* node);

  mutable std::atomic<std::int32_t> refs_{0};
  Kind kind_;
  mutable SpinLock lock_;
  std::atomic<NodeExtras*> extras_{nullptr};  // owned
};

/// The end of the tape at a leaf: what arrives here is added to its `.grad`. One a leaf at a time, found through the
/// leaf's meta; keeps the leaf alive.
class LeafNode final : public Node {
 public:
  explicit LeafNode(const Tensor& leaf);
  static void* operator new(std::size_t bytes) { return poolAllocate(bytes); }
  static void operator delete(void* p) { poolFree(p, sizeof(LeafNode)); }
  [[nodiscard]] const Tensor& leaf() const { return leaf_; }
  [[nodiscard]] std::string name() const override { return "AccumulateGrad"; }
  void apply(std::span<const Tensor> cotangents, std::span<const bool> wanted, std::span<Tensor> grads) override;

 private:
  ~LeafNode() override;

  Tensor leaf_;
  ResultMeta meta_;
};

/// The error of a node whose saved tensors were released.
[[noreturn]] void failReleased();

/// Where the gradient of `t` goes: its node, its leaf's end, or nowhere when it requires none. Views whose base was
/// written since are brought up to date first.
Edge gradEdge(const Tensor& t);

std::uint64_t nextHookId();

template <class F>
std::uint64_t addHook(HookList<F>& list, F run) {
  auto fresh = list ? std::make_shared<std::vector<Hook<F>>>(*list) : std::make_shared<std::vector<Hook<F>>>();
  std::uint64_t id = nextHookId();
  fresh->push_back({id, std::move(run)});
  list = std::move(fresh);
  return id;
}

template <class F>
bool dropHook(HookList<F>& list, std::uint64_t id) {
  if (!list) return false;
  auto fresh = std::make_shared<std::vector<Hook<F>>>();
  for (const auto& h : *list)
    if (h.id != id) fresh->push_back(h);
  bool found = fresh->size() != list->size();
  if (found) list = fresh->empty() ? nullptr : HookList<F>(std::move(fresh));
  return found;
}

}  // namespace tandem
