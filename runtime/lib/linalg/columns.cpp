#include "runtime/lib/linalg/columns.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

// The instruction set all our kernels need at least.
#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

#include "runtime/lib/vectors_avx2.h"

template <class T>
using VectorsOf = std::conditional_t<std::is_same_v<T, float>, Floats, Doubles>;

constexpr int kGroup = 4;  // columns whose numbers are in registers together
constexpr std::int64_t kRowsAThread = 256;
// A symmetric matrix of so many columns has the sums of kParts parts, each of every kParts-th kPartColumns of them.
constexpr std::int64_t kManyColumns = 640;
constexpr std::int64_t kParts = 8;
constexpr std::int64_t kPartColumns = 32;

template <class V, class T = typename V::Scalar>
T sumOf(typename V::Vector v) {
  T lanes[V::kLanes];
  V::store(lanes, v);
  for (int apart = V::kLanes / 2; apart > 0; apart /= 2)
    for (int k = 0; k < apart; ++k) lanes[k] += lanes[k + apart];
  return lanes[0];
}

/// The sums of `Wide` columns: each has two vectors of chains, and the rows that are left one of their own.
template <class V, int Wide, class T = typename V::Scalar>
void projectGroup(const T* a, std::int64_t lda, std::int64_t rows, const T* x, T* sums) {
  typename V::Vector even[Wide], odd[Wide];
  for (int c = 0; c < Wide; ++c) even[c] = odd[c] = V::zero();
  std::int64_t i = 0;
  for (; i + 2 * V::kLanes <= rows; i += 2 * V::kLanes) {
    const auto first = V::load(x + i);
    const auto second = V::load(x + i + V::kLanes);
    for (int c = 0; c < Wide; ++c) {
      even[c] = V::fma(V::load(a + c * lda + i), first, even[c]);
      odd[c] = V::fma(V::load(a + c * lda + i + V::kLanes), second, odd[c]);
    }
  }
  if (i + V::kLanes <= rows) {
    const auto first = V::load(x + i);
    for (int c = 0; c < Wide; ++c) even[c] = V::fma(V::load(a + c * lda + i), first, even[c]);
    i += V::kLanes;
  }
  for (int c = 0; c < Wide; ++c) {
    T sum = sumOf<V>(V::add(even[c], odd[c]));
    for (std::int64_t k = i; k < rows; ++k) sum = V::fma(a[c * lda + k], x[k], sum);
    sums[c] = sum;
  }
}

template <class V, int Wide, class T = typename V::Scalar>
void combineGroup(const T* a, std::int64_t lda, std::int64_t rows, const T* factors, T* to) {
  typename V::Vector scales[Wide];
  for (int c = 0; c < Wide; ++c) scales[c] = V::broadcast(factors[c]);
  std::int64_t i = 0;
  for (; i + V::kLanes <= rows; i += V::kLanes) {
    auto sum = V::load(to + i);
    for (int c = 0; c < Wide; ++c) sum = V::fma(scales[c], V::load(a + c * lda + i), sum);
    V::store(to + i, sum);
  }
  for (; i < rows; ++i)
    for (int c = 0; c < Wide; ++c) to[i] = V::fma(factors[c], a[c * lda + i], to[i]);
}

/// What the first `Wide` columns of a symmetric matrix of n, below the diagonal, add to the sums of rows and of
/// columns: each element is read once for both.
template <class V, int Wide, class T = typename V::Scalar>
void symmetricGroup(const T* a, std::int64_t lda, std::int64_t n, const T* x, T* sums) {
  typename V::Vector scales[Wide], chains[Wide];
  T own[Wide];
  for (int c = 0; c < Wide; ++c) scales[c] = V::broadcast(x[c]), chains[c] = V::zero(), own[c] = sums[c];
  for (int c = 0; c < Wide; ++c) {
    own[c] = V::fma(a[c * lda + c], x[c], own[c]);
    for (int r = c + 1; r < Wide; ++r) {
      own[r] = V::fma(a[c * lda + r], x[c], own[r]);
      own[c] = V::fma(a[c * lda + r], x[r], own[c]);
    }
  }
  std::int64_t i = Wide;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    auto sum = V::load(sums + i);
    const auto other = V::load(x + i);
    for (int c = 0; c < Wide; ++c) {
      auto column = V::load(a + c * lda + i);
#ifndef __clang__
      asm("" : "+x"(column));  // in a register: not read again for the second sum
#endif
      sum = V::fma(scales[c], column, sum);
      chains[c] = V::fma(column, other, chains[c]);
    }
    V::store(sums + i, sum);
  }
  if (i < n) {
    const int left = static_cast<int>(n - i);
    auto sum = V::first(left, sums + i);
    const auto other = V::first(left, x + i);
    for (int c = 0; c < Wide; ++c) {
      const auto column = V::first(left, a + c * lda + i);
      sum = V::fma(scales[c], column, sum);
      chains[c] = V::fma(column, other, chains[c]);
    }
    T last[V::kLanes];
    V::store(last, sum);
    for (int k = 0; k < left; ++k) sums[i + k] = last[k];
  }
  for (int c = 0; c < Wide; ++c) sums[c] = own[c] + sumOf<V>(chains[c]);
}

}  // namespace

