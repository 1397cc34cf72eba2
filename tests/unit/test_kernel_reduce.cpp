// Generated reductions against the fixed order spelled out in scalar code: equal bits, for every length.
#include <gtest/gtest.h>

#include "tests/unit/kernel_test_util.h"

namespace tandem::test {
namespace {

constexpr DType kF32 = DType::Float32;
const std::vector<std::int64_t> kLengths = {1,  2,  3,   7,   8,   9,    16,   31,   32,   33,   40,    63,
                                            64, 65, 100, 127, 500, 1024, 4095, 4096, 4097, 5000, 12288, 140000};

template <class T>
void checkRowSum(DType t, OpCode op, T identity, const Combiner<T>& combine) {
  Build k(KernelKind::Row, 1);
  const auto a = k.input(t);
  k.output(t, Access::Zero, k.reduce(op, t, a));
  for (std::int64_t n : kLengths) {
    const auto x = noises<T>(static_cast<std::size_t>(3 * n), std::is_integral_v<T> ? 50 : 1);
    std::vector<T> z(4, T{9});
    run(k.signature, Args(k.signature).outer(0, 3).inner(n).operand(0, x.data(), 1, {n}).operand(1, z.data(), 0, {1}),
        0, 3);
    for (std::int64_t r = 0; r < 3; ++r) {
      const std::vector<T> row(x.begin() + r * n, x.begin() + (r + 1) * n);
      ASSERT_TRUE(sameBits(z[r], trailing<T>(row, identity, combine))) << "n " << n << " row " << r << " got " << +z[r];
    }
    ASSERT_EQ(z[3], T{9});
  }
}

TEST(KernelReduce, RowsInTheFixedOrder) {
  checkRowSum<float>(kF32, OpCode::sum, -0.0F, plus<float>);
  checkRowSum<double>(DType::Float64, OpCode::sum, -0.0, plus<double>);
  checkRowSum<std::int64_t>(DType::Int64, OpCode::sum, 0, plus<std::int64_t>);
  checkRowSum<float>(kF32, OpCode::amax, -std::numeric_limits<float>::infinity(), larger<float>);
  checkRowSum<std::int8_t>(DType::Int8, OpCode::amax, std::numeric_limits<std::int8_t>::min(), larger<std::int8_t>);
  checkRowSum<std::int32_t>(DType::Int32, OpCode::amin, std::numeric_limits<std::int32_t>::max(),
                            [](std::int32_t a, std::int32_t b) { return std::min(a, b); });
  checkRowSum<float>(kF32, OpCode::prod, 1, [](float a, float b) { return a * b; });
}

/// Short kernels, whose vectors lie across the rows, against Row kernels, for every length that they take.
template <class T>
void checkShortRows(DType t, OpCode op, DType accumulator, const std::vector<T>& values) {
  constexpr std::int64_t kRows = 32;
  Build k(KernelKind::Row, 1);
  const auto x = k.input(t, Access::Strided), each = k.input(t, Access::Zero);
  const auto reduced = k.reduce(op, accumulator, x);
  k.output(accumulator, Access::Zero, reduced);
  k.output(t, Access::Strided, k.step(OpCode::maximum, t, {x, each}));
  KernelSignature lanes = k.signature;
  lanes.kind = KernelKind::Short;
  for (std::int64_t n = 2; n <= kShortRow; ++n) {
    for (std::int64_t apart : {1, 3}) {
      const auto row = static_cast<std::int64_t>(values.size()) % (n * 2) + 2 * n;
      std::vector<T> in(static_cast<std::size_t>(kRows * row)), first(in.size(), T{1}), second = first;
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = values[i % values.size()];
      std::vector<std::int64_t> sums(kRows * 3, -1), others = sums;  // room for every dtype
      auto args = [&](const KernelSignature& s, std::vector<T>& out, std::vector<std::int64_t>& all) {
        return Args(s)
            .outer(0, kRows)
            .inner(n)
            .operand(0, in.data(), 2, {row})
            .operand(1, in.data(), 0, {1})
            .operand(2, all.data(), 0, {apart})
            .operand(3, out.data(), 2, {row});
      };
      run(k.signature, args(k.signature, first, sums), 0, kRows);
      run(lanes, args(lanes, second, others), 0, kRows);
      ASSERT_EQ(sums, others) << lanes.text() << ", n " << n;
      ASSERT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(T)), 0) << lanes.text() << ", n " << n;
    }
  }
}

