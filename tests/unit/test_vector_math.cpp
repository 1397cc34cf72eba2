// Accuracy of the vector math: every function, both precisions, against glibc in the next wider format, over samples
// of all exponents and every special value. Limits: 2 ULP in float32, 4 in float64. With TANDEM_SLOW=1, every float32.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/math/math.h"
#include "tests/unit/math_references.h"
#include "tests/unit/scalar_builder.h"

namespace tandem::test {
namespace {

struct Unary {
  const char* name;
  float (*f32)(float);
  double (*f64)(double);
  double (*ref32)(double);
  long double (*ref64)(long double);
  long double (*terms)(long double) = nullptr;
  float from = -std::numeric_limits<float>::infinity();  // below, the phase is lost
  [[nodiscard]] double size(double x) const { return terms ? static_cast<double>(terms(x)) : 0; }
};
struct Binary {
  const char* name;
  float (*f32)(float, float);
  double (*f64)(double, double);
  double (*ref32)(double, double);
  long double (*ref64)(long double, long double);
};
void PrintTo(const Unary& f, std::ostream* out) { *out << f.name; }
void PrintTo(const Binary& f, std::ostream* out) { *out << f.name; }

// Inlined whole, the builder's dtypes become compile-time constants: ten times faster, which 2^32 inputs need.
#define TD_FLATTEN __attribute__((flatten))
#define TD_UNARY(NAME, REF)                                                                                            \
  Unary {                                                                                                              \
    #NAME,                                                                                                             \
        [](float x) TD_FLATTEN {                                                                                       \
          B b;                                                                                                         \
          return B::get<float>(math::NAME(b, B::make(x)));                                                             \
        },                                                                                                             \
        [](double x) TD_FLATTEN {                                                                                      \
          B b;                                                                                                         \
          return B::get<double>(math::NAME(b, B::make(x)));                                                            \
        },                                                                                                             \
        [](double x) { return REF(x); }, [](long double x) { return REF(x); }                                          \
  }
#define TD_BINARY(NAME, REF)                                                                                           \
  Binary {                                                                                                             \
    #NAME,                                                                                                             \
        [](float x, float y) TD_FLATTEN {                                                                              \
          B b;                                                                                                         \
          return B::get<float>(math::NAME(b, B::make(x), B::make(y)));                                                 \
        },                                                                                                             \
        [](double x, double y) TD_FLATTEN {                                                                            \
          B b;                                                                                                         \
          return B::get<double>(math::NAME(b, B::make(x), B::make(y)));                                                \
        },                                                                                                             \
        [](double x, double y) { return REF(x, y); }, [](long double x, long double y) { return REF(x, y); }           \
  }

Unary with(Unary f, long double (*terms)(long double)) {
  f.terms = terms;
  return f;
}

Unary airy() {
  Unary f = TD_UNARY(airy_ai, [](auto x) { return static_cast<decltype(x)>(refAiry(x)); });
  f.ref64 = nullptr;  // the tests in Python compare with mpmath
  f.terms = airyTerms;
  f.from = -1e11f;
  return f;
}

/// Of what it is meant for: e^-|x|.
Unary expBelow() {
  return {"exp_below",
          [](float x) TD_FLATTEN {
            B b;
            return B::get<float>(math::exp_below(b, B::make(-std::fabs(x))));
          },
          [](double x) TD_FLATTEN {
            B b;
            return B::get<double>(math::exp_below(b, B::make(-std::fabs(x))));
          },
          [](double x) { return std::exp(-std::fabs(x)); }, [](long double x) { return std::exp(-std::fabs(x)); }};
}

const Unary kUnary[] = {
    TD_UNARY(exp, std::exp),
    TD_UNARY(exp2, std::exp2),
    TD_UNARY(expm1, std::expm1),
    TD_UNARY(log, std::log),
    TD_UNARY(log2, std::log2),
    TD_UNARY(log10, std::log10),
    TD_UNARY(log1p, std::log1p),
    TD_UNARY(sin, std::sin),
    TD_UNARY(cos, std::cos),
    TD_UNARY(tan, std::tan),
    TD_UNARY(asin, std::asin),
    TD_UNARY(acos, std::acos),
    TD_UNARY(atan, std::atan),
    TD_UNARY(sinh, std::sinh),
    TD_UNARY(cosh, std::cosh),
    TD_UNARY(tanh, std::tanh),
    TD_UNARY(asinh, std::asinh),
    TD_UNARY(acosh, std::acosh),
    TD_UNARY(atanh, std::atanh),
    TD_UNARY(erf, std::erf),
    TD_UNARY(erfc, std::erfc),
    TD_UNARY(gelu, refGelu),
    TD_UNARY(ndtr, refNormalCdf),
    with(TD_UNARY(gelu_slope, refGeluSlope), slopeTerms),
    expBelow(),
    TD_UNARY(sigmoid, refSigmoid),
    TD_UNARY(silu, refSilu),
    TD_UNARY(softplus, refSoftplus),
    TD_UNARY(logsigmoid, refLogsigmoid),
    TD_UNARY(cbrt, std::cbrt),
    TD_UNARY(sqrt, std::sqrt),
    TD_UNARY(rsqrt, [](auto x) { return 1 / std::sqrt(x); }),
    TD_UNARY(reciprocal, [](auto x) { return 1 / x; }),
    TD_UNARY(erfinv, refErfinv),
    with(TD_UNARY(lgamma, refLgamma), gammaTerms),
    with(TD_UNARY(digamma, refDigamma), digammaTerms),
    with(TD_UNARY(logit, refLogit), unitTerms),
    with(TD_UNARY(bessel_j0, refJ0), besselTerms),
    with(TD_UNARY(bessel_j1, refJ1), besselTerms),
    with(TD_UNARY(bessel_y0, refY0), besselTerms),
    with(TD_UNARY(bessel_y1, refY1), besselTerms),
    TD_UNARY(i0, [](auto x) { return refI(x, 0); }),
    TD_UNARY(i1, [](auto x) { return refI(x, 1); }),
    TD_UNARY(i0e, [](auto x) { return refScaledI(x, 0); }),
    TD_UNARY(i1e, [](auto x) { return refScaledI(x, 1); }),
    TD_UNARY(erfcx, refErfcx),
    TD_UNARY(log_ndtr, refLogNdtr),
    TD_UNARY(ndtri, refNdtri),
    TD_UNARY(modified_bessel_k0, [](auto x) { return refK(x, 0, false); }),
    TD_UNARY(modified_bessel_k1, [](auto x) { return refK(x, 1, false); }),
    TD_UNARY(scaled_modified_bessel_k0, [](auto x) { return refK(x, 0, true); }),
    TD_UNARY(scaled_modified_bessel_k1, [](auto x) { return refK(x, 1, true); }),
    TD_UNARY(spherical_bessel_j0, refSphericalJ0),
    TD_UNARY(sinc, refSinc),
    TD_UNARY(square, [](auto x) { return x * x; }),
    airy(),
};
const Binary kBinary[] = {TD_BINARY(pow, std::pow), TD_BINARY(atan2, std::atan2)};

/// Units in the last place (of `size`, if that is larger) between `y` and the reference; infinite where the kind (NaN,
/// sign of zero) differs.
template <class T, class Ref>
double ulps(T y, Ref ref, double size = 0) {
  using L = std::numeric_limits<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(ref)) return std::isnan(y) ? 0 : wrong;
  if (std::isnan(y)) return wrong;
  const bool opposite = std::signbit(y) != std::signbit(ref);
  if (opposite && size == 0) return wrong;
  // An overflow counts as the number that would follow the largest one.
  const Ref next = std::ldexp(Ref{1}, L::max_exponent);
  const Ref a = std::isinf(y) ? next : std::fabs(static_cast<Ref>(y)), r = std::min(std::fabs(ref), next);
  const Ref larger = std::max(r, static_cast<Ref>(size));
  if (larger == 0) return a == 0 ? 0 : wrong;
  const int exponent = std::clamp(std::ilogb(larger), L::min_exponent - 1, L::max_exponent - 1);
  return static_cast<double>(std::fabs(opposite ? a + r : a - r) / std::ldexp(Ref{1}, exponent - (L::digits - 1)));
}

/// The same, quickly, where both are normal numbers of one sign and no terms cancel.
double quickUlps(float y, double ref) {
  const double a = std::fabs(static_cast<double>(y)), r = std::fabs(ref);
  const bool normal = r >= 0x1p-126 && r < 0x1p127 && a < 0x1p127 && (y < 0) == (ref < 0);
  if (!normal) return ulps(y, ref);
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(r) >> 52;
  return std::fabs(a - r) * std::bit_cast<double>((2 * 1023 + 23 - exponent) << 52);
}

template <class T>
std::vector<T> specials() {
  using L = std::numeric_limits<T>;
  const T next = std::nextafter(T{1}, T{2}), before = std::nextafter(T{1}, T{0});
  std::vector<T> some = {T{0},
                         L::denorm_min(),
                         7 * L::denorm_min(),
                         L::min(),
                         std::nextafter(L::min(), T{0}),
                         L::epsilon(),
                         L::epsilon() / 4,
                         T(1e-5),
                         T(0.25),
                         T(0.5),
                         before,
                         T{1},
                         next,
                         T(1.5),
                         T{2},
                         T(2.5),
                         T{3},
                         T{7},
                         T{10},
                         T{88},
                         T(88.73),
                         T(103.98),
                         T(104.5),
                         T(709.79),
                         T(745.2),
                         T{1000},
                         T(131072),
                         T(131073),
                         T(1 << 30),
                         T(16777217),
                         T(1e10),
                         T(1e30),
                         L::max() / 2,
                         L::max(),
                         L::infinity(),
                         L::quiet_NaN()};
  const std::size_t n = some.size();
  for (std::size_t i = 0; i < n; ++i) some.push_back(-some[i]);
  return some;
}

/// Half of the samples over all bit patterns, half of moderate size.
template <class T>
class Sampler {
 public:
  T operator()() {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    if ((++count_ & 1) == 0) return std::bit_cast<T>(static_cast<Bits>(random_()));
    const T m = static_cast<T>(std::ldexp(static_cast<double>(random_() >> 11), -53) + 1);
    const T x = std::ldexp(m, static_cast<int>(random_() % 24) - 14);
    return random_() & 1 ? -x : x;
  }

