// Losses of elements and of classes.
#include "eager/composites/losses.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/ops.h"
#include "runtime/base/warn.h"

namespace tandem::ops {

using Flag = std::optional<bool>;

std::string_view reductionOf(Flag average, Flag reduce, std::string_view reduction) {
  if (!average && !reduce) return reduction;
  const std::string_view how = reduce == false ? "none" : average == false ? "sum" : "mean";
  warn(strcat("size_average and reduce args will be deprecated, please use reduction='", how, "' instead."));
  return how;
}

void needReduction(std::string_view reduction) {
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    fail<ValueError>(reduction, " is not a valid value for reduction");
}

Tensor reducedLoss(const Tensor& loss, std::string_view reduction) {
  if (reduction == "mean") return mean(loss);
  if (reduction == "sum") return sum(loss);
  needReduction(reduction);
  return loss;
}

Tensor reducedLoss(const Tensor& loss, const Tensor& weight, std::string_view reduction) {
  return reducedLoss(weight.defined() ? mul(loss, weight) : loss, reduction);
}

namespace {

/// The loss in a floating dtype, or as it is where the dtype is another one.
Tensor inFloating(const Tensor& loss, DType dtype) { return isFloating(dtype) ? toDType(loss, dtype) : loss; }

/// Error naming `what` where it would have more elements come of the input than there are.
void needWithin(const char* what, const Tensor& factor, const Tensor& x) {
  const Dims shape = broadcastShapes(what, x.shape(), factor.shape());
  if (!(shape == x.shape()))
    fail(what, " of shape ", shapeText(factor.shape()), " doesn't match the input's ", shapeText(x.shape()));
}

/// A weighted mean divides by the sum of the weights.
Tensor weightedMean(const Tensor& loss, const Tensor& weight, std::string_view reduction) {
  if (!weight.defined() || reduction != "mean") return reducedLoss(loss, weight, reduction);
  return div(sum(mul(loss, weight)), sum(weight));
}

/// Norm along the dims, whose gradient at a zero vector is zero.
Tensor norm2(const Tensor& x, const Dims& dims, bool keep) {
  // Squares of half numbers are soon out of their range.
  Tensor total = sum(square(toDType(x, computeType(x.dtype()))), dims, keep);
  Tensor zero = eq(total, 0);
  return toDType(where(zero, 0, sqrt(where(zero, 1, total))), x.dtype());
}

}  // namespace

static void sameSizes(const char* op, const Tensor& x, const Tensor& target) {
  if (!(x.shape() == target.shape()))
    warn(strcat(op, ": Using a target size ", shapeText(target.shape()), " that is different to the input size ",
                shapeText(x.shape()), ". This will likely lead to incorrect results due to broadcasting."));
}

/// Both in their common shape, as in PyTorch: one of no dims is of its dtype then, not led by the other's.
static std::pair<Tensor, Tensor> inOneShape(const char* op, const Tensor& x, const Tensor& target) {
  sameSizes(op, x, target);
  if (x.shape() == target.shape()) return {x, target};
  const Dims shape = broadcastShapes(op, x.shape(), target.shape());
  return {expand(x, shape), expand(target, shape)};
}

/// ValueError unless there are as many weights as elements of the input.
static void needWeightOfEach(const char* op, const Tensor& weight, const Tensor& x) {
  if (weight.defined() && !(weight.shape() == x.shape()))
    fail<ValueError>(op, ": Weights and input must have the same size, but they are ", shapeText(weight.shape()),
                     " and ", shapeText(x.shape()));
}

/// x - target, where one of both may be of bools.
static Tensor errorOf(const Tensor& x, const Tensor& target) {
  if (target.dtype() == DType::Bool && x.dtype() != DType::Bool) return sub(x, toDType(target, x.dtype()));
  if (x.dtype() == DType::Bool && target.dtype() != DType::Bool) return sub(toDType(x, target.dtype()), target);
  return sub(x, target);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Flag average, Flag reduce, std::string_view reduction,
                const Tensor& weight) {
  const auto [of, wanted] = inOneShape("mse_loss", x, target);
  needWeightOfEach("mse_loss", weight, x);
  FusedScope fused(of);
  return weightedMean(square(errorOf(of, wanted)), weight, reductionOf(average, reduce, reduction));
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Flag average, Flag reduce, std::string_view reduction,
               const Tensor& weight) {
  const auto [of, wanted] = inOneShape("l1_loss", x, target);
  needWeightOfEach("l1_loss", weight, x);
  FusedScope fused(of);
  return weightedMean(abs(sub(of, wanted)), weight, reductionOf(average, reduce, reduction));
}

namespace {
/// The errors below `bound` in size, NaN included; 0 for the others, whose square may be infinite. The sizes of all,
/// and which are those others.
struct Errors {
  Tensor small, size, isLarge;
  DType dtype;  // of the loss
};
/// Of one half type they are float32: the loss is rounded once, as in PyTorch.
Errors errorsWithin(const Tensor& x, const Tensor& target, double bound) {
  const bool half = isHalf(x.dtype()) && x.dtype() == target.dtype();
  Tensor error = half ? sub(toDType(x, DType::Float32), toDType(target, DType::Float32)) : errorOf(x, target);
  Tensor size = abs(error), large = ge(size, bound);
  return {where(large, 0, error), size, large, half ? x.dtype() : error.dtype()};
}
}  // namespace

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Flag average, Flag reduce, std::string_view reduction,
                      double beta) {
  if (!(beta >= 0)) fail("smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(x, target, average, reduce, reduction);
  const auto [of, wanted] = inOneShape("smooth_l1_loss", x, target);
  FusedScope fused(of);
  auto [error, size, large, dtype] = errorsWithin(of, wanted, beta);
  Tensor loss = where(large, sub(size, 0.5 * beta), div(mul(square(error), 0.5), beta));
  if (isHalf(dtype)) loss = toDType(loss, dtype);
  return reducedLoss(loss, reductionOf(average, reduce, reduction));
}

Tensor huber_loss(const Tensor& x, const Tensor& target, std::string_view reduction, double delta,
                  const Tensor& weight) {
  const auto [of, wanted] = inOneShape("huber_loss", x, target);
  needWeightOfEach("huber_loss", weight, x);
  if (!(delta > 0)) fail("huber_loss does not support non-positive values for delta.");
  FusedScope fused(of);
  auto [error, size, large, dtype] = errorsWithin(of, wanted, delta);
  Tensor loss = where(large, mul(sub(size, 0.5 * delta), delta), mul(square(error), 0.5));
  return reducedLoss(inFloating(loss, isFloating(x.dtype()) ? x.dtype() : dtype), weight, reduction);
}

namespace {
Tensor isProbability(const Tensor& x) { return within(x, 0, 1); }
}  // namespace

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, Flag average, Flag reduce,
                            std::string_view reduction) {
  if (!(x.shape() == target.shape()))
    fail<ValueError>("Using a target size (", shapeText(target.shape()), ") that is different to the input size (",
                     shapeText(x.shape()), ") is deprecated. Please ensure they have the same size.");
  if (x.dtype() != target.dtype() || !isFloating(x.dtype()))
    fail("binary_cross_entropy: Found dtype ", dtypeClassName(target.dtype()), " but expected ",
         dtypeClassName(x.dtype()), ", of a floating kind");
  Tensor chance = expected(x, isProbability(detached(x)), Expectation::InputIsProbability);
  Tensor wanted = expected(target, isProbability(detached(target)), Expectation::TargetIsProbability);
  FusedScope fused(x);
  return reducedLoss(log_loss(chance, wanted), weight, reductionOf(average, reduce, reduction));
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight, Flag average,
                                        Flag reduce, std::string_view reduction, const Tensor& posWeight) {
  if (!(x.shape() == target.shape()))
    fail<ValueError>("Target size (", shapeText(target.shape()), ") must be the same as input size (",
                     shapeText(x.shape()), ")");
  for (const Tensor* t : {&x, &target})
    if (t->dtype() == DType::Bool)
      fail<NotImplementedError>("\"binary_cross_entropy_with_logits\" not implemented for '", dtypeName(t->dtype()),
                                "', which the ", t == &x ? "input" : "target", " is");
  FusedScope fused(x);
  // Of integers alone the loss has the default dtype.
  const Tensor logits = isInteger(x.dtype()) && !isFloating(target.dtype()) ? toDType(x, defaultDType()) : x;
  Tensor factor;
  Tensor pull = target;
  if (posWeight.defined()) {
    needWithin("binary_cross_entropy_with_logits: pos_weight", posWeight, x);
    factor = add(mul(sub(posWeight, 1), target), 1);
    pull = mul(posWeight, target);
  }
  // The loss has the target's dtype, as PyTorch, which weights it in place.
  Tensor loss =
      inFloating(logit_loss(logits, target, factor.defined() ? Operand(factor) : Operand(1), pull), target.dtype());
  if (weight.defined()) {
    needWithin("binary_cross_entropy_with_logits: weight", weight, x);
    loss = inFloating(mul(loss, weight), target.dtype());
  }
  return reducedLoss(loss, reductionOf(average, reduce, reduction));
}

