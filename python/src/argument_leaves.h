// Arguments that a compiled body makes require grad at first, as a loss with derivatives by its inputs does:
//
//   def loss(x):
//     x.requires_grad_()
//     return grad(net(x).sum(), x, create_graph=True)[0].square().sum()
//
// Where the body asks nothing else of `x` before (Observer::makeLeaf), a call is the one with an `x` that requires grad
// already: the entry is kept for such arguments, and a call with others makes them require grad, as the body would.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "eager/tensor.h"

namespace tandem::python {

/// The tensors of a call that are at such places and do not require grad yet. What `turnOn` changed is changed back
/// unless it is to be kept.
class ArgumentLeaves {
 public:
  ArgumentLeaves(const std::set<std::size_t>& places, std::span<const Tensor> arguments) {
    for (std::size_t i : places) {
      if (i >= arguments.size()) break;
      const Tensor& t = arguments[i];
      if (t.requiresGrad() || !isFloating(t.dtype()) || t.impl()->inference) continue;
      places_.push_back(i);
      tensors_.push_back(t);
    }
  }
  ~ArgumentLeaves() {
    if (on_) turn(false);
  }
  ArgumentLeaves(const ArgumentLeaves&) = delete;
  ArgumentLeaves& operator=(const ArgumentLeaves&) = delete;

  [[nodiscard]] bool any() const { return !places_.empty(); }
  void turnOn() { turn(on_ = true); }
  /// Somebody else may turn them on.
  void expect() { on_ = true; }
  void turnOff() { turn(on_ = false); }
  void keep() { on_ = false; }
  /// Are they among those that an entry's body makes require grad?
  [[nodiscard]] bool allIn(const std::vector<std::size_t>& sorted) const {
    return std::ranges::includes(sorted, places_);
  }

 private:
  void turn(bool on) {
    for (const Tensor& t : tensors_) t.impl()->requiresGrad = on;
  }
  std::vector<std::size_t> places_;  // increasing
  std::vector<Tensor> tensors_;
  bool on_ = false;
};

}  // namespace tandem::python
