// Eigenvalues and eigenvectors of symmetric tridiagonal matrices by divide and conquer.
//
// A matrix is two halves and a product rho z z^T beside them: with the halves solved, it is Q (D + rho z z^T) Q^T,
// whose eigenvalues are the zeros of a rational function (secular_equation.h), and whose eigenvectors are Q times those
// of the middle. Columns that hardly change are left out of that product (deflation). Sources: Cuppen, 1981; Gu,
// Eisenstat, "A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem", 1995, which makes vectors
// orthogonal; Li, "Solving secular equations stably and efficiently", 1993.
#pragma once

#include "runtime/lib/linalg/rotations.h"

namespace tandem::lib {

/// Of the matrix with `diagonal` and, beside it, `beside` (one less), of numbers near 1 or smaller: the eigenvalues
/// replace the diagonal, ascending, and `vectors`, row-major n x n, has the unit eigenvectors as columns. False where
/// an iteration does not end.
template <class T>
bool solveTridiagonal(double* diagonal, const double* beside, std::int64_t n, T* vectors);

/// The eigenvalues alone. What is at most `precision` times what is near it counts as nothing. `beside` is used up.
bool tridiagonalValues(double* diagonal, double* beside, std::int64_t n, double precision);

/// Parts of so many rows are solved by iteration. Rotates n vectors; `beside` is used up.
inline constexpr std::int64_t kSmallTridiagonal = 32;
bool solveSmallTridiagonal(double* diagonal, double* beside, std::int64_t n, VectorRows vectors, double precision);

}  // namespace tandem::lib
