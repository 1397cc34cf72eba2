// Connectionist temporal classification (Graves et al. 2006): the forward recursion over positions of the targets with
// blanks between and around them. Impossible states have a finite, very negative score, so that no gradient is NaN.
#include <array>
#include <limits>

#include "eager/composites/losses.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "eager/recorder.h"

namespace tandem::ops {
namespace {

constexpr double kImpossible = -1e30;

Tensor lengthsOf(const char* what, const Tensor& lengths, std::int64_t batch) {
  if (isFloating(lengths.dtype()) || lengths.dtype() == DType::Bool) fail("ctc_loss: ", what, " must be integral");
  if (lengths.numel() != batch) fail(what, " must be of size batch_size");
  return toDType(reshape(lengths, Dims{-1}), DType::Int64);
}

Tensor integers(DimsRef values) {
  std::vector<Tensor> parts;
  for (std::int64_t v : values) parts.push_back(full(Dims{1}, v, DType::Int64));
  return parts.empty() ? zeros(Dims{0}, DType::Int64) : cat(parts, 0);
}

/// Targets [N, S] of targets one after the other, S the longest; class 0 beyond a target's length.
Tensor paddedTargets(const Tensor& targets, const Tensor& lengths) {
  if (lengths.numel() == 0) return zeros(Dims{0, 0}, DType::Int64);
  Tensor most = amax(lengths);
  std::int64_t longest = learnSize(most);
  Tensor place = arange(std::int64_t{0}, longest);
  Tensor inside = lt(place, unsqueeze(lengths, 1));
  Tensor starts = unsqueeze(sub(cumsum(lengths, 0), lengths), 1);
  Tensor from = reshape(where(inside, add(starts, place), 0), Dims{-1});
  if (longest == 0) return zeros(inside.shape(), DType::Int64);
  return where(inside, reshape(index_select(targets, 0, from), inside.shape()), 0);
}

Tensor ctc(const Tensor& logProbs, const Tensor& givenTargets, const Tensor& givenRunning, const Tensor& givenLengths,
           std::int64_t blank, std::string_view reduction, bool zeroInfinity) {
  needReduction(reduction);
  if (!isFloating(logProbs.dtype()))
    fail<NotImplementedError>("\"ctc_loss_cpu\" not implemented for '", dtypeName(logProbs.dtype()), "'");
  // No half type has numbers for what is impossible, or digits for many steps: in float32, rounded once.
  if (isHalf(logProbs.dtype()))
    return toDType(ctc(toDType(logProbs, DType::Float32), givenTargets, givenRunning, givenLengths, blank, reduction,
                       zeroInfinity),
                   logProbs.dtype());
  bool batched = logProbs.dim() == 3;
  Tensor scores = batched ? logProbs : unsqueeze(logProbs, 1);
  if (scores.dim() != 3) fail("ctc_loss: expected log_probs of 2 or 3 dims, got ", shapeText(logProbs.shape()));
  std::int64_t steps = scores.size(0);
  std::int64_t batch = scores.size(1);
  if (blank < 0 || blank >= scores.size(2)) fail("blank must be in label range");
  // Targets and lengths may be on either device.
  const Device device = logProbs.device();
  Tensor running = lengthsOf("input_lengths", toDevice(givenRunning, device), batch);
  Tensor lengths = lengthsOf("target_lengths", toDevice(givenLengths, device), batch);
  running = expected(running, within(running, 0, steps), Expectation::InputLength, running, steps);

  Tensor labels = toDevice(
      toDType(!batched && givenTargets.dim() == 1 ? unsqueeze(givenTargets, 0) : givenTargets, DType::Int64), device);
  if (labels.dim() == 1) {
    lengths = expected(lengths, le(sum(lengths), labels.numel()), Expectation::TargetsReach);
    labels = paddedTargets(labels, lengths);
  } else {
    const std::int64_t width = labels.size(1);
    const Tensor fits = within(lengths, 0, width);
    lengths = expected(lengths, fits, Expectation::TargetLength, lengths, width);
  }
  lengths = unsqueeze(lengths, 1);
  running = unsqueeze(running, 1);
  std::int64_t longest = labels.size(1);
  // blank, label, blank, label, ..., blank, with two more in front.
  Tensor blanks = full(Dims{batch, longest}, blank, DType::Int64);
  const std::array<Tensor, 2> pairs{blanks, labels};
  const std::array<Tensor, 3> parts{full(Dims{batch, 2}, blank, DType::Int64),
                                    reshape(stack(pairs, 2), Dims{batch, 2 * longest}),
                                    full(Dims{batch, 1}, blank, DType::Int64)};
  const Tensor wide = cat(parts, 1);
  const std::int64_t places = 2 * longest + 1;
  const Tensor path = narrow(wide, 1, 2, places);
  // Not below what is impossible, whose sums over all steps are finite.
  const Tensor at = clamp_min(gather(scores, 2, expand(unsqueeze(path, 0), Dims{steps, batch, places})), kImpossible);
  // What it costs to come from two places before: a blank between two different labels may be left out.
  const Tensor skipping = where(ne(path, narrow(wide, 1, 0, places)), full(Dims{}, 0.0, scores.dtype()), kImpossible);
  // The scores of the places, with two in front where no path is. Before the first step: as if one stood before the
  // first blank.
  const Tensor margin = full(Dims{batch, 2}, kImpossible, scores.dtype());
  const std::array<Tensor, 3> start{margin, zeros(Dims{batch, 1}, scores.dtype()),
                                    full(Dims{batch, places - 1}, kImpossible, scores.dtype())};
  Tensor alpha = cat(start, 1);
  const std::vector<Tensor> atStep = unbind(at, 0);
  for (std::int64_t t = 0; t < steps; ++t) {
    FusedScope fused(alpha);
    const Tensor stayed = narrow(alpha, 1, 2, places);
    const Tensor skipped = add(narrow(alpha, 1, 0, places), skipping);
    const Tensor next =
        add(logaddexp3(stayed, narrow(alpha, 1, 1, places), skipped), atStep[static_cast<std::size_t>(t)]);
    const std::array<Tensor, 2> both{margin, where(gt(running, t), next, stayed)};
    alpha = cat(both, 1);
  }
  const Tensor end = mul(lengths, 2);
  const Tensor last = gather(alpha, 1, add(end, 2));
  const Tensor beforeLast = gather(alpha, 1, add(end, 1));
  const Tensor total = squeeze_dims(logaddexp3(last, beforeLast, kImpossible), Dims{1});
  const Tensor possible = gt(total, kImpossible / 2);
  Tensor scored = neg(total);
  const double infinite = zeroInfinity ? 0.0 : std::numeric_limits<double>::infinity();
  Tensor impossible;
  if (gradEnabled() && logProbs.requiresGrad()) {
    // As PyTorch's derivative, which is that by the scores before log_softmax: e^scores more. NaN of an infinite loss.
    const Tensor runs = unsqueeze(gt(transpose(running, 0, 1), unsqueeze(arange(0, steps), 1)), 2);
    Tensor mass = sum(where(runs, exp(scores), 0.0), Dims{0, 2});
    scored = add(scored, sub(mass, detached(mass)));
    if (!zeroInfinity) impossible = add(sqrt(where(possible, 1.0, mul(mass, 0.0))), infinite);
  }
  Tensor loss = where(possible, scored, impossible.defined() ? Operand(impossible) : Operand(infinite));
  if (!batched) loss = squeeze_dims(loss, Dims{0});
  if (reduction != "mean") return reducedLoss(loss, reduction);
  return mean(div(loss, toDType(clamp(squeeze_dims(lengths, Dims{1}), Operand(1)), loss.dtype())));
}

}  // namespace

Tensor ctc_loss(const Tensor& logProbs, const Tensor& targets, const Tensor& inputLengths, const Tensor& targetLengths,
                std::int64_t blank, std::string_view reduction, bool zeroInfinity) {
  return ctc(logProbs, targets, inputLengths, targetLengths, blank, reduction, zeroInfinity);
}
Tensor ctc_loss_lists(const Tensor& logProbs, const Tensor& targets, DimsRef inputLengths, DimsRef targetLengths,
                      std::int64_t blank, std::string_view reduction, bool zeroInfinity) {
  return ctc(logProbs, targets, integers(inputLengths), integers(targetLengths), blank, reduction, zeroInfinity);
}

}  // namespace tandem::ops