 private:
  std::mt19937_64 random_{20240607};
  unsigned count_ = 0;
};

template <class T>
struct Worst {
  double ulp = 0;
  T x{}, y{};
  void see(double e, T at, T at2 = T{}) {
    if (e > ulp) *this = {e, at, at2};
  }
};
template <class T>
void report(const char* name, const Worst<T>& w, double limit) {
  std::printf("%-25s float%zu  %.4f ULP at %a, %a\n", name, 8 * sizeof(T), w.ulp, static_cast<double>(w.x),
              static_cast<double>(w.y));
  EXPECT_LE(w.ulp, limit) << name << " at " << w.x << ", " << w.y;
}

template <class T, class F, class Ref>
void checkUnary(const Unary& row, F f, Ref ref, double limit) {
  Worst<T> worst;
  auto see = [&](T x) {
    if (!(x < row.from)) worst.see(ulps(f(x), ref(x), row.size(x)), x);
  };
  for (T x : specials<T>()) see(x);
  Sampler<T> sample;
  for (int i = 0; i < 1 << 20; ++i) see(sample());
  report(row.name, worst, limit);
}
template <class T, class F, class Ref>
void checkBinary(const char* name, F f, Ref ref, double limit) {
  Worst<T> worst;
  for (T x : specials<T>()) {
    for (T y : specials<T>()) worst.see(ulps(f(x, y), ref(x, y)), x, y);
  }
  Sampler<T> sample;
  for (int i = 0; i < 1 << 20; ++i) {
    const T x = sample(), y = sample();
    worst.see(ulps(f(x, y), ref(x, y)), x, y);
  }
  report(name, worst, limit);
}

/// ULP in float32. The normal distribution pays for its tail, which gelu shares, with an inverse and an exponential;
/// carrying all their errors along, to 2 ULP, would cost half their speed.
double limit32(const Unary& f) {
  const std::string_view name = f.name;
  if (name == "ndtr") return 3.5;
  return name == "gelu" || name == "gelu_slope" ? 4 : 2;
}
/// ULP in float64. digamma left of zero is a sum with a quotient of two polynomials, whose errors add; Bessel functions
/// and their like (codegen/math/bessel.h, normal.h) are products of several parts.
double limit64(const Unary& f) {
  const std::string_view name = f.name;
  if (name == "digamma") return 6;
  if (name == "gelu_slope") return 40;  // 3 but where the density is a subnormal number, which is multiplied by x
  for (std::string_view parts :
       {"bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "i0", "i1", "i0e", "i1e", "erfcx", "log_ndtr", "ndtri"})
    if (name == parts) return 20;
  return name.find("modified_bessel") != name.npos ? 22.5 : 4;  // 5e-15
}

class UnaryMath : public testing::TestWithParam<Unary> {};
TEST_P(UnaryMath, Float32) { checkUnary<float>(GetParam(), GetParam().f32, GetParam().ref32, limit32(GetParam())); }
TEST_P(UnaryMath, Float64) {
  if (!GetParam().ref64) GTEST_SKIP() << "no reference of more digits here";
  checkUnary<double>(GetParam(), GetParam().f64, GetParam().ref64, limit64(GetParam()));
}
TEST_P(UnaryMath, EveryFloat32) {
  if (!std::getenv("TANDEM_SLOW")) GTEST_SKIP() << "2^32 inputs: set TANDEM_SLOW=1";
  const Unary f = GetParam();
  Worst<float> worst[2];
  auto half = [&](std::uint32_t sign) {
    Worst<float> seen;
    for (std::uint64_t i = 0; i < 1ULL << 31; ++i) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(i) | sign << 31);
      if (x < f.from) continue;
      const float y = f.f32(x);
      const double ref = f.ref32(x);
      double ulp = quickUlps(y, ref);
      if (ulp > 1 && f.terms) ulp = ulps(y, ref, f.size(x));
      seen.see(ulp, x);
    }
    worst[sign] = seen;
  };
  std::thread negative(half, 1);
  half(0);
  negative.join();
  report(f.name, worst[worst[1].ulp > worst[0].ulp], limit32(f));
}
INSTANTIATE_TEST_SUITE_P(Functions, UnaryMath, testing::ValuesIn(kUnary),
                         [](const auto& p) { return std::string(p.param.name); });

class BinaryMath : public testing::TestWithParam<Binary> {};
TEST_P(BinaryMath, Float32) { checkBinary<float>(GetParam().name, GetParam().f32, GetParam().ref32, 2); }
TEST_P(BinaryMath, Float64) { checkBinary<double>(GetParam().name, GetParam().f64, GetParam().ref64, 4); }
INSTANTIATE_TEST_SUITE_P(Functions, BinaryMath, testing::ValuesIn(kBinary),
                         [](const auto& p) { return std::string(p.param.name); });

/// log(e^x + e^y + e^z) and the first one's share of the sum, of scores that a path may have.
template <class T>
void checkSumsOfThree() {
  std::mt19937_64 random(7);
  std::normal_distribution<double> score(-40, 30);
  for (int i = 0; i < 30000; ++i) {
    T v[3];
    for (T& x : v) x = random() % 8 == 0 ? T(-1e30) : static_cast<T>(score(random));
    if (random() % 4 == 0) v[1] = v[0];
    const long double m = std::max({v[0], v[1], v[2]});
    const long double sum = std::exp(v[0] - m) + std::exp(v[1] - m) + std::exp(v[2] - m);
    B b;
    auto of = [](T x) { return B::make(x); };
    const T total = B::get<T>(math::logaddexp3(b, of(v[0]), of(v[1]), of(v[2])));
    const T share = B::get<T>(math::logaddexp3_share(b, of(v[0]), of(v[1]), of(v[2])));
    const long double ulp = std::numeric_limits<T>::epsilon();
    ASSERT_LE(std::abs(total - (m + std::log(sum))), 2 * ulp * std::max(1.0L, std::abs(m))) << v[0] << v[1] << v[2];
    ASSERT_LE(std::abs(share - std::exp(v[0] - m) / sum), 4 * ulp) << v[0] << v[1] << v[2];
  }
}
TEST(VectorMath, SumsOfThreeByTheirLogarithms) {
  checkSumsOfThree<float>();
  checkSumsOfThree<double>();
}

/// The bits of a multiplication, whatever the factors: half of the running products are among the smallest numbers, and
/// half of the factors bring them about where the normal ones begin.
template <class T>
void checkProductsOfTiny() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  auto check = [](T a, T x) {
    B b;
    const T y = B::get<T>(math::product_of_tiny(b, B::make(a), B::make(x)));
    ASSERT_EQ(std::bit_cast<Bits>(y), std::bit_cast<Bits>(a * x)) << a << " * " << x;
    const T size = std::fabs(a), bound = std::ldexp(std::numeric_limits<T>::min(), 26);
    ASSERT_EQ(B::get<bool>(math::is_tiny(b, B::make(a))), size > 0 && size < bound) << a;
  };
  for (T a : specials<T>()) {
    for (T x : specials<T>()) {
      if (std::isnan(a) && std::isnan(x)) continue;
      check(a, x);
    }
  }
  Sampler<T> sample;
  std::mt19937_64 random(5);
  constexpr int digits = std::numeric_limits<T>::digits;
  for (int i = 0; i < 1 << 20; ++i) {
    T a = sample(), x = sample();
    if (std::isnan(a) || std::isnan(x)) continue;
    if (random() & 1)
      a = std::bit_cast<T>(static_cast<Bits>((random() % (40ULL << (digits - 1))) >> (random() % digits)));
    if (random() & 1) x = std::ldexp(std::nextafter(T{1}, T(random() % 3)), static_cast<int>(random() % 60) - 30);
    if (random() & 1) x = -x;
    check(a, x);
    if (testing::Test::HasFatalFailure()) return;
  }
}
TEST(VectorMath, ProductsOfTinyNumbers) {
  checkProductsOfTiny<float>();
  checkProductsOfTiny<double>();
}

}  // namespace
}  // namespace tandem::test
