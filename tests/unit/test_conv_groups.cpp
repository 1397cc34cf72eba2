// Convolutions of bfloat16 in groups, against the order of sums that they say, to the bit.
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/conv_groups.h"
#include "tests/unit/groups_test_util.h"

namespace tandem::lib {
namespace {

using test::Elements, test::GroupSum;

/// As there; of size 0 of size 1, and one whose products are subnormal.
Elements random(std::int64_t n, float size, std::mt19937& generator) {
  Elements x = test::random(n, size == 0 ? 1 : size, generator);
  if (size == 0) x[x.size() / 2] = toBFloat16(3e-38F);
  return x;
}

ConvShape shapeOf(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t o, std::int64_t kh,
                  std::int64_t kw, std::int64_t stride, std::int64_t pad, std::int64_t dilation, std::int64_t groups) {
  const auto out = [&](std::int64_t size, std::int64_t k) {
    return (size + 2 * pad - dilation * (k - 1) - 1) / stride + 1;
  };
  return {n, c, h, w, o, kh, kw, out(h, kh), out(w, kw), stride, stride, pad, pad, dilation, dilation, groups};
}

/// The element of an image, zero outside of it.
BFloat16 at(const Elements& x, std::int64_t plane, std::int64_t h, std::int64_t w, std::int64_t y, std::int64_t z) {
  if (y < 0 || y >= h || z < 0 || z >= w) return {};
  return x[static_cast<std::size_t>((plane * h + y) * w + z)];
}

float outputOf(const ConvShape& s, const Elements& input, const Elements& weight, std::int64_t n, std::int64_t o,
               std::int64_t y, std::int64_t x) {
  GroupSum sum;
  const std::int64_t group = o / s.groupOutputs();
  for (std::int64_t c = 0; c < s.groupChannels(); ++c)
    for (std::int64_t i = 0; i < s.kh; ++i)
      for (std::int64_t j = 0; j < s.kw; ++j)
        sum.add(weight[((o * s.groupChannels() + c) * s.kh + i) * s.kw + j],
                at(input, n * s.c + group * s.groupChannels() + c, s.h, s.w, y * s.strideH + i * s.dilationH - s.padH,
                   x * s.strideW + j * s.dilationW - s.padW));
  return sum.value();
}

/// Places of the filter at which no window sees the element, whatever its row and column, are no terms.
float inputGradOf(const ConvShape& s, const Elements& grad, const Elements& weight, std::int64_t n, std::int64_t c,
                  std::int64_t y, std::int64_t x) {
  GroupSum sum;
  const std::int64_t group = c / s.groupChannels();
  for (std::int64_t o = group * s.groupOutputs(); o < (group + 1) * s.groupOutputs(); ++o)
    for (std::int64_t i = 0; i < s.kh; ++i)
      for (std::int64_t j = 0; j < s.kw; ++j) {
        const std::int64_t row = y + s.padH - i * s.dilationH, column = x + s.padW - j * s.dilationW;
        if (row % s.strideH != 0 || column % s.strideW != 0) continue;
        sum.add(weight[((o * s.groupChannels() + c % s.groupChannels()) * s.kh + i) * s.kw + j],
                at(grad, n * s.o + o, s.oh, s.ow, row / s.strideH, column / s.strideW));
      }
  return sum.value();
}

/// Of one block of windows.
float weightGradOf(const ConvShape& s, const Elements& grad, const Elements& input, std::int64_t o, std::int64_t c,
                   std::int64_t i, std::int64_t j) {
  GroupSum sum;
  const std::int64_t plane = o / s.groupOutputs() * s.groupChannels() + c;
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t y = 0; y < s.oh; ++y)
      for (std::int64_t x = 0; x < s.ow; ++x)
        sum.add(at(input, n * s.c + plane, s.h, s.w, y * s.strideH + i * s.dilationH - s.padH,
                   x * s.strideW + j * s.dilationW - s.padW),
                grad[((n * s.o + o) * s.oh + y) * s.ow + x]);
  return sum.value();
}

/// Calls each(the four places of an element) in the order of memory.
template <class Each>
void eachElement(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d, Each each) {
  for (std::int64_t i = 0; i < a * b * c * d; ++i) each(i / (b * c * d), i / (c * d) % b, i / d % c, i % d);
}

/// Runs a convolution with some numbers of threads, wide and rounded, and expects what `element` gives.
template <class Run, class Element>
void expectBits(const std::array<std::int64_t, 4>& shape, Run run, Element element, const char* what) {
  std::vector<float> expected;
  eachElement(shape[0], shape[1], shape[2], shape[3], [&](auto... place) { expected.push_back(element(place...)); });
  std::vector<float> wide(expected.size());
  Elements rounded(expected.size());
  const int threads = numThreads();
  for (const int count : {1, threads, 3}) {
    setNumThreads(count);
    run(wide.data(), true);
    run(rounded.data(), false);
    setNumThreads(threads);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(wide[i], expected[i]) << what << " at " << i;
      ASSERT_EQ(toFloat(rounded[i]), toFloat(toBFloat16(expected[i]))) << what << " at " << i;
    }
  }
}