Tensor kl_div(const Tensor& x, const Tensor& target, Flag average, Flag reduce, std::string_view reduction,
              bool logTarget) {
  std::string_view how = reductionOf(average, reduce, reduction);
  if (how == "mean")
    warn("reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
         "only by the batch size, and aligns with the KL div math definition. 'mean' will be changed to behave the "
         "same as 'batchmean' in the next major release.");
  if (!isFloating(x.dtype()) || !isFloating(target.dtype())) fail("kl_div: Integral inputs not supported.");
  FusedScope fused(x);
  Tensor loss;
  if (logTarget) {
    loss = mul(exp(target), sub(target, x));
  } else {
    loss = sub(xlogy(target, target), mul(target, x));
  }
  if (how != "batchmean") return reducedLoss(loss, how);
  return x.dim() > 0 ? div(sum(loss), x.size(0)) : sum(loss);
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, bool logInput, bool full, Flag average, double eps,
                        Flag reduce, std::string_view reduction) {
  FusedScope fused(x);
  Tensor loss = logInput ? sub(exp(x), mul(target, x)) : sub(x, mul(target, log(add(x, eps))));
  if (full) {
    // Stirling's approximation of log(target!).
    Tensor large = gt(target, 1);
    Tensor safe = where(large, target, 2);
    Tensor stirling = add(sub(mul(safe, log(safe)), safe), mul(log(mul(safe, 2 * std::numbers::pi)), 0.5));
    loss = toDType(add(loss, where(large, stirling, 0)), loss.dtype());
  }
  return reducedLoss(loss, reductionOf(average, reduce, reduction));
}

