#include "runtime/lib/linalg/rotations.h"

#include <algorithm>
#include <cstring>

// The instruction set all our kernels need at least.
#pragma GCC target("avx2,fma")

namespace tandem::lib {

void rotate(const VectorRows& rows, std::int64_t a, std::int64_t b, const Rotation& by) {
  using Lanes [[gnu::vector_size(32)]] = double;
  constexpr std::int64_t lanes = 4;
  double* first = rows.data + a * rows.length;
  double* second = rows.data + b * rows.length;
  std::int64_t i = 0;
  for (; i + lanes <= rows.length; i += lanes) {
    Lanes x, y;
    std::memcpy(&x, first + i, sizeof x);
    std::memcpy(&y, second + i, sizeof y);
    const Lanes sum = by.c * x + by.s * y;
    y = by.c * y - by.s * x;
    std::memcpy(first + i, &sum, sizeof sum);
    std::memcpy(second + i, &y, sizeof y);
  }
  for (; i < rows.length; ++i) {
    const double x = first[i];
    first[i] = by.c * x + by.s * second[i];
    second[i] = by.c * second[i] - by.s * x;
  }
}

void sortDescending(double* values, std::int64_t n, const VectorRows& left, const VectorRows& right) {
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    const std::int64_t largest = std::max_element(values + k, values + n) - values;
    if (largest == k) continue;
    std::swap(values[k], values[largest]);
    for (const VectorRows& rows : {left, right})
      std::swap_ranges(rows.data + k * rows.length, rows.data + (k + 1) * rows.length,
                       rows.data + largest * rows.length);
  }
}

}  // namespace tandem::lib
