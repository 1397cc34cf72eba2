// Numbers: bits, integer and exact floating-point functions. What is not exact (exp, sin ...) is missing on purpose: a
// GPU's has other bits than a host's.
#pragma once

#include "tests/emulation/shim/types.h"

namespace tandem::emulation {
template <class To, class From>
inline To bitsAs(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &v, sizeof(To));
  return to;
}
}  // namespace tandem::emulation

#define TANDEM_BITS(To, name, From)                                                                                    \
  inline To name(From v) { return tandem::emulation::bitsAs<To>(v); }
#pragma shim __float_as_int
TANDEM_BITS(int, __float_as_int, float)
#pragma shim __float_as_uint
TANDEM_BITS(unsigned, __float_as_uint, float)
#pragma shim __int_as_float
TANDEM_BITS(float, __int_as_float, int)
#pragma shim __uint_as_float
TANDEM_BITS(float, __uint_as_float, unsigned)
#pragma shim __double_as_longlong
TANDEM_BITS(long long, __double_as_longlong, double)
#pragma shim __longlong_as_double
TANDEM_BITS(double, __longlong_as_double, long long)
#pragma shim __double2hiint __double2loint __hiloint2double
inline int __double2hiint(double v) { return static_cast<int>(__double_as_longlong(v) >> 32); }
inline int __double2loint(double v) { return static_cast<int>(__double_as_longlong(v)); }
inline double __hiloint2double(int hi, int lo) {
  return __longlong_as_double(static_cast<long long>(hi) << 32 | static_cast<unsigned>(lo));
}

// ---- integers

#pragma shim __popc __clz __ffs
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(v); }
inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
#pragma shim __brev
inline unsigned long long __brevll(unsigned long long v) {
  v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
  v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
  v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
  return __builtin_bswap64(v);
}
inline unsigned __brev(unsigned v) { return __brevll(v) >> 32; }
#pragma shim __mulhi __umulhi __mul64hi __umul64hi __mul24 __umul24
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned long long>(a) * b >> 32; }
inline long long __mul64hi(long long a, long long b) { return static_cast<__int128>(a) * b >> 64; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned __int128>(a) * b >> 64;
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
#pragma shim __funnelshift
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return (static_cast<unsigned long long>(hi) << 32 | lo) << (n & 31) >> 32;
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return (static_cast<unsigned long long>(hi) << 32 | lo) >> (n & 31);
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}
#pragma shim __byte_perm
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned v = 0;
  for (int i = 0; i < 4; ++i) v |= static_cast<unsigned>(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return v;
}

#pragma shim min max
#define TANDEM_MIN_MAX(R, A, B)                                                                                        \
  inline R min(A a, B b) { return static_cast<R>(b) < static_cast<R>(a) ? static_cast<R>(b) : static_cast<R>(a); }     \
  inline R max(A a, B b) { return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a); }
TANDEM_MIN_MAX(int, int, int)
TANDEM_MIN_MAX(unsigned, unsigned, unsigned)
TANDEM_MIN_MAX(unsigned, int, unsigned)
TANDEM_MIN_MAX(unsigned, unsigned, int)
TANDEM_MIN_MAX(long, long, long)
TANDEM_MIN_MAX(unsigned long, unsigned long, unsigned long)
TANDEM_MIN_MAX(unsigned long, long, unsigned long)
TANDEM_MIN_MAX(unsigned long, unsigned long, long)
TANDEM_MIN_MAX(long long, long long, long long)
TANDEM_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
TANDEM_MIN_MAX(unsigned long long, long long, unsigned long long)
TANDEM_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef TANDEM_MIN_MAX
#pragma shim abs labs llabs
inline int abs(int v) { return v < 0 ? -v : v; }
inline long abs(long v) { return v < 0 ? -v : v; }
inline long long abs(long long v) { return v < 0 ? -v : v; }
inline long labs(long v) { return abs(v); }
inline long long llabs(long long v) { return abs(v); }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }

// ---- exact functions of floating-point numbers

#pragma shim fmod remainder ldexp scalbn frexp modf nextafter round logb ilogb
extern "C" {
float fmodf(float x, float y);
double fmod(double x, double y);
float remainderf(float x, float y);
double remainder(double x, double y);
float ldexpf(float x, int e);
double ldexp(double x, int e);
float scalbnf(float x, int e);
double scalbn(double x, int e);
float frexpf(float x, int* e);
double frexp(double x, int* e);
float modff(float x, float* whole);
double modf(double x, double* whole);
float nextafterf(float x, float y);
double nextafter(double x, double y);
float roundf(float x);
double round(double x);
float logbf(float x);
double logb(double x);
int ilogbf(float x);
int ilogb(double x);
}

