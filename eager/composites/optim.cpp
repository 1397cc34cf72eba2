#include "eager/composites/optim.h"

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

void checkLists(const char* op, std::size_t n, std::initializer_list<std::size_t> lengths) {
  for (auto m : lengths)
    if (m != n) fail<ValueError>(op, ": lists of different lengths: ", n, " and ", m);
}
void checkPair(const char* op, const Tensor& p, const Tensor& g) {
  if (!(p.shape() == g.shape()))
    fail(op, ": parameter of shape ", shapeText(p.shape()), " and gradient of shape ", shapeText(g.shape()));
}
/// Numbers in place of a power of a run-time or plain scalar, as 0-d float64 tensors where a step count takes part.
Tensor biasCorrection(const Scalar& beta, const Tensor& step) {
  return sub(1.0, pow(beta, toDType(step, DType::Float64)));
}

/// AMSGrad divides by the largest second moment so far, which the fused update does not keep.
void amsgradStep(const Tensor& p, const Tensor& grad, const Tensor& m, const Tensor& v, const Tensor& largest,
                 const Tensor& step, Scalar lr, Scalar beta1, Scalar beta2, Scalar eps, Scalar weightDecay,
                 bool decoupled, bool maximize) {
  Tensor g = maximize ? neg(grad) : grad;
  bool decays = weightDecay.slot >= 0 || weightDecay.asDouble() != 0;
  if (decays && decoupled) assign(p, sub(p, mul(mul(p, lr), weightDecay)));
  if (decays && !decoupled) g = add(g, mul(p, weightDecay));
  assign(m, add(m, mul(sub(g, m), sub(makeScalarTensor(1.0, m.dtype()), beta1))));
  Tensor rest = sub(makeScalarTensor(1.0, v.dtype()), beta2);
  assign(v, add(mul(v, beta2), mul(square(g), rest)));
  assign(largest, maximum(largest, v));
  Tensor root = toDType(sqrt(biasCorrection(beta2, step)), p.dtype());
  Tensor rate = toDType(div(lr, biasCorrection(beta1, step)), p.dtype());
  assign(p, sub(p, mul(rate, div(m, add(div(sqrt(largest), root), eps)))));
}

}  // namespace

void sgdStep(std::span<const Tensor> params, std::span<const Tensor> grads, std::span<const Tensor> buffers, Scalar lr,
             Scalar momentum, Scalar dampening, Scalar weightDecay, bool nesterov, bool maximize) {
  checkLists("sgd_step", params.size(), {grads.size(), buffers.empty() ? params.size() : buffers.size()});
  NoGrad noGrad;
  for (std::size_t i = 0; i < params.size(); ++i) {
    checkPair("sgd_step", params[i], grads[i]);
    const Tensor& buffer = buffers.empty() ? grads[i] : buffers[i];
    const Operand operands[] = {params[i],
                                grads[i],
                                buffer,
                                lr,
                                momentum,
                                dampening,
                                weightDecay,
                                Scalar(nesterov ? 1 : 0),
                                Scalar(maximize ? 1 : 0)};
    const Tensor outs[] = {params[i], buffer};
    applyUpdate(OpCode::sgd_update, operands, {outs, buffers.empty() ? 1U : 2U});
  }
}

void adamStep(std::span<const Tensor> params, std::span<const Tensor> grads, std::span<const Tensor> firstMoments,
              std::span<const Tensor> secondMoments, std::span<const Tensor> largest, std::span<const Tensor> steps,
              Scalar lr, Scalar beta1, Scalar beta2, Scalar eps, Scalar weightDecay, bool decoupled, bool maximize) {
  std::size_t n = params.size();
  checkLists(
      "adam_step", n,
      {grads.size(), firstMoments.size(), secondMoments.size(), steps.size(), largest.empty() ? n : largest.size()});
  NoGrad noGrad;
  for (std::size_t i = 0; i < n; ++i) {
    checkPair("adam_step", params[i], grads[i]);
    applyInto(steps[i], OpCode::add, {steps[i], 1});
    if (!largest.empty()) {
      amsgradStep(params[i], grads[i], firstMoments[i], secondMoments[i], largest[i], steps[i], lr, beta1, beta2, eps,
                  weightDecay, decoupled, maximize);
      continue;
    }
    const Operand operands[] = {
        params[i], grads[i],    firstMoments[i],           secondMoments[i],        steps[i], lr, beta1, beta2,
        eps,       weightDecay, Scalar(decoupled ? 1 : 0), Scalar(maximize ? 1 : 0)};
    const Tensor outs[] = {params[i], firstMoments[i], secondMoments[i]};
    applyUpdate(OpCode::adam_update, operands, outs);
  }
}

}  // namespace tandem::ops
