#include "runtime/lib/index_list.h"

#include <atomic>
#include <type_traits>

#include "runtime/device/thread_pool.h"

namespace tandem::lib {

IndexList::IndexList(const char* op, const ArrayView& index, std::int64_t dim, std::int64_t size)
    : count_(index.numel()), values_(count_) {
  std::atomic<bool> good{true};
  withType(index.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      parallelFor(count_, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
        Walker<1> at(index.shape, {index.strides}, begin);
        bool allGood = true;
        for (std::int64_t i = begin; i < end; ++i, at.next()) {
          auto v = static_cast<std::int64_t>(index.as<T>()[at.offset[0]]);
          allGood &= v >= -size && v < size;
          values_[i] = v < 0 ? v + size : v;
        }
        if (!allGood) good.store(false, std::memory_order_relaxed);
      });
    } else if (count_ > 0) {
      fail<IndexError>(op, ": tensors used as indices must be integers, got ", dtypeName(index.dtype));
    }
  });
  if (good.load(std::memory_order_relaxed)) return;
  // The first in order, whichever thread met one first.
  for (std::int64_t i = 0; i < count_; ++i) {
    std::int64_t v = values_[i];
    if (v >= 0 && v < size) continue;
    fail<IndexError>(op, ": index ", v < 0 ? v - size : v, " is out of bounds for dimension ", dim, " with size ",
                     size);
  }
}

}  // namespace tandem::lib
