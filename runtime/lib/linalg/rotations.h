// Rotations of two vectors in their plane, which the iterations for small matrices are made of.
#pragma once

#include <cmath>
#include <cstdint>

namespace tandem::lib {

/// [c s; -s c] (f, g) = (length, 0)
struct Rotation {
  Rotation(double f, double g) {
    if (g == 0) {
      length = f;
    } else {
      const double squares = f * f + g * g;
      length = squares > 1e-280 ? std::sqrt(squares) : std::hypot(f, g);
      const double scale = 1 / length;
      c = f * scale;
      s = g * scale;
    }
  }
  double c = 1, s = 0, length = 0;
};

/// Vectors that rotations act on, one a row.
struct VectorRows {
  double* data;
  std::int64_t length;
};

/// The vectors a and b become c a + s b and c b - s a.
void rotate(const VectorRows& rows, std::int64_t a, std::int64_t b, const Rotation& by);
/// The vectors in the order of their values, which descend.
void sortDescending(double* values, std::int64_t n, const VectorRows& left, const VectorRows& right);

}  // namespace tandem::lib
