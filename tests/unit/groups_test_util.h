// What the tests of products and of convolutions in groups share: elements, and the order that gemm_groups.h says.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "runtime/lib/matmul/gemm_groups.h"

namespace tandem::lib::test {

using Elements = std::vector<BFloat16>;

/// Normal numbers of about that size, some of them zero.
inline Elements random(std::int64_t n, float size, std::mt19937& generator) {
  std::normal_distribution<float> normal(0, size);
  Elements x(static_cast<std::size_t>(n));
  for (BFloat16& e : x) e = generator() % 16 == 0 ? BFloat16{} : toBFloat16(normal(generator));
  return x;
}

/// A sum of products in the order of groups, a term after another.
class GroupSum {
 public:
  void add(BFloat16 a, BFloat16 b) {
    float& chain = chains_[terms_ % 2];
    chain = std::fma(toFloat(a), toFloat(b), chain);
    if (++terms_ % kGroup == 0) end();
  }
  float value() {
    if (terms_ % kGroup != 0) end();
    return sum_;
  }

 private:
  void end() {
    sum_ += chains_[0] + chains_[1];
    chains_[0] = chains_[1] = 0;
  }
  float chains_[2] = {0, 0}, sum_ = 0;
  std::int64_t terms_ = 0;
};

}  // namespace tandem::lib::test