TEST(KernelReduce, ShortRowsAsRows) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> floats = noises<float>(201);
  for (std::size_t i : {5, 6, 50}) floats[i] = -0.0F;
  for (std::size_t i : {31, 120}) floats[i] = std::numeric_limits<float>::quiet_NaN();
  floats[77] = infinity;
  floats[90] = -infinity;
  for (OpCode op : {OpCode::sum, OpCode::prod, OpCode::amax, OpCode::amin}) {
    checkShortRows(kF32, op, kF32, floats);
    checkShortRows(DType::Float64, op, DType::Float64, std::vector<double>(floats.begin(), floats.end()));
    checkShortRows(DType::Int64, op, DType::Int64, noises<std::int64_t>(201, 50));
    checkShortRows(DType::Int8, op, DType::Int8, noises<std::int8_t>(201, 50));
    std::vector<std::uint16_t> halves;
    for (float v : floats) halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16));
    checkShortRows(DType::BFloat16, op, kF32, halves);
    checkShortRows(DType::Float16, op, kF32, halves);
  }
  std::vector<std::uint8_t> bools;
  for (int i = 0; i < 201; ++i) bools.push_back(noise(static_cast<std::uint64_t>(i)) > 0 ? 1 : 0);
  for (OpCode op : {OpCode::any, OpCode::all}) checkShortRows(DType::Bool, op, DType::Bool, bools);
}

TEST(KernelReduce, KeepsZeroSignsAndNaN) {
  Build k(KernelKind::Row, 1);
  const auto a = k.input(kF32);
  k.output(kF32, Access::Zero, k.reduce(OpCode::sum, kF32, a));
  k.output(kF32, Access::Zero, k.reduce(OpCode::amax, kF32, a));
  auto reduceRow = [&](const std::vector<float>& x) {
    std::pair<float, float> z;
    run(k.signature,
        Args(k.signature)
            .outer(0, 1)
            .inner(static_cast<std::int64_t>(x.size()))
            .operand(0, x.data())
            .operand(1, &z.first, 0)
            .operand(2, &z.second, 0),
        0, 1);
    return z;
  };
  EXPECT_TRUE(std::signbit(reduceRow({-0.0F}).first));
  EXPECT_TRUE(std::signbit(reduceRow(std::vector<float>(5000, -0.0F)).first));
  EXPECT_FALSE(std::signbit(reduceRow({-0.0F, 0.0F}).first));
  for (std::size_t at : {0, 5, 31, 32, 70, 4100}) {
    std::vector<float> x(4200, 1.5F);
    x[at] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(reduceRow(x).first));
    EXPECT_TRUE(std::isnan(reduceRow(x).second)) << at;
  }
  const auto empty = reduceRow({});
  EXPECT_EQ(empty.first, 0);
  EXPECT_FALSE(std::signbit(empty.first));
  EXPECT_EQ(empty.second, -std::numeric_limits<float>::infinity());
}

TEST(KernelReduce, OrderIgnoresStrides) {
  Build unit(KernelKind::Row, 1), strided(KernelKind::Row, 1);
  unit.output(kF32, Access::Zero, unit.reduce(OpCode::sum, kF32, unit.input(kF32)));
  strided.output(kF32, Access::Zero, strided.reduce(OpCode::sum, kF32, strided.input(kF32, Access::Strided)));
  for (std::int64_t n : kLengths) {
    const auto x = noises<float>(static_cast<std::size_t>(n));
    std::vector<float> spread(static_cast<std::size_t>(n * 3));
    for (std::int64_t i = 0; i < n; ++i) spread[i * 3] = x[i];
    float a = 0, b = 1;
    run(unit.signature, Args(unit.signature).outer(0, 1).inner(n).operand(0, x.data()).operand(1, &a, 0), 0, 1);
    run(strided.signature, Args(strided.signature).outer(0, 1).inner(n).operand(0, spread.data(), 3).operand(1, &b, 0),
        0, 1);
    ASSERT_TRUE(sameBits(a, b)) << n;
  }
}

