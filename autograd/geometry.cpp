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
