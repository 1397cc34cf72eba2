// The functions that library operations share with GPUs have the bits of the vector math, whose accuracy is tested.
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/math/math.h"
#include "runtime/lib/functions/elementary.h"
#include "tests/unit/scalar_builder.h"

namespace tandem::test {
namespace {

using B = ScalarBuilder;

/// Values between two limits, and the limits; of wide ranges, by their logarithms.
template <class T>
std::vector<T> between(T low, T high, bool logarithmic = false) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> pick(logarithmic ? std::log(low) : low, logarithmic ? std::log(high) : high);
  std::vector<T> values{low, high};
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<T>(logarithmic ? std::exp(pick(random)) : pick(random)));
  return values;
}

template <class T>
bool same(T a, T b) {
  return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
}

template <class T, class Ours, class Theirs>
void expectSame(const char* name, const std::vector<T>& values, Ours ours, Theirs theirs) {
  for (T x : values) {
    B b;
    const T want = B::get<T>(theirs(b, B::make(x)));
    ASSERT_TRUE(same(ours(x), want)) << name << "(" << x << ") is " << ours(x) << ", not " << want;
  }
}

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

TEST(Elementary, Exponentials) {
  auto theirs = [](B& b, B::V x) { return math::exp(b, x); };
  auto ours = [](auto x) { return lib::expOf(x); };
  expectSame("exp", between(-750.0, 715.0), ours, theirs);
  expectSame("exp", between(-106.0F, 90.0F), ours, theirs);
  expectSame("exp", std::vector{0.0, -0.0, 1e-300, kInf<double>, -kInf<double>, kNan<double>}, ours, theirs);
  expectSame("exp", std::vector{0.0F, -0.0F, 1e-40F, kInf<float>, -kInf<float>, kNan<float>}, ours, theirs);
}

TEST(Elementary, Logarithms) {
  auto log = [](B& b, B::V x) { return math::log(b, x); };
  expectSame("log", between(5e-324, 1.7e308, true), lib::logOf, log);
  expectSame("log", between(0.5, 2.0), lib::logOf, log);
  expectSame("log", std::vector{0.0, -0.0, 1.0, -1.0, kInf<double>, -kInf<double>, kNan<double>}, lib::logOf, log);
  auto log1p = [](B& b, B::V x) { return math::log1p(b, x); };
  auto ours = [](auto x) { return lib::log1pOf(x); };
  expectSame("log1p", between(-1.0, 3.0), ours, log1p);
  expectSame("log1p", between(1e-300, 1e300, true), ours, log1p);
  expectSame("log1p", between(-1.0F, 3.0F), ours, log1p);
  expectSame("log1p", between(1e-38F, 1e38F, true), ours, log1p);
  expectSame("log1p", std::vector{0.0, -0.0, -2.0, kInf<double>, kNan<double>}, ours, log1p);
  expectSame("log1p", std::vector{0.0F, -0.0F, -2.0F, kInf<float>, kNan<float>}, ours, log1p);
}

TEST(Elementary, CosinePowerGamma) {
  expectSame("cos", between(0.0, 6.3), lib::cosineOf, [](B& b, B::V x) { return math::cos(b, x); });
  expectSame("lgamma", between(0.5, 20.0), lib::lgammaOf, [](B& b, B::V x) { return math::lgamma(b, x); });
  expectSame("lgamma", between(1.0, 1e300, true), lib::lgammaOf, [](B& b, B::V x) { return math::lgamma(b, x); });
  expectSame("lgamma", std::vector{1.0, 1.5, 2.0, 2.5, 3.0, 8.5, kInf<double>}, lib::lgammaOf,
             [](B& b, B::V x) { return math::lgamma(b, x); });
  // Exponents that the vector math gives to its general formula.
  for (double y : {0.001, 0.7, 1.25, 3.5, 40.0, 1e5, 1e300, kInf<double>})
    expectSame(
        "pow", between(0x1p-54, 1 - 0x1p-53), [y](double x) { return lib::powOf(x, y); },
        [y](B& b, B::V x) { return math::pow(b, x, B::make(y)); });
}

/// log(e^a + e^b) is exact where one term is nothing, and keeps infinities and NaN.
TEST(Elementary, LogSum) {
  EXPECT_EQ(lib::logSum(1.0, -kInf<double>), 1.0);
  EXPECT_EQ(lib::logSum(-kInf<float>, -kInf<float>), -kInf<float>);
  EXPECT_EQ(lib::logSum(kInf<double>, 3.0), kInf<double>);
  EXPECT_TRUE(std::isnan(lib::logSum(kNan<float>, 1.0F)));
  EXPECT_NEAR(lib::logSum(0.5, 0.25), std::log(std::exp(0.5) + std::exp(0.25)), 1e-15);
}

}  // namespace
}  // namespace tandem::test
