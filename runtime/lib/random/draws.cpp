// Random draws by rejection: Gamma, Poisson, binomial. One stream of random numbers an element.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/random/philox.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; a < 1 through a + 1.
double gammaDraw(ElementStream& s, double a) {
  if (!(a >= 0)) return kNan;
  if (a == 0) return 0;
  double boost = a < 1 ? std::pow(s.uniform(), 1 / a) : 1;
  double d = (a < 1 ? a + 1 : a) - 1.0 / 3;
  double c = 1 / std::sqrt(9 * d);
  while (true) {
    double x = s.normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    if (std::log(s.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return boost * d * v;
  }
}

/// Below 10 by multiplying uniform numbers (Knuth), else by PTRS: Hörmann, "The transformed rejection method for
/// generating Poisson random variables", 1993.
double poissonDraw(ElementStream& s, double rate) {
  if (!(rate >= 0)) return kNan;
  if (rate == 0) return 0;
  if (rate < 10) {
    double limit = std::exp(-rate);
    double product = s.uniform();
    double k = 0;
    for (; product > limit; ++k) product *= s.uniform();
    return k;
  }
  double b = 0.931 + 2.53 * std::sqrt(rate);
  double a = -0.059 + 0.02483 * b;
  double inverseAlpha = 1.1239 + 1.1328 / (b - 3.4);
  double vr = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    double u = s.uniform() - 0.5;
    double v = s.uniform();
    double us = 0.5 - std::abs(u);
    double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    double accept = std::log(v) + std::log(inverseAlpha) - std::log(a / (us * us) + b);
    if (accept <= -rate + k * std::log(rate) - std::lgamma(k + 1)) return k;
  }
}

/// Few expected successes by the gaps between them (Devroye 1986, X.4), else by BTRS: Hörmann, "The generation of
/// binomial random variates", 1993.
double binomialDraw(ElementStream& s, double n, double p) {
  if (!(n >= 0) || !(p >= 0) || p > 1) return kNan;
  n = std::floor(n);
  if (n == 0 || p == 0) return 0;
  if (p == 1) return n;
  if (p > 0.5) return n - binomialDraw(s, n, 1 - p);
  if (n * p < 10) {
    double q = std::log1p(-p);
    double k = 0;
    for (double at = std::ceil(std::log(s.uniform()) / q); at <= n; at += std::ceil(std::log(s.uniform()) / q)) ++k;
    return k;
  }
  double deviation = std::sqrt(n * p * (1 - p));
  double b = 1.15 + 2.53 * deviation;
  double a = -0.0873 + 0.0248 * b + 0.01 * p;
  double c = n * p + 0.5;
  double vr = 0.92 - 4.2 / b;
  double alpha = (2.83 + 5.1 / b) * deviation;
  double odds = p / (1 - p);
  double mode = std::floor((n + 1) * p);
  double atMode = std::lgamma(mode + 1) + std::lgamma(n - mode + 1);
  while (true) {
    double u = s.uniform() - 0.5;
    double v = s.uniform();
    double us = 0.5 - std::abs(u);
    double k = std::floor((2 * a / us + b) * u + c);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= vr) return k;
    double accept = std::log(v * alpha / (a / (us * us) + b));
    if (accept <= atMode - std::lgamma(k + 1) - std::lgamma(n - k + 1) + (k - mode) * std::log(odds)) return k;
  }
}

template <class Draw>
void drawElements(const LibraryCall& call, Draw draw) {
  auto* out = call.outputs[0].as<double>();
  parallelFor(call.outputs[0].numel(), 512, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ElementStream stream(call.scalars[0], call.scalars[1], i);
      out[i] = draw(stream, i);
    }
  });
}

}  // namespace

void gamma_draw(const LibraryCall& call) {
  Contiguous alpha(call.inputs[0]);
  const auto* a = alpha.as<double>();
  drawElements(call, [&](ElementStream& s, std::int64_t i) { return gammaDraw(s, a[i]); });
}
void poisson_draw(const LibraryCall& call) {
  Contiguous rates(call.inputs[0]);
  const auto* rate = rates.as<double>();
  drawElements(call, [&](ElementStream& s, std::int64_t i) { return poissonDraw(s, rate[i]); });
}
void binomial_draw(const LibraryCall& call) {
  Contiguous counts(call.inputs[0]);
  Contiguous probs(call.inputs[1]);
  const auto* n = counts.as<double>();
  const auto* p = probs.as<double>();
  drawElements(call, [&](ElementStream& s, std::int64_t i) { return binomialDraw(s, n[i], p[i]); });
}

}  // namespace tandem::lib
