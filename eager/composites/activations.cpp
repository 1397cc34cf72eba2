// Activation functions, each one fused kernel. What is said by cases is a step of its own (ir/ops/activations.td).
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/number_range.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

void checkFloating(const char* op, const Tensor& x) {
  if (!isFloating(x.dtype()))
    fail<NotImplementedError>("\"", op, "\" not implemented for '", dtypeName(x.dtype()), "'");
}

/// `compute(x)`; half types in float32, rounded once.
template <class F>
Tensor fusedActivation(const Tensor& x, F compute) {
  FusedScope fused(x);
  return isHalf(x.dtype()) ? toDType(compute(toDType(x, DType::Float32)), x.dtype()) : compute(x);
}

/// As above, written into `x` if `inplace`.
template <class F>
Tensor activation(const Tensor& x, bool inplace, F compute) {
  if (!inplace) return fusedActivation(x, compute);
  InPlaceForm form(x);
  form.end(fusedActivation(x, compute));
  return x;
}

template <class F>
Tensor floatActivation(const char* op, const Tensor& x, bool inplace, F compute) {
  checkFloating(op, x);
  return activation(x, inplace, compute);
}

}  // namespace

Tensor relu_option(const Tensor& x, bool inplace) {
  if (!inplace) return relu(x);
  applyInto(x, OpCode::relu, {x});
  return x;
}
Tensor silu_option(const Tensor& x, bool inplace) {
  checkFloating("silu_cpu", x);
  if (!inplace) return silu(x);
  applyInto(x, OpCode::silu, {x});
  return x;
}

Tensor leaky_relu(const Tensor& x, double slope, bool inplace) {
  needHeldFactor("leaky_relu", x.dtype(), slope);
  return floatActivation("leaky_relu_cpu", x, inplace, [&](const Tensor& t) { return leaky_relu_plain(t, slope); });
}
Tensor elu(const Tensor& x, double alpha, bool inplace) {
  needHeldFactor("elu", x.dtype(), alpha);
  return floatActivation("elu_cpu", x, inplace, [&](const Tensor& t) { return elu_plain(t, 1.0, alpha, 1.0); });
}
Tensor selu(const Tensor& x, bool inplace) {
  return floatActivation("elu_cpu", x, inplace,
                         [](const Tensor& t) { return elu_plain(t, kSeluScale, kSeluAlpha * kSeluScale, 1.0); });
}
Tensor celu(const Tensor& x, double alpha, bool inplace) {
  needHeldFactor("celu", x.dtype(), alpha);
  if (alpha == 0) fail("ZeroDivisionError: alpha cannot be 0 for CELU");
  return floatActivation("elu_cpu", x, inplace, [&](const Tensor& t) { return elu_plain(t, 1.0, alpha, alpha); });
}
Tensor mish(const Tensor& x, bool inplace) {
  return floatActivation("mish_cpu", x, inplace, [](const Tensor& t) { return mul(t, tanh(softplus_plain(t))); });
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  checkFloating("softplus_cpu", x);
  for (const double number : {beta, threshold}) needHeldFactor("softplus", x.dtype(), number);
  // Above 20 the function is x to within 2.1e-9, so that the threshold makes no difference worth a branch.
  if (beta == 1 && threshold >= 20) return softplus_plain(x);
  return fusedActivation(x, [&](const Tensor& t) {
    Tensor scaled = mul(t, beta);
    Tensor linear = gt(scaled, threshold);
    return where(linear, t, div(log1p(exp(where(linear, 0, scaled))), beta));
  });
}
Tensor logsigmoid(const Tensor& x) {
  checkFloating("log_sigmoid_cpu", x);
  return fusedActivation(x, [](const Tensor& t) { return neg(softplus_plain(neg(t))); });
}

