// What every generated kernel may call: this text stands before it. Header-free; the parts that are instructions of a
// GPU have a plain form, with which the text runs on a host as well.

// Half types are kept as their bits.
static __device__ inline float bfloatValue(unsigned short h) { return __int_as_float((int)((unsigned)h << 16)); }
#ifdef __CUDA_ARCH__
static __device__ inline float halfValue(unsigned short h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
static __device__ inline unsigned short halfBits(float x) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
// The instruction has one NaN; a copy keeps which it is.
static __device__ inline unsigned short bfloatBits(float x) {
  unsigned short h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return x != x ? (unsigned short)((unsigned)__float_as_int(x) >> 16 | 0x40u) : h;
}
#else
static __device__ inline unsigned short bfloatBits(float x) {
  const unsigned b = (unsigned)__float_as_int(x);
  return (unsigned short)(x != x ? b >> 16 | 0x40u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
static __device__ inline float halfValue(unsigned short h) {
  const unsigned magnitude = h & 0x7fffu, sign = (unsigned)(h & 0x8000u) << 16;
  if (magnitude >= 0x7c00u) return __int_as_float((int)(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13));
  if (magnitude < 0x400u) return __int_as_float((int)(sign | (unsigned)__float_as_int((float)magnitude * 0x1p-24f)));
  return __int_as_float((int)(sign | ((magnitude << 13) + 0x38000000u)));
}
static __device__ inline unsigned short halfBits(float x) {
  const unsigned b = (unsigned)__float_as_int(x), sign = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
  if (a > 0x7f800000u) return (unsigned short)(sign | 0x7e00u | (a >> 13 & 0x3ffu));
  if (a >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (a < 0x38800000u) return (unsigned short)(sign | (unsigned)rintf(__int_as_float((int)a) * 0x1p24f));
  return (unsigned short)(sign | (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13);
}
#endif

// Integers: a zero divisor gives 0, and the least number by -1 wraps.
template <class T>
static __device__ inline T quotient(T a, T b) {
  if (b == 0) return 0;
  if ((T)-1 < (T)0 && b == (T)-1) return (T)(0ULL - (unsigned long long)a);
  return a / b;
}
template <class T>
static __device__ inline T remainder(T a, T b) {
  return b == 0 || ((T)-1 < (T)0 && b == (T)-1) ? (T)0 : (T)(a % b);
}
// Truncates and saturates, NaN to 0.
template <class T, class F>
static __device__ inline T toInteger(F x) {
  const int width = (int)sizeof(T) * 8;
  const bool isSigned = (T)-1 < (T)0;
  const F above = (F)(1ULL << (isSigned ? width - 2 : width - 1)) * (F)2;
  const F least = isSigned ? -above : (F)0;
  const T largest = isSigned ? (T)((1ULL << (width - 1)) - 1) : (T)~0ULL;
  if (x != x) return 0;
  if (x >= above) return largest;
  if (x <= least) return isSigned ? (T)(1ULL << (width - 1)) : (T)0;
  return (T)(long long)x;
}
// 1 / x of a float32 in [2^-125, 2^126), rounded to the nearest: one step of Newton's from what is an ULP away. A quotient
// takes four times as many instructions, and a branch.
static __device__ inline float inverse(float x) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return fmaf(r, fmaf(-x, r, 1.0f), r);
#else
  return 1.0f / x;
#endif
}
static __device__ inline double inverse(double x) { return 1.0 / x; }
// The greater and the lesser of two float32 numbers: one NaN if either is any, and -0 is less than +0.
#ifdef __CUDA_ARCH__
static __device__ inline float maximum(float a, float b) {
  float m;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
  return m;
}
static __device__ inline float minimum(float a, float b) {
  float m;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
  return m;
}
#else
static __device__ inline float maximum(float a, float b) {
  if (a != a || b != b) return __int_as_float(0x7fffffff);
  return b > a || (b == a && __float_as_int(b) >= 0) ? b : a;
}
static __device__ inline float minimum(float a, float b) {
  if (a != a || b != b) return __int_as_float(0x7fffffff);
  return b < a || (b == a && __float_as_int(b) < 0) ? b : a;
}
#endif
// A quotient of numbers not negative: in 32 bits, which is several times as fast, where they fit.
static __device__ inline long long divide(long long a, long long b) {
  return ((a | b) >> 32) == 0 ? (long long)((unsigned)a / (unsigned)b) : a / b;
}
static __device__ inline long long divideShort(long long a, long long b) {  // both are known to be below 2^32
  return (long long)((unsigned)a / (unsigned)b);
}
static __device__ inline long long least(long long a, long long b) { return a < b ? a : b; }
static __device__ inline int least(int a, int b) { return a < b ? a : b; }
static __device__ inline long long least(long long a, int b) { return a < b ? a : b; }

// N elements that lie side by side, read and written 16 bytes at a time where they are aligned so (`whole`), and as far
// as there are any.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack { T at[N]; };
template <int N, class T>
static __device__ inline bool aligned(const T* p) {
  return ((unsigned long long)p & ((sizeof(T) * N < 16 ? sizeof(T) * N : 16) - 1)) == 0;
}
template <int N, class T>
static __device__ inline void load(T (&to)[N], const T* from, long long count, bool whole) {
  if (whole) {
    const Pack<T, N> all = *(const Pack<T, N>*)from;
#pragma unroll
    for (int e = 0; e < N; ++e) to[e] = all.at[e];
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e) to[e] = e < count ? from[e] : T();
  }
}
// N elements from `at` on of what stands in a frame of `size` elements, beside which all are `elsewhere`.
template <int N, class T>
static __device__ inline void loadFramed(T (&to)[N], const T* from, long long at, long long size, T elsewhere) {
  if (at >= 0 && at + N <= size && aligned<N>(from + at)) {
    load<N>(to, from + at, N, true);
  } else if (at + N <= 0 || at >= size) {
#pragma unroll
    for (int e = 0; e < N; ++e) to[e] = elsewhere;
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e) to[e] = at + e >= 0 && at + e < size ? from[at + e] : elsewhere;
  }
}
template <int N, class T>
static __device__ inline void store(const T (&from)[N], T* to, long long count, bool whole) {
  if (whole) {
    Pack<T, N> all;
#pragma unroll
    for (int e = 0; e < N; ++e) all.at[e] = from[e];
    *(Pack<T, N>*)to = all;
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e)
      if (e < count) to[e] = from[e];
  }
}

// Shared memory that a launch gives on top of what a kernel has: bytes. What the kernel of a row keeps there is copied
// while its threads go on, until they wait for what they copied themselves.
#ifdef __CUDA_ARCH__
static __device__ inline unsigned dynamicShared() {
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}
template <int N>
static __device__ inline void copyLater(void* to, const void* from) {
  const unsigned there = (unsigned)__cvta_generic_to_shared(to);
  if (N == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(__cvta_generic_to_global(from)));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(there), "l"(__cvta_generic_to_global(from)), "n"(N));
}
static __device__ inline void waitForCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
static __device__ inline unsigned dynamicShared() { return sizeOfDynamicShared(); }
template <int N>
static __device__ inline void copyLater(void* to, const void* from) {
  for (int i = 0; i < N / 2; ++i) ((unsigned short*)to)[i] = ((const unsigned short*)from)[i];
}
static __device__ inline void waitForCopies() {}
#endif
// A thread's part of n elements, of which the first stands at a line of 16 bytes in shared memory: whole lines where
// they are lines in memory, too.
template <class T>
static __device__ inline void keep(T* to, const T* from, int n, int thread, int threads) {
  int i = 0;
  if (((unsigned long long)from & 15) == 0) {
    const int each = 16 / sizeof(T);
    i = n / each * each;
#pragma unroll 4
    for (int k = thread * each; k < i; k += threads * each) copyLater<16>(to + k, from + k);
  } else if (sizeof(T) < 4 && ((unsigned long long)from & 3) == 0) {
    const int each = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    i = n / each * each;
#pragma unroll 1
    for (int k = thread * each; k < i; k += threads * each) copyLater<4>(to + k, from + k);
  }
  i += thread;
#pragma unroll 1
  for (; i < n; i += threads) {
    if (sizeof(T) >= 4)
      copyLater<(sizeof(T) < 4 ? 4 : sizeof(T))>(to + i, from + i);
    else
      to[i] = from[i];
  }
}

// The value of another lane of the warp; narrow types travel as int.
template <class T>
static __device__ inline T shuffleDown(T v, int by) {
  return (T)__shfl_down_sync(0xffffffffu, (int)v, by);
}
static __device__ inline float shuffleDown(float v, int by) { return __shfl_down_sync(0xffffffffu, v, by); }
static __device__ inline double shuffleDown(double v, int by) { return __shfl_down_sync(0xffffffffu, v, by); }
static __device__ inline long long shuffleDown(long long v, int by) { return __shfl_down_sync(0xffffffffu, v, by); }
template <class T>
static __device__ inline T fromFirst(T v) {
  return (T)__shfl_sync(0xffffffffu, (int)v, 0);
}
static __device__ inline float fromFirst(float v) { return __shfl_sync(0xffffffffu, v, 0); }
static __device__ inline double fromFirst(double v) { return __shfl_sync(0xffffffffu, v, 0); }
static __device__ inline long long fromFirst(long long v) { return __shfl_sync(0xffffffffu, v, 0); }