template <class T>
void project(const T* a, std::int64_t lda, std::int64_t rows, std::int64_t columns, const T* x, T* sums) {
  using V = VectorsOf<T>;
  auto some = [&](std::int64_t begin, std::int64_t end) {
    std::int64_t j = begin * kGroup;
    const std::int64_t last = std::min(end * kGroup, columns);
    for (; j + kGroup <= last; j += kGroup) projectGroup<V, kGroup>(a + j * lda, lda, rows, x, sums + j);
    for (; j < last; ++j) projectGroup<V, 1>(a + j * lda, lda, rows, x, sums + j);
  };
  const std::int64_t groups = (columns + kGroup - 1) / kGroup;
  rows* columns < kSerialElements ? some(0, groups) : parallelFor(groups, grainOf(rows), some);
}

template <class T>
void combine(const T* a, std::int64_t lda, std::int64_t rows, std::int64_t columns, const T* factors, T* to) {
  using V = VectorsOf<T>;
  auto some = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kRowsAThread;
    const std::int64_t count = std::min(end * kRowsAThread, rows) - first;
    std::int64_t j = 0;
    for (; j + kGroup <= columns; j += kGroup)
      combineGroup<V, kGroup>(a + j * lda + first, lda, count, factors + j, to + first);
    for (; j < columns; ++j) combineGroup<V, 1>(a + j * lda + first, lda, count, factors + j, to + first);
  };
  const std::int64_t parts = (rows + kRowsAThread - 1) / kRowsAThread;
  rows* columns < kSerialElements ? some(0, parts) : parallelFor(parts, grainOf(kRowsAThread * columns / kGroup), some);
}

template <class T>
void projectSymmetric(const T* a, std::int64_t lda, std::int64_t n, std::int64_t first, const T* x, T* sums) {
  using V = VectorsOf<T>;
  const std::int64_t parts = n >= kManyColumns ? kParts : 1;
  const Scratch<T> others((parts - 1) * n);
  parallelTiles(parts, [&](std::int64_t part) {
    T* to = part == 0 ? sums : others.data() + (part - 1) * n;
    std::fill_n(to, n, T());
    for (std::int64_t j = 0; j < n; j += kGroup) {
      if ((first + j) / kPartColumns % parts != part) continue;
      if (j + kGroup <= n)
        symmetricGroup<V, kGroup>(a + j * (lda + 1), lda, n - j, x + j, to + j);
      else
        for (std::int64_t c = j; c < n; ++c) symmetricGroup<V, 1>(a + c * (lda + 1), lda, n - c, x + c, to + c);
    }
  });
  for (std::int64_t part = 1; part < parts; ++part) addScaled(T(1), others.data() + (part - 1) * n, sums, n);
}

template <class T>
void addScaled(T factor, const T* from, T* to, std::int64_t n) {
  combineGroup<VectorsOf<T>, 1>(from, 0, n, &factor, to);
}

template <class T>
T largestOf(const T* x, std::int64_t n) {
  using V = VectorsOf<T>;
  auto largest = V::zero();
  std::int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    const auto value = V::load(x + i);
    const auto size = value < 0 ? -value : value;
    largest = size > largest ? size : largest;
  }
  T lanes[V::kLanes];
  V::store(lanes, largest);
  T found = *std::max_element(lanes, lanes + V::kLanes);
  for (; i < n; ++i) found = std::max(found, std::abs(x[i]));
  return found;
}

template void project(const float*, std::int64_t, std::int64_t, std::int64_t, const float*, float*);
template void combine(const float*, std::int64_t, std::int64_t, std::int64_t, const float*, float*);
template void projectSymmetric(const float*, std::int64_t, std::int64_t, std::int64_t, const float*, float*);
template void addScaled(float, const float*, float*, std::int64_t);
template float largestOf(const float*, std::int64_t);
template void project(const double*, std::int64_t, std::int64_t, std::int64_t, const double*, double*);
template void combine(const double*, std::int64_t, std::int64_t, std::int64_t, const double*, double*);
template void projectSymmetric(const double*, std::int64_t, std::int64_t, std::int64_t, const double*, double*);
template void addScaled(double, const double*, double*, std::int64_t);
template double largestOf(const double*, std::int64_t);

}  // namespace tandem::lib
