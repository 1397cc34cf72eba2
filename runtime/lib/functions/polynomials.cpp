// The classical orthogonal polynomials of a degree for each element, in sums of two numbers: recurrences lose digits
// with the degree, and beside zeros all of them.
//
// Chebyshev's follow from U, whose degree is doubled bit by bit, U_2k = U_k^2 - U_(k-1)^2; Legendre's, Laguerre's and
// Hermite's from their recurrences of three terms (Abramowitz and Stegun 22.7, 22.12). Values carry an exponent of
// their own, so that they overflow at the end alone.
#include "runtime/lib/functions/polynomials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/functions/polynomials_kernel.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kFar = 0x1p500;  // beyond which x^n is all that counts

/// Where x^n is all that counts.
double leading(Polynomial family, bool shifted, double x, std::int64_t n) {
  if (family == Polynomial::Laguerre) x = -x;
  if (n > 2) return x < 0 && n % 2 != 0 ? -kInf : kInf;
  double first = 1;
  double second = 1;
  switch (family) {
  case Polynomial::ChebyshevT:
    second = 2;
    break;
  case Polynomial::Laguerre:
    second = 0.5;
    break;
  case Polynomial::Legendre:
    second = 1.5;
    break;
  case Polynomial::HermiteHe:
    break;
  default:
    first = 2;
    second = 4;
  }
  if (shifted) {
    first *= 2;
    second *= 4;
  }
  return n == 1 ? first * x : second * x * x;
}

/// The value where no formula is needed.
std::optional<double> simple(Polynomial family, bool shifted, double x, double degree) {
  if (std::isnan(degree)) return kNan;
  degree = std::trunc(degree);
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  bool hermite = family == Polynomial::HermiteH || family == Polynomial::HermiteHe;
  // Hermite polynomials of more overflow; the recurrences of others would run for minutes.
  if (std::isnan(x) || degree > (hermite ? 512 : 0x1p31)) return kNan;
  if (std::abs(x) > kFar) return leading(family, shifted, x, static_cast<std::int64_t>(degree));
  return {};
}

/// Is a formula needed, by which elements of a degree are computed together?
bool isPlain(Polynomial family, double x, double degree) {
  const bool hermite = family == Polynomial::HermiteH || family == Polynomial::HermiteHe;
  return degree >= 1 && degree <= (hermite ? 512 : 0x1p31) && std::abs(x) <= kFar;
}

constexpr std::int64_t kBlock = 64;  // elements of which those of one degree are looked for

/// At most kBlock elements, those of a degree together, wherever they are.
void block(const PolynomialLanes& together, Polynomial family, bool shifted, const double* x, const double* n,
           std::int64_t count, double* out) {
  // All of one degree, as a rule.
  bool alike = count % together.many == 0 && isPlain(family, x[0], n[0]);
  for (std::int64_t i = 0; i < count; ++i) alike &= (n[i] == n[0]) & (std::abs(x[i]) <= kFar);
  for (std::int64_t i = 0; alike && i < count; i += together.many)
    together.ofMany(family, shifted, x + i, static_cast<std::int64_t>(n[0]), out + i);
  if (alike) return;
  std::array<std::int64_t, kBlock> left;
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (isPlain(family, x[i], n[i]))
      left[most++] = i;
    else
      out[i] = *simple(family, shifted, x[i], n[i]);
  }
  while (most > 0) {
    const double degree = n[left[0]];
    std::array<std::int64_t, kBlock> same;
    std::int64_t found = 0, kept = 0;
    for (std::int64_t k = 0; k < most; ++k) {
      const std::int64_t i = left[k];
      const bool is = n[i] == degree;
      same[found] = left[kept] = i;
      found += is ? 1 : 0;
      kept += is ? 0 : 1;
    }
    most = kept;
    for (std::int64_t k = 0; k < found;) {
      const bool few = found - k <= together.few;
      const std::int64_t most = few ? together.few : together.many;
      const std::int64_t lanes = std::min(most, found - k);
      std::array<double, kMostLanes> points, values;
      for (std::int64_t lane = 0; lane < most; ++lane) points[lane] = x[same[k + std::min(lane, lanes - 1)]];
      (few ? together.ofFew : together.ofMany)(family, shifted, points.data(), static_cast<std::int64_t>(degree),
                                               values.data());
      for (std::int64_t lane = 0; lane < lanes; ++lane) out[same[k + lane]] = values[lane];
      k += lanes;
    }
  }
}

}  // namespace

void orthogonal_polynomial(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  auto family = static_cast<Polynomial>(attrs.integer());
  bool shifted = attrs.integer() != 0;
  Contiguous points(call.inputs[0]);
  Contiguous degrees(call.inputs[1]);
  const auto* x = points.as<double>();
  const auto* n = degrees.as<double>();
  auto* out = call.outputs[0].as<double>();
  static const PolynomialLanes together = hasAvx512() ? avx512::polynomialLanes() : avx2::polynomialLanes();
  parallelFor(call.outputs[0].numel(), kBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kBlock)
      block(together, family, shifted, x + i, n + i, std::min(kBlock, end - i), out + i);
  });
}

}  // namespace tandem::lib
