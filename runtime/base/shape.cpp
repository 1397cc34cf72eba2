#include "runtime/base/shape.h"

#include "runtime/base/error.h"

namespace tandem {

std::int64_t wrapDim(std::int64_t dim, std::int64_t rank) {
  std::int64_t range = rank == 0 ? 1 : rank;
  if (dim < -range || dim >= range) [[unlikely]]
    fail<IndexError>("Dimension out of range (expected to be in range of [", -range, ", ", range - 1, "], but got ",
                     dim, ")");
  return dim < 0 ? dim + range : dim;
}

std::int64_t existingDim(std::int64_t dim, std::int64_t rank) {
  if (rank == 0) [[unlikely]]
    fail<IndexError>("Dimension specified as ", dim, " but tensor has no dimensions");
  return wrapDim(dim, rank);
}

Dims broadcastShapes(const char* op, DimsRef a, DimsRef b) {
  std::size_t rank = std::max(a.size(), b.size());
  Dims out(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    std::int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1) [[unlikely]]
      fail(op, ": the shapes ", shapeText(a), " and ", shapeText(b), " do not broadcast: size ", x,
           " must match the size of the other tensor ", y, " at non-singleton dimension ", i);
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Dims broadcastStrides(DimsRef shape, DimsRef strides, DimsRef to) {
  Dims out(to.size());
  std::size_t lead = to.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) out[lead + i] = shape[i] == 1 && to[lead + i] != 1 ? 0 : strides[i];
  return out;
}

bool viewStrides(DimsRef shape, DimsRef strides, DimsRef to, Dims& out) {
  out.resize(to.size());
  if (numelOf(shape) == 0) {
    out = contiguousStrides(to);
    return true;
  }
  // Walk both shapes from the innermost dim, one run of dims that is contiguous in memory at a time.
  std::int64_t t = static_cast<std::int64_t>(to.size()) - 1;
  std::int64_t base = shape.empty() ? 1 : strides[shape.size() - 1];
  std::int64_t run = 1;
  std::int64_t taken = 1;
  for (std::int64_t d = static_cast<std::int64_t>(shape.size()) - 1; d >= 0; --d) {
    run *= shape[d];
    bool ends = d == 0 || (shape[d - 1] != 1 && strides[d - 1] != run * base);
    if (!ends) continue;
    while (t >= 0 && (taken < run || to[t] == 1)) {
      out[t] = taken * base;
      taken *= to[t];
      --t;
    }
    if (taken != run) return false;
    if (d > 0) base = strides[d - 1];
    run = 1;
    taken = 1;
  }
  for (; t >= 0; --t) {
    if (to[t] != 1) return false;
    out[t] = 1;
  }
  return true;
}

std::string shapeText(DimsRef shape) {
  std::string s = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) s += (i != 0 ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

}  // namespace tandem
