#include "passes/windows.h"

namespace tandem::passes {

bool isWhole(DimsRef valueShape, DimsRef shape, DimsRef strides, std::int64_t offset) {
  return offset == 0 && std::equal(valueShape.begin(), valueShape.end(), shape.begin(), shape.end()) &&
         isContiguous(shape, strides);
}

std::optional<Place> composeWindows(const Place& inner, DimsRef innerShape, DimsRef shape, DimsRef strides,
                                    std::int64_t offset) {
  const Strided& place = inner;
  std::optional<Strided> composed = composeWindows(place, innerShape, shape, strides, offset);
  if (!composed) return {};
  return Place(inner.value, std::move(*composed));
}

std::optional<Strided> composeWindows(const Strided& inner, DimsRef innerShape, DimsRef shape, DimsRef strides,
                                      std::int64_t offset) {
  Strided out{Dims(shape.size(), 0), inner.offset};
  if (isContiguous(innerShape, inner.strides)) {
    out.strides = Dims(strides);
    out.offset += offset;
    return out;
  }
  // Otherwise each step of the outer window must stay within one dim of the inner one: first where it starts, then
  // which dim each of its own dims moves along.
  Dims linear = contiguousStrides(innerShape);
  Dims room(innerShape.size(), 0);
  std::int64_t rest = offset;
  for (std::size_t d = 0; d < innerShape.size(); ++d) {
    if (innerShape[d] == 0) return out;  // empty: any strides will do
    std::int64_t at = rest / linear[d];
    if (at >= innerShape[d]) return {};
    rest -= at * linear[d];
    out.offset += at * inner.strides[d];
    room[d] = innerShape[d] - 1 - at;
  }
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == 1 || strides[k] == 0) continue;
    if (strides[k] < 0) return {};
    bool found = false;
    for (std::size_t d = 0; d < innerShape.size() && !found; ++d) {
      if (innerShape[d] == 1 || strides[k] % linear[d] != 0) continue;
      std::int64_t step = strides[k] / linear[d];
      if (step * (shape[k] - 1) > room[d]) continue;
      room[d] -= step * (shape[k] - 1);
      out.strides[k] = step * inner.strides[d];
      found = true;
    }
    // One dim of the outer window may also run through several of the inner that merge.
    for (std::size_t d = innerShape.size(); d-- > 0 && !found;) {
      if (linear[d] != strides[k] || innerShape[d] == 1) continue;
      std::int64_t size = innerShape[d];
      bool merges = room[d] == innerShape[d] - 1;
      std::size_t e = d;
      while (merges && size < shape[k] && e > 0) {
        --e;
        if (innerShape[e] == 1) continue;
        merges = inner.strides[e] == inner.strides[d] * size && room[e] == innerShape[e] - 1;
        size *= innerShape[e];
      }
      if (!merges || size != shape[k]) continue;
      for (std::size_t f = e; f <= d; ++f) room[f] = 0;
      out.strides[k] = inner.strides[d];
      found = true;
    }
    if (!found) return {};
  }
  return out;
}

Place placeOf(mlir::Value v) {
  if (auto window = v.getDefiningOp<td::WindowOp>())
    return {window.getSource(), Dims(DimsRef(window.getStrides())), static_cast<std::int64_t>(window.getOffset())};
  return {v, contiguousStrides(td::shapeOf(v)), 0};
}

Dims coreDims(DimsRef shape) {
  Dims core;
  for (std::int64_t size : shape)
    if (size != 1) core.push_back(size);
  return core;
}

std::optional<Dims> broadcastMap(td::WindowOp window) {
  return broadcastMap(td::shapeOf(window.getSource()), td::shapeOf(window), placeOf(window));
}

std::optional<Dims> broadcastMap(DimsRef source, DimsRef shape, const Strided& window) {
  if (window.offset != 0) return {};
  const Dims core = coreDims(source);
  const Dims strides = contiguousStrides(core);
  Dims map;
  std::size_t next = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (window.strides[d] == 0) {
      map.push_back(-1);
    } else if (next < core.size() && core[next] == shape[d] && strides[next] == window.strides[d]) {
      map.push_back(static_cast<std::int64_t>(next++));
    } else {
      return {};
    }
  }
  if (next != core.size()) return {};
  return map;
}

Dims spread(const Dims& space, const Dims& map, const Dims& strides) {
  Dims over(space.size(), 0);
  for (std::size_t d = 0; d < map.size(); ++d) over[static_cast<std::size_t>(map[d])] = strides[d];
  return over;
}

Dims stridesOver(const Dims& space, const Dims& map, mlir::Value operand) {
  return stridesOver(space, map, td::shapeOf(operand), placeOf(operand).strides);
}

Dims stridesOver(const Dims& space, const Dims& map, DimsRef shape, DimsRef strides) {
  return spread(space, map, coreStrides(shape, strides));
}

Dims coreStrides(DimsRef shape, DimsRef strides) {
  Dims core;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) core.push_back(strides[d]);
  return core;
}

}  // namespace tandem::passes