Tensor hardtanh(const Tensor& x, double low, double high, bool inplace) {
  if (low > high) fail<ValueError>("min_val cannot be greater than max_val");
  if (x.dtype() == DType::Bool) fail("Bool inputs not supported for hardtanh");
  for (const double number : {low, high}) needHeld("hardtanh", x.dtype(), number);
  if (isFloating(x.dtype()))
    return activation(x, inplace, [&](const Tensor& t) { return hardtanh_plain(t, low, high); });
  return activation(x, inplace, [&](const Tensor& t) {
    return hardtanh_plain(t, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  });
}
Tensor relu6(const Tensor& x, bool inplace) { return hardtanh(x, 0, 6, inplace); }
Tensor hardsigmoid(const Tensor& x, bool inplace) {
  return floatActivation("hardsigmoid_cpu", x, inplace,
                         [](const Tensor& t) { return div(hardtanh_plain(add(t, 3), 0, 6), 6); });
}
Tensor hardswish(const Tensor& x, bool inplace) {
  return floatActivation("hardswish_cpu", x, inplace, [](const Tensor& t) { return hardswish_plain(t); });
}
Tensor softsign(const Tensor& x) {
  return fusedActivation(x, [](const Tensor& t) { return div(t, add(abs(t), 1)); });
}
Tensor tanhshrink(const Tensor& x) {
  return fusedActivation(x, [](const Tensor& t) { return sub(t, tanh(t)); });
}
Tensor softshrink(const Tensor& x, double lambd) {
  if (!(lambd >= 0)) fail("lambda must be greater or equal to 0, but found to be ", lambd, ".");
  checkFloating("softshrink_cpu", x);
  needHeld("softshrink", x.dtype(), lambd);
  return fusedActivation(x, [&](const Tensor& t) { return softshrink_plain(t, lambd); });
}
Tensor hardshrink(const Tensor& x, double lambd) {
  checkFloating("hardshrink_cpu", x);
  needHeld("hardshrink", x.dtype(), lambd);
  // The bound is a number of x's dtype, so that a half x is compared with what it would itself be rounded to.
  return hardshrink_plain(x, lambd);
}
Tensor threshold(const Tensor& x, Scalar least, Scalar value, bool inplace) {
  needHeldFactor("threshold", x.dtype(), least);
  needHeld("threshold", x.dtype(), value);
  auto compute = [&](const Tensor& t) { return threshold_plain(t, least, value); };
  if (!inplace || !repeatsElements(x)) return activation(x, inplace, compute);
  assignRepeated("threshold", x, fusedActivation(x, compute), Repeats::Taken);
  return x;
}

Tensor glu(const Tensor& x, std::int64_t dim) {
  if (x.dim() == 0) fail("glu does not support 0-dimensional tensors");
  std::int64_t along = wrapDim(dim, x.dim());
  std::int64_t size = x.size(along);
  if (size % 2 != 0) fail("Halving dimension must be even, but dimension ", along, " is size ", size);
  checkFloating("glu_cpu", x);
  // Each half is widened by itself: the whole would be stored for them.
  FusedScope fused(x);
  const Tensor gate = sigmoid(widened(narrow(x, along, size / 2, size / 2)));
  return toDType(mul(widened(narrow(x, along, 0, size / 2)), gate), x.dtype());
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  if (x.dtype() != weight.dtype())
    fail("prelu: Type promoting not supported. Got ", dtypeName(x.dtype()), " and ", dtypeName(weight.dtype()));
  checkFloating("prelu_cpu", x);
  Tensor slope = weight;
  if (weight.numel() != 1) {
    if (x.dim() == 0) fail("Not allow zero-dim input tensor.");
    if (weight.dim() > 1) fail("prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
    std::int64_t channels = x.dim() > 1 ? x.size(1) : 1;
    if (weight.numel() != channels)
      fail("Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
           " and channel size = ", channels, ".");
    Dims shape(static_cast<std::size_t>(x.dim()), 1);
    shape[1] = channels;
    slope = reshape(weight, shape);
  } else if (weight.dim() != 0) {
    slope = reshape(weight, Dims());
  }
  return prelu_plain(x, slope);
}

Tensor rrelu(const Tensor& x, double lower, double upper, bool training, bool inplace) {
  if (!(lower <= upper)) fail("Lower bound should be less than or equal to the upper bound");
  if (!training) return leaky_relu(x, (lower + upper) / 2, inplace);
  return floatActivation("rrelu_with_noise_out_cpu", x, inplace, [&](const Tensor& t) {
    Tensor slope = add(mul(uniform_plain(t.shape(), t.dtype()), upper - lower), lower);
    return where(gt(t, 0), t, mul(t, slope));
  });
}

}  // namespace tandem::ops
