// The classical orthogonal polynomials of a degree for each element, in sums of two numbers: recurrences lose digits
// with the degree, and beside zeros all of them.
//
// Chebyshev's of a large degree follow from U, whose degree is doubled bit by bit, U_2k = U_k^2 - U_(k-1)^2; all others
// from their recurrences of three terms (Abramowitz and Stegun 22.7, 22.12). For float32 and small degrees one number
// does, but where the last step cancels. Values that may come to be large or small
// carry an exponent of their own, so that they overflow at the end alone.
#include "runtime/lib/functions/polynomials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
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

template <class From, class To>
void convertAll(const From* from, To* to, std::int64_t count) {
  withAvx2([&]() TANDEM_INLINED {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  });
}

/// At most kBlock elements, those of a degree together, wherever they are.
void block(const PolynomialLanes& together, Polynomial family, bool shifted, bool single, const double* x,
           const double* n, std::int64_t count, double* out) {
  // All of one degree, as a rule.
  if (count % together.many == 0) {
    const Alike alike = together.alike(x, n, count, kFar);
    if (alike.degree && std::trunc(n[0]) == 0) return static_cast<void>(std::fill_n(out, count, 1.0));
    if (alike.plain && isPlain(family, x[0], n[0]))
      return together.ofMany(family, shifted, single, x, static_cast<std::int64_t>(n[0]), count, out);
  }
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
      (few ? together.ofFew : together.ofMany)(family, shifted, single, points.data(),
                                               static_cast<std::int64_t>(degree), most, values.data());
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
  const Contiguous points(call.inputs[0]);
  // One degree for all is no array.
  const ArrayView& degrees = call.inputs[1];
  const bool same = std::ranges::all_of(degrees.strides, [](std::int64_t stride) { return stride == 0; });
  std::array<double, kBlock> degree;
  degree.fill(same && degrees.numel() > 0 ? *degrees.as<const double>() : 0);
  std::optional<Contiguous> several;
  if (!same) several.emplace(degrees);
  static const PolynomialLanes together = hasAvx512() ? avx512::polynomialLanes() : avx2::polynomialLanes();
  const ArrayView& out = call.outputs[0];
  parallelFor(out.numel(), kBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kBlock) {
      const std::int64_t count = std::min(kBlock, end - i);
      const double* n = several ? several->as<const double>() + i : degree.data();
      if (out.dtype == DType::Float64) {
        block(together, family, shifted, false, points.as<const double>() + i, n, count, out.as<double>() + i);
        continue;
      }
      std::array<double, kBlock> x, values;
      convertAll(points.as<const float>() + i, x.data(), count);
      block(together, family, shifted, true, x.data(), n, count, values.data());
      convertAll(values.data(), out.as<float>() + i, count);
    }
  });
}

}  // namespace tandem::lib