/// A Column and a Leading kernel of the same reductions, over columns that are dense down their length.
void compareColumnsWithRows(const std::vector<OpCode>& reductions, std::int64_t count) {
  Build columns(KernelKind::Column, 0), rows(KernelKind::Leading, 1);
  for (Build* k : {&columns, &rows}) {
    const Access out = k == &columns ? Access::Unit : Access::Zero;
    const auto x = k->input(DType::Float64, k == &columns ? Access::Strided : Access::Unit);
    for (OpCode op : reductions) k->output(DType::Float64, out, k->reduce(op, DType::Float64, x));
  }
  for (std::int64_t n : {1, 7, 8, 9, 40, 1023, 1024, 1025, 8192, 8193, 20000}) {
    const auto x = noises<double>(static_cast<std::size_t>(count * n));
    std::vector<double> a(reductions.size() * count), b(reductions.size() * count, 1);
    Args down(columns.signature), along(rows.signature);
    down.inner(count).reduced(n).operand(0, x.data(), n, {}, 1);
    along.outer(0, count).inner(n).operand(0, x.data(), 1, {n});
    for (std::size_t k = 0; k < reductions.size(); ++k) {
      down.operand(k + 1, a.data() + k * count);
      along.operand(k + 1, b.data() + k * count, 0, {1});
    }
    run(columns.signature, down, 0, count);
    run(rows.signature, along, 0, count);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(sameBits(a[i], b[i])) << n << " at " << i;
  }
}

TEST(KernelReduce, ColumnsAsRowsOfTheirOrder) { compareColumnsWithRows({OpCode::sum, OpCode::amin}, 5); }

TEST(KernelReduce, SomeRowsOfTheirOrderAtOnce) {
  for (std::int64_t count : {1, 3, 4, 5, 11})
    for (OpCode op : {OpCode::sum, OpCode::amin}) compareColumnsWithRows({op}, count);
}

TEST(KernelReduce, PartialsAndFinishEqualOneRowKernel) {
  Build partial(KernelKind::Partial, 1), finish(KernelKind::Row, 1);
  const auto p = partial.input(kF32);
  partial.output(kF32, Access::Unit, partial.reduce(OpCode::sum, kF32, partial.step(OpCode::mul, kF32, {p, p})));
  finish.output(kF32, Access::Zero, finish.reduce(OpCode::sum, kF32, finish.input(kF32)));
  for (std::int64_t n : {1, 4096, 4097, 70000, 4096 * 40 + 5}) {
    const auto x = noises<float>(static_cast<std::size_t>(2 * n));
    const std::int64_t blocks = (n + 4095) / 4096;
    std::vector<float> partials(static_cast<std::size_t>(2 * blocks)), z(2);
    const Args first = Args(partial.signature)
                           .outer(0, 2)
                           .inner(n)
                           .operand(0, x.data(), 1, {n})
                           .operand(1, partials.data(), 1, {blocks});
    run(partial.signature, first, 1, 2 * blocks);
    run(partial.signature, first, 0, 1);
    run(finish.signature,
        Args(finish.signature)
            .outer(0, 2)
            .inner(blocks)
            .operand(0, partials.data(), 1, {blocks})
            .operand(1, z.data(), 0, {1}),
        0, 2);
    for (std::int64_t r = 0; r < 2; ++r) {
      std::vector<float> squares;
      for (std::int64_t i = 0; i < n; ++i) squares.push_back(x[r * n + i] * x[r * n + i]);
      ASSERT_TRUE(sameBits(z[r], trailing<float>(squares, -0.0F, plus<float>))) << n;
    }
  }
}

TEST(KernelReduce, ThreeLevels) {
  // More than 4096 blocks: the partials' partials go on to a third level.
  Build k(KernelKind::Row, 1);
  k.output(kF32, Access::Zero, k.reduce(OpCode::sum, kF32, k.input(kF32)));
  const std::int64_t n = 4096LL * 4096 + 4096 * 70 + 17;
  const auto x = noises<float>(static_cast<std::size_t>(n));
  float z = 0;
  run(k.signature, Args(k.signature).outer(0, 1).inner(n).operand(0, x.data()).operand(1, &z, 0), 0, 1);
  EXPECT_TRUE(sameBits(z, trailing<float>(x, -0.0F, plus<float>)));
}

