// Bilinear operations: the gradient of each operand is a contraction of the cotangent with the other. The three of a
// convolution are each other's derivatives.
#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/ops.h"

namespace tandem::rules {

void matmul(RuleContext& c) {
  if (c.needs(0)) c.set(0, ops::matmul_plain(c.grad(), ops::transpose(c.input(1), -2, -1)));
  if (!c.needs(1)) return;
  // The same products and sums either way. A weight that comes transposed, as in `linear`, gets its gradient in its own
  // memory order, so that the update reads both alike.
  if (c.comesFromTranspose(1))
    c.set(1, ops::transpose(ops::matmul_plain(ops::transpose(c.grad(), -2, -1), c.input(0)), -2, -1));
  else
    c.set(1, ops::matmul_plain(ops::transpose(c.input(0), -2, -1), c.grad()));
}

namespace {
struct ConvAttrs {
  DimsRef stride, padding, dilation;
  std::int64_t groups;
  explicit ConvAttrs(AttrReader a) : stride(a.list()), padding(a.list()), dilation(a.list()), groups(a.integer()) {}
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
  ConvAttrs a(c.attrs());
  const Tensor& g = c.grad();
  if (c.needs(0))
    c.set(0, ops::conv2d_input_grad(g, c.input(1), c.inputShape(0), a.stride, a.padding, a.dilation, a.groups));
  if (c.needs(1))
    c.set(1, ops::conv2d_weight_grad(g, c.input(0), c.inputShape(1), a.stride, a.padding, a.dilation, a.groups));
}

// Operands (grad, weight); g has the shape of the convolution's input.
void conv2dInputGrad(RuleContext& c) {
  ConvAttrs a = gradAttrs(c.attrs());
  const Tensor& g = c.grad();
  if (c.needs(0))
    c.set(0, placesOf(c.inputShape(0), ops::conv2d_plain(g, c.input(1), a.stride, a.padding, a.dilation, a.groups)));
  if (c.needs(1))
    c.set(1, ops::conv2d_weight_grad(c.input(0), g, c.inputShape(1), a.stride, a.padding, a.dilation, a.groups));
}

// Operands (grad, input); g has the shape of the convolution's weight.
void conv2dWeightGrad(RuleContext& c) {
  ConvAttrs a = gradAttrs(c.attrs());
  const Tensor& g = c.grad();
  if (c.needs(0))
    c.set(0, placesOf(c.inputShape(0), ops::conv2d_plain(c.input(1), g, a.stride, a.padding, a.dilation, a.groups)));
  if (c.needs(1))
    c.set(1, ops::conv2d_input_grad(c.input(0), g, c.inputShape(1), a.stride, a.padding, a.dilation, a.groups));
}

}  // namespace tandem::rules
