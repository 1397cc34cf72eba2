// The steps that blocked factorisations are made of, on one matrix: triangular systems, what a product takes from a
// part, swaps of rows. Parts are row-major with rows some elements apart; the products are those of runtime/lib/matmul.
//
// The order of every sum is a function of the sizes: systems are solved by halves, the rows of one taking a product
// from those of the other, down to triangles of kTriangle rows, which are solved by fused multiply-adds in the order of
// rows. One column has the product with all rows that are solved taken from a triangle at a time.
#pragma once

#include <cstdint>

#include "runtime/lib/matmul/gemm.h"

namespace tandem::lib {

/// Rows that are solved at once.
inline constexpr std::int64_t kTriangle = 64;

struct TriangleKind {
  bool upper = false;
  bool unit = false;    // the diagonal counts as ones and is not read
  bool ofUnit = false;  // x is a unit matrix: its zeros are left out
};

/// x = a^-1 x for a triangle of any size and x[n, m], rows ldx apart. Uses the pool (serial inside a tile of it).
template <class T>
void solveTriangular(const Matrix<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx, std::int64_t m);

/// to[rows, columns] = -a, rows `apart` from each other. On this thread.
template <class T>
void negate(const Matrix<T>& a, std::int64_t rows, std::int64_t columns, T* to, std::int64_t apart);

/// c[m, n] -= a[m, k] b[k, n], rows of c ldc apart.
template <class T>
void subtractProduct(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c,
                     std::int64_t ldc);

/// The upper triangle u[n, n], rows ldu apart, becomes the factor of u^T u = it, n <= kTriangle; what is below the
/// diagonal is not touched. 0, or the order of the first leading minor that is not positive-definite.
template <class T>
std::int64_t factorTriangle(T* u, std::int64_t ldu, std::int64_t n);

/// The first n columns of a[m, n], m >= 1, as they are stored: column j at a + j * lda. Partial pivoting: a becomes L
/// and U in one, swaps[j] the row (from 0) that came to row j.
template <class T>
void factorColumns(T* a, std::int64_t lda, std::int64_t m, std::int64_t n, std::int64_t* swaps);

/// x[n, m] = a^-1 x by LU with partial pivoting; a[n, n] becomes its factors (lu.cpp).
template <class T>
void solveSystem(T* a, T* x, std::int64_t n, std::int64_t m);

}  // namespace tandem::lib
