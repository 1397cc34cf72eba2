// Elementary functions of library operations, with the same bits on every device: the text that GPUs compile as well.
// Double and float: expOf, log1pOf, logSum. Double: logOf, cosineOf (x in [0, 2^30]), powOf (x in (0, 1), y > 0),
// lgammaOf (x >= 1/2). Within 2 ULP. Their includer compiles for processors with fma.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tandem::lib {

using int64 = long long;
using uint64 = unsigned long long;
using int32 = std::int32_t;
using uint32 = std::uint32_t;

#define FORMULA inline
#define INLINED [[gnu::always_inline]] inline
FORMULA double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
FORMULA float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FORMULA double rootOf(double x) { return std::sqrt(x); }
FORMULA double floorOf(double x) { return std::floor(x); }
FORMULA double ceilOf(double x) { return std::ceil(x); }
FORMULA int64 bitsOf(double x) { return std::bit_cast<int64>(x); }
FORMULA double ofBits(int64 x) { return std::bit_cast<double>(x); }
FORMULA int32 bitsOf(float x) { return std::bit_cast<int32>(x); }
FORMULA float ofBits(int32 x) { return std::bit_cast<float>(x); }

#include "runtime/lib/formulas/elementary.inl"

#undef FORMULA
#undef INLINED
#undef INFINITE
#undef NOT_A_NUMBER
#undef LOG2E
#undef LN2_HIGH
#undef LN2_LOW
#undef LOG2E_F
#undef LN2_HIGH_F
#undef LN2_LOW_F

}  // namespace tandem::lib
