#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/indexing/nonzero.h"
#include "runtime/lib/random/key_order.h"
#include "tests/unit/lib_test_util.h"

namespace tandem {
namespace {

using test::Array;
using test::arrayOf;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> line(const Array& x, std::size_t dim, std::int64_t o) {
  std::int64_t inner = 1;
  for (std::size_t d = dim + 1; d < x.view.shape.size(); ++d) inner *= x.view.shape[d];
  std::int64_t n = x.view.shape[dim];
  std::vector<double> v;
  for (std::int64_t r = 0; r < n; ++r) v.push_back(x.get((o / inner * n + r) * inner + o % inner));
  return v;
}

TEST(LibOrder, SortIsStableAndPutsNanLast) {
  Array x = arrayOf(DType::Float32, {6}, {2, kNan, -kInf, 2, kNan, 1}), v(DType::Float32, {6}), i(DType::Int64, {6});
  test::call(lib::sort, {x}, {v, i}, {-1, 0, 1});
  EXPECT_EQ(i.values(), (std::vector<double>{2, 5, 0, 3, 1, 4}));
  EXPECT_EQ(v.get(0), -kInf);
  EXPECT_TRUE(std::isnan(v.get(5)));
  test::call(lib::sort, {x}, {v, i}, {-1, 1, 1});
  EXPECT_EQ(i.values(), (std::vector<double>{1, 4, 0, 3, 5, 2}));
}

TEST(LibOrder, SortAndTopKOfRandomLines) {
  std::mt19937 random(1);
  for (DType t : {DType::Float64, DType::Int32, DType::BFloat16, DType::Bool})
    for (std::int64_t dim : {0, 1, 2})
      for (bool descending : {false, true}) {
        Dims shape{4, 30, 5}, top = shape;
        auto d = static_cast<std::size_t>(dim);
        top[d] = 3;
        Array x = test::randomLayout(t, shape, random);
        Array v(t, shape), i(DType::Int64, shape), kv(t, top), ki(DType::Int64, top);
        test::call(lib::sort, {x}, {v, i}, {dim, descending, 0});
        test::call(lib::topk, {x}, {kv, ki}, {3, dim, descending, 1});
        for (std::int64_t o = 0; o < x.view.numel() / shape[d]; ++o) {
          auto values = line(x, d, o);
          std::vector<double> order(values.size());
          std::iota(order.begin(), order.end(), 0);
          std::stable_sort(order.begin(), order.end(), [&](double a, double b) {
            double p = values[static_cast<std::size_t>(a)], q = values[static_cast<std::size_t>(b)];
            return descending ? p > q : p < q;
          });
          ASSERT_EQ(line(i, d, o), order);
          order.resize(3);
          ASSERT_EQ(line(ki, d, o), order);
          ASSERT_EQ(line(v, d, o)[2], line(kv, d, o)[2]);
        }
      }
}

TEST(LibOrder, ArgMaxTakesTheFirstAndNanWins) {
  Array x = arrayOf(DType::Float32, {2, 3}, {1, 5, 5, 3, kNan, kNan}), one(DType::Int64, {}), rows(DType::Int64, {2});
  test::call(lib::argmax, {x}, {one}, {0, 0});
  EXPECT_EQ(one.get(0), 4);
  test::call(lib::argmax, {x}, {rows}, {1, 1, 0});
  EXPECT_EQ(rows.values(), (std::vector<double>{1, 1}));
  test::call(lib::argmin, {x}, {rows}, {1, -1, 0});
  EXPECT_EQ(rows.values(), (std::vector<double>{0, 1}));
  Array v(DType::Float32, {3}), i(DType::Int64, {3});
  test::call(lib::max_dim, {x}, {v, i}, {0, 0});
  EXPECT_EQ(i.values(), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(v.get(0), 3);
  EXPECT_TRUE(std::isnan(v.get(1)));
  test::call(lib::min_dim, {x}, {v, i}, {0, 0});
  EXPECT_EQ(i.values(), (std::vector<double>{0, 1, 1}));
  Array empty(DType::Float32, {0});
  EXPECT_THROW(test::call(lib::argmax, {empty}, {one}, {0, 0}), IndexError);
}

TEST(LibOrder, ArgMaxOfManyDoesNotDependOnThreads) {
  std::mt19937 random(2);
  Array x(DType::Int32, {300001}), one(DType::Int64, {});
  test::fillRandom(x, random);
  auto values = x.values();
  auto expected = std::max_element(values.begin(), values.end()) - values.begin();
  for (int threads : {1, 2, 3}) {
    setNumThreads(threads);
    test::call(lib::argmax, {x}, {one}, {0, 0});
    EXPECT_EQ(one.get(0), static_cast<double>(expected));
  }
  setNumThreads(2);
}

TEST(LibOrder, ScansRunAlongTheDim) {
  std::mt19937 random(3);
  for (DType t : {DType::Float32, DType::Float64, DType::Int32, DType::BFloat16})
    for (std::int64_t dim : {0, 1, 2}) {
      Dims shape{3, 5, 700};
      if (dim != 2) shape[2] = 4;
      Array x = test::randomLayout(t, shape, random), sums(t, shape), products(t, shape);
      for (std::int64_t i = 0; i < x.view.numel(); ++i) x.set(i, 1 + static_cast<double>(random() % 2));
      test::call(lib::cumsum, {x}, {sums}, {dim});
      test::call(lib::cumprod, {x}, {products}, {dim});
      auto d = static_cast<std::size_t>(dim);
      for (std::int64_t o = 0; o < x.view.numel() / shape[d]; ++o) {
        auto values = line(x, d, o), s = line(sums, d, o), p = line(products, d, o);
        float sum = 0, product = 1;
        for (std::size_t r = 0; r < values.size(); ++r) {
          sum += static_cast<float>(values[r]);
          product *= static_cast<float>(values[r]);
          ASSERT_EQ(s[r], t == DType::BFloat16 ? lib::toFloat(lib::toBFloat16(sum)) : sum);
          if (r < 20) {
            ASSERT_EQ(p[r], product);
          }
        }
      }
    }
}

TEST(LibOrder, Nonzero) {
  std::mt19937 random(4);
  for (Dims shape : {Dims{}, Dims{7}, Dims{0, 3}, Dims{40, 5, 300}}) {
    Array x = test::randomLayout(DType::Bool, shape, random);
    for (std::int64_t i = 0; i < x.view.numel(); ++i) x.set(i, random() % 3 == 0 ? 1 : 0);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < x.view.numel(); ++i) count += x.get(i) != 0 ? 1 : 0;
    Array out(DType::Int64, {count, static_cast<std::int64_t>(shape.size())});
    test::call(lib::nonzero_rows, {x, arrayOf(DType::Int64, {}, {static_cast<double>(count)})}, {out}, {count});
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < x.view.numel(); ++i) {
      if (x.get(i) == 0) continue;
      std::int64_t flat = 0;
      for (std::size_t d = 0; d < shape.size(); ++d)
        flat = flat * shape[d] + static_cast<std::int64_t>(out.get(row * static_cast<std::int64_t>(shape.size()) +
                                                                   static_cast<std::int64_t>(d)));
      ASSERT_EQ(flat, i);
      ++row;
    }
    ASSERT_EQ(row, count);
  }
}

TEST(LibOrder, RandPerm) {
  Array a(DType::Int64, {10000}), b(DType::Int64, {10000}), c(DType::Int64, {10000});
  test::call(lib::randperm, {}, {a}, {10000}, {7, 0});
  setNumThreads(1);
  test::call(lib::randperm, {}, {b}, {10000}, {7, 0});
  setNumThreads(2);
  test::call(lib::randperm, {}, {c}, {10000}, {7, 1});
  EXPECT_TRUE(test::sameBits(a, b));
  EXPECT_FALSE(test::sameBits(a, c));
  auto values = a.values();
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<double>(i));
}