#pragma shim rounded
namespace tandem::emulation {
// The instruction's modes: 0 to nearest even, 1 down, 2 up, 3 to zero.
template <int mode>
inline float rounded(float x) {
  float r;
  asm("vroundss %2, %1, %1, %0" : "=x"(r) : "x"(x), "i"(mode | 8));
  return r;
}
template <int mode>
inline double rounded(double x) {
  double r;
  asm("vroundsd %2, %1, %1, %0" : "=x"(r) : "x"(x), "i"(mode | 8));
  return r;
}
}  // namespace tandem::emulation

#pragma shim smaller larger
namespace tandem::emulation {
// The smaller or larger one; of a number and NaN the number; -0 is below 0.
template <class T>
inline T smaller(T a, T b) {
  return a != a ? b : b != b ? a : a == b ? (__builtin_signbit(a) ? a : b) : a < b ? a : b;
}
template <class T>
inline T larger(T a, T b) {
  return a != a ? b : b != b ? a : a == b ? (__builtin_signbit(a) ? b : a) : a < b ? b : a;
}
}  // namespace tandem::emulation

#pragma shim floor ceil trunc rint nearbyint
// `name` of double, `namef` of float, and the overload of float.
#define TANDEM_UNARY(name, expression)                                                                                 \
  inline double name(double x) { return expression; }                                                                  \
  inline float name##f(float x) { return expression; }                                                                 \
  inline float name(float x) { return expression; }
TANDEM_UNARY(floor, tandem::emulation::rounded<1>(x))
TANDEM_UNARY(ceil, tandem::emulation::rounded<2>(x))
TANDEM_UNARY(trunc, tandem::emulation::rounded<3>(x))
TANDEM_UNARY(rint, tandem::emulation::rounded<0>(x))
TANDEM_UNARY(nearbyint, tandem::emulation::rounded<0>(x))
#undef TANDEM_UNARY
#pragma shim fabs sqrt fma copysign
inline float fabsf(float x) { return __builtin_fabsf(x); }
inline float fabs(float x) { return __builtin_fabsf(x); }
inline double fabs(double x) { return __builtin_fabs(x); }
inline float sqrtf(float x) { return __builtin_sqrtf(x); }
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
inline float copysign(float x, float y) { return __builtin_copysignf(x, y); }
inline double copysign(double x, double y) { return __builtin_copysign(x, y); }

#pragma shim fmin fmax
#define TANDEM_BINARY(name, function)                                                                                  \
  inline double name(double x, double y) { return tandem::emulation::function(x, y); }                                 \
  inline float name##f(float x, float y) { return tandem::emulation::function(x, y); }                                 \
  inline float name(float x, float y) { return tandem::emulation::function(x, y); }
TANDEM_BINARY(fmin, smaller)
TANDEM_BINARY(fmax, larger)
#undef TANDEM_BINARY
#pragma shim min max
inline float min(float x, float y) { return tandem::emulation::smaller(x, y); }
inline double min(double x, double y) { return tandem::emulation::smaller(x, y); }
inline double min(float x, double y) { return tandem::emulation::smaller<double>(x, y); }
inline double min(double x, float y) { return tandem::emulation::smaller<double>(x, y); }
inline float max(float x, float y) { return tandem::emulation::larger(x, y); }
inline double max(double x, double y) { return tandem::emulation::larger(x, y); }
inline double max(float x, double y) { return tandem::emulation::larger<double>(x, y); }
inline double max(double x, float y) { return tandem::emulation::larger<double>(x, y); }

#pragma shim isnan isinf isfinite signbit
#define TANDEM_CLASSES(T)                                                                                              \
  inline bool isnan(T x) { return __builtin_isnan(x); }                                                                \
  inline bool isinf(T x) { return __builtin_isinf(x); }                                                                \
  inline bool isfinite(T x) { return __builtin_isfinite(x); }                                                          \
  inline bool signbit(T x) { return __builtin_signbit(x); }
TANDEM_CLASSES(float)
TANDEM_CLASSES(double)
#undef TANDEM_CLASSES

#pragma shim __fadd_rn __fsub_rn __fmul_rn __fdiv_rn __frcp_rn __fsqrt_rn __dadd_rn __dsub_rn __dmul_rn __ddiv_rn __drcp_rn __dsqrt_rn
// Arithmetic that is never contracted.
#define TANDEM_ROUNDED(T, prefix)                                                                                      \
  inline T prefix##add_rn(T x, T y) { return x + y; }                                                                  \
  inline T prefix##sub_rn(T x, T y) { return x - y; }                                                                  \
  inline T prefix##mul_rn(T x, T y) { return x * y; }                                                                  \
  inline T prefix##div_rn(T x, T y) { return x / y; }                                                                  \
  inline T prefix##rcp_rn(T x) { return 1 / x; }                                                                       \
  inline T prefix##sqrt_rn(T x) { return sqrt(x); }
TANDEM_ROUNDED(float, __f)
TANDEM_ROUNDED(double, __d)
#undef TANDEM_ROUNDED
#pragma shim __fmaf_rn __fma_rn __saturatef
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline float __saturatef(float x) { return x >= 1 ? 1.0f : x > 0 ? x : 0.0f; }
