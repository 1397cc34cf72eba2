// The vector math's exact parts: special cases of min, max and division, Bool and integer arguments, exact values of
// the transcendental functions, and the random numbers.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/math/math.h"
#include "tests/unit/scalar_builder.h"

namespace tandem::test {
namespace {

using B = ScalarBuilder;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

#define TD_CALL(NAME)                                                                                                  \
  [](auto... x) {                                                                                                      \
    B b;                                                                                                               \
    return math::NAME(b, B::make(x)...);                                                                               \
  }
template <class T, class F, class... X>
T call(F f, X... x) {
  return B::get<T>(f(static_cast<T>(x)...));
}

/// Equal, and with the same sign if zero; NaN equals NaN.
testing::AssertionResult same(double x, double y) {
  if ((std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y))) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << x << " is not " << y;
}
/// In both precisions.
template <class F, class... X>
testing::AssertionResult gives(double want, F f, X... x) {
  if (auto r = same(call<float>(f, x...), static_cast<float>(want)); !r) return r << " in float32";
  return same(call<double>(f, x...), want);
}

TEST(BasicMath, MaximumPropagatesNaNAndOrdersZeros) {
  const auto max = TD_CALL(maximum);
  const auto min = TD_CALL(minimum);
  EXPECT_TRUE(gives(2, max, 1, 2));
  EXPECT_TRUE(gives(2, max, 2, 1));
  EXPECT_TRUE(gives(1, min, 2, 1));
  EXPECT_TRUE(gives(0.0, max, 0.0, -0.0));
  EXPECT_TRUE(gives(0.0, max, -0.0, 0.0));
  EXPECT_TRUE(gives(-0.0, max, -0.0, -0.0));
  EXPECT_TRUE(gives(-0.0, min, 0.0, -0.0));
  EXPECT_TRUE(gives(-0.0, min, -0.0, 0.0));
  for (double x : {1.0, kInf, -kInf, 0.0}) {
    EXPECT_TRUE(gives(kNaN, max, x, kNaN));
    EXPECT_TRUE(gives(kNaN, max, kNaN, x));
    EXPECT_TRUE(gives(kNaN, min, x, kNaN));
    EXPECT_TRUE(gives(kNaN, min, kNaN, x));
    EXPECT_TRUE(gives(x, TD_CALL(fmax), x, kNaN));
    EXPECT_TRUE(gives(x, TD_CALL(fmax), kNaN, x));
    EXPECT_TRUE(gives(x, TD_CALL(fmin), kNaN, x));
  }
  EXPECT_EQ(call<int>(max, -3, 2), 2);
  EXPECT_EQ(call<std::uint8_t>(max, 200, 100), 200);
  EXPECT_EQ(call<bool>(max, true, false), true);
  EXPECT_EQ(call<bool>(min, true, false), false);
}

TEST(BasicMath, ReluSignClamp) {
  EXPECT_TRUE(gives(-0.0, TD_CALL(relu), -0.0));
  EXPECT_TRUE(gives(0.0, TD_CALL(relu), -kInf));
  EXPECT_TRUE(gives(kNaN, TD_CALL(relu), kNaN));
  EXPECT_TRUE(gives(3, TD_CALL(relu), 3));
  EXPECT_EQ(call<std::uint8_t>(TD_CALL(relu), 200), 200);
  EXPECT_TRUE(gives(-1, TD_CALL(sign), -kInf));
  EXPECT_TRUE(gives(0.0, TD_CALL(sign), -0.0));
  EXPECT_TRUE(gives(0.0, TD_CALL(sign), kNaN));
  EXPECT_EQ(call<std::int8_t>(TD_CALL(sign), -128), -1);
  EXPECT_EQ(call<std::uint8_t>(TD_CALL(sign), 200), 1);
  EXPECT_TRUE(gives(3, TD_CALL(clamp), 7, -1, 3));
  EXPECT_TRUE(gives(3, TD_CALL(clamp), 1, 5, 3));
  EXPECT_TRUE(gives(kNaN, TD_CALL(clamp), kNaN, 0, 1));
  EXPECT_TRUE(gives(kNaN, TD_CALL(clamp), 1, kNaN, 3));
  EXPECT_TRUE(gives(kNaN, TD_CALL(clamp), 1, 0, kNaN));
  EXPECT_EQ(call<std::int64_t>(TD_CALL(clamp), 9, 5, 3), 3);
  EXPECT_EQ(call<std::int16_t>(TD_CALL(abs), -32768), -32768);
  EXPECT_EQ(call<std::uint8_t>(TD_CALL(abs), 255), 255);
}

TEST(BasicMath, FloatDivision) {
  const auto mod = TD_CALL(remainder);
  const auto floorDiv = TD_CALL(floor_divide);
  EXPECT_TRUE(gives(1, mod, -5, 3));
  EXPECT_TRUE(gives(-1, mod, 5, -3));
  EXPECT_TRUE(gives(-0.0, mod, -4, 2));
  EXPECT_TRUE(gives(kNaN, mod, 5, 0));
  EXPECT_TRUE(gives(5, mod, 5, kInf));
  EXPECT_TRUE(gives(kInf, mod, -5, kInf));
  EXPECT_TRUE(gives(-2, TD_CALL(fmod), -5, 3));
  EXPECT_TRUE(gives(-2, floorDiv, -5, 3));
  EXPECT_TRUE(gives(-2, floorDiv, -4, 2));
  EXPECT_TRUE(gives(-0.0, floorDiv, -0.0, 3));
  EXPECT_TRUE(gives(kInf, floorDiv, 5, 0));
  EXPECT_TRUE(gives(-kInf, floorDiv, -5, 0));
  EXPECT_TRUE(gives(0, floorDiv, 5, kInf));
  EXPECT_TRUE(gives(-1, floorDiv, -5, kInf));
  EXPECT_TRUE(gives(-0.0, floorDiv, 0, -1));
  EXPECT_EQ(call<double>(floorDiv, 1.0, 0.1), 9);  // 0.1 is a little more than a tenth
  EXPECT_TRUE(gives(-1, TD_CALL(trunc_divide), -5, 3));
  EXPECT_TRUE(gives(2, TD_CALL(round), 2.5));
  EXPECT_TRUE(gives(-0.0, TD_CALL(round), -0.5));
}

TEST(BasicMath, IntegerDivisionNeverTraps) {
  for (int x = -128; x < 128; ++x) {
    for (int y = -128; y < 128; ++y) {
      const auto q = call<std::int8_t>(TD_CALL(floor_divide), x, y), r = call<std::int8_t>(TD_CALL(remainder), x, y);
      if (y == 0) {
        EXPECT_EQ(q, 0);
      } else {
        EXPECT_EQ(q, static_cast<std::int8_t>(std::floor(static_cast<double>(x) / y))) << x << " // " << y;
        EXPECT_EQ(static_cast<std::int8_t>(q * y + r), x);
      }
    }
  }
  EXPECT_EQ(call<std::uint8_t>(TD_CALL(remainder), 250, 7), 5);
  EXPECT_EQ(call<std::int64_t>(TD_CALL(floor_divide), std::numeric_limits<std::int64_t>::min(), -1),
            std::numeric_limits<std::int64_t>::min());
}

TEST(BasicMath, BoolAndIntegers) {
  EXPECT_EQ(call<bool>(TD_CALL(add), true, true), true);
  EXPECT_EQ(call<bool>(TD_CALL(mul), true, false), false);
  EXPECT_EQ(call<bool>(TD_CALL(lt), false, true), true);
  EXPECT_EQ(call<bool>(TD_CALL(ge), false, true), false);
  EXPECT_EQ(call<bool>(TD_CALL(eq), true, true), true);
  EXPECT_EQ(call<int>(TD_CALL(floor), -7), -7);
  EXPECT_EQ(B::get<bool>(TD_CALL(to_bool)(kNaN)), true);
  EXPECT_EQ(B::get<bool>(TD_CALL(to_bool)(-0.0)), false);
  EXPECT_EQ(B::get<bool>(TD_CALL(isnan)(3)), false);
  EXPECT_EQ(B::get<bool>(TD_CALL(isinf)(-kInf)), true);
  EXPECT_EQ(B::get<bool>(TD_CALL(signbit)(-0.0f)), true);
}

TEST(BasicMath, IntegerPowers) {
  const auto pow = TD_CALL(pow);
  EXPECT_EQ(call<std::int64_t>(pow, 3, 39), 4052555153018976267);
  EXPECT_EQ(call<std::int64_t>(pow, 3, 70), 2293070008301402073);  // wraps
  EXPECT_EQ(call<std::int64_t>(pow, -2, 63), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(call<std::int64_t>(pow, 0, 0), 1);
  EXPECT_EQ(call<int>(pow, 2, -1), 0);
  EXPECT_EQ(call<int>(pow, -1, -3), -1);
  EXPECT_EQ(call<int>(pow, -1, -2), 1);
  EXPECT_EQ(call<int>(pow, 1, -2), 1);
  EXPECT_EQ(call<int>(pow, 0, -2), 0);
  EXPECT_EQ(call<std::uint8_t>(pow, 3, 255), 171);
  EXPECT_EQ(call<std::int8_t>(pow, -3, 3), -27);
}

TEST(ExactMath, WholeResults) {
  for (double x : {0.0, -0.0}) {
    for (auto f : {+[](double v) { return call<double>(TD_CALL(sin), v); },
                   +[](double v) { return call<double>(TD_CALL(tanh), v); },
                   +[](double v) { return call<double>(TD_CALL(expm1), v); },
                   +[](double v) { return call<double>(TD_CALL(log1p), v); },
                   +[](double v) { return call<double>(TD_CALL(gelu), v); },
                   +[](double v) { return call<double>(TD_CALL(silu), v); },
                   +[](double v) { return call<double>(TD_CALL(cbrt), v); }}) {
      EXPECT_TRUE(same(f(x), x));
    }
  }
  EXPECT_TRUE(gives(1, TD_CALL(exp), 0));
  EXPECT_TRUE(gives(1, TD_CALL(cos), -0.0));
  EXPECT_TRUE(gives(0.5, TD_CALL(sigmoid), 0));
  EXPECT_TRUE(gives(0.0, TD_CALL(log), 1));
  EXPECT_TRUE(gives(0.0, TD_CALL(acos), 1));
  for (int k = -126; k < 128; ++k) {
    EXPECT_TRUE(gives(std::ldexp(1.0, k), TD_CALL(exp2), k));
    EXPECT_TRUE(gives(k, TD_CALL(log2), std::ldexp(1.0, k)));
    EXPECT_TRUE(gives(std::ldexp(1.0, k), TD_CALL(pow), 2, k));
  }
  for (int k = 0; k <= 10; ++k) EXPECT_TRUE(gives(k, TD_CALL(log10), std::pow(10.0, k)));
  for (int k = 1; k < 200; ++k) {
    EXPECT_TRUE(gives(k, TD_CALL(cbrt), k * k * k));
    EXPECT_TRUE(gives(static_cast<double>(k) * k, TD_CALL(pow), k, 2));
  }
}

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t offset, std::uint64_t index) {
  B b;
  const auto w = math::philox(b, B::make(static_cast<std::int64_t>(seed)), B::make(static_cast<std::int64_t>(offset)),
                              B::make(static_cast<std::int64_t>(index)));
  std::array<std::uint32_t, 4> r{};
  for (int i = 0; i < 4; ++i) r[i] = B::get<std::uint32_t>(w[i]);
  return r;
}
TEST(RandomMath, PhiloxKnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ULL, ~0ULL, ~0ULL), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

constexpr int kDraws = 1 << 18;
template <class Draw>
std::vector<double> draws(Draw draw) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < kDraws; ++i) all.push_back(draw(B::make(i)));
  return all;
}
template <class F>
double mean(const std::vector<double>& all, F f) {
  double sum = 0;
  for (double x : all) sum += f(x);
  return sum / kDraws;
}
TEST(RandomMath, Distributions) {
  B b;
  const auto seed = B::make(std::int64_t{42}), offset = B::make(std::int64_t{7});
  for (DType t : {DType::Float32, DType::Float64}) {
    const auto number = [&](B::V x) { return B::get<double>(b.cast(x, DType::Float64)); };
    const auto u = draws([&](B::V i) { return number(math::uniform(b, t, seed, offset, i)); });
    EXPECT_NEAR(mean(u, [](double x) { return x; }), 0.5, 0.003);
    EXPECT_NEAR(mean(u, [](double x) { return x * x; }), 1.0 / 3, 0.003);
    EXPECT_EQ(mean(u, [](double x) { return x < 0 || x >= 1; }), 0);
    const auto z = draws([&](B::V i) { return number(math::normal(b, t, seed, offset, i)); });
    EXPECT_NEAR(mean(z, [](double x) { return x; }), 0, 0.01);
    EXPECT_NEAR(mean(z, [](double x) { return x * x; }), 1, 0.02);
    EXPECT_NEAR(mean(z, [](double x) { return x * x * x * x; }), 3, 0.12);
    EXPECT_NEAR(mean(z, [](double x) { return x < 1; }), 0.841345, 0.004);
  }
  const auto integers = [&](std::int64_t low, std::int64_t high) {
    return draws([&](B::V i) {
      return static_cast<double>(
          B::get<std::int64_t>(math::random_integer(b, seed, offset, B::make(low), B::make(high), i)));
    });
  };
  const auto ten = integers(-3, 7);
  for (int k = -3; k < 7; ++k) {
    EXPECT_NEAR(mean(ten, [&](double n) { return n == k; }), 0.1, 0.003);
  }
  const auto wide = integers(0, std::numeric_limits<std::int64_t>::max());
  EXPECT_NEAR(mean(wide, [](double n) { return std::ldexp(n, -63); }), 0.5, 0.003);
}

