// Generated pointwise kernels against plain loops: layouts, dtypes, ends of rows, half types.
#include <gtest/gtest.h>

#include "tests/unit/kernel_test_util.h"

namespace tandem::test {
namespace {

constexpr DType kF32 = DType::Float32;

TEST(KernelPointwise, AddsContiguousArraysOfEveryLength) {
  Build k(KernelKind::Row);
  const auto a = k.input(kF32), b = k.input(kF32);
  k.output(kF32, Access::Unit, k.step(OpCode::add, kF32, {a, b}));
  for (std::size_t n = 0; n < 70; ++n) {
    const auto x = noises<float>(n), y = noises<float>(n, 3, 1);
    std::vector<float> z(n + 1, 99);
    run(k.signature,
        Args(k.signature)
            .inner(static_cast<std::int64_t>(n))
            .operand(0, x.data())
            .operand(1, y.data())
            .operand(2, z.data()),
        0, static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(z[i], x[i] + y[i]) << n << " " << i;
    EXPECT_EQ(z[n], 99);
  }
}

TEST(KernelPointwise, RunsAnyPieceOfItsRange) {
  Build k(KernelKind::Row);
  const auto a = k.input(kF32);
  k.output(kF32, Access::Unit, k.step(OpCode::mul, kF32, {a, a}));
  const auto x = noises<float>(100);
  std::vector<float> z(100, 7);
  run(k.signature, Args(k.signature).inner(100).operand(0, x.data()).operand(1, z.data()), 13, 57);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(z[i], i >= 13 && i < 57 ? x[i] * x[i] : 7.0F);
}

TEST(KernelPointwise, FollowsStridesAndBroadcasts) {
  // z[i, j, k] = x (strided along k) - y (one a row) with y broadcast over i.
  Build k(KernelKind::Row, 2);
  const auto a = k.input(kF32, Access::Strided), b = k.input(kF32, Access::Zero);
  k.output(kF32, Access::Strided, k.step(OpCode::sub, kF32, {a, b}));
  for (std::int64_t n : {1, 5, 8, 19, 40}) {
    const std::int64_t I = 3, J = 4;
    const auto x = noises<float>(static_cast<std::size_t>(I * J * n * 3)), y = noises<float>(J, 1, 5);
    std::vector<float> z(static_cast<std::size_t>(I * J * n * 2), 5);
    const Args args = Args(k.signature)
                          .outer(0, I)
                          .outer(1, J)
                          .inner(n)
                          .operand(0, x.data(), 3, {3 * n, 3 * n * I})
                          .operand(1, y.data(), 0, {0, 1})
                          .operand(2, z.data(), 2, {J * n * 2, n * 2});
    run(k.signature, args, 0, 5);
    run(k.signature, args, 5, I * J);
    for (std::int64_t i = 0; i < I; ++i) {
      for (std::int64_t j = 0; j < J; ++j) {
        for (std::int64_t e = 0; e < n; ++e) {
          ASSERT_EQ(z[i * J * n * 2 + j * n * 2 + e * 2], x[i * 3 * n + j * 3 * n * I + e * 3] - y[j]);
          ASSERT_EQ(z[i * J * n * 2 + j * n * 2 + e * 2 + 1], 5);
        }
      }
    }
  }
}

TEST(KernelPointwise, ComputesInEveryDType) {
  auto check = [](auto zero, DType t, double scale) {
    using T = decltype(zero);
    Build k(KernelKind::Row);
    const auto a = k.input(t), b = k.input(t);
    k.output(t, Access::Unit, k.step(OpCode::mul, t, {a, b}));
    for (std::size_t n : {3, 8, 21, 64}) {
      const auto x = noises<T>(n, scale), y = noises<T>(n, scale, 2);
      std::vector<T> z(n + 1, T{42});
      run(k.signature,
          Args(k.signature)
              .inner(static_cast<std::int64_t>(n))
              .operand(0, x.data())
              .operand(1, y.data())
              .operand(2, z.data()),
          0, static_cast<std::int64_t>(n));
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(z[i], static_cast<T>(x[i] * y[i])) << static_cast<int>(t);
      ASSERT_EQ(z[n], T{42});
    }
  };
  check(std::int8_t{}, DType::Int8, 5);
  check(std::int16_t{}, DType::Int16, 90);
  check(std::int32_t{}, DType::Int32, 20000);
  check(std::int64_t{}, DType::Int64, 1e9);
  check(1.0F, DType::Float32, 10);
  check(1.0, DType::Float64, 10);
}

TEST(KernelPointwise, ConvertsBetweenDTypes) {
  // int32 + float32 scalar, in float64, stored also as uint8 and bool.
  Build k(KernelKind::Row);
  const auto a = k.input(DType::Int32), s = k.scalar(DType::Float64);
  const auto wide = k.step(OpCode::to, DType::Float64, {a});
  const auto sum = k.step(OpCode::add, DType::Float64, {wide, s});
  k.output(DType::Float64, Access::Unit, sum);
  k.output(DType::UInt8, Access::Unit, k.step(OpCode::to, DType::UInt8, {sum}));
  k.output(DType::Bool, Access::Unit, k.step(OpCode::to, DType::Bool, {a}));
  for (std::size_t n : {1, 9, 33}) {
    std::vector<std::int32_t> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<std::int32_t>(i * 37) - 100;
    std::vector<double> d(n);
    std::vector<std::uint8_t> u(n + 1, 77), b(n + 1, 77);
    run(k.signature,
        Args(k.signature)
            .inner(static_cast<std::int64_t>(n))
            .operand(0, x.data())
            .operand(1, d.data())
            .operand(2, u.data())
            .operand(3, b.data())
            .scalar(0, 0.5),
        0, static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(d[i], x[i] + 0.5);
      ASSERT_EQ(u[i], static_cast<std::uint8_t>(std::min(255.0, std::max(0.0, d[i]))));  // saturates
      ASSERT_EQ(b[i], x[i] != 0);
    }
    EXPECT_EQ(u[n], 77);
    EXPECT_EQ(b[n], 77);
  }
}

TEST(KernelPointwise, SaturatesFloatToInteger) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {0, -0.0F, 1.9F, -1.9F, 3e9F, -3e9F, inf, -inf, nan, 2147483520.0F, 1e30F, 127.5F};
  Build k(KernelKind::Row);
  const auto a = k.input(kF32);
  k.output(DType::Int32, Access::Unit, k.step(OpCode::to, DType::Int32, {a}));
  k.output(DType::Int64, Access::Unit, k.step(OpCode::to, DType::Int64, {a}));
  k.output(DType::Int8, Access::Unit, k.step(OpCode::to, DType::Int8, {a}));
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<std::int32_t> i32(x.size());
  std::vector<std::int64_t> i64(x.size());
  std::vector<std::int8_t> i8(x.size());
  run(k.signature,
      Args(k.signature)
          .inner(n)
          .operand(0, x.data())
          .operand(1, i32.data())
          .operand(2, i64.data())
          .operand(3, i8.data()),
      0, n);
  constexpr std::int32_t max32 = std::numeric_limits<std::int32_t>::max(), min32 = -max32 - 1;
  constexpr std::int64_t max64 = std::numeric_limits<std::int64_t>::max(), min64 = -max64 - 1;
  EXPECT_EQ(i32, (std::vector<std::int32_t>{0, 0, 1, -1, max32, min32, max32, min32, 0, 2147483520, max32, 127}));
  EXPECT_EQ(i64,
            (std::vector<std::int64_t>{0, 0, 1, -1, 3000000000, -3000000000, max64, min64, 0, 2147483520, max64, 127}));
  EXPECT_EQ(i8, (std::vector<std::int8_t>{0, 0, 1, -1, 127, -128, 127, -128, 0, 127, 127, 127}));
}

TEST(KernelPointwise, RoundsLongIntegersOnce) {
  // Around every power of two, and halfway between two float32 or float64 with a last bit to either side.
  std::vector<std::int64_t> x = {0, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    for (const int kept : {23, 24, 52, 53}) {
      const std::int64_t last = bit > kept ? power >> kept : 0;
      for (std::int64_t k = 0; k < 8; ++k) {
        for (const std::int64_t off : {-1, 0, 1}) x.insert(x.end(), {power + k * last + off, -power - k * last + off});
      }
    }
  }
  Build k(KernelKind::Row);
  const auto a = k.input(DType::Int64);
  k.output(kF32, Access::Unit, k.step(OpCode::to, kF32, {a}));
  k.output(DType::Float64, Access::Unit, k.step(OpCode::to, DType::Float64, {a}));
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<float> single(x.size());
  std::vector<double> wide(x.size());
  run(k.signature, Args(k.signature).inner(n).operand(0, x.data()).operand(1, single.data()).operand(2, wide.data()), 0,
      n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(single[i], static_cast<float>(x[i])) << x[i];
    ASSERT_EQ(wide[i], static_cast<double>(x[i])) << x[i];
  }
}

TEST(KernelPointwise, DividesIntegersWithoutTraps) {
  Build k(KernelKind::Row);
  const auto a = k.input(DType::Int32), b = k.input(DType::Int32);
  k.output(DType::Int32, Access::Unit, k.step(OpCode::trunc_divide, DType::Int32, {a, b}));
  constexpr std::int32_t min32 = std::numeric_limits<std::int32_t>::min();
  const std::vector<std::int32_t> x = {7, -7, 7, min32, 5, 0, 9, -9, 100, 3};
  const std::vector<std::int32_t> y = {2, 2, -2, -1, 0, 0, 1, -1, 7, 4};
  std::vector<std::int32_t> z(x.size());
  run(k.signature, Args(k.signature).inner(10).operand(0, x.data()).operand(1, y.data()).operand(2, z.data()), 0, 10);
  EXPECT_EQ(z, (std::vector<std::int32_t>{3, -3, -3, min32, 0, 0, 9, 9, 14, 0}));
}

std::uint16_t toBfloat16(float x) {
  auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>((bits | 0x400000) >> 16);
  bits += 0x7fff + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}
float fromBfloat16(std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16); }

TEST(KernelPointwise, RoundsBfloat16AfterEveryStep) {
  // (a * b) + c in one kernel: the product is rounded before the sum, as two kernels would.
  Build k(KernelKind::Row);
  const DType bf16 = DType::BFloat16;
  const auto a = k.input(bf16), b = k.input(bf16, Access::Strided), c = k.input(bf16, Access::Zero);
  k.output(bf16, Access::Unit, k.step(OpCode::add, bf16, {k.step(OpCode::mul, bf16, {a, b}), c}));
  for (std::size_t n : {1, 8, 13, 50}) {
    std::vector<std::uint16_t> x(n), y(2 * n), z(n + 1, 1);
    for (std::size_t i = 0; i < n; ++i) x[i] = toBfloat16(static_cast<float>(noise(i)));
    for (std::size_t i = 0; i < 2 * n; ++i) y[i] = toBfloat16(static_cast<float>(noise(i + 500)));
    x[0] = 1;  // the least denormal stays one
    y[0] = toBfloat16(1);
    const std::uint16_t w = n == 1 ? std::uint16_t{0x8000} : toBfloat16(0.3F);
    run(k.signature,
        Args(k.signature)
            .inner(static_cast<std::int64_t>(n))
            .operand(0, x.data())
            .operand(1, y.data(), 2)
            .operand(2, &w, 0)
            .operand(3, z.data()),
        0, static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      const float product = fromBfloat16(toBfloat16(fromBfloat16(x[i]) * fromBfloat16(y[2 * i])));
      ASSERT_EQ(z[i], toBfloat16(product + fromBfloat16(w))) << i;
    }
    EXPECT_EQ(z[n], 1);
  }
}

TEST(KernelPointwise, ComputesFloat16InFloat32) {
  Build k(KernelKind::Row);
  const DType f16 = DType::Float16;
  const auto a = k.input(f16), b = k.input(f16);
  k.output(f16, Access::Unit, k.step(OpCode::mul, f16, {a, b}));
  k.output(kF32, Access::Unit, k.step(OpCode::to, kF32, {a}));
  const std::size_t n = 21;
  std::vector<_Float16> x(n), y(n), z(n);
  std::vector<float> f(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<_Float16>(static_cast<float>(noise(i)));
    y[i] = static_cast<_Float16>(static_cast<float>(noise(i + 90) * 1e-4));
  }
  run(k.signature,
      Args(k.signature).inner(21).operand(0, x.data()).operand(1, y.data()).operand(2, z.data()).operand(3, f.data()),
      0, 21);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(static_cast<float>(z[i]),
              static_cast<float>(static_cast<_Float16>(static_cast<float>(x[i]) * static_cast<float>(y[i]))));
    EXPECT_EQ(f[i], static_cast<float>(x[i]));
  }
}

