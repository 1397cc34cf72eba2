#include "autograd/geometry.h"

#include <algorithm>

namespace tandem {

std::vector<std::int64_t> windowAttrs(const Geometry& g) {
  std::vector<std::int64_t> a;
  a.reserve(g.shape.size() * 2 + 3);
  a.push_back(static_cast<std::int64_t>(g.shape.size()));
  a.insert(a.end(), g.shape.begin(), g.shape.end());
  a.push_back(static_cast<std::int64_t>(g.strides.size()));
  a.insert(a.end(), g.strides.begin(), g.strides.end());
  a.push_back(g.offset);
  return a;
}

Dims memoryOrder(DimsRef shape, DimsRef strides) {
  Dims order(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return strides[a] > strides[b]; });
  return order;
}

Geometry inContiguous(DimsRef baseShape, DimsRef baseStrides, DimsRef shape, DimsRef strides, std::int64_t offset) {
  Dims logical = contiguousStrides(baseShape);
  // A distance in memory as whole steps along the base's dims, the longest first. Dims that a view merged are adjacent
  // in memory order, and stay so in the contiguous array.
  auto translate = [&](std::int64_t distance) {
    std::int64_t out = 0;
    for (std::size_t d = 0; d < baseShape.size(); ++d) {
      if (baseShape[d] <= 1 || baseStrides[d] == 0) continue;
      std::int64_t steps = distance / baseStrides[d];
      out += steps * logical[d];
      distance -= steps * baseStrides[d];
    }
    return out;
  };
  Geometry g{Dims(shape.begin(), shape.end()), Dims(shape.size()), translate(offset)};
  for (std::size_t i = 0; i < shape.size(); ++i) g.strides[i] = translate(strides[i]);
  return g;
}

bool liesWithin(DimsRef baseShape, DimsRef baseStrides, DimsRef shape, DimsRef strides, std::int64_t offset) {
  if (numelOf(shape) == 0) return true;
  if (offset < 0 || numelOf(baseShape) == 0) return false;
  // The base with adjacent dims as one: a window may run over their border.
  Dims sizes;
  Dims steps;
  for (std::size_t d = 0; d < baseShape.size(); ++d) {
    if (baseShape[d] <= 1 || baseStrides[d] == 0) continue;
    if (!steps.empty() && steps.back() == baseStrides[d] * baseShape[d]) {
      sizes.back() *= baseShape[d];
      steps.back() = baseStrides[d];
    } else {
      sizes.push_back(baseShape[d]);
      steps.push_back(baseStrides[d]);
    }
  }
  // The largest index along each of these dims that the window comes to.
  Dims last(sizes.size());
  auto walk = [&](std::int64_t distance, std::int64_t times) {
    for (std::size_t d = 0; d < steps.size(); ++d) {
      last[d] += distance / steps[d] * times;
      distance %= steps[d];
    }
    return distance == 0;
  };
  bool whole = walk(offset, 1);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1) whole &= walk(strides[i], shape[i] - 1);
  for (std::size_t d = 0; d < sizes.size(); ++d) whole &= last[d] < sizes[d];
  return whole;
}

bool mayOverlap(const Geometry& g) {
  Dims order = memoryOrder(g.shape, g.strides);
  std::int64_t reach = 0;  // of all inner dims together
  for (std::size_t k = order.size(); k-- > 0;) {
    std::int64_t size = g.shape[order[k]];
    std::int64_t stride = g.strides[order[k]];
    if (size <= 1) continue;
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

}  // namespace tandem
