// Windows of pools over up to three spatial dims, the last dims of an array; the dims before them are planes, each on
// its own. Lower-dimensional pools have spatial dims of size 1 in front.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/base/attrs.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/library.h"

namespace tandem::lib {

/// Positions first, first + step, ... below end.
struct Span {
  std::int64_t first, end;
};

/// One spatial dim: which input positions output position `o` sees.
struct PoolAxis {
  std::int64_t size = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  /// Windows that divide the input as evenly as it goes, instead of the five numbers above.
  bool adaptive = false;

  /// The positions inside the input, `dilation` apart.
  [[nodiscard, gnu::always_inline]] Span inside(std::int64_t o) const {
    if (adaptive) return {o * size / out, ((o + 1) * size + out - 1) / out};
    std::int64_t begin = o * stride - padding;
    std::int64_t end = std::min(begin + (kernel - 1) * dilation + 1, size);
    if (begin < 0) begin += (-begin + dilation - 1) / dilation * dilation;
    return {begin, end};
  }
  /// How many places, of the input and its padding, the window covers.
  [[nodiscard]] std::int64_t padded(std::int64_t o) const {
    std::int64_t begin = o * stride - padding;
    return std::min(begin + kernel, size + padding) - begin;
  }
  /// The output positions whose window has its place `k` inside the input.
  [[nodiscard]] Span outputs(std::int64_t k) const {
    std::int64_t shift = k * dilation - padding;
    std::int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    std::int64_t end = size - shift <= 0 ? 0 : std::min(out, (size - shift - 1) / stride + 1);
    return {begin, end};
  }
};

struct Pool {
  std::array<PoolAxis, 3> axes;

  /// Spatial sizes of input and output, and the lists of a record; an empty kernel says adaptive, an empty dilation 1.
  Pool(DimsRef in, DimsRef out, DimsRef kernel, DimsRef stride, DimsRef padding, DimsRef dilation) {
    std::size_t n = in.size();
    for (std::size_t d = 0; d < n; ++d) {
      PoolAxis& a = axes[3 - n + d];
      a.size = in[d];
      a.out = out[d];
      a.adaptive = kernel.empty();
      if (a.adaptive) continue;
      a.kernel = kernel[d];
      a.stride = stride[d];
      a.padding = padding[d];
      if (!dilation.empty()) a.dilation = dilation[d];
    }
  }
  /// Adaptive windows that divide the input evenly, as windows a stride apart.
  void makeRegular() {
    for (const PoolAxis& a : axes)
      if (a.adaptive && (a.out == 0 || a.size % a.out != 0)) return;
    for (PoolAxis& a : axes) {
      if (!a.adaptive) continue;
      a.kernel = a.stride = a.size / a.out;
      a.adaptive = false;
    }
  }
  [[nodiscard]] std::int64_t inputSize() const { return axes[0].size * axes[1].size * axes[2].size; }
  [[nodiscard]] std::int64_t outputSize() const { return axes[0].out * axes[1].out * axes[2].out; }
  /// Elements read for one plane.
  [[nodiscard]] std::int64_t work() const {
    std::int64_t n = outputSize();
    for (const auto& a : axes) n *= a.adaptive ? a.size / std::max<std::int64_t>(a.out, 1) + 1 : a.kernel;
    return n;
  }
};

/// Do averages take one place of all windows along the last dim after the other, which is quicker then, or one window
/// after the other?
inline bool takesPlaces(const PoolAxis& w) { return !w.adaptive && w.stride <= 2 && w.out >= 8; }

/// The last `n` sizes of an array.
inline DimsRef spatialSizes(const Dims& shape, std::size_t n) { return DimsRef(shape).last(n); }

/// Images of at least so many channels, which lie beside each other, are pooled as they lie.
inline constexpr std::int64_t kManyChannels = 8;

inline bool channelsLast(const ArrayView& x, std::size_t spatial) {
  if (x.shape.size() != spatial + 2 || x.shape[1] < kManyChannels || x.strides[1] != 1) return false;
  std::int64_t expected = x.shape[1];
  for (std::size_t k = x.shape.size(); k-- > 2; expected *= x.shape[k])
    if (x.strides[k] != expected) return false;
  return true;
}

/// The dims of a result whose channels come last, [N, *, C], with the channels second.
inline Dims channelsSecond(Dims d) {
  std::rotate(d.begin() + 1, d.end() - 1, d.end());
  return d;
}

/// Calls f with the stride as a constant where that matters to the loop.
template <class F>
[[gnu::always_inline]] inline void withStride(std::int64_t stride, F f) {
  if (stride == 1)
    f(std::integral_constant<std::int64_t, 1>{});
  else if (stride == 2)
    f(std::integral_constant<std::int64_t, 2>{});
  else
    f(stride);
}

}  // namespace tandem::lib
