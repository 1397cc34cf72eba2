// Inputs that fill a stretch of the space only, in kernels of every kind, beside the same kernels on whole arrays.
#include <gtest/gtest.h>

#include "tests/unit/kernel_test_util.h"

namespace tandem::test {
namespace {

constexpr std::int64_t kRows = 5;

/// The whole array that a frame stands for.
template <class T>
std::vector<T> whole(const std::vector<T>& value, std::int64_t begin, T fill, std::int64_t size) {
  std::vector<T> all(static_cast<std::size_t>(size), fill);
  std::copy(value.begin(), value.end(), all.begin() + begin);
  return all;
}

/// Runs the same kernel with its first input framed and whole. `units` says how many units there are of n columns.
template <class T>
void compare(DType t, KernelKind kind, OpCode reduce, std::int64_t n) {
  bool column = kind == KernelKind::Column;
  std::int64_t blocks = (n + kTrailingBlock - 1) / kTrailingBlock;
  auto build = [&](Access access) {
    Build k(kind, column ? 0 : 1);
    const auto a = k.input(t, access);
    if (access == Access::Framed) k.input(t, Access::Zero);
    const auto b = k.input(t);
    const auto product = k.step(OpCode::mul, t, {a, b});
    k.output(t, column || kind == KernelKind::Partial ? Access::Unit : Access::Zero, k.reduce(reduce, t, product));
    if (kind == KernelKind::Row) k.output(t, Access::Unit, product);
    return k.signature;
  };
  const KernelSignature framed = build(Access::Framed);
  const KernelSignature plain = build(Access::Unit);
  std::int64_t units = column ? n : kind == KernelKind::Partial ? kRows * blocks : kRows;
  const auto y = noises<T>(static_cast<std::size_t>(kRows * n), 8, 2);
  const T fill = static_cast<T>(3);
  for (std::int64_t begin : {std::int64_t{0}, n / 3, n - 1, n, 2 * n + 1, kRows * n - 1}) {
    for (std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, n, 2 * n + 5}) {
      if (begin + count > kRows * n) continue;
      const auto value = noises<T>(static_cast<std::size_t>(count), 8, 1);
      const std::vector<T> all = whole(value, begin, fill, kRows * n);
      std::vector<T> sums(static_cast<std::size_t>(units + 1), T(99)), wantedSums = sums;
      std::vector<T> products(static_cast<std::size_t>(kRows * n)), wantedProducts = products;
      auto args = [&](const KernelSignature& s, bool isFramed, std::vector<T>& to, std::vector<T>& each) {
        Args a(s);
        std::size_t k = 0;
        auto operand = [&](const T* data, std::int64_t inner, std::int64_t row) {
          column ? a.operand(k++, data, inner, {}, row) : a.operand(k++, data, inner, {row});
        };
        column ? a.reduced(kRows) : a.outer(0, kRows);
        a.inner(n);
        operand(isFramed ? value.data() : all.data(), 1, n);
        if (isFramed) operand(&fill, 0, 0);
        operand(y.data(), 1, n);
        operand(to.data(), 1, column ? 0 : kind == KernelKind::Partial ? blocks : 1);
        if (kind == KernelKind::Row) operand(each.data(), 1, n);
        if (isFramed) a.frame(0, begin, count);
        return a;
      };
      run(framed, args(framed, true, sums, products), 0, units);
      run(plain, args(plain, false, wantedSums, wantedProducts), 0, units);
      ASSERT_EQ(std::memcmp(sums.data(), wantedSums.data(), sums.size() * sizeof(T)), 0) << n << " " << begin;
      ASSERT_EQ(std::memcmp(products.data(), wantedProducts.data(), products.size() * sizeof(T)), 0) << begin;
    }
  }
}

TEST(KernelFramed, ReadsAStretchAndFillsTheRest) {
  for (KernelKind kind : {KernelKind::Row, KernelKind::Column, KernelKind::Partial}) {
    for (std::int64_t n : {1, 3, 8, 37, 200}) compare<float>(DType::Float32, kind, OpCode::sum, n);
    compare<float>(DType::Float32, kind, OpCode::amax, 9000);
    compare<double>(DType::Float64, kind, OpCode::sum, 67);
    compare<std::int8_t>(DType::Int8, kind, OpCode::amax, 67);
    compare<std::int64_t>(DType::Int64, kind, OpCode::sum, 33);
  }
}

TEST(KernelFramed, SeveralInOneKernel) {
  Build k(KernelKind::Row);
  const auto a = k.input(DType::Float32, Access::Framed);
  k.input(DType::Float32, Access::Zero);
  const auto b = k.input(DType::Float32, Access::Framed);
  k.input(DType::Float32, Access::Zero);
  k.output(DType::Float32, Access::Unit, k.step(OpCode::add, DType::Float32, {a, b}));
  const auto x = noises<float>(20), y = noises<float>(50, 1, 1);
  const float zero = 0, one = 1;
  std::vector<float> z(100);
  const Args args = Args(k.signature)
                        .inner(100)
                        .operand(0, x.data())
                        .operand(1, &zero, 0)
                        .operand(2, y.data())
                        .operand(3, &one, 0)
                        .operand(4, z.data())
                        .frame(0, 80, 20)
                        .frame(1, 33, 50);
  run(k.signature, args, 0, 100);
  const auto first = whole(x, 80, zero, 100), second = whole(y, 33, one, 100);
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(z[i], first[i] + second[i]) << i;
}

}  // namespace
}  // namespace tandem::test
