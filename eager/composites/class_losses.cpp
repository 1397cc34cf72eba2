// Losses of class indices and of sets of classes.
#include "eager/composites/losses.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/helpers.h"
#include "eager/memory_format.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

using Flag = std::optional<bool>;

/// Elements of `weight`, one a class, at the classes `index`.
Tensor weightOf(const Tensor& weight, const Tensor& index) {
  return view(index_select(weight, 0, view(contiguous(index), Dims{-1})), index.shape());
}

/// `target` once all of it is in [least, classes).
Tensor expectedTarget(const Tensor& target, std::int64_t least, std::int64_t classes, Expectation what) {
  const Tensor labels = toDType(target, DType::Int64);
  return expected(target, within(labels, least, classes - 1), what, labels);
}

/// log_softmax of `scores` at the classes `index`, with its bits: nothing of the size of the scores is written.
Tensor logProbabilitiesAt(const Tensor& scores, std::int64_t dim, const Tensor& index) {
  return log_softmax_at(inRowMajorOrder(scores), dim, index)[0];
}

/// `at`: what gives elements of x at class indices along a dim.
Tensor nllLoss(const Tensor& x, const Tensor& target, const Tensor& weight, std::int64_t ignore,
               std::string_view reduction,
               Tensor (*at)(const Tensor& x, std::int64_t dim, const Tensor& index) = gather) {
  needReduction(reduction);
  if (target.dtype() == DType::UInt8) return nllLoss(x, toDType(target, DType::Int64), weight, ignore, reduction, at);
  if (target.dtype() != DType::Int64)
    fail("nll_loss: expected target dtype to be Long or Byte, but got ", dtypeClassName(target.dtype()));
  if (!isFloating(x.dtype()))
    fail<NotImplementedError>("\"nll_loss_out_frame\" not implemented for '", dtypeClassName(x.dtype()), "'");
  std::int64_t classDim = x.dim() == 1 ? 0 : 1;
  Dims shape = x.shape();
  if (x.dim() > 0) shape.erase(classDim);
  if (x.dim() == 1 && target.dim() == 1 && target.numel() == 1)
    return nllLoss(x, view(target, Dims()), weight, ignore, reduction, at);
  if (x.dim() == 0 || !(target.shape() == shape)) {
    const std::string text = strcat("nll_loss: expected target of shape ", shapeText(shape), " for input of shape ",
                                    shapeText(x.shape()), ", but got ", shapeText(target.shape()));
    if (x.dim() > 1 && target.dim() > 0 && target.size(0) == x.size(0)) fail(text);
    fail<ValueError>(text);
  }
  if (weight.defined() && (weight.dim() != 1 || weight.size(0) != x.size(classDim)))
    fail("nll_loss: weight tensor should be defined either for all ", x.size(classDim),
         " classes or no classes but got weight tensor of shape: ", shapeText(weight.shape()));
  if (weight.defined() && weight.dtype() != x.dtype())
    fail("nll_loss: expected weight of dtype ", dtypeName(x.dtype()), " as the input, but found ",
         dtypeName(weight.dtype()));
  Tensor safe = class_indices(target, x.size(classDim), ignore);
  Tensor counted = ne(target, ignore);
  Tensor picked = neg(squeeze_dims(at(x, classDim, unsqueeze(safe, classDim)), Dims{classDim}));
  Tensor w = toDType(counted, x.dtype());
  if (weight.defined()) w = mul(weightOf(weight, safe), w);
  // where, not a product: an ignored element counts as nothing even if it is infinite.
  Tensor loss = where(counted, mul(picked, w), 0.0);
  if (reduction == "mean") return div(sum(loss), sum(w));
  return reducedLoss(loss, reduction);
}

}  // namespace

Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight, Flag average, std::int64_t ignore,
                Flag reduce, std::string_view reduction) {
  return nllLoss(x, target, weight, ignore, reductionOf(average, reduce, reduction));
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, Flag average, std::int64_t ignore,
                     Flag reduce, std::string_view givenReduction, double smoothing) {
  std::string_view reduction = reductionOf(average, reduce, givenReduction);
  needReduction(reduction);
  if (smoothing < 0 || smoothing > 1) fail("label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
  if (x.dim() == 0) fail("cross_entropy: expected an input of at least 1 dim, got shape []");
  if (target.shape() == x.shape() && !isFloating(target.dtype()))
    fail("cross_entropy: Expected floating point type for target with class probabilities, got ",
         dtypeClassName(target.dtype()));
  std::int64_t classDim = x.dim() == 1 ? 0 : 1;
  if (!isFloating(target.dtype()) && smoothing == 0 && isFloating(x.dtype()) && x.numel() > 0)
    return nllLoss(x, target, weight, ignore, reduction, logProbabilitiesAt);
  Tensor logp = log_softmax(x, classDim);
  std::int64_t classes = x.size(classDim);
  Dims along(static_cast<std::size_t>(x.dim()), 1);
  along[classDim] = classes;
  if (isFloating(target.dtype())) {
    if (ignore >= 0) fail("ignore_index is not supported for floating point target");
    if (!(target.shape() == x.shape()))
      fail("cross_entropy: Expected floating point type for target with class probabilities in the shape of the input ",
           shapeText(x.shape()), ", but got ", shapeText(target.shape()));
    Tensor p = smoothing > 0 ? add(mul(target, 1.0 - smoothing), smoothing / static_cast<double>(classes)) : target;
    Tensor each = mul(logp, p);
    if (weight.defined()) each = mul(each, view(weight, along));
    Tensor loss = neg(sum(each, Dims{classDim}));
    if (reduction == "mean") return div(sum(loss), loss.numel());
    return reducedLoss(loss, reduction);
  }
  Tensor hard = nllLoss(logp, target, weight, ignore, smoothing > 0 && reduction == "mean" ? "sum" : reduction);
  if (smoothing == 0) return hard;
  // The smoothed part: minus the (weighted) mean of all log-probabilities of the elements that count.
  Tensor counted = ne(target, ignore);
  Tensor each = weight.defined() ? mul(logp, view(weight, along)) : logp;
  Tensor smooth = where(counted, neg(sum(each, Dims{classDim})), 0.0);
  Tensor w = toDType(counted, x.dtype());
  if (weight.defined()) w = mul(weightOf(weight, class_indices(toDType(target, DType::Int64), classes, ignore)), w);
  Tensor soft = reduction == "none" ? smooth : sum(smooth);
  Tensor loss = add(mul(hard, 1.0 - smoothing), mul(soft, smoothing / static_cast<double>(classes)));
  return reduction == "mean" ? div(loss, sum(w)) : loss;
}

Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight, Flag average,
                                   Flag reduce, std::string_view reduction) {
  if (x.dim() == 0) fail<IndexError>("Dimension specified as -1 but tensor has no dimensions");
  Tensor each;
  {
    FusedScope fused(x);
    each = add(mul(target, softplus_plain(neg(x))), mul(sub(1, target), softplus_plain(x)));
    if (weight.defined()) each = mul(each, weight);
    // Classes are in the last dim of `x`, which a target of more dims has elsewhere.
    each = div(sum(each, Dims{x.dim() - 1}), x.size(-1));
  }
  return reducedLoss(each, reductionOf(average, reduce, reduction));
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, std::int64_t p, double margin, const Tensor& weight,
                         Flag average, Flag reduce, std::string_view reduction) {
  const std::string_view how = reductionOf(average, reduce, reduction);
  needReduction(how);
  if (p != 1 && p != 2) fail<ValueError>("only p == 1 and p == 2 supported");
  if (weight.defined() && weight.dim() != 1) fail<ValueError>("weight must be one-dimensional");
  if (x.dim() > 2)
    fail("Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", shapeText(x.shape()));
  Tensor rows = x.dim() < 2 ? reshape(x, Dims{1, -1}) : x;
  Tensor classes = target.dim() == 1 ? target : reshape(target, Dims{-1});
  classes = expectedTarget(classes, 0, rows.size(1), Expectation::MarginTargetInRange);
  if (classes.size(0) != rows.size(0))
    fail("inconsistent target size, expected ", rows.size(0), " but got ", shapeText(target.shape()));
  Tensor column = unsqueeze(classes, 1);
  Tensor apart = excess(rows, gather(rows, 1, column), margin);
  if (p == 2) apart = square(apart);
  if (weight.defined()) apart = mul(apart, unsqueeze(weightOf(weight, classes), 1));
  Tensor others = ne(arange(0, rows.size(1)), column);
  Tensor counted = where(others, apart, 0);
  if (how == "mean") return mean(counted);
  Tensor each = div(sum(counted, Dims{1}), rows.size(1));
  if (target.dim() == 0) each = squeeze_dims(each, Dims{0});
  return reducedLoss(each, how);
}

Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, Flag average, Flag reduce,
                              std::string_view reduction) {
  const std::string_view how = reductionOf(average, reduce, reduction);
  needReduction(how);
  if (x.dim() > 2 || !(target.shape() == x.shape()))
    fail("multilabel_margin_loss: inconsistent target size ", shapeText(target.shape()), " for input of size ",
         shapeText(x.shape()));
  std::int64_t classes = x.dim() == 0 ? 1 : x.size(-1);
  Tensor rows = reshape(x, Dims{-1, classes});
  Tensor labels = reshape(target, Dims{-1, classes});
  labels = expectedTarget(labels, -1, classes, Expectation::LabelInRange);
  if (labels.dtype() != DType::Int64) fail("expected scalar type Long but found ", dtypeClassName(labels.dtype()));
  if (!isFloating(rows.dtype())) rows = toDType(rows, defaultDType());
  Tensor each = std::get<0>(multilabel_margins(rows, labels));
  if (x.dim() < 2) each = squeeze_dims(each, Dims{0});
  return reducedLoss(each, how);
}

}  // namespace tandem::ops