TEST(BasicMath, Ramp) {
  B b;
  const auto at = [&](DType t, auto start, auto step, std::int64_t i) {
    return math::arange_value(b, t, B::make(start), B::make(step), B::make(i));
  };
  EXPECT_EQ(B::get<std::int64_t>(at(DType::Int64, std::int64_t{5}, std::int64_t{-2}, 4)), -3);
  EXPECT_EQ(B::get<float>(at(DType::Float32, std::int64_t{1}, 0.1, 3)), static_cast<float>(1 + 3 * 0.1));
}

TEST(OptimMath, SgdFollowsItsFormula) {
  B b;
  const double p = 0.5, g = 0.25, buf = 2, lr = 0.125, momentum = 0.5, damp = 0.25, decay = 0.5;
  const auto num = [&](double x) { return math::number(b, B::make(x)); };
  const auto step = [&](double m, double nesterov) {
    const auto out =
        updates::sgd(num(p), num(buf), num(g), num(lr), num(m), num(damp), num(decay), num(nesterov), num(0));
    return std::array{B::get<double>(out[0].v), B::get<double>(out[1].v)};
  };
  const double grad = g + decay * p, newBuf = momentum * buf + (1 - damp) * grad;
  EXPECT_EQ(step(momentum, 0), (std::array{p - lr * newBuf, newBuf}));
  EXPECT_EQ(step(momentum, 1), (std::array{p - lr * (grad + momentum * newBuf), newBuf}));
  EXPECT_EQ(step(0, 0)[0], p - lr * grad);  // without momentum, no dampening
}

