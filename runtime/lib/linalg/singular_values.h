// The singular values and vectors of one matrix: made bidiagonal by reflectors, then by bidiagonal.h.
#pragma once

#include "runtime/lib/linalg/reflectors.h"

namespace tandem::lib {

enum class SingularVectors : std::uint8_t { None, Thin, Full };

/// a = u diag(values) v^T, with values descending.
template <class T>
struct SingularFactors {
  ColumnMatrix<T> u;
  std::vector<T> values;
  ColumnMatrix<T> v;
};

/// Of the finite matrix a[m, n], row-major, with elements. LinAlgError where an iteration does not end.
template <class T>
SingularFactors<T> singularFactors(const T* a, std::int64_t m, std::int64_t n, SingularVectors vectors);

}  // namespace tandem::lib
