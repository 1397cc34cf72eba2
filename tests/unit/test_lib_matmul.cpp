#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/half.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/gemm_groups.h"
#include "runtime/lib/matmul/half_rows.h"
#include "tests/unit/lib_test_util.h"

namespace tandem {
namespace {

using test::Array;

/// a @ b in double (or exactly, for integers), one element after the other.
Array naiveMatmul(const Array& a, const Array& b) {
  auto rank = a.view.shape.size();
  std::int64_t m = a.view.shape[rank - 2];
  std::int64_t k = a.view.shape[rank - 1];
  std::int64_t n = b.view.shape[rank - 1];
  Dims shape = a.view.shape;
  shape[rank - 1] = n;
  Array c(DType::Float64, shape);
  std::int64_t batch = numelOf(DimsRef(shape).first(rank - 2));
  for (std::int64_t i = 0; i < batch; ++i)
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += a.get(i * m * k + r * k + p) * b.get(i * k * n + p * n + j);
        c.set(i * m * n + r * n + j, sum);
      }
  return c;
}

Array matmul(const Array& a, const Array& b) {
  Dims shape = a.view.shape;
  shape[shape.size() - 1] = b.view.shape.back();
  Array c(a.view.dtype, shape);
  test::call(lib::matmul, {a, b}, {c}, {});
  return c;
}

/// The same, b packed first.
Array packedMatmul(const Array& a, const Array& b) {
  std::int64_t n = b.view.shape[1];
  Array packed(b.view.dtype, {b.view.shape[0], (n + 63) / 64 * 64});
  test::call(lib::pack_matrix, {b}, {packed}, {});
  Array c(a.view.dtype, {a.view.shape[0], n});
  test::call(lib::matmul_packed, {a, packed}, {c}, {n});
  return c;
}

double tolerance(DType t) {
  switch (t) {
  case DType::Float16:
    return 2e-3;
  case DType::BFloat16:
    return 1e-2;
  case DType::Float32:
    return 2e-5;
  case DType::Float64:
    return 1e-12;
  default:
    return 0;
  }
}

void compare(const Array& a, const Array& b, const char* what) {
  Array c = matmul(a, b);
  Array expected = naiveMatmul(a, b);
  double scale = std::sqrt(static_cast<double>(std::max<std::int64_t>(a.view.shape.back(), 1)));
  // Integers wrap, so their loops' exact sums do too.
  if (!isFloating(a.view.dtype)) {
    lib::withType(a.view.dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      for (std::int64_t i = 0; i < c.view.numel(); ++i)
        if constexpr (std::is_integral_v<T>)
          expected.set(i, static_cast<double>(static_cast<T>(static_cast<std::int64_t>(expected.get(i)))));
    });
  }
  for (std::int64_t i = 0; i < c.view.numel(); ++i)
    ASSERT_NEAR(c.get(i), expected.get(i), tolerance(a.view.dtype) * scale * (1 + std::abs(expected.get(i))))
        << what << " " << shapeText(a.view.shape) << " @ " << shapeText(b.view.shape) << " at " << i;
}

TEST(LibMatmul, AgreesWithLoops) {
  std::mt19937 random(1);
  auto size = [&](int n) { return static_cast<std::int64_t>(random() % n); };
  for (DType t : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int32, DType::Int64,
                  DType::UInt8, DType::Int8, DType::Int16}) {
    for (int round = 0; round < 60; ++round) {
      int top = round % 3 == 0 ? 6 : round % 3 == 1 ? 30 : 100;
      std::int64_t m = size(top), k = size(top), n = size(top);
      Dims a, b;
      for (std::int64_t d = size(3); d > 0; --d) a.push_back(size(3)), b.push_back(a.back());
      a.push_back(m), a.push_back(k), b.push_back(k), b.push_back(n);
      compare(test::randomLayout(t, a, random), test::randomLayout(t, b, random), "random");
    }
  }
}

