// Composites that make spaced numbers, and random numbers by parameters.
#include "eager/batch.h"
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/generator.h"
#include "eager/helpers.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "runtime/base/attrs.h"

namespace tandem::ops {
namespace {

/// A number or a 0-d tensor, in float64 and without history; for an integer dtype its integer part, which in an
/// unsigned one `wraps` where it is negative.
Tensor bound(const char* op, const char* name, const Operand& x, DType dtype, bool wraps) {
  if (!isFloating(dtype)) {
    Tensor whole = bound(op, name, x, DType::Float64, false);
    whole = trunc(whole);
    return dtype == DType::UInt8 && wraps ? remainder(whole, 256) : whole;
  }
  if (!x.isTensor()) return full_plain(x.scalar(), Dims{}, DType::Float64);
  if (x.tensor().dim() != 0)
    fail(op, " only supports 0-dimensional start and end tensors, but got ", name, " with ", x.tensor().dim(),
         " dimension(s).");
  return toDType(detached(x.tensor()), DType::Float64);
}

/// In float64. Both halves count from their own end, so that both ends are exact.
Tensor spaced(const char* op, const Operand& start, const Operand& end, std::int64_t steps, DType dtype,
              bool wraps = false) {
  if (steps < 0) fail("number of steps must be non-negative");
  if (dtype == DType::Bool && steps > 1) fail<NotImplementedError>("\"", op, "_cpu\" not implemented for 'Bool'");
  if (steps > 0 && !start.isTensor()) needHeld(op, dtype, start.scalar());
  if (steps > 1 && !end.isTensor()) needHeld(op, dtype, end.scalar());
  Tensor from = bound(op, "start", start, dtype, wraps);
  Tensor to = bound(op, "end", end, dtype, wraps);
  if (steps <= 1) return expand(from, Dims{steps});
  Tensor index = arange_end(steps, DType::Float64);
  Tensor step = div(sub(to, from), steps - 1);
  Tensor up = add(from, mul(step, index));
  Tensor down = sub(to, mul(step, sub(steps - 1, index)));
  return where(lt(index, steps / 2), up, down);
}

void needDeviation(double std) {
  if (!(std >= 0)) fail("normal expects std >= 0.0, but found std ", std);
}

Tensor deviations(const Tensor& std) { return expected(std, ge(detached(std), 0), Expectation::NormalDeviation); }

}  // namespace

Tensor linspace(const Operand& start, const Operand& end, std::int64_t steps, std::optional<DType> dtype) {
  FusedScope fused(steps);
  const DType type = dtype.value_or(defaultDType());
  return toDType(contiguous(spaced("linspace", start, end, steps, type, true)), type);
}
Tensor logspace(const Operand& start, const Operand& end, std::int64_t steps, double base, std::optional<DType> dtype) {
  FusedScope fused(steps);
  const DType type = dtype.value_or(defaultDType());
  return toDType(pow(base, spaced("logspace", start, end, steps, type)), type);
}

Tensor randint_like(const Tensor& x, std::int64_t low, std::int64_t high, std::optional<DType> dtype) {
  return randint(low, high, x.shape(), nullptr, dtype.value_or(x.dtype()));
}
Tensor randint_like_high(const Tensor& x, std::int64_t high, std::optional<DType> dtype) {
  return randint_like(x, 0, high, dtype);
}

/// Draws are no function of mean and deviation, to which they pass no gradient on, as in PyTorch.
static Tensor drawn(const Tensor& noise, const Operand& mean, const Operand& deviation) {
  std::vector<Tensor> of;
  for (const Operand* o : {&mean, &deviation})
    if (o->isTensor()) of.push_back(o->tensor());
  Tensor draw;
  {
    const NoGrad off;
    draw = add(mul(noise, deviation), mean);
  }
  return constantIn(draw, of);
}

Tensor normal_at(const Tensor& mean, const Operand& std, Generator* g) {
  refuseSameRandomness("normal", {mean, std});
  Dims shape = std.isTensor() ? broadcastShapes("normal", mean.shape(), std.tensor().shape()) : mean.shape();
  if (!std.isTensor()) {
    needDeviation(std.scalar().asDouble());
    return drawn(randn(shape, g, mean.dtype()), mean, std);
  }
  return drawn(randn(shape, g, mean.dtype()), mean, deviations(std.tensor()));
}
Tensor normal_around(double mean, const Tensor& std, Generator* g) {
  refuseSameRandomness("normal", {std});
  return drawn(randn(std.shape(), g, std.dtype()), Scalar(mean), deviations(std));
}
Tensor normal_of_size(double mean, double std, DimsRef size, Generator* g, std::optional<DType> dtype) {
  needDeviation(std);
  return add(mul(randn(size, g, dtype), std), mean);
}

Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement, Generator* g) {
  if (weights.dim() != 1 && weights.dim() != 2) fail("prob_dist must be 1 or 2 dim");
  if (!isFloating(weights.dtype()))
    fail("multinomial only supports floating-point dtypes for input, got: ", dtypeClassName(weights.dtype()));
  refuseSameRandomness("multinomial", {weights});
  if (count <= 0) fail("cannot sample n_sample <= 0 samples");
  if (!replacement && count > weights.size(-1))
    fail("cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  Tensor p = toDType(detached(weights), DType::Float64);
  p = expected(p, logical_and(isfinite(p), ge(p, 0)), Expectation::MultinomialWeights);
  p = expected(p, gt(sum(p, Dims{-1}), 0), Expectation::MultinomialSum);
  // Without replacement: the first arrivals of independent exponential clocks, each as fast as its weight (Efraimidis
  // and Spirakis 2006).
  if (!replacement) {
    Tensor waiting = neg(log1p(neg(rand(p.shape(), g, p.dtype()))));
    return topk(div(p, maximum(waiting, 0x1p-60)), count, -1)[1];
  }
  Dims shape = p.shape();
  shape.back() = count;
  Tensor sums = cumsum(p, -1);
  Tensor total = narrow(sums, -1, p.size(-1) - 1, 1);
  Tensor place = search_rows(sums, mul(rand(shape, g, p.dtype()), total), true);
  return minimum(place, p.size(-1) - 1);
}

}  // namespace tandem::ops
