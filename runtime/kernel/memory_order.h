// The dims of an array in the order in which they lie in memory, and memory whose dims lie in such an order.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "runtime/base/shape.h"

namespace tandem {

/// The innermost dim last; dims of size 1 stay before the others.
inline Dims memoryOrder(DimsRef shape, DimsRef strides) {
  Dims order;
  for (std::size_t d = 0; d < shape.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
  auto step = [&](std::int64_t d) {
    return shape[d] == 1 ? std::numeric_limits<std::int64_t>::max() : std::abs(strides[d]);
  };
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return step(a) > step(b); });
  return order;
}

/// Without gaps.
inline Dims stridesInOrder(DimsRef shape, DimsRef order) {
  Dims strides(shape.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= shape[order[i]];
  }
  return strides;
}

}  // namespace tandem