TEST(KernelReduce, SoftmaxInOneKernel) {
  Build k(KernelKind::Row, 1);
  const auto x = k.input(kF32);
  const auto e = k.step(OpCode::exp, kF32, {k.step(OpCode::sub, kF32, {x, k.reduce(OpCode::amax, kF32, x)})});
  k.output(kF32, Access::Unit, k.step(OpCode::div, kF32, {e, k.reduce(OpCode::sum, kF32, e)}));
  // The same in separate kernels.
  Build shifted(KernelKind::Row, 1), total(KernelKind::Row, 1);
  const auto y = shifted.input(kF32), m = shifted.input(kF32, Access::Zero);
  shifted.output(kF32, Access::Unit, shifted.step(OpCode::exp, kF32, {shifted.step(OpCode::sub, kF32, {y, m})}));
  total.output(kF32, Access::Zero, total.reduce(OpCode::sum, kF32, total.input(kF32)));
  for (std::int64_t n : {1, 5, 32, 77, 1000, 4100, 9000}) {
    auto in = noises<float>(static_cast<std::size_t>(2 * n), 3);
    auto out = in;
    run(k.signature,
        Args(k.signature).outer(0, 2).inner(n).operand(0, out.data(), 1, {n}).operand(1, out.data(), 1, {n}), 0, 2);
    for (std::int64_t r = 0; r < 2; ++r) {
      const float* row = in.data() + r * n;
      const float top = *std::max_element(row, row + n);
      std::vector<float> exps(static_cast<std::size_t>(n));
      float sum = 0;
      run(shifted.signature,
          Args(shifted.signature).outer(0, 1).inner(n).operand(0, row).operand(1, &top, 0).operand(2, exps.data()), 0,
          1);
      run(total.signature, Args(total.signature).outer(0, 1).inner(n).operand(0, exps.data()).operand(1, &sum, 0), 0,
          1);
      for (std::int64_t i = 0; i < n; ++i) ASSERT_TRUE(sameBits(out[r * n + i], exps[i] / sum)) << n << " " << i;
    }
  }
}

TEST(KernelReduce, SoftmaxIntoStridedOutput) {
  Build k(KernelKind::Row, 1);
  const auto x = k.input(kF32, Access::Strided);
  const auto e = k.step(OpCode::exp, kF32, {k.step(OpCode::sub, kF32, {x, k.reduce(OpCode::amax, kF32, x)})});
  k.output(kF32, Access::Strided, k.step(OpCode::div, kF32, {e, k.reduce(OpCode::sum, kF32, e)}));
  k.output(kF32, Access::Zero, k.reduce(OpCode::sum, kF32, e));
  for (std::int64_t n : {1, 9, 40, 4500}) {
    const auto in = noises<float>(static_cast<std::size_t>(3 * n), 3);
    std::vector<float> out(static_cast<std::size_t>(2 * n), 7);
    float sum = 0;
    run(k.signature,
        Args(k.signature).outer(0, 1).inner(n).operand(0, in.data(), 3).operand(1, out.data(), 2).operand(2, &sum, 0),
        0, 1);
    double total = 0, top = -1e9;
    for (std::int64_t i = 0; i < n; ++i) top = std::max(top, static_cast<double>(in[i * 3]));
    for (std::int64_t i = 0; i < n; ++i) total += std::exp(in[i * 3] - top);
    EXPECT_NEAR(sum, total, total * 1e-5);
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_NEAR(out[i * 2], std::exp(in[i * 3] - top) / total, 1e-6);
      ASSERT_EQ(out[i * 2 + 1], 7);
    }
  }
}

TEST(KernelReduce, NormWithTwoDependentReductions) {
  // d = x - mean; variance by fma; both the normalised row and the mean are stored. 1/n is a scalar.
  Build k(KernelKind::Row, 1);
  const auto x = k.input(kF32), w = k.input(kF32), s = k.scalar(DType::Float64);
  const auto inverse = k.step(OpCode::to, kF32, {s});
  const auto mean = k.step(OpCode::mul, kF32, {k.reduce(OpCode::sum, kF32, x), inverse});
  const auto d = k.step(OpCode::sub, kF32, {x, mean});
  const auto variance =
      k.step(OpCode::mul, kF32, {k.reduce(OpCode::sum, kF32, k.step(OpCode::mul, kF32, {d, d})), inverse});
  k.output(kF32, Access::Unit, k.step(OpCode::mul, kF32, {k.step(OpCode::div, kF32, {d, variance}), w}));
  k.output(kF32, Access::Zero, mean);
  for (std::int64_t n : {3, 64, 777, 6000}) {
    const auto in = noises<float>(static_cast<std::size_t>(n)),
               weights = noises<float>(static_cast<std::size_t>(n), 1, 3);
    std::vector<float> out(static_cast<std::size_t>(n));
    float m = 0;
    run(k.signature,
        Args(k.signature)
            .outer(0, 1)
            .inner(n)
            .operand(0, in.data())
            .operand(1, weights.data())
            .operand(2, out.data())
            .operand(3, &m, 0)
            .scalar(0, 1.0 / static_cast<double>(n)),
        0, 1);
    const float inv = static_cast<float>(1.0 / static_cast<double>(n));
    const float mu = trailing<float>(in, -0.0F, plus<float>) * inv;
    std::vector<float> squares;
    for (float v : in) squares.push_back((v - mu) * (v - mu));
    const float var = trailing<float>(squares, -0.0F, plus<float>) * inv;
    EXPECT_TRUE(sameBits(m, mu));
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_TRUE(sameBits(out[i], (in[i] - mu) / var * weights[i])) << n << " " << i;
  }
}

