#include "runtime/lib/linalg/reflectors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/linalg/blocks.h"
#include "runtime/lib/linalg/columns.h"
#include "runtime/lib/matmul/gemm.h"

namespace tandem::lib {
namespace {

/// Reflectors that act as one product.
constexpr std::int64_t kBlock = 32;
/// Columns that reflectors act on one after the other; not as threads have it, because of the order of sums.
constexpr std::int64_t kTogether = 128;
/// Matrices of at most so many columns have reflectors act one by one.
constexpr std::int64_t kFewColumns = 16;

/// Below this a sum of squares has lost digits, and so may a number have.
template <class T>
constexpr T kSmall = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
/// What takes numbers that small to where their squares have all digits.
template <class T>
constexpr T kFromSmall = std::is_same_v<T, float> ? 0x1p100F : 0x1p600;

/// The length of n numbers of any size.
template <class T>
T scaledLength(const T* x, std::int64_t n) {
  const T largest = largestOf(x, n);
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += (x[i] / largest) * (x[i] / largest);
  return largest * std::sqrt(sum);
}

/// H times columns of n numbers, lda apart.
template <class T>
void reflect(const T* v, T tau, T* a, std::int64_t lda, std::int64_t n, std::int64_t columns, T* sums) {
  if (columns == 0 || tau == 0) return;
  project(a + 1, lda, n - 1, columns, v + 1, sums);
  for (std::int64_t j = 0; j < columns; ++j) {
    const T factor = -tau * (a[j * lda] + sums[j]);
    a[j * lda] += factor;
    addScaled(factor, v + 1, a + j * lda + 1, n - 1);
  }
}

/// I - V S V^T, the product of `count` reflectors from `first` on, S an upper triangle.
template <class T>
class Block {
 public:
  Block(const ColumnMatrix<T>& vectors, const T* tau, std::int64_t first, std::int64_t shift, std::int64_t count)
      : rows_(vectors.rows - first - shift), count_(count), v_(rows_ * count), s_(count * count) {
    for (std::int64_t j = 0; j < count; ++j) {
      T* to = v_.data() + j * rows_;
      std::fill_n(to, j, T());
      to[j] = 1;
      std::copy_n(vectors.at(first + shift + j + 1, first + j), rows_ - j - 1, to + j + 1);
    }
    Scratch<T> dots(count * count);
    gemm(count, count, rows_, turned(), plain(), dots.data());
    std::fill_n(s_.data(), count * count, T());
    for (std::int64_t j = 0; j < count; ++j) {
      s_[j * count + j] = tau[first + j];
      for (std::int64_t i = 0; i < j; ++i) {
        T sum = 0;
        for (std::int64_t k = i; k < j; ++k) sum += s_[i * count + k] * dots[k * count + j];
        s_[i * count + j] = -tau[first + j] * sum;
      }
    }
  }

  /// The columns from a on, lda apart, are rows of their transpose.
  void apply(Reflect kind, T* a, std::int64_t lda, std::int64_t columns) const {
    if (columns == 0) return;
    Scratch<T> dots(columns * count_), mixed(columns * count_);
    gemm(columns, count_, rows_, {a, lda, 1}, plain(), dots.data());
    const Matrix<T> s = kind == Reflect::Transposed ? Matrix<T>{s_.data(), count_, 1} : Matrix<T>{s_.data(), 1, count_};
    gemm(columns, count_, count_, {dots.data(), count_, 1}, s, mixed.data());
    subtractProduct(columns, rows_, count_, {mixed.data(), count_, 1}, turned(), a, lda);
  }

