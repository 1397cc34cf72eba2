// What autograd hangs on a tensor, allocated when first needed.
//
//   leaf that requires grad   `grad`, hooks; `accumulator` names the LeafNode of the live graphs, if any
//   result with a history     `gradFn` and which of its results this is
//
// A view's history is right for one version of its storage, TensorImpl::historyVersion; see TapeHook::refreshView.
#pragma once

#include <memory>

#include "autograd/node.h"
#include "eager/tensor.h"

namespace tandem {

struct AutogradMeta final : AutogradMetaBase {
  ~AutogradMeta() override;
  static void* operator new(std::size_t bytes) { return poolAllocate(bytes); }
  static void operator delete(void* p) { poolFree(p, sizeof(AutogradMeta)); }

  Ref<Node> gradFn;
  std::uint32_t resultNr = 0;
  bool retainsGrad = false;
  Tensor grad;
  SpinLock lock;                    // guards the accumulator and the hook lists
  LeafNode* accumulator = nullptr;  // owned by the graphs that lead to it
  HookList<TensorHook> hooks;       // of leaves; those of others are with their node
  HookList<LeafHook> afterAccumulate;
};

inline AutogradMeta* metaOf(const TensorImpl* t) { return static_cast<AutogradMeta*>(t->autograd.get()); }
inline AutogradMeta* metaOf(const Tensor& t) { return metaOf(t.impl()); }
/// Allocates it if need be.
AutogradMeta& needMeta(TensorImpl* t);

/// Makes `t` result `nr` of `node`.
void setHistory(const Tensor& t, Ref<Node> node, std::uint32_t nr);
void clearHistory(const Tensor& t);
/// `retain_grad` on and off.
void startRetaining(TensorImpl* t);
void stopRetaining(TensorImpl* t);

/// Told of reads and writes of `.grad` on this thread: `lazy` treats those slots as inputs and outputs of a trace. And
/// of tensors that are made to require grad: each call of a trace makes its own.
class GradObserver {
 public:
  virtual ~GradObserver() = default;
  /// Before `.grad` of the tensor is read, by a user or by an accumulation.
  virtual void onRead(TensorImpl* tensor) = 0;
  /// Before it becomes another tensor (or none). In-place additions to the tensor in it are ordinary writes.
  virtual void onWrite(TensorImpl* tensor) = 0;
  /// After `requires_grad` was turned on, of a leaf.
  virtual void onLeaf(TensorImpl* tensor) = 0;
};
extern thread_local constinit GradObserver* gradObserver;

}  // namespace tandem