TEST(KernelReduce, AnyAndAllOfBools) {
  Build k(KernelKind::Row, 1);
  const auto a = k.input(DType::Bool);
  k.output(DType::Bool, Access::Zero, k.reduce(OpCode::any, DType::Bool, a));
  k.output(DType::Bool, Access::Zero, k.reduce(OpCode::all, DType::Bool, a));
  k.output(DType::Int64, Access::Zero, k.reduce(OpCode::sum, DType::Int64, k.step(OpCode::to, DType::Int64, {a})));
  for (std::int64_t n : {1, 7, 32, 45, 5000}) {
    for (int fill : {0, 1, 2}) {
      std::vector<std::uint8_t> x(static_cast<std::size_t>(n), fill == 1);
      if (fill == 2) x[static_cast<std::size_t>(n / 2)] = 1;
      std::uint8_t any = 9, all = 9;
      std::int64_t count = -1;
      run(k.signature,
          Args(k.signature)
              .outer(0, 1)
              .inner(n)
              .operand(0, x.data())
              .operand(1, &any, 0)
              .operand(2, &all, 0)
              .operand(3, &count, 0),
          0, 1);
      EXPECT_EQ(any, fill != 0);
      EXPECT_EQ(all, fill == 1 || (fill == 2 && n == 1));
      EXPECT_EQ(count, fill == 1 ? n : fill == 2 ? 1 : 0);
    }
  }
}

TEST(KernelReduce, Bfloat16AccumulatesInFloat32) {
  Build k(KernelKind::Row, 1);
  k.output(DType::BFloat16, Access::Zero, k.reduce(OpCode::sum, kF32, k.input(DType::BFloat16)));
  const std::size_t n = 1000;
  std::vector<std::uint16_t> x(n);
  std::vector<float> wide(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(noise(i))) >> 16);
    wide[i] = std::bit_cast<float>(std::uint32_t{x[i]} << 16);
  }
  std::uint16_t z = 0;
  run(k.signature, Args(k.signature).outer(0, 1).inner(1000).operand(0, x.data()).operand(1, &z, 0), 0, 1);
  auto bits = std::bit_cast<std::uint32_t>(trailing<float>(wide, -0.0F, plus<float>));
  bits += 0x7fff + ((bits >> 16) & 1);
  EXPECT_EQ(z, bits >> 16);
}

template <class T>
void checkColumns(DType t, Access access, std::int64_t outer, std::int64_t R, std::int64_t n, std::int64_t pieces) {
  Build k(KernelKind::Column, 1);
  k.output(t, Access::Unit, k.reduce(OpCode::sum, t, k.input(t, access)));
  const std::int64_t stride = access == Access::Strided ? 2 : 1;
  const auto x = noises<T>(static_cast<std::size_t>(outer * R * n * stride));
  std::vector<T> z(static_cast<std::size_t>(outer * n + 1), T{3});
  const Args args = Args(k.signature)
                        .outer(0, outer)
                        .inner(n)
                        .reduced(R)
                        .operand(0, x.data(), stride, {R * n * stride}, n * stride)
                        .operand(1, z.data(), 1, {n});
  for (std::int64_t p = 0; p < pieces; ++p)
    run(k.signature, args, outer * n * p / pieces, outer * n * (p + 1) / pieces);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t c = 0; c < n; ++c) {
      std::vector<T> column;
      for (std::int64_t r = 0; r < R; ++r) column.push_back(x[((o * R + r) * n + c) * stride]);
      ASSERT_TRUE(sameBits(z[o * n + c], leading<T>(column, T(-0.0), plus<T>))) << R << "x" << n << " column " << c;
    }
  }
  ASSERT_EQ(z.back(), T{3});
}