TEST(KernelPointwise, SelectsByBool) {
  Build k(KernelKind::Row);
  const auto c = k.input(DType::Bool), a = k.input(kF32), b = k.input(kF32);
  const auto less = k.step(OpCode::lt, DType::Bool, {a, b});
  k.output(kF32, Access::Unit, k.step(OpCode::where, kF32, {c, a, b}));
  k.output(DType::Bool, Access::Unit, k.step(OpCode::bitwise_and, DType::Bool, {c, less}));
  const std::size_t n = 45;
  std::vector<std::uint8_t> mask(n), both(n);
  for (std::size_t i = 0; i < n; ++i) mask[i] = i % 3 == 0;
  const auto x = noises<float>(n), y = noises<float>(n, 1, 8);
  std::vector<float> z(n);
  run(k.signature,
      Args(k.signature)
          .inner(45)
          .operand(0, mask.data())
          .operand(1, x.data())
          .operand(2, y.data())
          .operand(3, z.data())
          .operand(4, both.data()),
      0, 45);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(z[i], mask[i] != 0 ? x[i] : y[i]);
    EXPECT_EQ(both[i], mask[i] != 0 && x[i] < y[i] ? 1 : 0);
  }
}

TEST(KernelPointwise, KnowsTheLinearIndex) {
  Build k(KernelKind::Row, 1);
  k.output(DType::Int64, Access::Unit, k.index());
  std::vector<std::int64_t> z(3 * 11);
  run(k.signature, Args(k.signature).outer(0, 3).inner(11).operand(0, z.data(), 1, {11}), 1, 3);
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(z[i], i < 11 ? 0 : static_cast<std::int64_t>(i));
}

