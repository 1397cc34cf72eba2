// Conversions with a named rounding. Those to integers saturate; NaN gives 0, but half of the range where a double or
// a 64-bit integer takes part (PTX ISA, `cvt`).
#pragma once

#include "tests/emulation/shim/math.h"

#pragma shim TANDEM_TO_INTEGER
namespace tandem::emulation {
template <class To, int mode, class From>
inline To toInteger(From x) {
  constexpr int bits = sizeof(To) * 8;
  constexpr bool isSigned = static_cast<To>(-1) < 0;
  constexpr To least = isSigned ? static_cast<To>(1ull << (bits - 1)) : 0;
  constexpr To most = static_cast<To>(~least);
  // The first number that is too large is a power of two, which both floating-point types have.
  constexpr From end = static_cast<From>(1ull << (bits - 2)) * (isSigned ? 2 : 4);
  if (x != x) return bits == 64 || sizeof(From) == 8 ? static_cast<To>(1ull << (bits - 1)) : 0;
  x = rounded<mode>(x);
  if (x >= end) return most;
  if (x < static_cast<From>(least)) return least;
  return static_cast<To>(x);
}
}  // namespace tandem::emulation

#define TANDEM_TO_INTEGER(From, from, To, to)                                                                          \
  inline To __##from##2##to##_rn(From x) { return tandem::emulation::toInteger<To, 0>(x); }                            \
  inline To __##from##2##to##_rd(From x) { return tandem::emulation::toInteger<To, 1>(x); }                            \
  inline To __##from##2##to##_ru(From x) { return tandem::emulation::toInteger<To, 2>(x); }                            \
  inline To __##from##2##to##_rz(From x) { return tandem::emulation::toInteger<To, 3>(x); }
#pragma shim __float2int_
TANDEM_TO_INTEGER(float, float, int, int)
#pragma shim __float2uint_
TANDEM_TO_INTEGER(float, float, unsigned, uint)
#pragma shim __float2ll_ lrint llrint
TANDEM_TO_INTEGER(float, float, long long, ll)
#pragma shim __float2ull_
TANDEM_TO_INTEGER(float, float, unsigned long long, ull)
#pragma shim __double2int_
TANDEM_TO_INTEGER(double, double, int, int)
#pragma shim __double2uint_
TANDEM_TO_INTEGER(double, double, unsigned, uint)
#pragma shim __double2ll_ lrint llrint
TANDEM_TO_INTEGER(double, double, long long, ll)
#pragma shim __double2ull_
TANDEM_TO_INTEGER(double, double, unsigned long long, ull)

#pragma shim TANDEM_NARROWED
namespace tandem::emulation {
inline float narrowed(double x, int mode) {
  float f = static_cast<float>(x);
  double d = f;
  if (mode == 0 || x != x || d == x) return f;
  const bool up = mode == 2 || (mode == 3 && x < 0);
  if (up ? d > x : d < x) return f;
  // One step in the direction asked for.
  int bits = __float_as_int(f);
  if (f == 0) return up ? __int_as_float(1) : __int_as_float(static_cast<int>(0x80000001));
  return __int_as_float((f > 0) == up ? bits + 1 : bits - 1);
}
}  // namespace tandem::emulation

// Every 32-bit integer is a double.
#define TANDEM_NARROWED(From, from)                                                                                    \
  inline float __##from##2float_rn(From x) { return tandem::emulation::narrowed(x, 0); }                               \
  inline float __##from##2float_rd(From x) { return tandem::emulation::narrowed(x, 1); }                               \
  inline float __##from##2float_ru(From x) { return tandem::emulation::narrowed(x, 2); }                               \
  inline float __##from##2float_rz(From x) { return tandem::emulation::narrowed(x, 3); }
#pragma shim __int2float_
TANDEM_NARROWED(int, int)
#pragma shim __uint2float_
TANDEM_NARROWED(unsigned, uint)
#pragma shim __double2float_
TANDEM_NARROWED(double, double)
#pragma shim __ll2 __ull2 __int2double_rn __uint2double_rn
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }

#pragma shim lrint llrint
inline long lrintf(float x) { return __float2ll_rn(x); }
inline long lrint(double x) { return __double2ll_rn(x); }
inline long long llrintf(float x) { return __float2ll_rn(x); }
inline long long llrint(double x) { return __double2ll_rn(x); }
