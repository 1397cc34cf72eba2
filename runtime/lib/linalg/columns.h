// A matrix of columns times a vector, and what else goes along columns. The order of every sum is a function of the
// sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::lib {

constexpr std::size_t asSize(std::int64_t i) { return static_cast<std::size_t>(i); }

/// sums[j] = sum_i a[i + j * lda] x[i]. Uses the pool.
template <class T>
void project(const T* a, std::int64_t lda, std::int64_t rows, std::int64_t columns, const T* x, T* sums);
/// to[i] += sum_j a[i + j * lda] factors[j], in the order of j. Uses the pool.
template <class T>
void combine(const T* a, std::int64_t lda, std::int64_t rows, std::int64_t columns, const T* factors, T* to);
/// sums[i] = sum_j a[i, j] x[j] of a symmetric matrix of n columns, of which what is above the diagonal is not read.
/// Its first column is column `first` of a larger one: a thread meets the same columns of that again. Uses the pool.
template <class T>
void projectSymmetric(const T* a, std::int64_t lda, std::int64_t n, std::int64_t first, const T* x, T* sums);
/// to[i] += factor * from[i]
template <class T>
void addScaled(T factor, const T* from, T* to, std::int64_t n);

/// The largest size of a number, of numbers that are not NaN.
template <class T>
T largestOf(const T* x, std::int64_t n);

}  // namespace tandem::lib