TEST(KernelPointwise, MayWriteWhereItReads) {
  Build k(KernelKind::Row);
  const auto a = k.input(kF32), b = k.input(kF32);
  k.output(kF32, Access::Unit, k.step(OpCode::add, kF32, {a, b}));
  auto x = noises<float>(37);
  const auto before = x;
  run(k.signature, Args(k.signature).inner(37).operand(0, x.data()).operand(1, x.data()).operand(2, x.data()), 0, 37);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], before[i] + before[i]);
}

TEST(KernelPointwise, DearBodiesHaveTheSameBitsInEveryShape) {
  // A vector, its partly filled end, a strided walk and a row-uniform scalar: four ways through one body.
  for (OpCode op : {OpCode::exp, OpCode::tanh, OpCode::sin, OpCode::log, OpCode::erf}) {
    Build unit(KernelKind::Row), strided(KernelKind::Row), uniform(KernelKind::Row, 1);
    unit.output(kF32, Access::Unit, unit.step(op, kF32, {unit.input(kF32)}));
    strided.output(kF32, Access::Strided, strided.step(op, kF32, {strided.input(kF32, Access::Strided)}));
    uniform.output(kF32, Access::Unit, uniform.step(op, kF32, {uniform.input(kF32, Access::Zero)}));
    auto x = noises<float>(64, 300);
    x[3] = 1e9F;
    x[5] = std::numeric_limits<float>::infinity();
    x[40] = -0.0F;
    std::vector<float> expected(64);
    run(uniform.signature,
        Args(uniform.signature).outer(0, 64).inner(1).operand(0, x.data(), 0, {1}).operand(1, expected.data(), 1, {1}),
        0, 64);
    for (std::int64_t n = 1; n <= 64; ++n) {
      std::vector<float> z(65, 5), spread(64 * 3), w(64 * 2, 5);
      for (std::int64_t i = 0; i < n; ++i) spread[i * 3] = x[i];
      run(unit.signature, Args(unit.signature).inner(n).operand(0, x.data()).operand(1, z.data()), 0, n);
      run(strided.signature, Args(strided.signature).inner(n).operand(0, spread.data(), 3).operand(1, w.data(), 2), 0,
          n);
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(sameBits(z[i], expected[i])) << static_cast<int>(op) << " of " << x[i] << " at " << i << "/" << n;
        ASSERT_TRUE(sameBits(w[i * 2], expected[i])) << static_cast<int>(op) << " of " << x[i];
        ASSERT_EQ(w[i * 2 + 1], 5);
      }
      ASSERT_EQ(z[n], 5);
    }
  }
}

