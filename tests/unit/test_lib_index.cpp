#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "runtime/device/thread_pool.h"
#include "tests/unit/lib_test_util.h"

namespace tandem {
namespace {

using test::Array;
using test::arrayOf;

std::vector<std::int64_t> unravel(std::int64_t i, const Dims& shape) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = i % shape[d];
    i /= shape[d];
  }
  return at;
}
std::int64_t ravel(const std::vector<std::int64_t>& at, const Dims& shape) {
  std::int64_t i = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) i = i * shape[d] + at[d];
  return i;
}
/// Indices from `least` on, below `size`.
Array randomIndex(const Dims& shape, std::int64_t least, std::int64_t size, std::mt19937& random) {
  Array index = test::randomLayout(DType::Int64, shape, random);
  for (std::int64_t i = 0; i < index.view.numel(); ++i)
    index.set(i, static_cast<double>(static_cast<std::int64_t>(random() % (size - least)) + least));
  return index;
}
std::int64_t wrap(double v, std::int64_t size) {
  auto i = static_cast<std::int64_t>(v);
  return i < 0 ? i + size : i;
}
template <class E = IndexError>
void expectError(const std::function<void()>& f, const std::string& text) {
  try {
    f();
    FAIL() << "no error: " << text;
  } catch (const E& e) {
    EXPECT_EQ(std::string(e.what()), text);
  }
}

const DType kTypes[] = {DType::Float32, DType::Float64, DType::Int64, DType::Int8, DType::BFloat16, DType::Float16};

TEST(LibIndex, GatherAndScatter) {
  std::mt19937 random(1);
  for (DType t : kTypes)
    for (int threads : {1, 3})
      for (std::int64_t dim : {0, 1, 2, -1}) {
        setNumThreads(threads);
        Dims shape{5, 7, 11}, indexShape{4, 6, 10};
        auto d = static_cast<std::size_t>((dim + 3) % 3);
        indexShape[d] = 40;
        Array x = test::randomLayout(t, shape, random);
        Array index = randomIndex(indexShape, 0, shape[d], random);
        Array src = test::randomLayout(t, indexShape, random);
        Array gathered(t, indexShape), scattered(t, shape), added(t, shape);
        test::call(lib::gather, {x, index}, {gathered}, {dim});
        test::call(lib::scatter, {x, index, src}, {scattered}, {dim});
        test::call(lib::scatter_add, {x, index, src}, {added}, {dim});
        std::vector<double> lastWritten = x.values(), sums = x.values();
        for (std::int64_t i = 0; i < index.view.numel(); ++i) {
          auto at = unravel(i, indexShape);
          at[d] = static_cast<std::int64_t>(index.get(i));
          auto p = static_cast<std::size_t>(ravel(at, shape));
          ASSERT_EQ(gathered.get(i), x.get(static_cast<std::int64_t>(p)));
          lastWritten[p] = src.get(i);
          if (t == DType::Float64)
            sums[p] = sums[p] + src.get(i);
          else if (isFloating(t))
            sums[p] = static_cast<double>(static_cast<float>(sums[p]) + static_cast<float>(src.get(i)));
          else
            sums[p] += src.get(i);
        }
        ASSERT_EQ(scattered.values(), lastWritten);
        Array expected(t, shape);
        for (std::int64_t i = 0; i < added.view.numel(); ++i) {
          double v = sums[static_cast<std::size_t>(i)];
          expected.set(i, t == DType::Int8 ? static_cast<double>(static_cast<std::int8_t>(static_cast<int>(v))) : v);
        }
        ASSERT_TRUE(test::sameBits(added, expected)) << dtypeName(t);
      }
  setNumThreads(2);
}

TEST(LibIndex, SelectAndAdd) {
  std::mt19937 random(2);
  for (DType t : {DType::Float32, DType::Int32, DType::UInt8})
    for (std::int64_t dim : {0, 1, 2}) {
      Dims shape{5, 7, 11}, picked = shape;
      auto d = static_cast<std::size_t>(dim);
      picked[d] = 9;
      Array x = test::randomLayout(t, shape, random);
      Array index = randomIndex({9}, 0, shape[d], random);
      Array src = test::randomLayout(t, picked, random);
      Array selected(t, picked), added(t, shape), expected(t, shape);
      test::call(lib::index_select, {x, index}, {selected}, {dim});
      test::call(lib::index_add, {x, index, src}, {added}, {dim});
      for (std::int64_t i = 0; i < expected.view.numel(); ++i) expected.set(i, x.get(i));
      // In the order of the index.
      for (std::int64_t j = 0; j < 9; ++j)
        for (std::int64_t i = 0; i < src.view.numel(); ++i) {
          auto at = unravel(i, picked);
          if (at[d] != j) continue;
          at[d] = static_cast<std::int64_t>(index.get(j));
          std::int64_t p = ravel(at, shape);
          ASSERT_EQ(selected.get(i), x.get(p));
          expected.set(p, expected.get(p) + src.get(i));
        }
      ASSERT_TRUE(test::sameBits(added, expected)) << dtypeName(t) << dim;
    }
}

