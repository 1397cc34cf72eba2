// Words and types of CUDA C++ for a host's compiler. The shim stands before every text that is compiled; NVRTC has all
// this built in. What stands behind `#pragma shim NAMES` only those texts get that have a word which begins with one of
// the names, what stands behind `#pragma shim always` all: to read the whole shim takes a compiler longer than to
// compile a usual text.
#pragma once

#include "tests/emulation/module.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __shared__ static __attribute__((aligned(512)))
#define __builtin_assume(x) ((void)0)
#define __assume(x) ((void)0)
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1

typedef unsigned long size_t;
typedef long ptrdiff_t;

namespace tandem::emulation {
static Machine machine;
/// Which types beside numbers __ldg and its like take.
template <class T>
inline constexpr bool kLoads = false;
}  // namespace tandem::emulation

static const uint3& threadIdx = tandem::emulation::machine.thread;
static const uint3& blockIdx = tandem::emulation::machine.block;
static const uint3& blockDim = tandem::emulation::machine.threads;
static const uint3& gridDim = tandem::emulation::machine.blocks;
static constexpr int warpSize = 32;

struct dim3 {
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  unsigned x, y, z;
};

// What a text may call without a header.
extern "C" {
void* memcpy(void* to, const void* from, size_t bytes);
void* memset(void* to, int value, size_t bytes);
int printf(const char* format, ...);
}

namespace tandem::emulation {
template <class T>
struct ElementOf {
  typedef T type;
};
template <class T>
using Element = typename ElementOf<T>::type;
/// Dynamic shared memory that is declared outside of functions.
template <class T>
struct DynamicShared {
  operator T*() const { return static_cast<T*>(machine.dynamicShared); }
};
}  // namespace tandem::emulation

#define TANDEM_VECTORS(T, N, two, four)                                                                                \
  struct N##1 { T x; };                                                                                                \
  struct alignas(two) N##2 { T x, y; };                                                                                \
  struct alignas(four) N##4 { T x, y, z, w; };                                                                         \
  inline N##1 make_##N##1(T x) { return {x}; }                                                                         \
  inline N##2 make_##N##2(T x, T y) { return {x, y}; }                                                                 \
  inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                                                         \
  inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }                                                 \
  template <>                                                                                                          \
  inline constexpr bool tandem::emulation::kLoads<N##2> = true;                                                        \
  template <>                                                                                                          \
  inline constexpr bool tandem::emulation::kLoads<N##4> = true;
#define TANDEM_VECTORS3(T, N)                                                                                          \
  struct N##3 { T x, y, z; };
#pragma shim char1 char2 char3 char4 make_char
TANDEM_VECTORS3(signed char, char)
TANDEM_VECTORS(signed char, char, 2, 4)
#pragma shim uchar1 uchar2 uchar3 uchar4 make_uchar
TANDEM_VECTORS3(unsigned char, uchar)
TANDEM_VECTORS(unsigned char, uchar, 2, 4)
#pragma shim short1 short2 short3 short4 make_short
TANDEM_VECTORS3(short, short)
TANDEM_VECTORS(short, short, 4, 8)
#pragma shim ushort1 ushort2 ushort3 ushort4 make_ushort
TANDEM_VECTORS3(unsigned short, ushort)
TANDEM_VECTORS(unsigned short, ushort, 4, 8)
#pragma shim int1 int2 int3 int4 make_int
TANDEM_VECTORS3(int, int)
TANDEM_VECTORS(int, int, 8, 16)
#pragma shim uint1 uint2 uint4 make_uint
TANDEM_VECTORS(unsigned, uint, 8, 16)
#pragma shim long1 long2 long3 long4 make_long
TANDEM_VECTORS3(long, long)
TANDEM_VECTORS(long, long, 16, 16)
#pragma shim ulong1 ulong2 ulong3 ulong4 make_ulong
TANDEM_VECTORS3(unsigned long, ulong)
TANDEM_VECTORS(unsigned long, ulong, 16, 16)
#pragma shim longlong1 longlong2 longlong3 longlong4 make_longlong
TANDEM_VECTORS3(long long, longlong)
TANDEM_VECTORS(long long, longlong, 16, 16)
#pragma shim ulonglong1 ulonglong2 ulonglong3 ulonglong4 make_ulonglong
TANDEM_VECTORS3(unsigned long long, ulonglong)
TANDEM_VECTORS(unsigned long long, ulonglong, 16, 16)
#pragma shim float1 float2 float3 float4 make_float
TANDEM_VECTORS3(float, float)
TANDEM_VECTORS(float, float, 8, 16)
#pragma shim double1 double2 double3 double4 make_double
TANDEM_VECTORS3(double, double)
TANDEM_VECTORS(double, double, 16, 16)
