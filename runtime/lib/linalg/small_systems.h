// Systems of equations that are so small that several are worked on side by side: each lane of a vector has one. Every
// step is that of factorColumns and solveTriangular (blocks.h), in the same order, so that bits do not tell which did.
#pragma once

#include <cstdint>

#include "runtime/lib/linalg/blocks.h"

namespace tandem::lib {

/// The largest number of rows, and of columns on the right.
inline constexpr std::int64_t kSmallSide = 8;
/// So many are worked on together.
template <class T>
inline constexpr std::int64_t kSmallTogether = 32 / sizeof(T);

/// Up to kSmallTogether matrices of one size, element after element, each element of all of them together.
template <class T>
class SideBySide {
 public:
  static constexpr std::int64_t kLanes = kSmallTogether<T>;

  SideBySide(std::int64_t rows, std::int64_t columns, std::int64_t count)
      : rows_(rows), columns_(columns), count_(count) {}

  /// Row `order[i]` of `from`, or row i where `order` is null, becomes row i of matrix `lane`.
  void take(std::int64_t lane, const Matrix<T>& from, const std::int64_t* order = nullptr);
  /// Row i of matrix `lane` becomes row `order[i]`, or row i, of a dense matrix.
  void give(std::int64_t lane, T* to, const std::int64_t* order = nullptr) const;
  /// Lanes without a matrix have the first one, once all are taken.
  void fillUp();

  /// LU with partial pivoting of square matrices: `swaps[lane * rows + j]` is the row that came to row j.
  void factor(std::int64_t* swaps);
  /// x = a^-1 x, where this is `a`.
  void solve(TriangleKind kind, SideBySide& x) const;

 private:
  std::int64_t rows_, columns_, count_;
  alignas(32) T elements_[kSmallSide * kSmallSide * kLanes];
};

}  // namespace tandem::lib
