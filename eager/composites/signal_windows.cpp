// Windows that signals are multiplied by: hann, hamming, blackman, bartlett.
#include <algorithm>
#include <numbers>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::ops {

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