TEST(LibIndex, GetAndPut) {
  std::mt19937 random(3);
  for (DType t : {DType::Float32, DType::Float64, DType::Bool, DType::Int16})
    for (std::int64_t first : {0, 1, 2})
      for (std::int64_t n = 1; first + n <= 4; ++n) {
        Dims shape{3, 4, 5, 6}, indexShape{2, 3}, result;
        for (std::int64_t d = 0; d < 4; ++d) {
          if (d == first) result.append(indexShape.begin(), indexShape.end());
          if (d < first || d >= first + n) result.push_back(shape[static_cast<std::size_t>(d)]);
        }
        Array x = test::randomLayout(t, shape, random);
        Array values = test::randomLayout(t, result, random);
        std::vector<Array> index;
        std::vector<ArrayView> getInputs{x.view}, putInputs{x.view, values.view};
        for (std::int64_t k = 0; k < n; ++k) {
          std::int64_t size = shape[static_cast<std::size_t>(first + k)];
          index.push_back(randomIndex(indexShape, -size, size, random));
          getInputs.push_back(index.back().view);
          putInputs.push_back(index.back().view);
        }
        Array got(t, result), put(t, shape), added(t, shape), expectedPut(t, shape), expectedAdded(t, shape);
        std::vector<std::int64_t> getAttrs{first, 0}, putAttrs{first, 0, 0}, addAttrs{first, 1, 0};
        lib::index_get({getInputs, {&got.view, 1}, getAttrs, {}});
        lib::index_put({putInputs, {&put.view, 1}, putAttrs, {}});
        lib::index_put({putInputs, {&added.view, 1}, addAttrs, {}});
        for (std::int64_t i = 0; i < x.view.numel(); ++i) {
          expectedPut.set(i, x.get(i));
          expectedAdded.set(i, x.get(i));
        }
        for (std::int64_t i = 0; i < got.view.numel(); ++i) {
          auto at = unravel(i, result);
          std::int64_t j = at[static_cast<std::size_t>(first)] * 3 + at[static_cast<std::size_t>(first) + 1];
          std::vector<std::int64_t> from(at.begin(), at.begin() + first);
          for (std::int64_t k = 0; k < n; ++k)
            from.push_back(wrap(index[static_cast<std::size_t>(k)].get(j), shape[static_cast<std::size_t>(first + k)]));
          from.insert(from.end(), at.begin() + first + 2, at.end());
          std::int64_t p = ravel(from, shape);
          ASSERT_EQ(got.get(i), x.get(p));
          expectedPut.set(p, values.get(i));
          expectedAdded.set(p, expectedAdded.get(p) + values.get(i));
        }
        ASSERT_TRUE(test::sameBits(put, expectedPut)) << dtypeName(t) << first << n;
        ASSERT_TRUE(test::sameBits(added, expectedAdded)) << dtypeName(t) << first << n;
      }
}

TEST(LibIndex, PutBroadcastsValues) {
  Array x(DType::Float32, {3, 2}), out(DType::Float32, {3, 2});
  Array one = arrayOf(DType::Float32, {}, {5});
  Array index = arrayOf(DType::Int64, {2}, {0, -1});
  test::call(lib::index_put, {x, one, index}, {out}, {0, 0, 0});
  EXPECT_EQ(out.values(), (std::vector<double>{5, 5, 0, 0, 5, 5}));
}