/// Small planes and wide ones, cut by rows and by columns; steps, padding beyond the filter, dilation, groups; k of odd
/// sizes and of several blocks; places of the filter that no row or column sees.
TEST(ConvGroups, AddInTheirOrder) {
  const ConvShape shapes[] = {
      shapeOf(2, 8, 9, 9, 8, 3, 3, 1, 1, 1, 1),     shapeOf(3, 33, 7, 7, 17, 3, 3, 1, 1, 1, 1),
      shapeOf(1, 40, 30, 26, 33, 3, 3, 1, 1, 1, 1), shapeOf(2, 16, 11, 40, 12, 3, 3, 2, 1, 1, 1),
      shapeOf(1, 16, 3, 700, 9, 1, 5, 1, 3, 1, 1),  shapeOf(2, 24, 12, 13, 34, 2, 2, 1, 0, 2, 2),
      shapeOf(5, 32, 4, 4, 64, 3, 3, 1, 1, 1, 1),   shapeOf(2, 30, 13, 9, 35, 5, 3, 3, 4, 1, 1),
      shapeOf(3, 20, 8, 8, 24, 1, 1, 2, 0, 1, 1),   shapeOf(1, 300, 6, 5, 40, 3, 3, 1, 1, 1, 1)};
  std::mt19937 generator(1);
  int forward = 0, inputGrads = 0, weightGrads = 0;
  for (const ConvShape& s : shapes)
    for (const float size : {1.0F, 1e-19F, 0.0F}) {
      const Elements input = random(s.n * s.inputSize(), size, generator);
      const Elements weight = random(s.weightSize(), size, generator);
      const Elements grad = random(s.n * s.outputSize(), size, generator);
      if (isForwardInGroups(s) && ++forward > 0)
        expectBits(
            {s.n, s.o, s.oh, s.ow},
            [&](void* to, bool wide) { groupsForward(s, input.data(), weight.data(), to, wide); },
            [&](auto... place) { return outputOf(s, input, weight, place...); }, "output");
      if (isInputGradInGroups(s) && ++inputGrads > 0)
        expectBits(
            {s.n, s.c, s.h, s.w},
            [&](void* to, bool wide) { groupsInputGrad(s, grad.data(), weight.data(), to, wide); },
            [&](auto... place) { return inputGradOf(s, grad, weight, place...); }, "input gradient");
      if (isWeightGradInGroups(s) && s.n * s.oh * s.ow <= 512 && ++weightGrads > 0)
        expectBits(
            {s.o, s.groupChannels(), s.kh, s.kw},
            [&](void* to, bool wide) { groupsWeightGrad(s, grad.data(), input.data(), to, wide); },
            [&](auto... place) { return weightGradOf(s, grad, input, place...); }, "weight gradient");
    }
  EXPECT_GE(forward, 24);
  EXPECT_GE(inputGrads, 24);
  EXPECT_GE(weightGrads, 18);
}

/// Not-a-numbers and infinities are seen by the windows that see them, and by no others.
TEST(ConvGroups, SpecialValues) {
  const ConvShape s = shapeOf(2, 16, 7, 9, 16, 3, 3, 1, 1, 1, 1);
  std::mt19937 generator(2);
  Elements input = random(s.n * s.inputSize(), 1, generator), weight = random(s.weightSize(), 1, generator);
  for (BFloat16& e : weight) e = toBFloat16(std::abs(toFloat(e)) + 1);
  input[static_cast<std::size_t>(3 * s.w + 8)] = toBFloat16(INFINITY);  // the last of a row
  std::vector<float> output(static_cast<std::size_t>(s.n * s.outputSize()));
  groupsForward(s, input.data(), weight.data(), output.data(), true);
  eachElement(s.n, s.o, s.oh, s.ow, [&, i = 0](auto n, auto, auto y, auto x) mutable {
    EXPECT_EQ(std::isinf(output[i++]), n == 0 && std::abs(y - 3) <= 1 && x >= 7);
  });
}

}  // namespace
}  // namespace tandem::lib
