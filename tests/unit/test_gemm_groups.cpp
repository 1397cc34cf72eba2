// Products of bfloat16 in groups: every kernel that this processor has, against the order that gemm_groups.h says, to
// the bit.
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/gemm_groups.h"
#include "tests/unit/groups_test_util.h"

namespace tandem::lib {
namespace {

using test::Elements, test::random;

/// One element of a product, by the definition, of pieces of that length; `a` and `b` say where its elements lie.
template <class A, class B>
float element(std::int64_t k, A a, B b, std::int64_t length) {
  float sum = 0;
  for (std::int64_t from = 0; from < k; from += length) {
    test::GroupSum piece;
    for (std::int64_t p = from; p < std::min(k, from + length); ++p) piece.add(a(p), b(p));
    sum = from == 0 ? piece.value() : sum + piece.value();
  }
  return sum;
}

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

struct Kernel {
  const char* name;
  GroupTileFn tile;
  bool flushes;  // takes subnormal numbers for zeros
};
std::vector<Kernel> kernels() {
  std::vector<Kernel> all{{"avx2", avx2::groupTile, false}};
  if (hasAvx512()) all.push_back({"avx512", avx512::groupTile, false});
  if (hasAvx512BFloat16()) all.push_back({"pairs", avx512::pairsGroupTile, true});
  if (amx::hasOrderedTiles()) all.push_back({"amx", amx::groupTile, true});
  return all;
}

TEST(GemmGroups, KernelsAddInOneOrder) {
  std::mt19937 generator(1);
  for (const Kernel& kernel : kernels())
    for (const std::int64_t rows : {1, 5, 12, 31, 32, 33, 70})
      for (const std::int64_t groups : {1, 2, 8, 9, 17})
        for (const float size : {1.0F, 1e-20F}) {
          if (kernel.flushes && size < 1) continue;
          const std::int64_t k = groups * kGroup, lda = k + 6, count = 1 + rows % 3, columns = count * kGroupColumns;
          const Elements a = random(rows * lda, size, generator);
          const Elements b = random(columns * k, size, generator);  // by columns
          // Panels one after the other, and side by side, in two parts of k.
          const bool beside = groups % 2 == 0;
          const std::int64_t row = beside ? columns + 32 : kGroupColumns;
          const std::int64_t stride = beside ? kGroupColumns : k / 2 * kGroupColumns + 64;
          std::vector<Pair> panels(static_cast<std::size_t>(beside ? k / 2 * row : count * stride));
          for (std::int64_t j = 0; j < columns; ++j)
            for (std::int64_t p = 0; p < k; p += 2)
              panels[j / kGroupColumns * stride + p / 2 * row + j % kGroupColumns] =
                  b[j * k + p].bits | Pair{b[j * k + p + 1].bits} << 16;
          const std::int64_t ldc = columns + 3;
          std::vector<float> c(static_cast<std::size_t>(rows * ldc), -7);
          GroupTile tile{rows, beside ? 1 : groups, a.data(), lda, panels.data(), count, stride, c.data(), ldc, row};
          kernel.tile(tile);
          if (beside) {
            tile.a += kGroup, tile.panels += kGroup / 2 * row, tile.groups = groups - 1, tile.add = true;
            kernel.tile(tile);
          }
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
              const float expected = element(
                  k, [&](std::int64_t p) { return a[i * lda + p]; }, [&](std::int64_t p) { return b[j * k + p]; }, k);
              ASSERT_EQ(bits(c[i * ldc + j]), bits(expected))
                  << kernel.name << " " << rows << " rows, " << groups << " groups, at " << i << ", " << j;
            }
            for (std::int64_t j = columns; j < ldc; ++j) ASSERT_EQ(c[i * ldc + j], -7) << "behind a row";
          }
        }
}

/// Sizes at the edges of tiles, groups and panels, layouts, threads; magnitudes whose products would be flushed, in all
/// of a matrix or in one element.
TEST(GemmGroups, Products) {
  std::mt19937 generator(2);
  const int threads = numThreads();
  const std::int64_t sizes[][3] = {{8, 9, 64},      {33, 40, 31},   {17, 18, 33},   {300, 70, 129}, {257, 65, 1},
                                   {129, 520, 300}, {40, 33, 1024}, {513, 31, 290}, {8, 300, 96},   {30, 129, 320},
                                   {2, 70, 100},    {130, 3, 65},   {5, 90, 40},    {12, 20, 5000}, {3, 2500, 4300}};
  for (const auto& [m, n, k] : sizes)
    for (const int layout : {0, 1, 2, 3, 4, 5})
      for (const float size : {1.0F, 1e-19F, 0.0F}) {
        ASSERT_TRUE(isInGroups(m, n, k));
        const bool turnA = (layout & 1) != 0, turnB = (layout & 2) != 0;
        Elements a = random(m * k, size == 0 ? 1 : size, generator);
        const Elements b = random(k * n, size == 0 ? 1 : size, generator);
        if (size == 0) a[a.size() / 2] = toBFloat16(3e-38F);
        Matrix<BFloat16> x{a.data(), turnA ? 1 : k, turnA ? m : 1};
        Matrix<BFloat16> y{b.data(), turnB ? 1 : n, turnB ? k : 1};
        if (layout == 4) x = {a.data(), 1, 1}, y = {b.data(), 1, 1};  // as the windows of a row
        if (layout == 5) x = {a.data(), 0, 1}, y = {b.data(), 1, 0};  // one row, and one column, again and again
        std::vector<float> expected(static_cast<std::size_t>(m * n));
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            expected[i * n + j] = element(
                k, [&](std::int64_t p) { return x.data[i * x.rowStride + p * x.columnStride]; },
                [&](std::int64_t p) { return y.data[p * y.rowStride + j * y.columnStride]; }, pieceLength(m, n, k));
        std::vector<float> wide(expected.size());
        Elements rounded(expected.size());
        for (const int count : {1, threads, 3}) {
          setNumThreads(count);
          groupsGemm(m, n, k, x, y, wide.data(), true);
          groupsGemm(m, n, k, x, y, rounded.data(), false);
          for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ(bits(wide[i]), bits(expected[i])) << m << " " << n << " " << k << " " << layout << " " << size;
            ASSERT_EQ(rounded[i].bits, toBFloat16(expected[i]).bits);
          }
        }
        setNumThreads(threads);
      }
}

/// A result that is written past the caches, with rows at the beginnings of lines and elsewhere, has the rows that
/// smaller products have, with subnormal numbers among them.
TEST(GemmGroups, LargeResults) {
  std::mt19937 generator(3);
  const std::int64_t m = 2100, k = 40, part = 300;
  for (const std::int64_t n : {2048, 2061}) {
    Elements a = random(m * k, 1, generator);
    for (std::int64_t i = 0; i < 3 * k; ++i) a[i] = toBFloat16(1e-20F);
    Elements b = random(k * n, 1, generator);
    for (std::int64_t p = 0; p < k; ++p) b[p * n + 40] = toBFloat16(1e-19F);
    Elements whole(static_cast<std::size_t>(m * n)), rows(static_cast<std::size_t>(part * n));
    groupsGemm(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, whole.data(), false);
    for (std::int64_t i = 0; i < m; i += part) {
      groupsGemm(part, n, k, {a.data() + i * k, k, 1}, {b.data(), n, 1}, rows.data(), false);
      for (std::size_t x = 0; x < rows.size(); ++x) ASSERT_EQ(whole[i * n + x].bits, rows[x].bits) << n << " " << x;
    }
  }
}

}  // namespace
}  // namespace tandem::lib
