// The `.grad` attributes that a lazy block has written since its last run, with what was in them. If that run fails and
// the value of a new gradient is lost, it is what it was, as after an eager step that ran out of memory.
#pragma once

#include <utility>
#include <vector>

#include "autograd/meta.h"
#include "lazy/session.h"

namespace tandem::lazy {

/// Watches a thread's gradients between `watch` and `rest`. It keeps its memory from one block to the next.
class KeptGrads final : public GradObserver {
 public:
  void watch() { outer_ = std::exchange(gradObserver, this); }
  void rest() {
    gradObserver = outer_;
    forget();
  }

  void onRead(TensorImpl* tensor) override {
    if (outer_ != nullptr) outer_->onRead(tensor);
  }
  void onWrite(TensorImpl* tensor) override {
    if (outer_ != nullptr) outer_->onWrite(tensor);
    const AutogradMeta* m = metaOf(tensor);
    const Tensor now = m == nullptr ? Tensor() : m->grad;
    const auto next = static_cast<std::uint32_t>(before_.size());
    const std::uint32_t number = numbers_.findOrAdd(tensor, next);
    if (number == next)
      before_.push_back({Ref<TensorImpl>(tensor), now});
    else if (!now.defined() || !now.isPending())  // the program has set it since: to None, or to what is there already
      before_[number].grad = now;
  }
  void onLeaf(TensorImpl* tensor) override {
    if (outer_ != nullptr) outer_->onLeaf(tensor);
  }
  /// The run has succeeded.
  void forget() {
    numbers_.clear();
    before_.clear();
  }
  /// It has failed, and its session has let go of what it could not make.
  void restoreLost() {
    for (Before& it : before_)
      if (AutogradMeta* m = metaOf(it.tensor.get()); m != nullptr && isLost(m->grad)) m->grad = std::move(it.grad);
    forget();
  }

 private:
  struct Before {
    Ref<TensorImpl> tensor;
    Tensor grad;
  };
  static bool isLost(const Tensor& t) {
    const PendingContent* c = t.defined() ? t.impl()->storage->pending() : nullptr;
    return c != nullptr && static_cast<const Content*>(c)->session == nullptr;
  }

  GradObserver* outer_ = nullptr;
  std::vector<Before> before_;
  IndexTable<TensorImpl*> numbers_;
};

}  // namespace tandem::lazy