// Keys that are drawn have equal leading bits once in a while, and next to never all of them.
TEST(LibOrder, EqualKeysAreInTheOrderOfTheirNumbers) {
  for (std::int64_t n : {0, 1, 2, 5, 1000, 70000, 300000}) {
    for (std::uint64_t different :
         {~std::uint64_t{0}, std::uint64_t{0x3fff} << 50, std::uint64_t{0xfff8000000000007}}) {
      std::mt19937_64 bits(3);
      std::vector<std::uint64_t> keys;
      std::vector<std::int64_t> packed, order(static_cast<std::size_t>(n)), expected(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) {
        keys.push_back(bits() & different);
        packed.push_back(lib::packKey(keys.back(), i, lib::indexBits(n)));
      }
      auto keyOf = [&](std::int64_t i) { return keys[static_cast<std::size_t>(i)]; };
      lib::orderByKeys(packed.data(), n, keyOf, order.data());
      std::iota(expected.begin(), expected.end(), std::int64_t{0});
      std::stable_sort(expected.begin(), expected.end(),
                       [&](std::int64_t a, std::int64_t b) { return keyOf(a) < keyOf(b); });
      ASSERT_EQ(order, expected) << n << " " << different;
    }
  }
}

TEST(LibOrder, MaxPool) {
  std::mt19937 random(5);
  for (DType t : {DType::Float32, DType::Float64, DType::BFloat16})
    for (int round = 0; round < 40; ++round) {
      std::int64_t k = 1 + random() % 3, s = 1 + random() % 3, dil = 1 + random() % 2;
      std::int64_t p = random() % (k / 2 + 1), h = 6 + random() % 5, w = 6 + random() % 5;
      bool ceil = random() % 2 == 0;
      auto size = [&](std::int64_t in) {
        std::int64_t room = in + 2 * p - dil * (k - 1) - 1;
        std::int64_t out = (room + (ceil ? s - 1 : 0)) / s + 1;
        return (out - 1) * s >= in + p ? out - 1 : out;
      };
      Array x = test::randomLayout(t, {2, 3, h, w}, random);
      if (round % 4 == 0) x.set(17, kNan), x.set(23, -kInf);
      Dims shape{2, 3, size(h), size(w)};
      Array v(t, shape), idx(DType::Int64, shape);
      test::call(lib::max_pool, {x}, {v, idx}, {2, k, k, 2, s, s, 2, p, p, 2, dil, dil, 2, shape[2], shape[3]});
      for (std::int64_t o = 0; o < v.view.numel(); ++o) {
        std::int64_t ow = o % shape[3], oh = o / shape[3] % shape[2], plane = o / shape[3] / shape[2];
        double best = -kInf;
        for (std::int64_t i = 0; i < k; ++i)
          for (std::int64_t j = 0; j < k; ++j) {
            std::int64_t y = oh * s - p + i * dil, z = ow * s - p + j * dil;
            if (y < 0 || y >= h || z < 0 || z >= w) continue;
            double e = x.get((plane * h + y) * w + z);
            if (!(e <= best) && !std::isnan(best)) best = e;
          }
        double got = v.get(o);
        ASSERT_TRUE(got == best || (std::isnan(got) && std::isnan(best)));
        double there = x.get(plane * h * w + static_cast<std::int64_t>(idx.get(o)));
        ASSERT_TRUE(there == best || (std::isnan(there) && std::isnan(best)));
      }
    }
}

