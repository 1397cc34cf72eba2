// Which input positions an output position of an interpolated dim is made of, and with which weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace tandem::lib {

/// Numbers of modes, as the attribute of the operations has them.
enum class Interpolation : std::int64_t { Nearest, NearestExact, Linear, Cubic, SmoothLinear, SmoothCubic };

/// Of output position o: taps starts[o] .. starts[o + 1] of `index` and `weight`.
template <class C>
struct Taps {
  std::vector<std::int64_t> starts{0};
  std::int64_t each = 0;  // taps of every position, -1 where they differ
  std::vector<std::int64_t> index;
  std::vector<C> weight;

  /// Room for so many positions of so many taps.
  void reserve(std::int64_t positions, std::int64_t taps) {
    starts.reserve(static_cast<std::size_t>(positions) + 1);
    index.reserve(static_cast<std::size_t>(positions * taps));
    weight.reserve(static_cast<std::size_t>(positions * taps));
  }
  void add(std::int64_t i, C w) {
    index.push_back(i);
    weight.push_back(w);
  }
  void end() {
    const auto size = static_cast<std::int64_t>(index.size());
    const std::int64_t own = size - starts.back();
    each = starts.size() == 1 || each == own ? own : -1;
    starts.push_back(size);
  }
};

/// Keys' kernel (1981, "Cubic convolution interpolation"), with slope `a` at distance 1.
template <class C>
C cubicNear(C x, C a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class C>
C cubicFar(C x, C a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
template <class C>
C smoothFilter(C x, bool cubic) {
  x = std::abs(x);
  if (!cubic) return x < 1 ? 1 - x : C{0};
  constexpr auto a = static_cast<C>(-0.5);
  return x < 1 ? cubicNear(x, a) : x < 2 ? cubicFar(x, a) : C{0};
}

template <class C>
Taps<C> tapsOf(std::int64_t in, std::int64_t out, Interpolation mode, bool alignCorners, double ratio) {
  Taps<C> taps;
  C scale = static_cast<C>(in) / static_cast<C>(out);
  if (alignCorners)
    scale = out > 1 ? static_cast<C>(in - 1) / static_cast<C>(out - 1) : C{0};
  else if (ratio > 0)
    scale = static_cast<C>(1.0 / ratio);
  taps.reserve(out, mode <= Interpolation::NearestExact ? 1 : mode == Interpolation::Linear ? 2 : 4);
  auto inside = [in](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, in - 1); };
  for (std::int64_t o = 0; o < out; ++o, taps.end()) {
    auto at = static_cast<C>(o);
    constexpr auto half = static_cast<C>(0.5);
    C source = alignCorners ? scale * at : scale * (at + half) - half;
    switch (mode) {
    case Interpolation::Nearest:
      taps.add(inside(static_cast<std::int64_t>(std::floor(at * scale))), 1);
      break;
    case Interpolation::NearestExact:
      taps.add(inside(static_cast<std::int64_t>(std::floor((at + half) * scale))), 1);
      break;
    case Interpolation::Linear: {
      source = std::max(source, C{0});
      std::int64_t i = inside(static_cast<std::int64_t>(source));
      C t = std::clamp(source - static_cast<C>(i), C{0}, C{1});
      taps.add(i, 1 - t);
      taps.add(inside(i + 1), t);
      break;
    }
    case Interpolation::Cubic: {
      C base = std::floor(source);
      // Far outside is as just outside, and a ratio may be so small that no integer is as far.
      auto i = static_cast<std::int64_t>(std::min(static_cast<C>(in + 4), std::max(C{-4}, base)));
      C t = std::clamp(source - base, C{0}, C{1});
      constexpr auto a = static_cast<C>(-0.75);
      taps.add(inside(i - 1), cubicFar(t + 1, a));
      taps.add(inside(i), cubicNear(t, a));
      taps.add(inside(i + 1), cubicNear(1 - t, a));
      taps.add(inside(i + 2), cubicFar(2 - t, a));
      break;
    }
    case Interpolation::SmoothLinear:
    case Interpolation::SmoothCubic: {
      bool cubic = mode == Interpolation::SmoothCubic;
      C support = (cubic ? 2 : 1) * std::max(scale, C{1});
      C shrink = scale >= 1 ? 1 / scale : C{1};
      C center = scale * (at + half);
      auto first = std::max<std::int64_t>(static_cast<std::int64_t>(center - support + half), 0);
      auto last = std::min<std::int64_t>(static_cast<std::int64_t>(center + support + half), in);
      C total = 0;
      for (std::int64_t i = first; i < last; ++i) {
        C w = smoothFilter((static_cast<C>(i) - center + half) * shrink, cubic);
        taps.add(i, w);
        total += w;
      }
      for (std::int64_t i = first; i < last && total != 0; ++i)
        taps.weight[taps.weight.size() - 1 - (i - first)] /= total;
      break;
    }
    }
  }
  return taps;
}

/// Weights of bytes: whole multiples of 2^-shift. As in PyTorch and Pillow, the shift is the largest with which the
/// greatest weight fits 16 bits, taps at one place are one, and the sum of each dim is rounded to a byte.
struct ByteTaps {
  Taps<std::int32_t> taps;
  int shift = 0;
};

inline ByteTaps byteTapsOf(const Taps<double>& exact) {
  Taps<double> merged;
  for (std::size_t o = 0; o + 1 < exact.starts.size(); ++o, merged.end()) {
    for (std::int64_t k = exact.starts[o]; k < exact.starts[o + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (k > exact.starts[o] && merged.index.back() == exact.index[at])
        merged.weight.back() += exact.weight[at];
      else
        merged.add(exact.index[at], exact.weight[at]);
    }
  }
  double greatest = 0;
  for (double w : merged.weight) greatest = std::max(greatest, w);
  ByteTaps made;
  while (made.shift < 22 && static_cast<int>(0.5 + std::ldexp(greatest, made.shift + 1)) < 1 << 15) ++made.shift;
  made.taps.starts = std::move(merged.starts);
  made.taps.index = std::move(merged.index);
  for (double w : merged.weight)
    made.taps.weight.push_back(static_cast<std::int32_t>(std::round(std::ldexp(w, made.shift))));
  return made;
}

}  // namespace tandem::lib
