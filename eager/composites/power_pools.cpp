// Power-mean pools (lp_pool), and maxima over windows at random places (fractional_max_pool). Other pools: pooling.cpp.
#include <cmath>

#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

/// (n means of powers)^(1 / p), with the sign rule that a negative sum counts by its size.
Tensor rootOfSums(const Tensor& means, double count, double p) {
  FusedScope fused(means);
  return pow(mul(mul(sign(means), relu(abs(means))), count), 1.0 / p);
}

/// The limit of power means for p at infinity: the greatest size in each window, for minus infinity the least one.
template <auto pool>
Tensor extremeSizes(const Tensor& x, double p, DimsRef kernel, const std::optional<Dims>& stride, bool ceil) {
  if (p < 0) return neg(pool(neg(abs(x)), kernel, stride, Dims{0}, Dims{1}, ceil));
  return pool(abs(x), kernel, stride, Dims{0}, Dims{1}, ceil);
}

double product(DimsRef kernel, std::size_t dims) {
  double n = 1;
  for (std::size_t i = 0; i < dims; ++i) n *= static_cast<double>(kernel[kernel.size() == 1 ? 0 : i]);
  return n;
}

}  // namespace

Tensor lp_pool1d(const Tensor& x, double p, DimsRef kernel, const std::optional<Dims>& stride, bool ceil) {
  if (std::isinf(p)) return extremeSizes<max_pool1d>(x, p, kernel, stride, ceil);
  Tensor means = avg_pool1d(pow(x, p), kernel, stride, Dims{0}, ceil, true);
  return rootOfSums(means, product(kernel, 1), p);
}
Tensor lp_pool2d(const Tensor& x, double p, DimsRef kernel, const std::optional<Dims>& stride, bool ceil) {
  if (std::isinf(p)) return extremeSizes<max_pool2d>(x, p, kernel, stride, ceil);
  Tensor means = avg_pool2d(pow(x, p), kernel, stride, Dims{0}, ceil, true, {});
  return rootOfSums(means, product(kernel, 2), p);
}
Tensor lp_pool3d(const Tensor& x, double p, DimsRef kernel, const std::optional<Dims>& stride, bool ceil) {
  if (std::isinf(p)) return extremeSizes<max_pool3d>(x, p, kernel, stride, ceil);
  Tensor means = avg_pool3d(pow(x, p), kernel, stride, Dims{0}, ceil, true, {});
  return rootOfSums(means, product(kernel, 3), p);
}

std::array<Tensor, 2> fractional_max_pool(const Tensor& x, DimsRef kernel, DimsRef output, const Tensor& samples) {
  auto dims = static_cast<std::int64_t>(kernel.size());
  std::string op = strcat("fractional_max_pool", dims, "d");
  if (x.dim() != dims + 1 && x.dim() != dims + 2)
    fail(op, "(): Expected ", dims + 1, "D or ", dims + 2, "D tensor, but got: ", shapeText(x.shape()));
  if (samples.dim() != 3 || samples.size(-1) != dims)
    fail(op, "(): Expect _random_samples of shape [batch, channels, ", dims, "], but got ", shapeText(samples.shape()));
  if (samples.dtype() != x.dtype())
    fail(op, "(): Expect _random_samples to have the same dtype as input, but got ", dtypeName(samples.dtype()),
         " for input of ", dtypeName(x.dtype()));
  std::int64_t lead = x.dim() - dims;
  Tensor planes = lead == 1 ? unsqueeze(x, 0) : x;
  std::int64_t batch = planes.size(0);
  std::int64_t channels = planes.size(1);
  if (samples.size(0) < batch || samples.size(1) < channels)
    fail(op, "(): Expect _random_samples to have at least ", batch, " x ", channels, " places, but got ",
         shapeText(samples.shape()));
  Tensor draws = narrow(narrow(detached(samples), 0, 0, batch), 1, 0, channels);
  // index: the places of all windows' elements, as [N, C, out0, k0, out1, k1, ...].
  Tensor index;
  for (std::int64_t d = 0; d < dims; ++d) {
    std::int64_t size = planes.size(2 + d);
    std::int64_t k = kernel[d];
    std::int64_t count = output[d];
    if (count + k - 1 > size)
      fail(op, "(): pool size ", k, " too large relative to input size ", size, " for output size ", count);
    // In two dims the first number is that of the width.
    Tensor u = select(draws, 2, dims == 2 ? 1 - d : d);
    Tensor starts = full(Dims{batch, channels, 1}, size - k, DType::Int64);
    if (count > 1) {
      double apart = static_cast<double>(size - k) / static_cast<double>(count - 1);
      Tensor alpha = full(Dims{}, apart, u.dtype());
      Tensor shift = unsqueeze(u, -1);
      Tensor steps = arange(std::int64_t{0}, count - 1);
      Tensor inner =
          sub(toDType(mul(add(steps, shift), alpha), DType::Int64), toDType(mul(shift, alpha), DType::Int64));
      const Tensor parts[] = {inner, starts};
      starts = cat(parts, -1);
    }
    Tensor places = add(unsqueeze(starts, -1), arange(std::int64_t{0}, k));  // [N, C, out, k]
    if (!index.defined()) {
      index = places;
      continue;
    }
    Dims shape{batch, channels};
    for (std::int64_t i = 0; i < d; ++i) shape.push_back(1), shape.push_back(1);
    shape.push_back(count);
    shape.push_back(k);
    index = add(mul(unsqueeze(unsqueeze(index, -1), -1), size), reshape(places, shape));
  }
  // The elements of one window last.
  Dims order{0, 1};
  for (std::int64_t d = 0; d < dims; ++d) order.push_back(2 + 2 * d);
  for (std::int64_t d = 0; d < dims; ++d) order.push_back(3 + 2 * d);
  Dims windows{batch, channels};
  for (std::int64_t d = 0; d < dims; ++d) windows.push_back(output[d]);
  windows.push_back(-1);
  index = reshape(permute(index, order), windows);
  Tensor flat = reshape(planes, Dims{batch, channels, -1});
  Tensor elements = reshape(gather(flat, 2, reshape(index, Dims{batch, channels, -1})), index.shape());
  auto [values, at] = max_dim(elements, -1, true);
  Tensor found = squeeze_dims(gather(index, -1, at), Dims{-1});
  values = squeeze_dims(values, Dims{-1});
  if (lead == 1) return {squeeze_dims(values, Dims{0}), squeeze_dims(found, Dims{0})};
  return {values, found};
}

}  // namespace tandem::ops