TEST(LibOrder, HalfConversionsRoundToNearestEven) {
  for (std::uint32_t u = 0; u < 0x10000; ++u) {
    lib::Half h{static_cast<std::uint16_t>(u)};
    float f = lib::toFloat(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(lib::toFloat(lib::toHalf(f))));
      continue;
    }
    ASSERT_EQ(lib::toHalf(f).bits, u);
    // Half-way to the next number goes to the even one.
    lib::Half next{static_cast<std::uint16_t>(u + 1)};
    float g = lib::toFloat(next);
    if ((u & 0x8000) != 0 || std::isinf(g) || std::isnan(g)) continue;
    float middle = static_cast<float>((static_cast<double>(f) + static_cast<double>(g)) / 2);
    ASSERT_EQ(lib::toHalf(middle).bits, u % 2 == 0 ? u : u + 1);
    ASSERT_EQ(lib::toHalf(std::nextafter(middle, 1e9F)).bits, u + 1);
    ASSERT_EQ(lib::toHalf(std::nextafter(middle, -1e9F)).bits, u);
  }
  EXPECT_EQ(lib::toHalf(65520.0F).bits, 0x7c00);
  EXPECT_EQ(lib::toHalf(65519.99F).bits, 0x7bff);
  EXPECT_EQ(lib::toBFloat16(1.00390625F).bits, 0x3f80);
  EXPECT_EQ(lib::toBFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

}  // namespace
}  // namespace tandem