TEST(LibMatmul, Int8Wraps) {
  Array a(DType::Int8, {1, 2}), b(DType::Int8, {2, 1});
  a.set(0, 100), a.set(1, 100), b.set(0, 2), b.set(1, 1);
  EXPECT_EQ(matmul(a, b).get(0), 300 - 256);
}

TEST(LibMatmul, VectorsOfIntegers) {
  std::mt19937 random(8);
  for (DType t : {DType::Int16, DType::Int32, DType::Int64})
    for (auto [m, n, k] :
         {std::array{1, 1, 15}, {1, 1, 70'001}, {1, 200, 33}, {1, 64, 40}, {130, 1, 50}, {1, 9, 300}}) {
      for (int layout = 0; layout < 4; ++layout)
        compare(test::randomLayout(t, {m, k}, random), test::randomLayout(t, {k, n}, random), "vector");
    }
}

TEST(LibMatmul, LargeAgreesWithLoops) {
  std::mt19937 random(2);
  for (DType t : {DType::Float32, DType::Float64}) {
    for (auto [m, n, k] : {std::array{200, 300, 100}, {1, 500, 700}, {500, 1, 700}, {30, 20, 9000}, {257, 129, 300}})
      compare(test::randomLayout(t, {m, k}, random), test::randomLayout(t, {k, n}, random), "large");
  }
}

TEST(LibMatmul, BitsDoNotDependOnThreadsOrLayout) {
  std::mt19937 random(3);
  int before = numThreads();
  auto side = [&] { return static_cast<std::int64_t>(1) << random() % 9; };
  for (int round = 0; round < 150; ++round) {
    DType t = round % 3 == 2 ? DType::Float64 : DType::Float32;
    std::int64_t m = side() + static_cast<std::int64_t>(random() % 5);
    std::int64_t n = side() + static_cast<std::int64_t>(random() % 5);
    std::int64_t k = round % 10 == 0 ? 4096 + static_cast<std::int64_t>(random() % 3000) : side();
    Dims sa{m, k}, sb{k, n};
    if (round % 4 == 0) sa.insert(0, 1 + random() % 5), sb.insert(0, sa[0]);
    Array a = test::randomLayout(t, sa, random);
    Array b = test::randomLayout(t, sb, random);
    setNumThreads(1);
    Array reference = matmul(a, b);
    for (int threads : {2, 3}) {
      setNumThreads(threads);
      ASSERT_TRUE(test::sameBits(matmul(a, b), reference)) << shapeText(sa) << shapeText(sb) << threads;
      if (sa.size() == 2 && m > 1 && n > 1) {
        ASSERT_TRUE(test::sameBits(packedMatmul(a, b), reference)) << shapeText(sa) << shapeText(sb) << threads;
      }
    }
    setNumThreads(1);
    ASSERT_TRUE(test::sameBits(matmul(test::dense(a), test::dense(b)), reference)) << shapeText(sa) << shapeText(sb);
    setNumThreads(1);
  }
  setNumThreads(before);
}

/// The definition: chains of fused multiply-adds over blocks of 256, the blocks added in order.
template <class T>
Array productOfChains(const Array& a, const Array& b, std::int64_t m, std::int64_t n, std::int64_t k) {
  Array c(sizeof(T) == 4 ? DType::Float32 : DType::Float64, {m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::int64_t k0 = 0; k0 < k; k0 += 256) {
        T chain = 0;
        for (std::int64_t p = k0; p < std::min<std::int64_t>(k, k0 + 256); ++p)
          chain = std::fma(static_cast<T>(a.get(i * k + p)), static_cast<T>(b.get(p * n + j)), chain);
        sum = k0 == 0 ? chain : sum + chain;
      }
      c.set(i * n + j, sum);
    }
  return c;
}

/// With a vector of fewer than 32 elements as well. Small values have chains that end in zeros of either sign. Of few
/// rows or columns, or of narrow rows, each layout is read in its own way.
TEST(LibMatmul, BitsAreThoseOfTheDefinition) {
  std::mt19937 random(4);
  for (auto [m, n, k] :
       {std::array{3, 5, 7}, {17, 33, 300},  {64, 64, 64},   {100, 50, 513}, {7, 130, 256}, {150, 200, 257},
        {2, 70, 300},        {70, 3, 300},   {4, 9, 517},    {33, 16, 130},  {1, 900, 20},  {900, 1, 31},
        {3, 3, 2500},        {4, 2, 2048},   {2, 4, 4100},   {16, 10, 700},  {24, 24, 300}, {10, 16, 256},
        {50, 2, 600},        {2, 50, 520},   {120, 20, 40},  {200, 10, 10},  {107, 50, 3},  {33, 100, 200},
        {99, 39, 256},       {10, 600, 300}, {12, 520, 100}, {100, 17, 512}, {25, 600, 70}, {23, 21, 1000}})
    for (double scale : {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1e-22})
      for (DType t : {DType::Float32, DType::Float64}) {
        Array a = test::randomLayout(t, {m, k}, random), b = test::randomLayout(t, {k, n}, random);
        for (std::int64_t i = 0; i < m * k; ++i) a.set(i, a.get(i) * scale);
        for (std::int64_t i = 0; i < k * n; ++i) b.set(i, b.get(i) * scale);
        const Array expected =
            t == DType::Float32 ? productOfChains<float>(a, b, m, n, k) : productOfChains<double>(a, b, m, n, k);
        ASSERT_TRUE(test::sameBits(matmul(a, b), expected)) << m << " " << n << " " << k << " " << scale;
      }
}

/// Of a result that leaves the cache strips of rows are computed one after the other, from panels of all of k. Each row
/// has the bits that it has in a small product.
TEST(LibMatmul, RowsOfALargeResultAreThoseOfSmallOnes) {
  std::mt19937 random(5);
  const int before = numThreads();
  const auto copyRows = [](const Array& from, std::int64_t first, Array& to, std::int64_t at, std::int64_t count) {
    const std::int64_t width = from.view.shape[1];
    for (std::int64_t i = 0; i < count * width; ++i) to.set(at * width + i, from.get(first * width + i));
  };
  for (auto [m, n, k] : {std::array{1030, 530, 300}, {9000, 60, 260}, {2200, 515, 600}})
    for (DType t : {DType::Float32, DType::Float64}) {
      const Array a = test::randomLayout(t, {m, k}, random), b = test::randomLayout(t, {k, n}, random);
      Array expected(t, {m, n});
      setNumThreads(1);
      for (std::int64_t i = 0; i < m; i += 100) {
        const std::int64_t rows = std::min<std::int64_t>(100, m - i);
        Array some(t, {rows, k});
        copyRows(a, i, some, 0, rows);
        copyRows(matmul(some, b), 0, expected, i, rows);
      }
      for (int threads : {1, 2, 3}) {
        setNumThreads(threads);
        ASSERT_TRUE(test::sameBits(matmul(a, b), expected)) << m << " " << n << " " << k << " " << threads;
        ASSERT_TRUE(test::sameBits(packedMatmul(a, b), expected)) << m << " " << n << " " << k << " " << threads;
      }
    }
  setNumThreads(before);
}

/// A product in groups (gemm_groups.h), by its definition.
Array productInGroups(const Array& a, const Array& b, std::int64_t m, std::int64_t n, std::int64_t k) {
  Array c(DType::Float32, {m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t g = 0; g < k; g += lib::kGroup) {
        float chains[2] = {0, 0};
        for (std::int64_t p = g; p < std::min(k, g + lib::kGroup); ++p)
          chains[p % 2] =
              std::fma(static_cast<float>(a.get(i * k + p)), static_cast<float>(b.get(p * n + j)), chains[p % 2]);
        sum += chains[0] + chains[1];
      }
      c.set(i * n + j, sum);
    }
  return c;
}

/// Half types: the float32 product's bits, rounded, for each layout and number of threads; for small values too. Of
/// bfloat16 large products are in groups.
TEST(LibMatmul, HalfTypesAreTheFloatProductRounded) {
  std::mt19937 random(6);
  int before = numThreads();
  for (DType t : {DType::BFloat16, DType::Float16})
    for (double scale : {1.0, 1e-5, 3e-20})
      for (auto [m, n, k] : {std::array{1, 700, 300},
                             {5, 900, 130},
                             {900, 1, 140},
                             {3, 5, 7},
                             {33, 65, 1},
                             {64, 64, 64},
                             {70, 90, 513},
                             {300, 200, 255},
                             {13, 1100, 320},
                             {500, 17, 2},
                             {97, 33, 8},
                             {40, 64, 64},
                             {1, 1, 9000},
                             {1, 100, 64},
                             {1, 300, 5000},
                             {200, 1, 4097},
                             {1, 40, 20}}) {
        Array a = test::randomLayout(t, {m, k}, random), b = test::randomLayout(t, {k, n}, random);
        Array wideA(DType::Float32, {m, k}), wideB(DType::Float32, {k, n}), expected(t, {m, n});
        for (auto [half, wide] : {std::pair{&a, &wideA}, {&b, &wideB}})
          for (std::int64_t i = 0; i < half->view.numel(); ++i) {
            half->set(i, i % 17 == 0 ? 0 : half->get(i) * scale);
            wide->set(i, half->get(i));
          }
        const bool groups = t == DType::BFloat16 && lib::isInGroups(m, n, k);
        Array wide = groups ? productInGroups(wideA, wideB, m, n, k) : matmul(wideA, wideB);
        for (std::int64_t i = 0; i < wide.view.numel(); ++i) expected.set(i, wide.get(i));
        for (int threads : {1, 2, 3}) {
          setNumThreads(threads);
          ASSERT_TRUE(test::sameBits(matmul(a, b), expected)) << m << " " << n << " " << k << " " << scale;
        }
      }
  setNumThreads(before);
}

TEST(LibMatmul, HalfVectorsOfABatch) {
  std::mt19937 random(7);
  for (DType t : {DType::BFloat16, DType::Float16})
    for (auto [m, n, k] : {std::array{1, 90, 70}, {90, 1, 70}, {1, 1, 50}, {1, 50, 8}}) {
      Array a = test::randomLayout(t, {2, 3, m, k}, random), b = test::randomLayout(t, {2, 3, k, n}, random);
      Array wideA(DType::Float32, {2, 3, m, k}), wideB(DType::Float32, {2, 3, k, n}), expected(t, {2, 3, m, n});
      for (auto [half, wide] : {std::pair{&a, &wideA}, {&b, &wideB}})
        for (std::int64_t i = 0; i < half->view.numel(); ++i) wide->set(i, half->get(i));
      Array wide = matmul(wideA, wideB);
      for (std::int64_t i = 0; i < wide.view.numel(); ++i) expected.set(i, wide.get(i));
      ASSERT_TRUE(test::sameBits(matmul(a, b), expected)) << m << " " << n << " " << k;
    }
}

/// Of programs for devices whose products add a bias: the product in float32, the bias added to it, rounded.
TEST(LibMatmul, HalfTypesWithABias) {
  std::mt19937 random(8);
  for (DType t : {DType::BFloat16, DType::Float16})
    for (auto [batch, m, n, k] :
         {std::array{1, 5, 70, 130}, {3, 33, 6, 20}, {2, 1, 9, 40}, {1, 4, 7, 0}, {2, 0, 7, 3}}) {
      Array a = test::randomLayout(t, {batch, m, k}, random), b = test::randomLayout(t, {batch, k, n}, random);
      Array bias = test::randomLayout(t, {n}, random);
      Array wide(DType::Float32, {batch, m, n}), expected(t, {batch, m, n}), got(t, {batch, m, n});
      test::call(lib::matmul, {a, b}, {wide}, {0, 1});
      for (std::int64_t i = 0; i < wide.view.numel(); ++i)
        expected.set(i, static_cast<float>(wide.get(i)) + static_cast<float>(bias.get(i % n)));
      test::call(lib::matmul, {a, b, bias}, {got}, {0, 0});
      ASSERT_TRUE(test::sameBits(got, expected)) << m << " " << n << " " << k;
    }
}

/// Infinities and NaNs in products that are rounded where they are made.
TEST(LibMatmul, HalfProductsKeepWhatIsNotFinite) {
  Array a(DType::BFloat16, {40, 4}), b(DType::BFloat16, {4, 40});
  for (std::int64_t i = 0; i < 160; ++i) a.set(i, 1), b.set(i, 1);
  a.set(0, std::numeric_limits<double>::infinity());
  a.set(4, -std::numeric_limits<double>::infinity());
  a.set(8, std::numeric_limits<double>::quiet_NaN());
  a.set(12, 3e38), a.set(13, 3e38);
  Array c = matmul(a, b);
  EXPECT_EQ(c.get(39), std::numeric_limits<double>::infinity());
  EXPECT_EQ(c.get(79), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(c.get(119)));
  EXPECT_EQ(c.get(159), std::numeric_limits<double>::infinity());
  EXPECT_EQ(c.get(160), 4);
}

float halved(std::vector<float> values) {
  while (values.size() > 1) {
    std::size_t half = (values.size() + 1) / 2;
    for (std::size_t i = half; i < values.size(); ++i) values[i - half] += values[i];
    values.resize(half);
  }
  return values[0];
}

/// With a vector: 32 chains in blocks of 4096, by halving, and so the blocks.
TEST(LibMatmul, BitsOfAVectorAreThoseOfTheDefinition) {
  std::mt19937 random(5);
  for (auto [m, n, k] : {std::array{1, 40, 700},
                         {70, 1, 700},
                         {1, 1, 5},
                         {1, 1, 4097},
                         {1, 200, 130},
                         {1, 300, 600},
                         {1, 3, 20000},
                         {2, 1, 12288}}) {
    Array a = test::randomLayout(DType::Float32, {m, k}, random);
    Array b = test::randomLayout(DType::Float32, {k, n}, random);
    Array expected(DType::Float32, {m, n});
    for (std::int64_t e = 0; e < m * n; ++e) {
      std::vector<float> blocks;
      for (std::int64_t k0 = 0; k0 < k; k0 += 4096) {
        std::vector<float> chains(32);
        for (std::int64_t p = k0; p < std::min<std::int64_t>(k, k0 + 4096); ++p) {
          float& chain = chains[static_cast<std::size_t>(p % 32)];
          chain = std::fma(static_cast<float>(a.get(e / n * k + p)), static_cast<float>(b.get(p * n + e % n)), chain);
        }
        blocks.push_back(halved(chains));
      }
      expected.set(e, halved(blocks));
    }
    ASSERT_TRUE(test::sameBits(matmul(a, b), expected)) << m << " " << n << " " << k;
  }
}

/// Every upper half of a float32 with lower halves around those that rounding distinguishes: subnormal numbers and NaN
/// among ordinary ones, and stretches that are no whole vectors.
TEST(HalfRows, AreRoundedAsElementsAre) {
  const std::uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  std::vector<float> x;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t low : lower) x.push_back(std::bit_cast<float>(upper << 16 | low));
  std::mt19937 random(7);
  std::vector<float> mixed = x;
  std::ranges::shuffle(mixed, random);
  for (const auto& values : {x, mixed})
    for (const std::size_t n : {values.size(), std::size_t{77}, std::size_t{31}, std::size_t{5}}) {
      std::vector<lib::BFloat16> wide(n);
      std::vector<lib::Half> halves(n);
      lib::narrow(values.data(), wide.data(), static_cast<std::int64_t>(n));
      lib::narrow(values.data(), halves.data(), static_cast<std::int64_t>(n));
      for (std::size_t i = 0; i < n; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(values[i]);
        ASSERT_EQ(wide[i].bits, lib::toBFloat16(values[i]).bits) << std::hex << bits;
        if (values[i] == values[i]) {
          ASSERT_EQ(halves[i].bits, lib::toHalf(values[i]).bits) << std::hex << bits;
        }
      }
    }
}

}  // namespace
}  // namespace tandem