TEST(KernelPointwise, DearBodiesOfNarrowTypes) {
  Build k(KernelKind::Row);
  const auto a = k.input(DType::Float16), c = k.input(DType::Bool);
  const auto e = k.step(OpCode::tanh, kF32, {k.step(OpCode::to, kF32, {a})});
  k.output(kF32, Access::Unit, k.step(OpCode::where, kF32, {c, e, k.step(OpCode::neg, kF32, {e})}));
  k.output(DType::Int8, Access::Unit, k.step(OpCode::to, DType::Int8, {k.step(OpCode::mul, kF32, {e, e})}));
  for (std::int64_t n : {1, 7, 8, 20, 33}) {
    std::vector<_Float16> x(static_cast<std::size_t>(n));
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = static_cast<_Float16>(static_cast<float>(noise(i) * 8));
      mask[i] = i % 2;
    }
    std::vector<float> z(static_cast<std::size_t>(n + 1), 3);
    std::vector<std::int8_t> b(static_cast<std::size_t>(n + 1), 3);
    run(k.signature,
        Args(k.signature)
            .inner(n)
            .operand(0, x.data())
            .operand(1, mask.data())
            .operand(2, z.data())
            .operand(3, b.data()),
        0, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const float t = std::tanh(static_cast<float>(x[i]));
      ASSERT_NEAR(z[i], mask[i] != 0 ? t : -t, 1e-6);
      ASSERT_EQ(b[i], static_cast<std::int8_t>(z[i] * z[i]));
    }
    EXPECT_EQ(z[n], 3);
    EXPECT_EQ(b[n], 3);
  }
}

TEST(KernelPointwise, NeverContracts) {
  // With a fused multiply-add, a*b - rounded(a*b) would show the rounding error instead of zero.
  Build k(KernelKind::Row);
  const auto a = k.input(kF32), b = k.input(kF32), c = k.input(kF32);
  k.output(kF32, Access::Unit, k.step(OpCode::sub, kF32, {k.step(OpCode::mul, kF32, {a, b}), c}));
  const auto x = noises<float>(64), y = noises<float>(64, 1, 4);
  std::vector<float> p(64), z(64);
  for (std::size_t i = 0; i < 64; ++i) p[i] = x[i] * y[i];
  run(k.signature,
      Args(k.signature).inner(64).operand(0, x.data()).operand(1, y.data()).operand(2, p.data()).operand(3, z.data()),
      0, 64);
  for (float v : z) EXPECT_EQ(v, 0);
}

}  // namespace
}  // namespace tandem::test
