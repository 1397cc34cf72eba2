// Bilinear operations: the gradient of each operand is a contraction of the cotangent with the other. The three of a
// convolution are each other's derivatives.
#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/composites/spatial.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::rules {

namespace {
/// The cotangent, in the dtype of the operands: of a float32 result of half types it has no more digits than they.
Tensor cotangentOf(RuleContext& c) { return ops::toDType(c.grad(), c.inputDType(1)); }
}  // namespace

void matmul(RuleContext& c) {
  const bool tf32 = AttrReader(c.attrs()).boolean();
  const Tensor g = cotangentOf(c);
  if (c.numOperands() > 2 && c.needs(2)) c.set(2, g);
  if (c.needs(0)) c.set(0, ops::matmul_plain(g, ops::transpose(c.input(1), -2, -1), tf32));
  if (!c.needs(1)) return;
  // The same products and sums either way. A weight that comes transposed, as in `linear`, gets its gradient in its own
  // memory order, so that the update reads both alike.
  if (c.comesFromTranspose(1))
    c.set(1, ops::transpose(ops::matmul_plain(ops::transpose(g, -2, -1), c.input(0), tf32), -2, -1));
  else
    c.set(1, ops::matmul_plain(ops::transpose(c.input(0), -2, -1), g, tf32));
}

namespace {
/// A convolution, or one of its gradients; all of them give their images, and weights, in the order of dims of the one
/// that is differentiated.
struct ConvAttrs {
  DimsRef stride, padding, dilation;
  std::int64_t groups;
  bool cudnn, tf32, channelsLast;
  explicit ConvAttrs(AttrReader a)
      : stride(a.list()), padding(a.list()), dilation(a.list()), groups(a.integer()), cudnn(a.boolean()),
        tf32(a.boolean()), channelsLast(a.boolean(false)) {}

  [[nodiscard]] Tensor forward(const Tensor& x, const Tensor& weight) const {
    return seen(ops::conv2d_plain(x, weight, stride, padding, dilation, groups, cudnn, tf32, channelsLast));
  }
  [[nodiscard]] Tensor inputGrad(const Tensor& grad, const Tensor& weight, DimsRef shape) const {
    return seen(
        ops::conv2d_input_grad(grad, weight, shape, stride, padding, dilation, groups, cudnn, tf32, channelsLast));
  }
  [[nodiscard]] Tensor weightGrad(const Tensor& grad, const Tensor& x, DimsRef shape) const {
    return seen(ops::conv2d_weight_grad(grad, x, shape, stride, padding, dilation, groups, cudnn, tf32, channelsLast));
  }
  /// What has the dims of a result, or of its cotangent, with the channels second.
  [[nodiscard]] Tensor seen(const Tensor& made) const { return ops::channelsSecond(made, channelsLast); }
  [[nodiscard]] Tensor cotangent(RuleContext& c) const { return seen(cotangentOf(c)); }
};
/// The places that `shape` has, of a convolution whose input leaves room for more (a transposed one with padding of its
/// output).
Tensor placesOf(DimsRef shape, const Tensor& all) {
  Tensor y = all;
  for (std::int64_t d : {2, 3})
    if (y.size(d) != shape[d]) y = ops::narrow(y, d, 0, shape[d]);
  return y;
}
/// Of the two gradients, the shape of whose result comes first.
ConvAttrs gradAttrs(AttrReader a) {
  a.list();
  return ConvAttrs(a);
}
}  // namespace

void conv2d(RuleContext& c) {
  const ConvAttrs a(c.attrs());
  const Tensor g = a.cotangent(c);
  if (c.needs(0)) c.set(0, a.inputGrad(g, c.input(1), c.inputShape(0)));
  if (c.needs(1)) c.set(1, a.weightGrad(g, c.input(0), c.inputShape(1)));
}

// Operands (grad, weight); g has the shape of the convolution's input.
void conv2dInputGrad(RuleContext& c) {
  const ConvAttrs a = gradAttrs(c.attrs());
  const Tensor g = a.cotangent(c);
  if (c.needs(0)) c.set(0, placesOf(c.inputShape(0), a.forward(g, c.input(1))));
  if (c.needs(1)) c.set(1, a.weightGrad(c.input(0), g, c.inputShape(1)));
}

// Operands (grad, input); g has the shape of the convolution's weight.
void conv2dWeightGrad(RuleContext& c) {
  const ConvAttrs a = gradAttrs(c.attrs());
  const Tensor g = a.cotangent(c);
  if (c.needs(0)) c.set(0, placesOf(c.inputShape(0), a.forward(c.input(1), g)));
  if (c.needs(1)) c.set(1, a.inputGrad(c.input(0), g, c.inputShape(1)));
}

}  // namespace tandem::rules
