#include "runtime/lib/linalg/small_systems.h"

#include <algorithm>
#include <immintrin.h>
#include <type_traits>

// The instruction set all our kernels need at least.
#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

#include "runtime/lib/vectors_avx2.h"

template <class T>
using VectorsOf = std::conditional_t<std::is_same_v<T, float>, Floats, Doubles>;

template <class Vector>
Vector sizeOf(Vector v) {
  return v < 0 ? -v : v;
}

}  // namespace

template <class T>
void SideBySide<T>::take(std::int64_t lane, const Matrix<T>& from, const std::int64_t* order) {
  T* to = elements_ + lane;
  for (std::int64_t i = 0; i < rows_; ++i) {
    const T* row = from.data + (order == nullptr ? i : order[i]) * from.rowStride;
    for (std::int64_t j = 0; j < columns_; ++j, to += kLanes) *to = row[j * from.columnStride];
  }
}

template <class T>
void SideBySide<T>::give(std::int64_t lane, T* to, const std::int64_t* order) const {
  const T* from = elements_ + lane;
  for (std::int64_t i = 0; i < rows_; ++i) {
    T* row = to + (order == nullptr ? i : order[i]) * columns_;
    for (std::int64_t j = 0; j < columns_; ++j, from += kLanes) row[j] = *from;
  }
}

template <class T>
void SideBySide<T>::fillUp() {
  for (std::int64_t e = 0; count_ < kLanes && e < rows_ * columns_; ++e)
    std::fill_n(elements_ + e * kLanes + count_, kLanes - count_, elements_[e * kLanes]);
}

template <class T>
void SideBySide<T>::factor(std::int64_t* swaps) {
  using V = VectorsOf<T>;
  using Vector = typename V::Vector;
  const std::int64_t n = rows_;
  auto at = [&](std::int64_t i, std::int64_t j) -> Vector& {
    return *reinterpret_cast<Vector*>(elements_ + (i * n + j) * kLanes);
  };
  for (std::int64_t j = 0; j < n; ++j) {
    Vector largest = sizeOf(at(j, j));
    auto pivot = (largest != largest) & 0;
    pivot += static_cast<int>(j);
    for (std::int64_t i = j + 1; i < n; ++i) {
      const Vector size = sizeOf(at(i, j));
      const auto larger = size > largest;
      largest = larger ? size : largest;
      pivot = larger ? (pivot & 0) + static_cast<int>(i) : pivot;
    }
    for (std::int64_t lane = 0; lane < count_; ++lane) swaps[lane * n + j] = pivot[lane];
    for (std::int64_t i = j + 1; i < n; ++i) {
      const auto here = pivot == static_cast<int>(i);
      for (std::int64_t c = 0; c < n; ++c) {
        const Vector upper = at(j, c), lower = at(i, c);
        at(j, c) = here ? lower : upper;
        at(i, c) = here ? upper : lower;
      }
    }
    const Vector diagonal = at(j, j);
    for (std::int64_t i = j + 1; i < n; ++i) {
      // Below a pivot of zero all elements are.
      const Vector factor = at(i, j) = diagonal != 0 ? at(i, j) / diagonal : at(i, j);
      for (std::int64_t c = j + 1; c < n; ++c) at(i, c) = V::fma(-at(j, c), factor, at(i, c));
    }
  }
}

template <class T>
void SideBySide<T>::solve(TriangleKind kind, SideBySide& x) const {
  using V = VectorsOf<T>;
  using Vector = typename V::Vector;
  const std::int64_t n = rows_, m = x.columns_;
  auto factor = [&](std::int64_t i, std::int64_t j) { return V::load(elements_ + (i * n + j) * kLanes); };
  auto at = [&](std::int64_t i, std::int64_t j) -> Vector& {
    return *reinterpret_cast<Vector*>(x.elements_ + (i * m + j) * kLanes);
  };
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t k = kind.upper ? n - 1 - step : step;
    const Vector diagonal = factor(k, k);
    for (std::int64_t j = 0; !kind.unit && j < m; ++j) at(k, j) /= diagonal;
    for (std::int64_t i = kind.upper ? 0 : k + 1, end = kind.upper ? k : n; i < end; ++i) {
      const Vector less = -factor(i, k);
      for (std::int64_t j = 0; j < m; ++j) at(i, j) = V::fma(less, at(k, j), at(i, j));
    }
  }
}

template class SideBySide<float>;
template class SideBySide<double>;

}  // namespace tandem::lib