namespace {
/// Has `var` the shape `x` but for one dim, in which one variance serves all elements?
bool sharedInOneDim(DimsRef var, DimsRef x) {
  if (var.size() != x.size()) return false;
  std::int64_t different = 0;
  bool ones = true;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (var[d] == x[d]) continue;
    ++different;
    ones = ones && var[d] == 1;
  }
  return different == 1 && ones;
}
}  // namespace

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Operand& variance, bool full, double eps,
                         std::string_view reduction) {
  Tensor var = variance.isTensor() ? variance.tensor() : full_like(x, variance.scalar());
  if (!(var.shape() == x.shape())) {
    Dims lead(DimsRef(x.shape()).first(std::max<std::size_t>(x.shape().size(), 1) - 1));
    if (var.shape() == lead && x.dim() > 0)
      var = unsqueeze(var, -1);
    else if (!sharedInOneDim(var.shape(), x.shape()) && var.numel() != 1)
      fail<ValueError>("var is of incorrect size");
  }
  var = expected(var, logical_not(lt(detached(var), 0)), Expectation::VarianceNonNegative);
  if (reduction != "none" && reduction != "mean" && reduction != "sum") fail<ValueError>(reduction, " is not valid");
  FusedScope fused(x);
  // The limit has no gradient, as if var were larger: the loss stays differentiable in var.
  var = where(lt(var, eps), add(var, detached(sub(eps, var))), var);
  Tensor loss = mul(add(log(var), div(square(sub(x, target)), var)), 0.5);
  if (full) loss = add(loss, 0.5 * std::log(2 * std::numbers::pi));
  return reducedLoss(loss, reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin, Flag average, Flag reduce,
                            std::string_view reduction) {
  FusedScope fused(x);
  Tensor apart = where(ne(target, 1), clamp(sub(margin, x), Operand(0)), 0);
  Tensor near = where(ne(target, -1), x, 0);
  return reducedLoss(add(apart, near), reductionOf(average, reduce, reduction));
}

Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin, Flag average,
                           Flag reduce, std::string_view reduction) {
  if (a.dim() != b.dim() || a.dim() != target.dim())
    fail("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ",
         shapeText(a.shape()), ", input2: ", shapeText(b.shape()), ", target: ", shapeText(target.shape()), " ");
  FusedScope fused(a);
  Tensor loss = clamp(add(mul(neg(target), sub(a, b)), margin), Operand(0));
  return reducedLoss(loss, reductionOf(average, reduce, reduction));
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Flag average, Flag reduce, std::string_view reduction) {
  needWithin("soft_margin_loss: target", target, x);
  FusedScope fused(x);
  const Tensor factor = target.dtype() == DType::Bool ? toDType(target, x.dtype()) : target;
  const Tensor loss = softplus_plain(mul(neg(factor), x));
  return reducedLoss(inFloating(loss, x.dtype()), reductionOf(average, reduce, reduction));
}