TEST(OptimMath, AdamFollowsItsFormula) {
  B b;
  const double p = 0.5, g = 0.25, m = 0.125, v = 0.75, lr = 0.01, b1 = 0.9, b2 = 0.999, eps = 1e-8, decay = 0.1;
  const auto num = [&](double x) { return math::number(b, B::make(x)); };
  for (double decoupled : {0.0, 1.0}) {
    for (double amsgrad : {0.0, 1.0}) {
      const double grad = -g + (decoupled == 0 ? decay * p : 0), start = decoupled == 0 ? p : p * (1 - lr * decay);
      const double wantM = m + (1 - b1) * (grad - m), wantV = b2 * v + (1 - b2) * grad * grad;
      const double most = amsgrad == 0 ? wantV : std::max(wantV, 2.0);
      const double wantP = start - lr / (1 - std::pow(b1, 3)) * wantM / (std::sqrt(most / (1 - std::pow(b2, 3))) + eps);
      const auto out = updates::adam(num(p), num(m), num(v), num(2), num(g), math::number(b, B::make(3.0f)), num(lr),
                                     num(b1), num(b2), num(eps), num(decay), num(amsgrad), num(decoupled), num(1));
      EXPECT_NEAR(B::get<double>(out[0].v), wantP, 1e-15);
      EXPECT_NEAR(B::get<double>(out[1].v), wantM, 1e-15);
      EXPECT_NEAR(B::get<double>(out[2].v), wantV, 1e-15);
      EXPECT_EQ(B::get<double>(out[3].v), most == 2.0 ? 2.0 : B::get<double>(out[2].v));
    }
  }
}

}  // namespace
}  // namespace tandem::test
