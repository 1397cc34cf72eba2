#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "runtime/device/thread_pool.h"
#include "tests/unit/counted_new.h"
#include "tests/unit/lib_test_util.h"

namespace tandem {
namespace {

using test::Array;

struct Case {
  std::int64_t n, c, h, w, o, kh, kw, stride, padding, dilation, groups;

  std::int64_t out(std::int64_t size, std::int64_t k) const {
    return (size + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
  }
  Dims input() const { return {n, c, h, w}; }
  Dims weight() const { return {o, c / groups, kh, kw}; }
  Dims output() const { return {n, o, out(h, kh), out(w, kw)}; }
  std::vector<std::int64_t> attrs(const Dims& shape = {}) const {
    std::vector<std::int64_t> a;
    if (!shape.empty()) a.push_back(4);
    a.insert(a.end(), shape.begin(), shape.end());
    for (std::int64_t v : {stride, padding, dilation}) a.insert(a.end(), {2, v, v});
    a.push_back(groups);
    return a;
  }
  std::string text() const {
    return strcat(shapeText(input()), " * ", shapeText(weight()), " stride ", stride, " padding ", padding,
                  " dilation ", dilation, " groups ", groups);
  }
};

/// Calls each(input, weight and output index) for every multiply-add of the convolution.
template <class Each>
void naive(const Case& t, Each each) {
  std::int64_t oh = t.output()[2], ow = t.output()[3], cg = t.c / t.groups, og = t.o / t.groups;
  for (std::int64_t n = 0; n < t.n; ++n)
    for (std::int64_t o = 0; o < t.o; ++o)
      for (std::int64_t y = 0; y < oh; ++y)
        for (std::int64_t x = 0; x < ow; ++x)
          for (std::int64_t c = 0; c < cg; ++c)
            for (std::int64_t i = 0; i < t.kh; ++i)
              for (std::int64_t j = 0; j < t.kw; ++j) {
                std::int64_t h = y * t.stride + i * t.dilation - t.padding;
                std::int64_t w = x * t.stride + j * t.dilation - t.padding;
                if (h < 0 || h >= t.h || w < 0 || w >= t.w) continue;
                each(((n * t.c + o / og * cg + c) * t.h + h) * t.w + w, ((o * cg + c) * t.kh + i) * t.kw + j,
                     ((n * t.o + o) * oh + y) * ow + x);
              }
}

struct Results {
  Array output, inputGrad, weightGrad;
};
Results run(const Case& t, const Array& input, const Array& weight, const Array& grad) {
  DType d = input.view.dtype;
  Results r{Array(d, t.output()), Array(d, t.input()), Array(d, t.weight())};
  test::call(lib::conv2d, {input, weight}, {r.output}, t.attrs());
  test::call(lib::conv2d_input_grad, {grad, weight}, {r.inputGrad}, t.attrs(t.input()));
  test::call(lib::conv2d_weight_grad, {grad, input}, {r.weightGrad}, t.attrs(t.weight()));
  return r;
}

void expectNear(const Array& got, const std::vector<double>& expected, DType t, const std::string& what) {
  double tolerance = t == DType::Float64 ? 1e-11 : t == DType::Float32 ? 1e-4 : t == DType::Float16 ? 0.02 : 0.15;
  if (!isFloating(t)) tolerance = 0;
  for (std::int64_t i = 0; i < got.view.numel(); ++i) {
    double e = expected[static_cast<std::size_t>(i)];
    ASSERT_NEAR(got.get(i), e, tolerance * (1 + std::abs(e))) << what << " at " << i;
  }
}

void check(DType d, const Case& t, std::mt19937& random) {
  Array input = test::randomLayout(d, t.input(), random);
  Array weight = test::randomLayout(d, t.weight(), random);
  Array grad = test::randomLayout(d, t.output(), random);
  std::vector<double> x = input.values(), w = weight.values(), g = grad.values();
  std::vector<double> output(g.size()), inputGrad(x.size()), weightGrad(w.size());
  naive(t, [&](std::size_t i, std::size_t k, std::size_t o) {
    output[o] += x[i] * w[k];
    inputGrad[i] += g[o] * w[k];
    weightGrad[k] += g[o] * x[i];
  });
  Results r = run(t, input, weight, grad);
  expectNear(r.output, output, d, "output of " + t.text());
  expectNear(r.inputGrad, inputGrad, d, "input gradient of " + t.text());
  expectNear(r.weightGrad, weightGrad, d, "weight gradient of " + t.text());
}

Case randomCase(std::mt19937& random) {
  auto pick = [&](int low, int high) { return low + static_cast<std::int64_t>(random() % (high - low + 1)); };
  Case t{};
  t.groups = random() % 3 == 0 ? pick(2, 4) : 1;
  t.n = pick(1, 9), t.c = t.groups * pick(1, 9), t.o = t.groups * pick(1, 9);
  t.kh = pick(1, 4), t.kw = pick(1, 4);
  t.stride = pick(1, 3), t.padding = pick(0, 2), t.dilation = pick(1, 2);
  t.h = t.dilation * (t.kh - 1) + 1 + pick(0, 9), t.w = t.dilation * (t.kw - 1) + 1 + pick(0, 9);
  return t;
}

TEST(LibConv, AgreesWithLoops) {
  std::mt19937 random(1);
  for (DType d : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int32, DType::Int64})
    for (int round = 0; round < 25; ++round) check(d, randomCase(random), random);
}

// More weights than elements of images: the channels are cut. A filter for each channel.
const Case kHeavy[] = {{2, 136, 4, 4, 200, 3, 3, 1, 1, 1, 1},
                       {3, 200, 3, 2, 129, 3, 2, 2, 1, 1, 1},
                       {1, 128, 7, 7, 160, 3, 3, 1, 1, 2, 1},
                       {5, 24, 9, 9, 24, 3, 3, 1, 1, 1, 24},
                       {5, 6, 9, 9, 12, 3, 3, 2, 1, 1, 6}};

TEST(LibConv, MoreWeightsThanImages) {
  std::mt19937 random(5);
  for (const Case& t : kHeavy)
    for (DType d : {DType::Float32, DType::BFloat16}) check(d, t, random);
}

// One image, whose rows are cut; windows of the input's own elements; short sums.
const Case kPieces[] = {{1, 16, 65, 64, 16, 3, 3, 1, 1, 1, 1},  {1, 16, 90, 60, 64, 3, 3, 2, 3, 2, 1},
                        {1, 32, 32, 32, 128, 3, 3, 1, 1, 1, 2}, {1, 16, 50, 50, 48, 2, 3, 1, 6, 1, 1},
                        {3, 64, 15, 15, 130, 1, 1, 1, 0, 1, 1}, {2, 6, 9, 9, 4, 1, 1, 1, 0, 1, 2},
                        {3, 3, 20, 21, 5, 4, 4, 2, 1, 1, 1},    {1, 1, 70, 90, 40, 7, 7, 1, 9, 1, 1}};

TEST(LibConv, PiecesOfImages) {
  std::mt19937 random(6);
  for (const Case& t : kPieces)
    for (DType d : {DType::Float32, DType::BFloat16}) check(d, t, random);
}

// Products by windows, and by channels: rows of windows that are cut, that vectors go on behind, and that are narrow
// with many windows at the edge; several blocks of k; filters whose rows are moved apart; outputs that fill no vector.
const Case kProducts[] = {
    {2, 3, 5, 1100, 8, 3, 3, 1, 1, 1, 1},  {3, 7, 11, 13, 3, 3, 3, 1, 1, 1, 1},   {2, 128, 4, 33, 20, 2, 2, 1, 0, 1, 1},
    {2, 33, 14, 15, 40, 3, 3, 1, 1, 1, 1}, {9, 20, 5, 4, 40, 3, 3, 1, 1, 1, 1},   {40, 33, 2, 2, 17, 3, 3, 1, 1, 1, 1},
    {3, 40, 6, 5, 24, 5, 5, 1, 3, 2, 1},   {2, 30, 15, 13, 35, 3, 3, 2, 1, 1, 1}, {2, 20, 16, 16, 20, 3, 3, 3, 2, 2, 1},
    {7, 36, 8, 8, 20, 4, 4, 2, 1, 1, 2},   {2, 24, 9, 9, 18, 1, 1, 2, 0, 1, 1},   {2, 5, 12, 12, 9, 3, 3, 4, 1, 1, 1},
    {2, 40, 7, 7, 40, 3, 3, 1, 1, 1, 1},   {1, 18, 1, 700, 33, 1, 9, 1, 4, 1, 1}, {5, 9, 1, 2, 20, 5, 5, 3, 3, 1, 1},
    {4, 6, 2, 1, 8, 4, 3, 4, 2, 1, 1},     {4, 6, 1, 1, 8, 3, 3, 2, 3, 2, 1}};

TEST(LibConv, ProductsOfWindows) {
  std::mt19937 random(8);
  for (const Case& t : kProducts)
    for (DType d : {DType::Float32, DType::Float64, DType::BFloat16}) check(d, t, random);
}

// A filter for each channel: by whole vectors, by less than one, all in the padding; larger steps.
const Case kDepthwise[] = {
    {2, 5, 14, 70, 5, 3, 3, 1, 1, 1, 5}, {1, 4, 57, 61, 4, 3, 3, 2, 1, 1, 4}, {3, 4, 7, 7, 4, 3, 3, 1, 1, 1, 4},
    {2, 3, 12, 40, 3, 5, 5, 1, 2, 1, 3}, {1, 3, 12, 40, 3, 5, 5, 2, 2, 2, 3}, {1, 2, 20, 33, 2, 7, 7, 1, 3, 1, 2},
    {2, 3, 9, 5, 3, 2, 4, 2, 1, 1, 3},   {1, 2, 4, 3, 2, 3, 3, 1, 5, 2, 2},   {1, 3, 15, 15, 3, 3, 3, 3, 1, 1, 3},
    {1, 2, 6, 16, 2, 1, 9, 1, 0, 1, 2},  {1, 2, 6, 17, 2, 1, 2, 2, 0, 1, 2},  {2, 2, 1, 23, 2, 1, 3, 2, 1, 3, 2},
    {5, 9, 1, 2, 9, 5, 5, 3, 3, 1, 9},   {4, 6, 2, 1, 6, 4, 3, 4, 2, 1, 6},   {4, 9, 1, 1, 9, 3, 3, 2, 3, 2, 9}};

TEST(LibConv, FilterForEachChannel) {
  std::mt19937 random(7);
  for (const Case& t : kDepthwise)
    for (DType d : {DType::Float32, DType::Float64, DType::BFloat16}) check(d, t, random);
}

TEST(LibConv, EmptySizes) {
  std::mt19937 random(2);
  for (DType d : {DType::Float32, DType::Float64}) {
    check(d, {0, 3, 8, 8, 4, 3, 3, 1, 1, 1, 1}, random);
    check(d, {2, 0, 8, 8, 4, 3, 3, 1, 1, 1, 1}, random);
    check(d, {2, 3, 8, 8, 0, 3, 3, 1, 1, 1, 1}, random);
  }
}

TEST(LibConv, RepeatedCallsAllocateNothing) {
  // On one thread: another one may have its first share of the work in any call, and allocates in it.
  const int threads = numThreads();
  setNumThreads(1);
  std::mt19937 random(9);
  const Case cases[] = {{2, 5, 40, 40, 33, 9, 9, 3, 4, 1, 1},
                        {3, 20, 4, 4, 40, 3, 3, 1, 1, 1, 1},
                        {2, 20, 30, 30, 20, 9, 9, 2, 1, 1, 20},
                        {2, 3, 33, 33, 5, 9, 9, 9, 0, 1, 1}};
  for (int i = 0; i < 8; ++i) {
    const Case& t = cases[i / 2];
    const DType d = i % 2 == 0 ? DType::Float32 : DType::BFloat16;
    Array input(d, t.input()), weight(d, t.weight()), grad(d, t.output());
    for (const Array& a : {input, weight, grad}) test::fillRandom(a, random);
    const Results r = run(t, input, weight, grad);
    const auto attrs = t.attrs(), inputAttrs = t.attrs(t.input()), weightAttrs = t.attrs(t.weight());
    const auto again = [](auto fn, const Array& x, const Array& y, const Array& result, const auto& ofCall) {
      const std::array<ArrayView, 2> in{x.view, y.view};
      const std::array<ArrayView, 1> out{result.view};
      fn({in, out, ofCall, {}});
    };
    const std::int64_t before = test::numNews();
    again(lib::conv2d, input, weight, r.output, attrs);
    again(lib::conv2d_input_grad, grad, weight, r.inputGrad, inputAttrs);
    again(lib::conv2d_weight_grad, grad, input, r.weightGrad, weightAttrs);
    EXPECT_EQ(test::numNews() - before, 0) << t.text();
  }
  setNumThreads(threads);
}

TEST(LibConv, BitsDoNotDependOnThreads) {
  std::mt19937 random(3);
  int before = numThreads();
  for (int i = 0; i < 108; ++i) {
    const int round = i / 2;
    Case t = randomCase(random);
    DType d = i % 2 == 1 ? DType::BFloat16 : round % 4 == 3 && round < 24 ? DType::Float64 : DType::Float32;
    if (round % 4 == 0) t = {32, 16, 14, 14, 32, 3, 3, 1, 1, 1, 1};
    if (round % 4 == 1) t.n = 37, t.h += 20, t.w += 20;
    if (round >= 24) t = round < 29 ? kHeavy[round - 24] : round < 37 ? kPieces[round - 29] : kProducts[round - 37];
    Array input(d, t.input()), weight(d, t.weight()), grad(d, t.output());
    for (const Array& a : {input, weight, grad}) test::fillRandom(a, random);
    setNumThreads(1);
    Results one = run(t, input, weight, grad);
    for (int threads : {2, 3}) {
      setNumThreads(threads);
      Results many = run(t, input, weight, grad);
      ASSERT_TRUE(test::sameBits(one.output, many.output)) << t.text();
      ASSERT_TRUE(test::sameBits(one.inputGrad, many.inputGrad)) << t.text();
      ASSERT_TRUE(test::sameBits(one.weightGrad, many.weightGrad)) << t.text();
    }
  }
  setNumThreads(before);
}

}  // namespace
}  // namespace tandem
