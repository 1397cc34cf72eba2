// In-place forms of composites: what a composite computes and the write of its result into memory that exists.
#pragma once

#include "eager/fusion.h"
#include "eager/tensor.h"

namespace tandem {

/// While an operation reads `into` and is going to write it: of a view with several places for one element, as `unfold`
/// makes, the gradient goes from the last of them alone to what the element was, as in PyTorch. Elsewhere nothing.
class GradientOnce {
 public:
  explicit GradientOnce(const Tensor& into);
  ~GradientOnce();
  GradientOnce(const GradientOnce&) = delete;
  GradientOnce& operator=(const GradientOnce&) = delete;

 private:
  TensorImpl* view_;
};

/// The in-place form of a composite. While it lives, the composite that computes what is to be written to `self` may
/// say where its last step begins (LastStep), and is one program with the write where it is fused.
class InPlaceForm {
 public:
  explicit InPlaceForm(const Tensor& self);
  ~InPlaceForm();
  InPlaceForm(const InPlaceForm&) = delete;
  InPlaceForm& operator=(const InPlaceForm&) = delete;
  /// Writes `value` to self, where it is not there already, and runs what was recorded; errors are raised here.
  void end(Tensor value);

 private:
  FusedRecording recording_;
  const GradientOnce gradient_;
  const Tensor& self_;
  const Tensor* outer_;
};

/// The last step of a composite, after which it reads `x` no more: in the in-place form of `x` a library operation that
/// updates x does so in its memory, and gives x.
class LastStep {
 public:
  explicit LastStep(const Tensor& x);
  ~LastStep();
  LastStep(const LastStep&) = delete;
  LastStep& operator=(const LastStep&) = delete;

 private:
  const TensorImpl* outer_;
};

/// Is `x` what the LastStep that lives is of, and nothing else looked for it since? An operation that updates its
/// operand then does so in the memory of x.
bool takeLastStep(const Tensor& x);

namespace ops {
/// `into.copy_(value)` of a value that is not made of what `into` was: what that depended on has a gradient of zeros,
/// as after a write of a part.
void replace(const Tensor& into, const Tensor& value);
}  // namespace ops

}  // namespace tandem
