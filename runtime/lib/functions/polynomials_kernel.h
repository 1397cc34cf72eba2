// Orthogonal polynomials of elements of one degree, compiled once an instruction set (polynomials_body.h).
#pragma once

#include <cstdint>

#include "runtime/lib/functions/polynomials.h"

namespace tandem::lib {

/// Of some points, all in the range where a formula is needed.
using PolynomialFn = void (*)(Polynomial family, bool shifted, const double* points, std::int64_t degree, double* out);
struct PolynomialLanes {
  int few;  // how many points `ofFew` takes
  PolynomialFn ofFew;
  PolynomialFn ofMany;
  int many;  // and `ofMany`, at most kMostLanes
};
inline constexpr int kMostLanes = 16;

namespace avx2 {
PolynomialLanes polynomialLanes();
}
namespace avx512 {
PolynomialLanes polynomialLanes();
}

}  // namespace tandem::lib
