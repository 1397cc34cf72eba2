// Singular values and vectors of upper bidiagonal matrices by divide and conquer.
//
// A matrix is two halves and the row between them: with the halves solved, it is U M V^T, where M is diagonal but for
// one full row, whose singular values are the zeros of a rational function (secular_equation.h). As for symmetric
// matrices (tridiagonal.h) what hardly changes is left out. Sources: Gu, Eisenstat, "A divide-and-conquer algorithm for
// the bidiagonal SVD", 1995; for the small parts, Golub, Kahan, 1965, and Demmel, Kahan, "Accurate singular values of
// bidiagonal matrices", 1990.
#pragma once

#include "runtime/lib/linalg/rotations.h"

namespace tandem::lib {

/// Of the n x n matrix with `diagonal` and, above it, `above` (one less), of numbers near 1 or smaller: the singular
/// values replace the diagonal, descending, and u and v, row-major n x n, have their vectors as columns. Without
/// vectors where u and v are null. False where an iteration does not end.
template <class T>
bool solveBidiagonal(double* diagonal, const double* above, std::int64_t n, T* u, T* v);

/// The values alone of such a matrix, to the last digits of the largest one. False where steps do not end: `diagonal`
/// is used up then.
bool bidiagonalValues(double* diagonal, const double* above, std::int64_t n);

/// Parts of so many rows are solved by iteration.
inline constexpr std::int64_t kSmallBidiagonal = 32;
/// As above, of n rows and, if `extra`, one more column, whose number is above[n - 1]. Rotates the n rows of `left` and
/// the n or n + 1 of `right`, of which the last one belongs to no value then. `above` is used up.
/// What is at most `precision` times what is near it counts as nothing.
bool solveSmallBidiagonal(double* diagonal, double* above, std::int64_t n, bool extra, VectorRows left,
                          VectorRows right, double precision);

}  // namespace tandem::lib
