// Householder reflectors H = I - tau v v^T, and the factorisations that are made of them: QR, and the bidiagonal and
// tridiagonal matrices that singular values and eigenvalues are found of. Some reflectors at a time act as one product
// (Schreiber, Van Loan, 1989; Dongarra, Sorensen, Hammarling, 1989). Their numbers are LAPACK's.
//
// The order of every sum is a function of the sizes. Matrices are columns: element (i, j) is at i + j * rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/lib/strided.h"

namespace tandem::lib {

/// Memory for vectors that is kept for the next one: a large one of the system's is made of pages afresh each time.
template <class T>
struct KeptMemory {
  using value_type = T;
  static T* allocate(std::size_t n) { return static_cast<T*>(tandem::allocate(n * sizeof(T))); }
  static void deallocate(T* p, std::size_t n) noexcept { tandem::deallocate(p, n * sizeof(T)); }
  bool operator==(const KeptMemory&) const = default;
};

template <class T>
struct ColumnMatrix {
  ColumnMatrix() = default;
  ColumnMatrix(std::int64_t m, std::int64_t n) : rows(m), columns(n), elements(static_cast<std::size_t>(m * n)) {}
  /// The m rows of n numbers from `data` on.
  static ColumnMatrix ofRows(const T* data, std::int64_t m, std::int64_t n) {
    ColumnMatrix made(m, n);
    transposeMatrix(data, n, made.elements.data(), m, n, m, floatingDType<T>());
    return made;
  }
  /// The same, or where it has more columns than rows its transpose.
  static ColumnMatrix tallOf(const T* data, std::int64_t m, std::int64_t n) {
    if (m >= n) return ofRows(data, m, n);
    ColumnMatrix made(n, m);
    std::copy_n(data, m * n, made.elements.data());
    return made;
  }
  static ColumnMatrix unit(std::int64_t m, std::int64_t n) {
    ColumnMatrix made(m, n);
    for (std::int64_t i = 0; i < m && i < n; ++i) *made.at(i, i) = 1;
    return made;
  }
  [[nodiscard]] T* at(std::int64_t i, std::int64_t j) { return elements.data() + i + j * rows; }
  [[nodiscard]] const T* at(std::int64_t i, std::int64_t j) const { return elements.data() + i + j * rows; }
  void writeRows(T* to) const {
    transposeMatrix(elements.data(), rows, to, columns, rows, columns, floatingDType<T>());
  }

  std::int64_t rows = 0, columns = 0;
  std::vector<T, KeptMemory<T>> elements;
};

/// Divides by the size of the largest element, so that no product leaves the range, and returns it; of zeros 1.
template <class T>
T takeSize(ColumnMatrix<T>& a);

/// The product of reflectors H_0 H_1 ...: v of H_i is column i below row i + shift, where it has a 1 that is not read.
template <class T>
struct Reflectors {
  ColumnMatrix<T> vectors;
  std::vector<T> tau;
  std::int64_t shift = 0;
};

/// Makes all but the first of n numbers 0: the first becomes what is left, the others v. Returns tau.
template <class T>
T makeReflector(T* x, std::int64_t n);

enum class Reflect : std::uint8_t { Plain, Transposed };
/// The product, or its transpose, times `c`, which takes its place. `ofUnit`: c is a unit matrix.
template <class T>
void applyReflectors(const Reflectors<T>& h, Reflect kind, ColumnMatrix<T>& c, bool ofUnit = false);

/// a = Q R: R is on and above the diagonal of the vectors.
template <class T>
Reflectors<T> factorQr(ColumnMatrix<T> a);
/// R, as many rows as columns, of a matrix with at least as many rows as columns.
template <class T>
ColumnMatrix<T> triangleOf(const Reflectors<T>& qr);

/// a = Q B P^T of a matrix with at least as many rows as columns, B upper bidiagonal.
template <class T>
struct Bidiagonal {
  std::vector<double> diagonal, above;
  Reflectors<T> left, right;
};
template <class T>
Bidiagonal<T> toBidiagonal(ColumnMatrix<T> a);

/// a = Q S Q^T of a symmetric matrix, S tridiagonal.
template <class T>
struct Tridiagonal {
  std::vector<double> diagonal, beside;
  Reflectors<T> q;
};
template <class T>
Tridiagonal<T> toTridiagonal(ColumnMatrix<T> a);

}  // namespace tandem::lib
