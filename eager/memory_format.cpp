#include "eager/memory_format.h"

#include <algorithm>
#include <utility>

#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/placement.h"

namespace tandem {

namespace {

bool fits(MemoryFormat format, std::int64_t dim) {
  return format == MemoryFormat::ChannelsLast ? dim == 4 : format != MemoryFormat::ChannelsLast3d || dim == 5;
}

}  // namespace

void needRank(MemoryFormat format, DimsRef shape, const char* op) {
  if (!fits(format, std::ssize(shape)))
    fail(op, ": required rank ",
         format == MemoryFormat::ChannelsLast ? "4 tensor to use channels_last" : "5 tensor to use channels_last_3d",
         " format, but got a tensor of shape ", shapeText(shape));
}

Dims stridesIn(MemoryFormat format, DimsRef shape) {
  const Dims order = orderOf(format, std::ssize(shape));
  Dims sizes, strides(shape);
  for (auto d : order) sizes.push_back(shape[d]);
  const Dims steps = contiguousStrides(sizes);
  for (std::size_t i = 0; i < order.size(); ++i) strides[order[i]] = steps[i];
  return strides;
}

Dims orderOf(MemoryFormat format, std::int64_t dim) {
  Dims order;
  for (std::int64_t d = 0; d < dim; ++d)
    if (format == MemoryFormat::Contiguous || d != 1) order.push_back(d);
  if (format != MemoryFormat::Contiguous) order.push_back(1);
  return order;
}

Dims orderOfStrides(DimsRef shape, std::span<const Dims> strides) {
  Dims order;
  for (auto d = static_cast<std::int64_t>(shape.size()); d-- > 0;) order.push_back(d);
  // Above 0: `a` lies further out than `b`; 0: nothing tells.
  auto compare = [&](std::int64_t a, std::int64_t b) {
    for (const Dims& s : strides) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  // From the innermost dim out, each past those that lie further out than it, as far as neighbours tell.
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t at = i;
    for (std::size_t k = i; k-- > 0;) {
      const int tells = compare(order[k], order[at]);
      if (tells < 0) break;
      if (tells > 0) std::swap(order[k], order[std::exchange(at, k)]);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

thread_local constinit bool RowMajorResults::active_ = false;

bool isDense(const Tensor& t, DimsRef order) {
  std::int64_t expected = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    const std::int64_t d = order[k];
    if (t.shape()[d] == 1) continue;
    if (t.strides()[d] != expected) return false;
    expected *= t.shape()[d];
  }
  return true;
}

Dims inverseOf(DimsRef order) {
  Dims inverse(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) inverse[order[k]] = static_cast<std::int64_t>(k);
  return inverse;
}

bool isContiguousIn(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous) return t.isContiguous();
  return fits(format, t.dim()) && isDense(t, orderOf(format, t.dim()));
}

MemoryFormat formatOf(const Tensor& t) {
  if (t.dim() != 4 && t.dim() != 5) return MemoryFormat::Contiguous;
  const Dims order = orderOf(MemoryFormat::ChannelsLast, t.dim());
  const std::int64_t channels = t.strides()[1];
  std::int64_t least = 0;  // the stride that the next dim out may have
  for (std::size_t k = order.size(); k-- > 0;) {
    const std::int64_t d = order[k];
    const std::int64_t stride = t.strides()[d];
    // Where all other dims have one element, rows are as good a reading.
    if (channels == 0 || t.shape()[d] == 0 || stride < least || (d == 0 && least == channels))
      return MemoryFormat::Contiguous;
    least = stride * std::max<std::int64_t>(t.shape()[d], 1);
  }
  return t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

/// What lies in this order of dims, of the row-major tensor of its dims in that order, which is nobody's: the result
/// stands for itself.
static Tensor inOrder(const Tensor& rowMajor, const Dims& order) {
  Tensor y = ops::permute(rowMajor, inverseOf(order));
  y.impl()->viewBase = nullptr;
  return y;
}

Tensor laidOut(const Tensor& t, const Dims& order, const std::function<Tensor(const Tensor&)>& f) {
  if (std::ranges::is_sorted(order)) return f(t);
  return inOrder(f(ops::permute(t, order)), order);
}

Dims orderOfResult(std::span<const Tensor> operands) {
  const Dims& shape = operands[0].shape();
  bool known = !RowMajorResults::active() && operands[0].numel() > 0;
  std::vector<Dims> strides;
  for (const Tensor& t : operands) {
    known = known && !t.impl()->batch;
    strides.push_back(t.strides());
  }
  return known ? orderOfStrides(shape, strides) : orderOf(MemoryFormat::Contiguous, operands[0].dim());
}

Tensor laidOutAs(const Tensor& a, const Tensor& b, const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
  const Tensor both[] = {a, b};
  const Dims order = orderOfResult(both);
  return laidOut(a, order, [&](const Tensor& t) {
    const bool sorted = std::ranges::is_sorted(order);
    return f(ops::contiguous(t), ops::contiguous(sorted ? b : ops::permute(b, order)));
  });
}

Tensor filledAs(const Tensor& x, Scalar value, DType dtype) {
  return laidOut(x, orderOfResult({&x, 1}), [&](const Tensor& t) { return ops::full_like(t, value, dtype); });
}

bool isInRowMajorOrder(const Tensor& t) {
  return t.isContiguous() || std::ranges::is_sorted(orderOfStrides(t.shape(), {&t.strides(), 1}));
}
Tensor inRowMajorOrder(const Tensor& t) { return isInRowMajorOrder(t) ? t : ops::clone(t); }

Tensor ofEachChannel(const Tensor& v, const Tensor& x) {
  return ops::contiguous(ops::expand(v, Dims{x.size(0), x.size(1), x.size(2), 1}));
}

Tensor madeLike(const Tensor& t, MemoryFormat format, const char* op,
                const std::function<Tensor(const Tensor&)>& make) {
  needRank(format, t.shape(), op);
  const bool keep = format == MemoryFormat::Preserve;
  if (format == MemoryFormat::Contiguous) return make(t);
  Tensor y;
  bool dense = t.isContiguous();
  if (keep && dense) {
    y = make(t);
  } else {
    const Dims order = keep ? orderOfStrides(t.shape(), {&t.strides(), 1}) : orderOf(format, t.dim());
    y = laidOut(t, order, make);
    dense = isDense(t, order);
  }
  // Strides of dims of size 1 reach nothing, and are kept as they were: rows may be `channels_last` beside.
  if (keep && dense && !t.impl()->batch) y.impl()->strides = t.strides();
  return y;
}

Tensor madeIn(MemoryFormat format, DimsRef shape, const char* op, const std::function<Tensor(DimsRef)>& make) {
  if (format == MemoryFormat::Contiguous) return make(shape);
  needRank(format, shape, op);
  const Dims order = orderOf(format, std::ssize(shape));
  Dims sizes;
  for (auto d : order) sizes.push_back(shape[d]);
  return inOrder(make(sizes), order);
}

Tensor copyIn(const Tensor& t, MemoryFormat format, DType dtype, Device device, const char* op) {
  return madeLike(t, format, op, [&](const Tensor& x) {
    if (x.device() != device) return toDevice(x, device, dtype);
    return x.dtype() == dtype ? ops::clone(x) : ops::to(x, dtype);
  });
}

}  // namespace tandem
