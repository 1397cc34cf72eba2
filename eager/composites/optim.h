// Optimizer steps over lists of tensors: one operation each, one kernel a parameter.
#pragma once

#include <span>

#include "eager/tensor.h"

namespace tandem::ops {

/// params -= lr * direction, in place, with `buffers` (empty without momentum) updated first.
/// All lists are of one length; tensors at one place have one shape and dtype.
void sgdStep(std::span<const Tensor> params, std::span<const Tensor> grads, std::span<const Tensor> buffers, Scalar lr,
             Scalar momentum, Scalar dampening, Scalar weightDecay, bool nesterov, bool maximize);

/// One step of Adam (`decoupled`: AdamW). `steps` are 0-d float32 and count up first; `largest` (AMSGrad) may be empty.
void adamStep(std::span<const Tensor> params, std::span<const Tensor> grads, std::span<const Tensor> firstMoments,
              std::span<const Tensor> secondMoments, std::span<const Tensor> largest, std::span<const Tensor> steps,
              Scalar lr, Scalar beta1, Scalar beta2, Scalar eps, Scalar weightDecay, bool decoupled, bool maximize);

}  // namespace tandem::ops
