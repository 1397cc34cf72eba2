#include "eager/memory_format.h"

#include <algorithm>

#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/placement.h"

namespace tandem {

namespace {

/// The dims from the outermost to the innermost one.
Dims orderOf(MemoryFormat format, std::int64_t dim) {
  Dims order;
  for (std::int64_t d = 0; d < dim; ++d)
    if (format == MemoryFormat::Contiguous || d != 1) order.push_back(d);
  if (format != MemoryFormat::Contiguous) order.push_back(1);
  return order;
}

bool fits(MemoryFormat format, std::int64_t dim) {
  return format == MemoryFormat::ChannelsLast ? dim == 4 : format != MemoryFormat::ChannelsLast3d || dim == 5;
}

/// The dims of `t` by falling strides; dims of stride 0 and equal ones stay where they are among their neighbours.
Dims orderOfStrides(const Tensor& t) {
  Dims order;
  for (std::int64_t d = 0; d < t.dim(); ++d) {
    std::size_t at = order.size();
    for (std::size_t k = order.size(); k-- > 0 && t.strides()[d] != 0;) {
      const std::int64_t other = t.strides()[order[k]];
      if (other == 0) continue;
      if (other > t.strides()[d] || (other == t.strides()[d] && t.shape()[order[k]] >= t.shape()[d])) break;
      at = k;
    }
    order.push_back(d);
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(at), order.end() - 1, order.end());
  }
  return order;
}

bool isDense(const Tensor& t, const Dims& order) {
  std::int64_t expected = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    const std::int64_t d = order[k];
    if (t.shape()[d] == 1) continue;
    if (t.strides()[d] != expected) return false;
    expected *= t.shape()[d];
  }
  return true;
}

}  // namespace

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

Tensor copyIn(const Tensor& t, MemoryFormat format, DType dtype, Device device, const char* op) {
  auto copied = [&](const Tensor& x) {
    if (x.device() != device) return toDevice(ops::toDType(x, dtype), device);
    return x.dtype() == dtype ? ops::clone(x) : ops::to(x, dtype);
  };
  if (!fits(format, t.dim()))
    fail(op, ": required rank ",
         format == MemoryFormat::ChannelsLast ? "4 tensor to use channels_last"
                                              : "5 tensor to "
                                                "use channels_last_3d",
         " format, but got a tensor of shape ", shapeText(t.shape()));
  const bool keep = format == MemoryFormat::Preserve;
  if (format == MemoryFormat::Contiguous || (keep && t.isContiguous())) return copied(t);
  const Dims order = keep ? orderOfStrides(t) : orderOf(format, t.dim());
  if (std::ranges::is_sorted(order)) return copied(t);
  Dims inverse(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) inverse[order[k]] = static_cast<std::int64_t>(k);
  Tensor y = ops::permute(copied(ops::permute(t, order)), inverse);
  // The row-major tensor below is nobody's: the result stands for itself.
  y.impl()->viewBase = nullptr;
  // Strides of dims of size 1 reach nothing, and are kept as they were.
  if (keep && !t.impl()->batch && isDense(t, order)) y.impl()->strides = t.strides();
  return y;
}

}  // namespace tandem