Tensor cosine_similarity(const Tensor& x, const Tensor& y, std::int64_t dim, double eps) {
  const DType common = promoteTypes(x.dtype(), y.dtype());  // of the broadcast vectors
  const DType wide = computeType(common);
  if (!isFloating(common))
    fail("cosine_similarity: expected common dtype to be floating point, yet common dtype is ", dtypeClassName(common));
  // Lengths are those of the broadcast vectors.
  Dims shape = broadcastShapes("cosine_similarity", x.shape(), y.shape());
  Tensor a = expand(toDType(toDType(x, common), wide), shape);
  Tensor b = expand(toDType(toDType(y, common), wide), shape);
  Dims dims{wrapDim(dim, a.dim())};
  FusedScope fused(a);
  Tensor first = div(a, clamp(norm2(a, dims, true), Operand(eps)));
  Tensor second = div(b, clamp(norm2(b, dims, true), Operand(eps)));
  return toDType(sum(mul(first, second), dims), common);
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, bool keep) {
  Tensor d = add(sub(a, b), eps);
  return p == 2 ? norm2(d, Dims{-1}, keep) : norm(d, p, Dims{-1}, keep);
}

Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin, Flag average,
                             Flag reduce, std::string_view reduction) {
  if (target.dim() > 1)
    fail("cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported, got a target of shape ",
         shapeText(target.shape()));
  if (a.dim() != target.dim() + 1 || b.dim() != target.dim() + 1)
    fail("cosine_embedding_loss: ", target.dim(), "D target tensor expects ", target.dim() + 1,
         "D input tensors, but found inputs with sizes ", shapeText(a.shape()), " and ", shapeText(b.shape()));
  // Integers and bools are taken as numbers of the default dtype; squares of half numbers are soon out of their range.
  DType t = promoteTypes(a.dtype(), b.dtype());
  if (!isFloating(t)) t = defaultDType();
  const Tensor u = toDType(a, computeType(t));
  const Tensor v = toDType(b, computeType(t));
  auto squares = [](const Tensor& x) { return add(sum(square(x), Dims{-1}), 1e-12); };
  const Tensor cosine = toDType(div(sum(mul(u, v), Dims{-1}), sqrt(mul(squares(u), squares(v)))), t);
  Tensor together = where(eq(target, 1), sub(1, cosine), 0);
  Tensor apart = where(eq(target, -1), clamp(sub(cosine, margin), Operand(0)), 0);
  return reducedLoss(add(together, apart), reductionOf(average, reduce, reduction));
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, bool swap, Flag average, Flag reduce, std::string_view reduction) {
  if (!(margin > 0)) fail<ValueError>("margin must be greater than 0, got ", margin);
  if (anchor.dim() != positive.dim() || anchor.dim() != negative.dim())
    fail("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
         "anchor ",
         anchor.dim(), "D, positive ", positive.dim(), "D, and negative ", negative.dim(), "D inputs");
  Tensor near = pairwise_distance(anchor, positive, p, eps);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  return reducedLoss(clamp(add(sub(near, far), margin), Operand(0)), reductionOf(average, reduce, reduction));
}

}  // namespace tandem::ops
