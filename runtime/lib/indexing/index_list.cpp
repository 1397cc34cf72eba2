#include "runtime/lib/indexing/index_list.h"

#include <algorithm>
#include <atomic>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"

namespace tandem::lib {
namespace {

[[gnu::always_inline]] inline bool inRange(const std::int64_t* values, std::int64_t n, std::int64_t size) {
  std::uint64_t outside = 0;
  // Both sign bits: negative, or not below the size.
  for (std::int64_t i = 0; i < n; ++i)
    outside |= static_cast<std::uint64_t>(values[i]) | static_cast<std::uint64_t>(size - 1 - (values[i] & INT64_MAX));
  return outside >> 63 == 0;
}
/// Are all values in [0, size)?
bool allInside(const std::int64_t* values, std::int64_t n, std::int64_t size) {
  return withHostIsa([&]() TANDEM_INLINED { return inRange(values, n, size); });
}

/// Does `good(begin, end)` hold for all pieces of [0, count)?
template <class F>
bool everywhere(std::int64_t count, F good) {
  std::atomic<bool> all{true};
  parallelFor(count, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    if (!good(begin, end)) all.store(false, std::memory_order_relaxed);
  });
  return all.load(std::memory_order_relaxed);
}

/// Is each of the n numbers `step` more than the one before? Looked at in stretches, so that most lists, which are no
/// such, are left early.
[[gnu::always_inline]] inline bool isRamp(const std::uint64_t* x, std::int64_t n, std::uint64_t step) {
  constexpr std::int64_t kStretch = 128;
  for (std::int64_t begin = 1; begin < n; begin += kStretch) {
    std::uint64_t other = 0;
    for (std::int64_t j = begin; j < std::min(begin + kStretch, n); ++j) other |= (x[j] - x[j - 1]) ^ step;
    if (other != 0) return false;
  }
  return true;
}

/// Are all of n numbers in [0, size), of which each is `step` more than the one before?
bool rampInside(std::int64_t first, std::int64_t step, std::int64_t n, std::int64_t size) {
  std::int64_t way = 0, last = 0;
  return !__builtin_mul_overflow(step, n - 1, &way) && !__builtin_add_overflow(first, way, &last) && first >= 0 &&
         first < size && last >= 0 && last < size;
}

/// Writes those of `given` in [least, size), negative ones counted from the end; are all?
[[gnu::always_inline]] inline bool wrapAll(const std::int64_t* given, std::int64_t* values, std::int64_t n,
                                           std::int64_t least, std::int64_t size) {
  std::uint64_t outside = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<std::uint64_t>(given[i]);
    // Both sign bits, as far out as a value may be: where one difference leaves the range of numbers, the other is
    // negative.
    outside |= (v - static_cast<std::uint64_t>(least)) | (static_cast<std::uint64_t>(size - 1) - v);
    values[i] = static_cast<std::int64_t>(given[i] < 0 ? v - static_cast<std::uint64_t>(least) : v);
  }
  return outside >> 63 == 0;
}

template <class T>
void widenTo(const ArrayView& index, std::int64_t begin, std::int64_t n, std::int64_t* to) {
  const T* from = index.as<const T>() + begin;
  withAvx2([&]() TANDEM_INLINED {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  });
}
/// The n integers of fewer bits of a contiguous index from `begin` on.
void widenIndices(const char* op, const ArrayView& index, std::int64_t begin, std::int64_t n, std::int64_t* to) {
  switch (index.dtype) {
  case DType::UInt8:
    return widenTo<std::uint8_t>(index, begin, n, to);
  case DType::Int8:
    return widenTo<std::int8_t>(index, begin, n, to);
  case DType::Int16:
    return widenTo<std::int16_t>(index, begin, n, to);
  case DType::Int32:
    return widenTo<std::int32_t>(index, begin, n, to);
  default:
    failIndexType(op, index.dtype);
  }
}

/// The values of an array of any integers, in row-major order.
void copyValues(const char* op, const ArrayView& index, std::int64_t* to) {
  if (index.dtype == DType::Int64)
    return copyArray(index, {to, DType::Int64, index.shape, contiguousStrides(index.shape)});
  if (index.numel() == 0) return;
  const Contiguous list(index);
  parallelFor(index.numel(), kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    widenIndices(op, list.view(), begin, end - begin, to + begin);
  });
}

/// Are the integers of a contiguous index in [0, size)?
template <class T>
bool typedInside(const T* values, std::int64_t n, std::int64_t size) {
  return withAvx2([&]() TANDEM_INLINED {
    T least = 0, most = 0;
    for (std::int64_t i = 0; i < n; ++i) least = std::min(least, values[i]), most = std::max(most, values[i]);
    return least >= 0 && most < size;
  });
}

}  // namespace

std::optional<std::int64_t> stepOf(const std::int64_t* values, std::int64_t n) {
  if (n < 2) return n;
  const auto* x = reinterpret_cast<const std::uint64_t*>(values);
  const std::uint64_t step = x[1] - x[0];
  const bool all = withAvx2([&]() TANDEM_INLINED { return isRamp(x, n, step); });
  return all ? std::optional(static_cast<std::int64_t>(step)) : std::nullopt;
}

const std::int64_t* indicesAt(const ArrayView& index, std::int64_t begin, std::int64_t n, std::int64_t* buffer) {
  if (index.dtype == DType::Int64) return index.as<const std::int64_t>() + begin;
  widenIndices("index", index, begin, n, buffer);
  return buffer;
}

bool indicesInside(const ArrayView& index, std::int64_t begin, std::int64_t n, std::int64_t size) {
  if (index.dtype == DType::UInt8) return typedInside(index.as<const std::uint8_t>() + begin, n, size);
  if (index.dtype == DType::Int32) return typedInside(index.as<const std::int32_t>() + begin, n, size);
  bool inside = true;
  forStretches(index, begin, begin + n, [&](const std::int64_t* at, std::int64_t, std::int64_t some) {
    inside = inside && allInside(at, some, size);
  });
  return inside;
}

IndexList::IndexList(const char* op, const ArrayView& index, std::int64_t dim, std::int64_t size, IndexRange range)
    : count_(index.numel()), values_(index.as<std::int64_t>()) {
  if (index.dtype != DType::Int64 || !index.contiguous()) {
    copyValues(op, index, copy_.emplace(count_).data());
    values_ = copy_->data();
  }
  // Of a slice the ends are enough.
  if (count_ > 1) {
    step_ = stepOf(values_, count_);
    if (step_ && rampInside(values_[0], *step_, count_, size)) return;
    step_.reset();
  }
  auto inside = [&](std::int64_t begin, std::int64_t end) { return allInside(values_ + begin, end - begin, size); };
  if (everywhere(count_, inside)) return;
  const std::int64_t least = leastIndex(range, size);
  const std::int64_t* given = values_;
  if (!copy_) values_ = copy_.emplace(count_).data();
  std::int64_t* values = copy_->data();
  auto wrapped = [&](std::int64_t begin, std::int64_t end) {
    return withHostIsa([&]()
                           TANDEM_INLINED { return wrapAll(given + begin, values + begin, end - begin, least, size); });
  };
  if (everywhere(count_, wrapped)) return;
  // The first in order, whichever thread met one first.
  for (std::int64_t i = 0; i < count_; ++i) {
    std::int64_t v = values_[i];
    if (v >= 0 && v < size) continue;
    v = v < 0 ? v + least : v;
    failIndex(op, range, v, dim, size);
  }
}

}  // namespace tandem::lib
