// Small composites that scripts use now and then: renormalised slices, distances of pairs, windows of signals.
#include <cmath>
#include <numbers>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/ops.h"
#include "runtime/base/warn.h"

namespace tandem::ops {

Tensor renorm(const Tensor& x, double p, std::int64_t dim, double most) {
  if (x.dim() < 2) fail("renorm: input needs at least 2 dimensions, got ", x.dim(), " dimensions");
  if (p <= 0) fail("renorm: non-positive-norm not supported");
  if (most < 0) fail("renorm: expected maxnorm to be >= 0 but got ", most);
  dim = wrapDim(dim, x.dim());
  Dims others;
  for (std::int64_t d = 0; d < x.dim(); ++d)
    if (d != dim) others.push_back(d);
  Tensor length = norm(x, p, others, true);
  Tensor factor = where(gt(length, most), div(most, add(length, 1e-7)), 1.0);
  return mul(x, toDType(factor, x.dtype()));
}

Tensor pdist(const Tensor& x, double p) {
  if (x.dim() != 2) fail("pdist only supports 2D tensors, got: ", x.dim(), "D");
  if (!isFloating(x.dtype())) fail("pdist only supports floating-point dtypes");
  if (p < 0) fail("pdist only supports non-negative p values");
  std::int64_t n = x.size(0);
  if (n < 2) return constantIn(zeros(Dims{0}, x.dtype()), {&x, 1});
  Tensor pairs = triu_indices(n, n, 1);
  return lengthsOf(sub(index_select(x, 0, select(pairs, 0, 0)), index_select(x, 0, select(pairs, 0, 1))), p);
}

Tensor fill_diagonal(const Tensor& x, Scalar value, bool wrap) {
  if (x.dim() < 2) fail("dimensions must larger than 1");
  std::int64_t least = x.size(0);
  std::int64_t step = 0;
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if (x.dim() > 2 && x.size(d) != x.size(0)) fail("all dimensions of input must be of equal length");
    least = std::min(least, x.size(d));
    step = step * x.size(d) + 1;
  }
  const std::int64_t count = wrap && x.dim() == 2 ? (x.numel() + step - 1) / step : least;
  const Tensor t = contiguous(x);
  const Tensor values = full(Dims{count}, value, x.dtype());
  const LastStep last(t);
  return window_write(t, values, Dims{count}, Dims{step}, 0);
}

Tensor frobenius_norm(const Tensor& x, const std::optional<Dims>& dim, bool keepdim) {
  if (dim && dim->size() > 2) fail("Expected at most 2 dimensions, but got ", dim->size(), " dimensions instead.");
  return norm(x, 2.0, dim, keepdim);
}

Tensor range(Scalar start, Scalar end, Scalar step, std::optional<DType> dtype) {
  warn("range is deprecated, since its end is part of it, unlike that of Python's range. Use arange, which gives "
       "the values in [start, end).");
  double from = start.asDouble();
  double to = end.asDouble();
  double by = step.asDouble();
  if (by == 0) fail("step must be nonzero");
  if ((by > 0 && to < from) || (by < 0 && to > from)) fail("upper bound and lower bound inconsistent with step sign");
  // As in `arange`, for an integer dtype.
  const bool whole = dtype && !isFloating(*dtype);
  if (whole && std::trunc(by) == 0) fail("step must be nonzero");
  if (dtype == DType::Int64) from = std::trunc(from), to = std::trunc(to), by = std::trunc(by);
  auto count = static_cast<std::int64_t>(std::floor((to - from) / by)) + 1;
  if (whole) from = std::trunc(from), by = std::trunc(by);
  Tensor places = toDType(arange(std::int64_t{0}, count), DType::Float64);
  return toDType(add(mul(places, by), from), dtype.value_or(defaultDType()));
}

Tensor polygamma_of(const Tensor& x, std::int64_t n) { return polygamma(n, x); }

namespace {

/// 2 pi n / N for n = 0, 1, ...; N one less in a symmetric window.
Tensor phases(const char* op, std::int64_t length, bool periodic, std::optional<DType> dtype) {
  if (length < 0) fail(op, " requires non-negative window_length, got window_length=", length);
  if (dtype && !isFloating(*dtype)) fail(op, " expects floating point dtypes, got: ", dtypeClassName(*dtype));
  auto period = static_cast<double>(periodic ? length : length - 1);
  return mul(toDType(arange(std::int64_t{0}, length), DType::Float64), 2 * std::numbers::pi / std::max(period, 1.0));
}

/// A window of one element is 1.
Tensor asWindow(const Tensor& values, std::int64_t length, std::optional<DType> dtype) {
  DType t = dtype.value_or(defaultDType());
  return length == 1 ? ones(Dims{1}, t) : toDType(values, t);
}

}  // namespace

Tensor hann_window(std::int64_t length, bool periodic, std::optional<DType> dtype) {
  Tensor phase = phases("hann_window", length, periodic, dtype);
  return asWindow(sub(0.5, mul(cos(phase), 0.5)), length, dtype);
}
Tensor hamming_window(std::int64_t length, bool periodic, double alpha, double beta, std::optional<DType> dtype) {
  Tensor phase = phases("hamming_window", length, periodic, dtype);
  return asWindow(sub(alpha, mul(cos(phase), beta)), length, dtype);
}
Tensor blackman_window(std::int64_t length, bool periodic, std::optional<DType> dtype) {
  Tensor phase = phases("blackman_window", length, periodic, dtype);
  return asWindow(add(sub(0.42, mul(cos(phase), 0.5)), mul(cos(mul(phase, 2)), 0.08)), length, dtype);
}
Tensor bartlett_window(std::int64_t length, bool periodic, std::optional<DType> dtype) {
  Tensor phase = phases("bartlett_window", length, periodic, dtype);
  return asWindow(sub(1, abs(sub(div(phase, std::numbers::pi), 1))), length, dtype);
}

}  // namespace tandem::ops
