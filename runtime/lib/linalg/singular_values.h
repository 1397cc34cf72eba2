// The singular values and vectors of one matrix: bidiagonal by Eigen, then bidiagonal.h.
#pragma once

#include "runtime/lib/linalg/eigen_batch.h"

namespace tandem::lib {

enum class SingularVectors : std::uint8_t { None, Thin, Full };

/// a = u diag(values) v^T, with values descending.
template <class T>
struct SingularFactors {
  Dense<T> u;
  Eigen::Matrix<T, Eigen::Dynamic, 1> values;
  Dense<T> v;
};

/// Of a finite matrix with elements. LinAlgError where an iteration does not end.
template <class T>
SingularFactors<T> singularFactors(const Dense<T>& a, SingularVectors vectors);

}  // namespace tandem::lib
