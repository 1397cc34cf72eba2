// Normalisation, and lookup in tables.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/helpers.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::ops {
namespace {

/// [C] as [1, C, 1, ...].
Tensor perChannel(const Tensor& v, std::int64_t dims) {
  Dims shape(static_cast<std::size_t>(std::max<std::int64_t>(dims, 2)), 1);
  shape[1] = -1;
  return reshape(v, shape);
}

Tensor scaledPerChannel(const Tensor& y, const Tensor& weight, const Tensor& bias) {
  Tensor out = y;
  if (weight.defined()) out = mul(out, perChannel(weight, y.dim()));
  return bias.defined() ? add(out, perChannel(bias, y.dim())) : out;
}

void checkChannels(const char* what, const Tensor& v, std::int64_t channels) {
  if (v.defined() && v.numel() != channels) fail(what, " should contain ", channels, " elements not ", v.numel());
}

double epsilonOf(DType t) {
  return t == DType::Float64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

/// running * (1 - momentum) + value * momentum; the momentum is 0.1 where none is given.
void moveTowards(const Tensor& running, const Tensor& value, const std::optional<Operand>& momentum) {
  if (!running.defined()) return;
  Tensor v = detached(reshape(value, running.shape()));
  Operand m = momentum.value_or(Operand(0.1));
  Tensor rest = m.isTensor() ? sub(1, m) : Tensor();
  Operand keep = m.isTensor() ? Operand(rest) : Operand(1 - m.scalar().asDouble());
  assign(running, add(mul(running, keep), mul(v, m)));
}

/// The means of x over the dims, x less these, the variances, and the reciprocals of the deviations. Half types are
/// widened in the shape that is reduced, with the sums.
struct Moments {
  Tensor means, centred, variances, rates;
  Moments(const Tensor& x, DimsRef dims, double eps) {
    const bool turned = !isInRowMajorOrder(x);
    {
      const RowMajorResults reduced(turned);
      const Tensor in = widened(x);
      means = mean(in, dims, true);
      centred = sub(in, means);
      variances = mean(square(centred), dims, true);
    }
    if (turned) centred = sub(widened(x), means);
    rates = rsqrt(add(variances, eps));
  }
};

/// What is centred times the rates, times weight and with bias where there are such, rounded once to `dtype`.
Tensor normalised(const Tensor& centred, const Tensor& rates, const Tensor& weight, const Tensor& bias, DType dtype) {
  Tensor y = mul(centred, rates);
  if (weight.defined()) y = mul(y, weight);
  if (bias.defined()) y = add(y, bias);
  return toDType(y, dtype);
}

/// Results that begin with x normalised over the dims, the means and the rates, taped as one operation.
template <std::size_t Results>
std::array<Tensor, Results> partsOver(OpCode op, const Tensor& x, DimsRef dims, const Tensor& weight,
                                      const Tensor& bias, double eps, std::span<const std::int64_t> attrs) {
  std::array<Tensor, Results> results;
  {
    NoGrad off;
    FusedScope fused(x);
    const Moments by(x, dims, eps);
    results[0] = normalised(by.centred, by.rates, weight, bias, x.dtype());
    results[1] = by.means;
    results[2] = by.rates;
    if constexpr (Results == 4) results[3] = by.variances;
  }
  const Operand operands[] = {x, weight, bias, eps};
  tapeWhole(op, operands, attrs, results);
  return results;
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& runningMean, const Tensor& runningVar, const Tensor& weight,
                  const Tensor& bias, bool training, const std::optional<Operand>& momentum, double eps) {
  if (!isFloating(x.dtype()))
    fail<NotImplementedError>("\"batch_norm\" not implemented for '", dtypeName(x.dtype()), "'");
  // A vector is one value of each of its channels.
  if (x.dim() == 1) {
    Tensor row = batch_norm(unsqueeze(x, 0), runningMean, runningVar, weight, bias, training, momentum, eps);
    return reshape(row, x.shape());
  }
  if (x.dim() == 0) fail("batch_norm: expected an input of at least 1 dim, got shape []");
  std::int64_t channels = x.size(1);
  checkChannels("running_mean", runningMean, channels);
  checkChannels("running_var", runningVar, channels);
  checkChannels("weight", weight, channels);
  checkChannels("bias", bias, channels);
  needNormDType("batch_norm", x, {&runningMean, &runningVar, &weight, &bias});
  if (!training && (!runningMean.defined() || !runningVar.defined()))
    fail("Expected running_mean and running_var to be defined when training=False");
  if (x.numel() == 0) return scaledPerChannel(clone(x), weight, bias);
  FusedScope fused(x);
  if (training) {
    auto factors = [&](const Tensor& v) { return v.defined() ? perChannel(v, x.dim()) : v; };
    auto [y, means, rates, variances] = batch_norm_parts(x, factors(weight), factors(bias), eps);
    const auto count = static_cast<double>(x.numel() / channels);
    NoGrad off;
    moveTowards(runningMean, means, momentum);
    moveTowards(runningVar, mul(detached(variances), count / (count - 1)), momentum);
    return y;
  }
  const Tensor centred = sub(widened(x), perChannel(runningMean, x.dim()));
  const Tensor rates = rsqrt(add(perChannel(widened(runningVar), x.dim()), eps));
  return toDType(scaledPerChannel(mul(centred, rates), weight, bias), x.dtype());
}

std::array<Tensor, 4> batch_norm_parts(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  Dims dims{0};
  for (std::int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  return partsOver<4>(OpCode::batch_norm_parts, x, dims, weight, bias, eps, {});
}

Tensor instance_norm(const Tensor& x, const Tensor& runningMean, const Tensor& runningVar, const Tensor& weight,
                     const Tensor& bias, bool useInputStats, const std::optional<Operand>& momentum, double eps) {
  if (!useInputStats && (!runningMean.defined() || !runningVar.defined()))
    fail("Expected running_mean and running_var to be defined when use_input_stats is false");
  if (!useInputStats) return batch_norm(x, runningMean, runningVar, weight, bias, false, momentum, eps);
  if (x.dim() < 2) fail("instance_norm: expected an input of at least 2 dims, got shape ", shapeText(x.shape()));
  checkChannels("weight", weight, x.size(1));
  checkChannels("bias", bias, x.size(1));
  needNormDType("instance_norm", x, {&runningMean, &runningVar, &weight, &bias});
  if (x.numel() == 0) return scaledPerChannel(clone(x), weight, bias);
  if (runningMean.defined() || runningVar.defined()) {
    NoGrad off;
    Tensor each = detached(widened(reshape(x, Dims{x.size(0) * x.size(1), -1})));
    auto count = static_cast<double>(each.size(1));
    auto overBatch = [&](const Tensor& v) { return mean(reshape(v, Dims{x.size(0), x.size(1)}), Dims{0}); };
    Tensor m = mean(each, Dims{1}, true);
    moveTowards(runningMean, overBatch(m), momentum);
    moveTowards(runningVar, mul(overBatch(mean(square(sub(each, m)), Dims{1})), count / (count - 1)), momentum);
  }
  // Each channel is a group.
  return group_norm(x, x.size(1), weight, bias, eps);
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  if (x.dim() < 2) fail("Expected at least 2 dimensions for input tensor but received ", x.dim());
  std::int64_t channels = x.size(1);
  if (groups <= 0) fail("Expected num groups to be greater than 0, got ", groups);
  if (channels % groups != 0)
    fail("Expected number of channels in input to be divisible by num_groups, but got input of shape ",
         shapeText(x.shape()), " and num_groups=", groups);
  for (const Tensor* v : {&weight, &bias})
    if (v->defined() && (v->dim() != 1 || v->numel() != channels))
      fail("Expected ", v == &weight ? "weight" : "bias",
           " to be a vector of size equal to the number of channels in input, but got ",
           v == &weight ? "weight" : "bias", " of shape ", shapeText(v->shape()), " and input of shape ",
           shapeText(x.shape()));
  needNormDType("group_norm", x, {&weight, &bias});
  if (x.numel() == 0) return scaledPerChannel(clone(x), weight, bias);
  Dims shape{x.size(0), groups, channels / groups, x.numel() / (x.size(0) * channels)};
  auto affine = [&](const Tensor& v) { return v.defined() ? reshape(v, Dims{groups, channels / groups, 1}) : v; };
  return reshape(group_norm_parts(reshape(x, shape), affine(weight), affine(bias), eps)[0], x.shape());
}

std::array<Tensor, 3> group_norm_parts(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Dims dims{2, 3};
  if (isInRowMajorOrder(x) || activeRecorder != nullptr)
    return partsOver<3>(OpCode::group_norm_parts, x, dims, weight, bias, eps, {});
  std::array<Tensor, 3> results;
  {
    NoGrad off;
    // Groups of channels that lie beside each other are brought together for the moments, of as many samples at a time
    // as a cache holds.
    constexpr std::int64_t kTogether = 256 * 1024;  // elements
    const std::int64_t samples = x.size(0);
    const std::int64_t each = std::clamp<std::int64_t>(kTogether * samples / x.numel(), 1, samples);
    std::vector<Tensor> means, rates;
    for (std::int64_t first = 0; first < samples; first += each) {
      const Tensor some = contiguous(slice(x, 0, first, std::min(first + each, samples), 1));
      FusedScope fused(some);
      const Moments by(some, dims, eps);
      means.push_back(by.means);
      rates.push_back(by.rates);
    }
    results[1] = means.size() == 1 ? means[0] : cat(means, 0);
    results[2] = rates.size() == 1 ? rates[0] : cat(rates, 0);
    const Tensor centres = ofEachChannel(results[1], x), slopes = ofEachChannel(results[2], x);
    FusedScope fused(x);
    results[0] = normalised(sub(widened(x), centres), slopes, weight, bias, x.dtype());
  }
  const Operand operands[] = {x, weight, bias, eps};
  tapeWhole(OpCode::group_norm_parts, operands, {}, results);
  return results;
}

Tensor layer_norm(const Tensor& x, DimsRef normalized, const Tensor& weight, const Tensor& bias, double eps) {
  std::int64_t k = static_cast<std::int64_t>(normalized.size());
  bool fits = k > 0 && k <= x.dim();
  for (std::int64_t i = 0; fits && i < k; ++i) fits = normalized[i] == x.shape()[x.dim() - k + i];
  if (!fits)
    fail("layer_norm: Given normalized_shape=", shapeText(normalized), ", expected input with shape [*, ",
         shapeText(normalized), "], but got input of size", shapeText(x.shape()));
  if (weight.defined() && !(weight.shape() == Dims(normalized)))
    fail("layer_norm: Expected weight to be of same shape as normalized_shape, but got weight of shape ",
         shapeText(weight.shape()), " and normalized_shape = ", shapeText(normalized));
  needNormDType("layer_norm", x, {&weight, &bias});
  FusedScope fused(x);
  return layer_norm_parts(inRowMajorOrder(x), weight, bias, k, eps)[0];
}

std::array<Tensor, 3> layer_norm_parts(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t count,
                                       double eps) {
  Dims dims;
  for (std::int64_t d = x.dim() - count; d < x.dim(); ++d) dims.push_back(d);
  const std::int64_t attrs[] = {count};
  return partsOver<3>(OpCode::layer_norm_parts, x, dims, weight, bias, eps, attrs);
}

Tensor rms_norm(const Tensor& x, DimsRef normalized, const Tensor& weight, std::optional<double> eps) {
  auto k = static_cast<std::int64_t>(normalized.size());
  bool fits = k > 0 && k <= x.dim();
  for (std::int64_t i = 0; fits && i < k; ++i) fits = normalized[i] == x.shape()[x.dim() - k + i];
  if (!fits)
    fail("rms_norm: Given normalized_shape=", shapeText(normalized), ", expected input with shape [*, ",
         shapeText(normalized), "], but got input of size", shapeText(x.shape()));
  if (weight.defined() && !(weight.shape() == Dims(normalized)))
    fail("rms_norm: Expected weight to be of same shape as normalized_shape, but got weight of shape ",
         shapeText(weight.shape()), " and normalized_shape = ", shapeText(normalized));
  if (!isFloating(x.dtype())) fail("rms_norm: expected a floating point input, got ", dtypeName(x.dtype()));
  Dims dims;
  for (std::int64_t i = 0; i < k; ++i) dims.push_back(x.dim() - k + i);
  FusedScope fused(x);
  Tensor in = widened(inRowMajorOrder(x));
  Tensor y = mul(in, rsqrt(add(mean(square(in), dims, true), eps.value_or(epsilonOf(in.dtype())))));
  if (weight.defined()) y = mul(y, weight);
  return toDType(y, x.dtype());
}

Tensor local_response_norm(const Tensor& x, std::int64_t size, double alpha, double beta, double k) {
  if (x.dim() < 3)
    fail<ValueError>("Expected 3D or higher dimensionality                          input (got ", x.dim(),
                     " dimensions)");
  if (x.dtype() == DType::Bool) fail<NotImplementedError>("local_response_norm not implemented for 'bool'");
  if (x.numel() == 0) return clone(x);
  Dims flat{x.size(0), 1, x.size(1), -1};
  Tensor squares = pad(reshape(square(x), flat), Dims{0, 0, size / 2, (size - 1) / 2}, "constant", 0.0);
  Tensor means = avg_pool2d(squares, Dims{size, 1}, Dims{1, 1}, Dims{0, 0}, false, true, {});
  return div(x, pow(add(mul(reshape(means, x.shape()), alpha), k), beta));
}

// ---- lookup ---------------------------------------------------------------------------------------------------------

namespace {

/// Rows of `weight` that `rows` names, scaled down in place to at most `maxNorm`.
void limitRows(const Tensor& weight, const Tensor& rows, double maxNorm, double p) {
  NoGrad off;
  Tensor table = detached(weight);
  Tensor read = index_select(table, 0, rows);
  Tensor lengths = norm(read, p, Dims{1}, true);
  Tensor factor = where(gt(lengths, maxNorm), div(maxNorm, add(lengths, 1e-7)), 1.0);
  Tensor at = expand(unsqueeze(rows, 1), read.shape());
  assign(weight, scatter_plain(table, 0, at, mul(read, factor)));
}

/// The row of `weight` that does not count, once the operands are such that rows may be looked up; -1: all count.
std::int64_t checkedPadding(const char* op, const Tensor& input, const Tensor& weight,
                            std::optional<std::int64_t> paddingIdx, bool sparse) {
  if (sparse) fail<ValueError>(op, ": gradients are dense here; pass sparse=False");
  if (weight.dim() != 2) fail("'weight' must be 2-D");
  if (input.dtype() != DType::Int64 && input.dtype() != DType::Int32)
    fail("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got ",
         dtypeName(input.dtype()), " instead (while checking arguments for ", op, ")");
  if (!paddingIdx) return -1;
  const std::int64_t count = weight.size(0);
  if (*paddingIdx < -count || *paddingIdx >= count) fail("Padding_idx must be within num_embeddings");
  return *paddingIdx < 0 ? *paddingIdx + count : *paddingIdx;
}

}  // namespace

Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<std::int64_t> paddingIdx,
                 std::optional<double> maxNorm, double normType, bool scaleByFreq, bool sparse) {
  const std::int64_t padding = checkedPadding("embedding", input, weight, paddingIdx, sparse);
  Tensor rows = reshape(input, Dims{-1});
  if (maxNorm && rows.numel() > 0) limitRows(weight, rows, *maxNorm, normType);
  Tensor read = index_select(weight, 0, rows);
  if (gradEnabled() && weight.requiresGrad()) {
    if (paddingIdx) read = where(unsqueeze(eq(rows, padding), 1), detached(read), read);
    if (scaleByFreq) {
      Tensor each =
          index_add_plain(zeros(Dims{weight.size(0)}, weight.dtype()), 0, rows, ones(rows.shape(), weight.dtype()));
      read = scale_gradient(read, unsqueeze(reciprocal(index_select(each, 0, rows)), 1));
    }
  }
  Dims shape = input.shape();
  shape.push_back(weight.size(1));
  return reshape(read, shape);
}

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets, std::optional<double> maxNorm,
                     double normType, bool scaleByFreq, std::string_view mode, bool sparse, const Tensor& sampleWeights,
                     bool includeLast, std::optional<std::int64_t> paddingIdx) {
  if (mode != "sum" && mode != "mean" && mode != "max")
    fail<ValueError>("mode has to be one of sum, mean or max, but got ", mode);
  if (mode == "max" && scaleByFreq) fail<ValueError>("max mode does not support scaling the gradient by the frequency");
  if (sampleWeights.defined() && mode != "sum")
    fail<NotImplementedError>("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
                              "for mode='sum' (got mode='",
                              mode, "'). Please open a feature request on GitHub.");
  if (sampleWeights.defined() && !(sampleWeights.shape() == input.shape()))
    fail<ValueError>("embedding_bag: If per_sample_weights (", shapeText(sampleWeights.shape()),
                     ") is not None, then it must have the same shape as the input (", shapeText(input.shape()), ")");
  if (input.dim() == 2 && offsets.defined())
    fail<ValueError>("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                     "sequences. However, found offsets of type ",
                     dtypeName(offsets.dtype()));
  if (input.dim() != 1 && input.dim() != 2)
    fail<ValueError>("input has to be 1D or 2D Tensor, but got Tensor of dimension ", input.dim());
  if (input.dim() == 1 && !offsets.defined()) fail<ValueError>("offsets has to be a 1D Tensor but got None");
  if (input.dim() == 1 && offsets.dim() != 1) fail<ValueError>("offsets has to be a 1D Tensor");
  if (includeLast && input.dim() == 1 && offsets.size(0) < 1)
    fail("include_last_offset: number of offset should be at least 1");

  if (sampleWeights.defined() && sampleWeights.dtype() != weight.dtype())
    fail("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #2 "
         "'per_sample_weights'; but type ",
         dtypeName(weight.dtype()), " does not equal ", dtypeName(sampleWeights.dtype()),
         " (while checking arguments for embedding_bag)");
  const std::int64_t padding = checkedPadding("embedding_bag", input, weight, paddingIdx, sparse);
  if (maxNorm && input.numel() > 0) limitRows(weight, reshape(input, Dims{-1}), *maxNorm, normType);
  std::vector<Tensor> extras;
  if (input.dim() == 1) extras.push_back(offsets);
  const bool last = includeLast && input.dim() == 1;
  if (mode == "max") return std::get<0>(bag_max(weight, input, extras, padding, last));
  if (sampleWeights.defined()) extras.push_back(sampleWeights);
  const bool floating = isFloating(weight.dtype());
  auto [sums, counts] = bag_sum(weight, input, extras, padding, last, mode == "mean" && floating, scaleByFreq);
  return mode == "sum" || floating ? sums : div(sums, unsqueeze(maximum(counts, 1), 1));
}

}  // namespace tandem::ops
