// Eigenvalues and eigenvectors of symmetric tridiagonal matrices by divide and conquer.
//
// A matrix is two halves and a product rho z z^T beside them: with the halves solved, it is Q (D + rho z z^T) Q^T,
// whose eigenvalues are the zeros of a rational function (secular_equation.h), and whose eigenvectors are Q times those
// of the middle. Columns that hardly change are left out of that product (deflation). Sources: Cuppen, 1981; Gu,
// Eisenstat, "A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem", 1995, which makes vectors
// orthogonal; Li, "Solving secular equations stably and efficiently", 1993.
#pragma once

#include <cstdint>

namespace tandem::lib {

/// Of the matrix with `diagonal` and, beside it, `beside` (one less), of numbers near 1 or smaller: the eigenvalues
/// replace the diagonal, ascending, and `vectors`, row-major n x n, has the unit eigenvectors as columns. False where
/// an iteration does not end.
template <class T>
bool solveTridiagonal(double* diagonal, const double* beside, std::int64_t n, T* vectors);

/// Parts of so many rows are solved by iteration (eigenvalues.cpp); `vectors` has them as columns, n apart.
inline constexpr std::int64_t kSmallTridiagonal = 32;
bool solveSmallTridiagonal(double* diagonal, const double* beside, std::int64_t n, double* vectors);

}  // namespace tandem::lib