 private:
  [[nodiscard]] Matrix<T> plain() const { return {v_.data(), 1, rows_}; }
  [[nodiscard]] Matrix<T> turned() const { return {v_.data(), rows_, 1}; }
  std::int64_t rows_, count_;
  Scratch<T> v_, s_;
};

}  // namespace

template <class T>
T takeSize(ColumnMatrix<T>& a) {
  const T largest = largestOf(a.elements.data(), std::ssize(a.elements));
  const T size = largest > 0 ? largest : T(1);
  for (T& value : a.elements) value /= size;
  return size;
}

template <class T>
T makeReflector(T* x, std::int64_t n) {
  T squares = 0;
  project(x + 1, n, n - 1, 1, x + 1, &squares);
  T length = std::sqrt(x[0] * x[0] + squares);
  // Where a square may have left the range, or a number is not finite.
  if (!(squares >= kSmall<T> && length <= std::numeric_limits<T>::max())) {
    if (std::all_of(x + 1, x + n, [](T v) { return v == 0; })) return 0;
    length = scaledLength(x, n);
    if (length < kSmall<T>) {
      for (std::int64_t i = 0; i < n; ++i) x[i] *= kFromSmall<T>;
      const T tau = makeReflector(x, n);
      x[0] /= kFromSmall<T>;
      return tau;
    }
  }
  const T left = -std::copysign(length, x[0]);
  const T tau = (left - x[0]) / left;
  const T divisor = x[0] - left;
  for (std::int64_t i = 1; i < n; ++i) x[i] /= divisor;
  x[0] = left;
  return tau;
}

template <class T>
void applyReflectors(const Reflectors<T>& h, Reflect kind, ColumnMatrix<T>& c, bool ofUnit) {
  const std::int64_t count = std::ssize(h.tau);
  const std::int64_t size = c.columns <= kFewColumns ? 1 : kBlock;
  std::vector<T> sums(asSize(size == 1 ? c.columns : 0));
  const std::int64_t blocks = (count + size - 1) / size;
  const auto numberOf = [&](std::int64_t k) { return kind == Reflect::Plain ? blocks - 1 - k : k; };
  if (size == 1) {
    for (std::int64_t k = 0; k < blocks; ++k) {
      const std::int64_t first = numberOf(k), row = first + h.shift;
      // Columns of the unit matrix before this row have nothing below it.
      const std::int64_t column = ofUnit ? std::min(row, c.columns) : 0;
      reflect(h.vectors.at(row, first), h.tau[asSize(first)], c.at(row, column), c.rows, c.rows - row,
              c.columns - column, sums.data());
    }
    return;
  }
  std::vector<std::optional<Block<T>>> made(asSize(blocks));
  parallelTiles(blocks, [&](std::int64_t k) {
    made[asSize(k)].emplace(h.vectors, h.tau.data(), k * size, h.shift, std::min(size, count - k * size));
  });
  // Columns do not depend on each other. A thread takes some of them through all blocks.
  parallelTiles(ceilDiv(c.columns, kTogether), [&](std::int64_t i) {
    const std::int64_t end = std::min(c.columns, (i + 1) * kTogether);
    for (std::int64_t k = 0; k < blocks; ++k) {
      const std::int64_t row = numberOf(k) * size + h.shift;
      const std::int64_t column = std::max(i * kTogether, ofUnit ? std::min(row, end) : 0);
      made[asSize(numberOf(k))]->apply(kind, c.at(row, column), c.rows, end - column);
    }
  });
}

template <class T>
Reflectors<T> factorQr(ColumnMatrix<T> a) {
  const std::int64_t count = std::min(a.rows, a.columns);
  Reflectors<T> h{std::move(a), std::vector<T>(asSize(count)), 0};
  ColumnMatrix<T>& m = h.vectors;
  std::optional<Block<T>> blocks[2];  // in turn
  const auto factor = [&](std::int64_t first) {
    const std::int64_t last = std::min(first + kBlock, count);
    T sums[kBlock];
    for (std::int64_t j = first; j < last; ++j) {
      h.tau[asSize(j)] = makeReflector(m.at(j, j), m.rows - j);
      reflect(m.at(j, j), h.tau[asSize(j)], m.at(j, j + 1), m.rows, m.rows - j, last - j - 1, sums);
    }
    if (last < m.columns) blocks[first / kBlock % 2].emplace(m, h.tau.data(), first, 0, last - first);
  };
  if (count > 0) factor(0);
  // The next columns come first, and are factored while other threads go on.
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t last = std::min(first + kBlock, count), behind = std::min(last + kBlock, m.columns);
    if (last == m.columns) break;
    parallelTiles(1 + ceilDiv(m.columns - behind, kTogether), [&](std::int64_t i) {
      const std::int64_t from = i == 0 ? last : behind + (i - 1) * kTogether;
      const std::int64_t end = i == 0 ? behind : std::min(from + kTogether, m.columns);
      blocks[first / kBlock % 2]->apply(Reflect::Transposed, m.at(first, from), m.rows, end - from);
      if (i == 0 && last < count) factor(last);
    });
  }
  return h;
}

template <class T>
ColumnMatrix<T> triangleOf(const Reflectors<T>& qr) {
  const std::int64_t n = qr.vectors.columns;
  ColumnMatrix<T> triangle(n, n);
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(qr.vectors.at(0, j), j + 1, triangle.at(0, j));
  return triangle;
}

template float takeSize(ColumnMatrix<float>&);
template float makeReflector(float*, std::int64_t);
template void applyReflectors(const Reflectors<float>&, Reflect, ColumnMatrix<float>&, bool);
template Reflectors<float> factorQr(ColumnMatrix<float>);
template ColumnMatrix<float> triangleOf(const Reflectors<float>&);
template double takeSize(ColumnMatrix<double>&);
template double makeReflector(double*, std::int64_t);
template void applyReflectors(const Reflectors<double>&, Reflect, ColumnMatrix<double>&, bool);
template Reflectors<double> factorQr(ColumnMatrix<double>);
template ColumnMatrix<double> triangleOf(const Reflectors<double>&);

}  // namespace tandem::lib
