// Orthogonal polynomials of elements of one degree, compiled once an instruction set (polynomials_body.h).
#pragma once

#include <cstdint>

#include "runtime/lib/functions/polynomials.h"

namespace tandem::lib {

/// Of `count` points, a whole number of times as many as a function takes, all in the range where a formula is needed;
/// `single`: results are rounded to float32 then.
using PolynomialFn = void (*)(Polynomial family, bool shifted, bool single, const double* points, std::int64_t degree,
                              std::int64_t count, double* out);
struct Alike {
  bool degree;  // all are of the degree of the first
  bool plain;   // and no argument is far or NaN
};
struct PolynomialLanes {
  int few;  // how many points `ofFew` takes
  PolynomialFn ofFew;
  PolynomialFn ofMany;
  int many;  // and `ofMany`, at most kMostLanes
  /// What is alike among `count` points, a whole number of times `few`, of which none is to be beyond `most`.
  Alike (*alike)(const double* points, const double* degrees, std::int64_t count, double most);
};
inline constexpr int kMostLanes = 32;
/// Up to this degree Chebyshev's are computed by recurrence, which takes less than doubling degrees.
inline constexpr std::int64_t kMostSteps = 10;
/// Up to this degree, and so far from 0, no value of a recurrence comes near the ends of the exponent's range.
inline constexpr std::int64_t kFewSteps = 32;
inline constexpr double kMostNear = 1024;
/// A value that is less than this part of the one before it may have lost digits that float32 has.
inline constexpr double kCancelled = 0x1p-14;

namespace avx2 {
PolynomialLanes polynomialLanes();
}
namespace avx512 {
PolynomialLanes polynomialLanes();
}

}  // namespace tandem::lib