TEST(LibIndex, OutOfRangeIsNamedBeforeAnythingIsWritten) {
  Array x = arrayOf(DType::Float32, {3}, {1, 2, 3}), out = arrayOf(DType::Float32, {3}, {7, 7, 7});
  Array index = arrayOf(DType::Int64, {3}, {0, -4, 5}), src(DType::Float32, {3}), got(DType::Float32, {3});
  expectError<Error>([&] { test::call(lib::gather, {x, index}, {got}, {0}); },
                     "gather: index -4 is out of bounds for dimension 0 with size 3");
  expectError<Error>([&] { test::call(lib::scatter, {x, index, src}, {out}, {0}); },
                     "scatter: index -4 is out of bounds for dimension 0 with size 3");
  expectError([&] { test::call(lib::index_select, {x, index}, {got}, {0}); },
              "index out of range in self (index_select: index -4 is out of bounds for dimension 0 with size 3)");
  expectError([&] { test::call(lib::index_put, {x, src, index}, {out}, {0, 1, 0}); },
              "index_put: index -4 is out of bounds for dimension 0 with size 3");
  EXPECT_EQ(out.values(), (std::vector<double>{7, 7, 7}));
}

TEST(LibIndex, ClassIndices) {
  std::mt19937 random(8);
  for (Dims shape : {Dims{}, Dims{5}, Dims{3, 4, 2}, Dims{70, 1100}}) {
    Array target = randomIndex(shape, 0, 9, random);
    const std::int64_t n = target.view.numel();
    Array out(DType::Int64, shape);
    // Class 9 is not one of these nine; as the ignored number it becomes 0.
    for (std::int64_t i = 0; i < n; i += 3) target.set(i, 9);
    test::call(lib::class_indices, {target}, {out}, {9, 9});
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(out.get(i), target.get(i) == 9 ? 0 : target.get(i));
    expectError([&] { test::call(lib::class_indices, {target}, {out}, {9, -100}); }, "Target 9 is out of bounds.");
    // The first in row-major order is named, whichever thread meets one first.
    target.set(n - 1, 77);
    target.set(n / 2, -4);
    expectError([&] { test::call(lib::class_indices, {target}, {out}, {9, 9}); }, "Target -4 is out of bounds.");
  }
}

TEST(LibIndex, Bags) {
  std::mt19937 random(9);
  const std::vector<DType> all = {DType::Bool,  DType::UInt8,   DType::Int8,     DType::Int16,   DType::Int32,
                                  DType::Int64, DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};
  for (DType t : all)
    for (std::int64_t width : {0, 1, 7, 77, 300})
      for (bool last : {false, true})
        for (bool weighted : {false, true}) {
          setNumThreads(last ? 1 : 3);
          const std::int64_t n = 40;
          Array table = test::randomLayout(t, {9, width}, random), factors = test::randomLayout(t, {n}, random);
          // Integers whose sums are in the range of every dtype.
          const double least = t == DType::Bool || t == DType::UInt8 ? 0 : -4;
          for (std::int64_t i = 0; i < table.view.numel(); ++i)
            table.set(i, least + static_cast<double>(random() % (t == DType::Bool ? 2 : 8)));
          for (std::int64_t i = 0; i < n; ++i) factors.set(i, static_cast<double>(random() % 2));
          const Array index = randomIndex({n}, 0, 9, random);
          const Array offsets = arrayOf(last ? DType::Int32 : DType::Int64, {5}, {0, 3, 3, 20, 38});
          const std::int64_t bags = last ? 4 : 5;
          const double ends[] = {3, 3, 20, 38, 40};
          const bool mean = isFloating(t) && weighted;
          Array sums(t, {bags, width}), best(t, {bags, width}), rows(DType::Int64, {bags, width});
          Array counts(DType::Int64, {bags});
          test::call(lib::bag_max, {table, index, offsets}, {best, rows}, {2, last});
          const std::vector<std::int64_t> attrs = {2, last, mean, 0};
          if (weighted)
            test::call(lib::bag_sum, {table, index, offsets, factors}, {sums, counts}, attrs);
          else
            test::call(lib::bag_sum, {table, index, offsets}, {sums, counts}, attrs);
          Array sumsWanted(t, {bags, width}), bestWanted(t, {bags, width}), rowsWanted(DType::Int64, {bags, width});
          for (std::int64_t b = 0; b < bags; ++b) {
            std::int64_t counted = 0;
            for (std::int64_t d = 0; d < width; ++d) {
              double sum = 0, most = 0, row = -1;
              counted = 0;
              for (std::int64_t p = static_cast<std::int64_t>(offsets.get(b)); p < ends[b]; ++p) {
                if (index.get(p) == 2) continue;
                const double v = table.get(static_cast<std::int64_t>(index.get(p)) * width + d);
                ++counted;
                sum += v * (weighted ? factors.get(p) : 1);
                if (row < 0 || v > most) most = v, row = index.get(p);
              }
              if (t == DType::Bool) sum = sum != 0 ? 1 : 0;
              sumsWanted.set(b * width + d, mean && counted > 1 ? sum / static_cast<double>(counted) : sum);
              bestWanted.set(b * width + d, most);
              rowsWanted.set(b * width + d, row);
            }
            if (width > 0) {
              ASSERT_EQ(counts.get(b), static_cast<double>(counted));
            }
          }
          ASSERT_TRUE(test::sameBits(best, bestWanted)) << dtypeName(t) << width;
          ASSERT_TRUE(test::sameBits(rows, rowsWanted)) << dtypeName(t) << width;
          for (std::int64_t i = 0; i < sums.view.numel(); ++i)
            ASSERT_NEAR(sums.get(i), sumsWanted.get(i), isFloating(t) ? std::abs(sumsWanted.get(i)) / 100 : 0)
                << dtypeName(t) << width;
        }
  setNumThreads(1);
  Array table(DType::Float32, {3, 2}), out(DType::Float32, {2, 2}), second(DType::Int64, {2});
  const Array index = arrayOf(DType::Int64, {3}, {0, 3, 1});
  expectError<Error>(
      [&] {
        test::call(lib::bag_sum, {table, index, arrayOf(DType::Int64, {2}, {0, 1})}, {out, second}, {-1, 0, 0, 0});
      },
      "embedding_bag: index 3 is out of bounds for dimension 0 with size 3");
  expectError<Error>(
      [&] {
        test::call(lib::bag_sum, {table, index, arrayOf(DType::Int64, {2}, {0, 4})}, {out, second}, {-1, 0, 0, 0});
      },
      "embedding_bag: offsets must begin with 0, not decrease and be at most the length of the input, 3");
}

