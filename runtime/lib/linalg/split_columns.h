// The vectors of two solved halves while they become those of the whole: columns of a matrix that begins as two blocks,
// one in its upper rows and one in its lower ones. A column has elements in one of the two parts, or in both once it
// was turned; products leave out what is 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/linalg/columns.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// Rows and columns of the matrix, and of its upper block.
struct SplitSizes {
  std::int64_t rows, columns, upperRows, upperColumns;
};

template <class T>
class SplitColumns {
 public:
  /// `q`: rows ldq apart.
  SplitColumns(T* q, std::int64_t ldq, SplitSizes sizes)
      : q_(q), ldq_(ldq), sizes_(sizes), top_(asSize(sizes.columns)), bottom_(asSize(sizes.columns)) {
    for (std::int64_t j = 0; j < sizes.columns; ++j) {
      top_[asSize(j)] = j < sizes.upperColumns;
      bottom_[asSize(j)] = j >= sizes.upperColumns;
    }
  }

  /// `first` c - `second` s and `first` s + `second` c take their places.
  void turn(std::int64_t first, std::int64_t second, double c, double s) {
    for (std::int64_t i = 0; i < sizes_.rows; ++i) {
      const double a = at(i, first);
      const double b = at(i, second);
      at(i, first) = static_cast<T>(c * a - s * b);
      at(i, second) = static_cast<T>(s * a + c * b);
    }
    for (auto* part : {&top_, &bottom_}) {
      const char both = (*part)[asSize(first)] | (*part)[asSize(second)];
      (*part)[asSize(first)] = (*part)[asSize(second)] = both;
    }
  }

  /// Column kept[i] becomes the sum of the columns kept[k] times mix[i * kept.size() + k], then the first of all
  /// columns are put into another order: what was at order[j] comes to j.
  void replace(const std::vector<std::int64_t>& kept, const double* mix, const std::vector<std::int64_t>& order) {
    const Scratch<T> mixed = mixedColumns(kept, mix);
    // Each place has the column that comes there, or if negative one of the mixed.
    std::vector<std::int64_t> sources(asSize(sizes_.columns));
    std::iota(sources.begin(), sources.end(), 0);
    for (std::size_t i = 0; i < kept.size(); ++i) sources[asSize(kept[i])] = -1 - static_cast<std::int64_t>(i);
    parallelFor(sizes_.rows, grainOf(sizes_.columns), [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> row(order.size());
      for (std::int64_t i = begin; i < end; ++i) {
        const T* others = mixed.data() + i * std::ssize(kept);
        for (std::size_t j = 0; j < order.size(); ++j) {
          const std::int64_t from = sources[asSize(order[j])];
          row[j] = from < 0 ? others[-1 - from] : at(i, from);
        }
        std::ranges::copy(row, q_ + i * ldq_);
      }
    });
  }

 private:
  [[nodiscard]] T& at(std::int64_t i, std::int64_t j) const { return q_[i * ldq_ + j]; }

  [[nodiscard]] Scratch<T> mixedColumns(const std::vector<std::int64_t>& kept, const double* mix) const {
    Scratch<T> mixed(sizes_.rows * std::ssize(kept));
    mixRows(0, sizes_.upperRows, top_, kept, mix, mixed.data());
    mixRows(sizes_.upperRows, sizes_.rows - sizes_.upperRows, bottom_, kept, mix,
            mixed.data() + sizes_.upperRows * std::ssize(kept));
    return mixed;
  }
  /// Of some rows, in which only the columns of `part` are not 0.
  void mixRows(std::int64_t first, std::int64_t rows, const std::vector<char>& part,
               const std::vector<std::int64_t>& kept, const double* mix, T* to) const {
    const std::int64_t k = std::ssize(kept);
    std::vector<std::int64_t> which;
    for (std::int64_t i = 0; i < k; ++i)
      if (part[asSize(kept[asSize(i)])]) which.push_back(i);
    const std::int64_t depth = std::ssize(which);
    if (depth == 0 || rows == 0) {
      std::fill_n(to, rows * k, T());
      return;
    }
    Scratch<T> left(rows * depth);
    Scratch<T> right(k * depth);
    parallelFor(std::max(rows, k), grainOf(2 * depth), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < std::min(end, rows); ++i)
        for (std::int64_t p = 0; p < depth; ++p) left[i * depth + p] = at(first + i, kept[asSize(which[asSize(p)])]);
      for (std::int64_t i = begin; i < std::min(end, k); ++i)
        for (std::int64_t p = 0; p < depth; ++p) right[i * depth + p] = static_cast<T>(mix[i * k + which[asSize(p)]]);
    });
    gemm(rows, k, depth, Matrix<T>{left.data(), depth, 1}, Matrix<T>{right.data(), 1, depth}, to);
  }

  T* q_;
  std::int64_t ldq_;
  SplitSizes sizes_;
  std::vector<char> top_, bottom_;  // has a column elements in the rows of a half?
};

/// The vectors, as columns, of a matrix of n columns that is solved by halves, those of a part beside the diagonal. For
/// values alone the first and the last row of each part are all that is needed: they are two rows then.
template <class T>
class HalvedVectors {
 public:
  /// Rows n apart.
  HalvedVectors(T* data, std::int64_t n, bool endsOnly) : data_(data), n_(n), endsOnly_(endsOnly) {}

  /// Rows of a part of so many columns.
  [[nodiscard]] std::int64_t rowsOf(std::int64_t columns) const { return endsOnly_ ? 2 : columns; }
  /// The vectors of a part before it is solved, one a row: those of the unit matrix.
  [[nodiscard]] std::vector<double> unit(std::int64_t columns) const {
    std::vector<double> made(asSize(columns * rowsOf(columns)));
    for (std::int64_t j = 0; j < columns && !endsOnly_; ++j) made[asSize(j * (columns + 1))] = 1;
    if (endsOnly_) made.front() = made.back() = 1;
    return made;
  }
  /// The vectors of the part that begins at a column.
  void write(std::int64_t at, const std::vector<double>& vectors, std::int64_t columns) const {
    const std::int64_t rows = rowsOf(columns);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) part(at)[i * n_ + j] = static_cast<T>(vectors[asSize(j * rows + i)]);
  }
  /// Of two parts side by side, the upper one of so many rows.
  [[nodiscard]] const T* lastOfUpper(std::int64_t at, std::int64_t upper) const {
    return part(at) + (endsOnly_ ? 1 : upper - 1) * n_;
  }
  [[nodiscard]] const T* firstOfLower(std::int64_t at, std::int64_t upper) const {
    return part(at) + (endsOnly_ ? 0 : upper) * n_;
  }
  /// The two become one. Of the rows where they meet no more is needed then.
  [[nodiscard]] SplitColumns<T> joined(std::int64_t at, std::int64_t columns, std::int64_t upper) const {
    if (!endsOnly_) return {part(at), n_, {columns, columns, upper, upper}};
    std::fill_n(part(at) + upper, columns - upper, T());
    std::fill_n(part(at) + n_, upper, T());
    return {part(at), n_, {2, columns, 1, upper}};
  }

 private:
  [[nodiscard]] T* part(std::int64_t at) const { return data_ + (endsOnly_ ? at : at * (n_ + 1)); }
  T* data_;
  std::int64_t n_;
  bool endsOnly_;
};

}  // namespace tandem::lib
