#include "eager/overlap.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem {
namespace {

/// (stride, size) of the dims with more than one element.
std::vector<std::pair<std::int64_t, std::int64_t>> longDims(const Tensor& t) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t d = 0; d < t.shape().size(); ++d)
    if (t.shape()[d] > 1) dims.emplace_back(t.strides()[d], t.shape()[d]);
  return dims;
}

/// The same, the smallest stride first.
std::vector<std::pair<std::int64_t, std::int64_t>> fromInnermost(const Tensor& t) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims = longDims(t);
  std::sort(dims.begin(), dims.end());
  return dims;
}

/// The bytes a window touches, [first, last).
std::pair<std::int64_t, std::int64_t> extent(const Tensor& t) {
  std::int64_t last = t.impl()->offset + 1;
  for (std::size_t d = 0; d < t.shape().size(); ++d) last += (t.shape()[d] - 1) * t.strides()[d];
  auto size = static_cast<std::int64_t>(itemSize(t.dtype()));
  // Two looks at one memory begin at different places.
  const Storage& s = *t.impl()->storage;
  const auto first = s.isShared() ? static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(s.data())) : 0;
  return {first + t.impl()->offset * size, first + last * size};
}

/// The same elements in the same order, with more or fewer dims of size 1.
bool sameElements(const Tensor& a, const Tensor& b) { return extent(a) == extent(b) && longDims(a) == longDims(b); }

[[noreturn]] void failOverlap(const char* op, const Tensor& t, const Tensor& out) {
  fail("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
       "location. Please clone() the tensor before performing the operation (",
       op, " of shape ", shapeText(t.shape()), " into shape ", shapeText(out.shape()), ").");
}

}  // namespace

bool isDense(const Tensor& t) {
  if (t.isContiguous()) return true;
  std::int64_t filled = 1;
  while (filled != t.numel()) {
    // The dim that begins where those found so far end.
    std::size_t d = 0;
    while (d < t.shape().size() && (t.shape()[d] == 1 || t.strides()[d] != filled)) ++d;
    if (d == t.shape().size()) return false;
    filled *= t.shape()[d];
  }
  return true;
}

bool sameWindow(const Tensor& a, const Tensor& b) {
  return a.impl()->storage == b.impl()->storage && a.impl()->offset == b.impl()->offset && a.shape() == b.shape() &&
         a.strides() == b.strides() && a.dtype() == b.dtype();
}

bool selfOverlaps(const Tensor& t) {
  if (t.numel() == 0) return false;
  for (std::size_t d = 0; d < t.shape().size(); ++d)
    if (t.strides()[d] == 0 && t.shape()[d] > 1) return true;
  return false;
}

bool mayOverlapItself(const Tensor& t) {
  if (t.isContiguous()) return false;
  std::int64_t inner = 0;  // the farthest place that the dims before reach
  for (const auto& [stride, size] : fromInnermost(t)) {
    if (stride <= inner) return true;
    inner += stride * (size - 1);
  }
  return false;
}

bool overlaps(const Tensor& t, const Tensor& into) {
  if (!t.defined() || t.numel() == 0 || into.numel() == 0 || !t.impl()->storage->sameMemory(*into.impl()->storage))
    return false;
  auto [a, b] = extent(t);
  auto [c, d] = extent(into);
  return a < d && c < b;
}

bool sameMemory(const Tensor& a, const Tensor& b) {
  return sameWindow(a, b) || (a.impl()->storage == b.impl()->storage && a.impl()->offset == b.impl()->offset &&
                              a.dtype() == b.dtype() && a.numel() == b.numel() && a.isContiguous() && b.isContiguous());
}

void refusePartialOverlap(const char* op, const Tensor& out, std::span<const Operand> operands) {
  for (const Operand& o : operands) {
    if (!o.isTensor() || !o.tensor().defined() || o.tensor() == out || !overlaps(o.tensor(), out)) continue;
    const Tensor& t = o.tensor();
    if (!isDense(t) || !isDense(out) || sameElements(t, out)) continue;
    failOverlap(op, t, out);
  }
}

void refuseOverlap(const char* op, const Tensor& out, const Tensor& t) {
  if (t.defined() && overlaps(t, out) && isDense(t) && isDense(out)) failOverlap(op, t, out);
}

}  // namespace tandem