TEST(LibIndex, EmptySizes) {
  Array x(DType::Float32, {0, 3}), index(DType::Int64, {0, 3}), out(DType::Float32, {0, 3});
  test::call(lib::gather, {x, index}, {out}, {0});
  test::call(lib::scatter_add, {x, index, x}, {out}, {0});
  Array none(DType::Int64, {0}), y(DType::Float32, {4, 2}), picked(DType::Float32, {0, 2});
  test::call(lib::index_select, {y, none}, {picked}, {0});
  Array same(DType::Float32, {4, 2});
  test::call(lib::index_put, {y, picked, none}, {same}, {0, 1, 0});
  EXPECT_EQ(same.values(), y.values());
}

TEST(LibIndex, WindowWrite) {
  Array x = arrayOf(DType::Int32, {6}, {0, 1, 2, 3, 4, 5}), out(DType::Int32, {6});
  test::call(lib::window_write, {x, arrayOf(DType::Int32, {2}, {8, 9})}, {out}, {1, 2, 1, 3, 1});
  EXPECT_EQ(out.values(), (std::vector<double>{0, 8, 2, 3, 9, 5}));
}

TEST(LibIndex, CopiesAnyLayout) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Dims shape;
    for (unsigned d = random() % 5; d > 0; --d) shape.push_back(1 + random() % (round % 10 == 0 ? 40 : 7));
    DType t = kTypes[round % 6];
    Array from = test::randomLayout(t, shape, random), to = test::randomLayout(t, shape, random);
    copyArray(from.view, to.view);
    ASSERT_EQ(from.values(), to.values()) << shapeText(shape);
  }
}

TEST(LibIndex, Cat) {
  std::mt19937 random(6);
  Array a = test::randomLayout(DType::Float32, {2, 3, 4}, random),
        b = test::randomLayout(DType::Float32, {2, 5, 4}, random);
  Array none(DType::Float32, {0}), out(DType::Float32, {2, 8, 4});
  test::call(lib::cat, {a, none, b}, {out}, {1});
  for (std::int64_t i = 0; i < out.view.numel(); ++i) {
    auto at = unravel(i, out.view.shape);
    bool second = at[1] >= 3;
    if (second) at[1] -= 3;
    ASSERT_EQ(out.get(i), second ? b.get(ravel(at, b.view.shape)) : a.get(ravel(at, a.view.shape)));
  }
}

}  // namespace
}  // namespace tandem
