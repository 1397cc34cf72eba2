// The matrices of a batch, and which of them are worked on side by side.
#pragma once

#include <algorithm>
#include <limits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// Calls body(begin, end) for ranges of `count` matrices of about `work` steps each. Few large ones share the pool
/// within each, many go side by side. Which never matters to the bits.
template <class Body>
void forEachMatrix(std::int64_t count, std::int64_t work, Body body) {
  constexpr std::int64_t large = std::int64_t{1} << 21;
  if (count < numThreads() || (work > large && count % numThreads() != 0 && count < 2 * numThreads()))
    body(0, count);
  else
    parallelFor(count, grainOf(work), body);
}

/// The matrices (or, of rank 1 less, vectors) of a contiguous array of floats or doubles.
struct Batch {
  explicit Batch(const ArrayView& a, bool vectors = false)
      : view(a), columns(a.shape.back()), rows(vectors ? 1 : a.shape[a.shape.size() - 2]),
        count(columns * rows == 0 ? 0 : a.numel() / (columns * rows)) {}
  const ArrayView& view;
  std::int64_t columns, rows, count;

  [[nodiscard]] std::int64_t size() const { return rows * columns; }
  template <class T>
  [[nodiscard]] T* at(std::int64_t i) const {
    return view.as<T>() + i * size();
  }
};

/// Calls each(type tag, i) for every matrix of the batch, of about `work` steps.
template <class Each>
void forEachOf(const Batch& batch, std::int64_t work, Each each) {
  withFloating(batch.view.dtype, [&](auto tag) {
    forEachMatrix(batch.count, work, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) each(tag, i);
    });
  });
}

/// Each matrix of the batch becomes the identity: factors of what has no elements.
inline void setIdentity(const Batch& b) {
  withFloating(b.view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (std::int64_t i = 0; i < b.count; ++i) {
      T* m = b.at<T>(i);
      std::fill_n(m, b.size(), T());
      for (std::int64_t k = 0; k < std::min(b.rows, b.columns); ++k) m[k * (b.columns + 1)] = 1;
    }
  });
}

/// Where an element is not finite iterations have no end: all results are NaN.
template <class T>
bool isFinite(const T* elements, std::int64_t n) {
  bool finite = true;
  for (std::int64_t i = 0; i < n; ++i) finite &= elements[i] - elements[i] == 0;
  return finite;
}
template <class T>
void setNan(const Batch& b, std::int64_t i) {
  std::fill_n(b.at<T>(i), b.size(), std::numeric_limits<T>::quiet_NaN());
}

}  // namespace tandem::lib