TEST(KernelReduce, ColumnsInTheFixedOrder) {
  for (std::int64_t R : {1, 3, 8, 40, 1024, 1025, 9000}) {
    for (std::int64_t n : {1, 7, 16, 300}) {
      checkColumns<float>(kF32, Access::Unit, R > 1000 ? 1 : 2, R, n, 1);
      checkColumns<float>(kF32, Access::Strided, 1, R, n, 2);
    }
  }
  checkColumns<double>(DType::Float64, Access::Unit, 2, 77, 513, 3);
  checkColumns<std::int64_t>(DType::Int64, Access::Unit, 3, 20, 9, 4);
}

TEST(KernelReduce, ColumnsInTheOrderOfRows) {
  for (std::int64_t R : {1, 3, 31, 33, 100, 4096, 4097, 20000}) {
    for (std::int64_t n : {1, 7, 130}) {
      Build k(KernelKind::Column, 0);
      k.signature.trailing = true;
      k.output(kF32, Access::Unit, k.reduce(OpCode::sum, kF32, k.input(kF32, Access::Unit)));
      const auto x = noises<float>(static_cast<std::size_t>(R * n));
      std::vector<float> z(static_cast<std::size_t>(n));
      run(k.signature, Args(k.signature).inner(n).reduced(R).operand(0, x.data(), 1, {}, n).operand(1, z.data()), 0, n);
      for (std::int64_t c = 0; c < n; ++c) {
        std::vector<float> column;
        for (std::int64_t r = 0; r < R; ++r) column.push_back(x[r * n + c]);
        ASSERT_TRUE(sameBits(z[c], trailing<float>(column, -0.0F, plus<float>))) << R << "x" << n << " column " << c;
      }
    }
  }
}

TEST(KernelReduce, ColumnsOfSeveralReducedDims) {
  // Reduced dims of 3, 50 and 40 elements that lie in the opposite order, from element 900 on.
  const std::int64_t n = 21, first = 900, R = 3 * 50 * 40 - first;
  const auto x = noises<float>(static_cast<std::size_t>(n * 3 * 50 * 40));
  for (bool inRows : {false, true}) {
    Build k(KernelKind::Column, 0);
    k.signature.trailing = inRows;
    k.signature.reducedRank = 3;
    k.output(kF32, Access::Unit, k.reduce(OpCode::sum, kF32, k.input(kF32, Access::Unit)));
    std::vector<float> z(static_cast<std::size_t>(n));
    const Args args = Args(k.signature)
                          .inner(n)
                          .reduced(R)
                          .operand(0, x.data())
                          .operand(1, z.data())
                          .reducedDims(first, {50, 40}, {n, 3 * n, 150 * n});
    run(k.signature, args, 0, n);
    for (std::int64_t c = 0; c < n; ++c) {
      std::vector<float> column;
      for (std::int64_t r = first; r < first + R; ++r)
        column.push_back(x[c + (r / 2000 + r / 40 % 50 * 3 + r % 40 * 150) * n]);
      const float expected =
          inRows ? trailing<float>(column, -0.0F, plus<float>) : leading<float>(column, -0.0F, plus<float>);
      ASSERT_TRUE(sameBits(z[c], expected)) << "column " << c;
    }
  }
}

TEST(KernelReduce, ColumnsOfAnExpression) {
  // Sum over r of x * y with y one value a row, finished by a multiplication with a scalar.
  Build k(KernelKind::Column, 0);
  const auto x = k.input(kF32), y = k.input(kF32, Access::Zero), s = k.scalar(DType::Float64);
  const auto total = k.reduce(OpCode::sum, kF32, k.step(OpCode::mul, kF32, {x, y}));
  k.output(kF32, Access::Unit, k.step(OpCode::mul, kF32, {total, k.step(OpCode::to, kF32, {s})}));
  const std::int64_t R = 50, n = 37;
  const auto a = noises<float>(static_cast<std::size_t>(R * n)), b = noises<float>(static_cast<std::size_t>(R), 1, 2);
  std::vector<float> z(static_cast<std::size_t>(n));
  run(k.signature,
      Args(k.signature)
          .inner(n)
          .reduced(R)
          .operand(0, a.data(), 1, {}, n)
          .operand(1, b.data(), 0, {}, 1)
          .operand(2, z.data())
          .scalar(0, 0.25),
      0, n);
  for (std::int64_t c = 0; c < n; ++c) {
    std::vector<float> column;
    for (std::int64_t r = 0; r < R; ++r) column.push_back(a[r * n + c] * b[r]);
    ASSERT_TRUE(sameBits(z[c], leading<float>(column, -0.0F, plus<float>) * 0.25F));
  }
}

}  // namespace
}  // namespace tandem::test
