// What all texts of runtime/lib/cuda share: types, views, half types, faults. No header is included: NVRTC has none, and
// the texts also run on a host (tests/emulation), where __CUDA_ARCH__ is not defined.

typedef unsigned char uint8;
typedef signed char int8;
typedef short int16;
typedef int int32;
typedef long long int64;
typedef unsigned long long uint64;
typedef unsigned int uint32;

// A half type in memory: its bits.
struct float16 { unsigned short bits; };
struct bfloat16 { unsigned short bits; };

// A bool in memory, where any byte but 0 is true: a bool of C++ would have to be 0 or 1.
struct truth { uint8 byte; };

#define INFINITY_F __int_as_float(0x7f800000)
#define NAN_F __int_as_float(0x7fc00000)
#define INFINITY_D __longlong_as_double(0x7ff0000000000000LL)
#define NAN_D __longlong_as_double(0x7ff8000000000000LL)

static __device__ inline float widen(float16 h) {
  // The exponent moves by 112; subnormals are numbers of 2^-24.
  uint32 magnitude = h.bits & 0x7fffu, sign = (uint32)(h.bits & 0x8000u) << 16;
  if (magnitude >= 0x7c00u) return __int_as_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude < 0x400u) return __int_as_float(sign | __float_as_int((float)magnitude * 5.9604644775390625e-8f));
  return __int_as_float(sign | ((magnitude << 13) + 0x38000000u));
}
static __device__ inline float widen(bfloat16 h) { return __int_as_float((uint32)h.bits << 16); }

// To nearest, ties to even; NaN stays NaN.
static __device__ inline float16 toFloat16(float x) {
  uint32 b = __float_as_int(x), sign = (b >> 16) & 0x8000u, a = b & 0x7fffffffu;
  float16 h;
  if (a > 0x7f800000u) h.bits = sign | 0x7e00u | ((a >> 13) & 0x3ffu);
  else if (a >= 0x477ff000u) h.bits = sign | 0x7c00u;
  else if (a < 0x38800000u) h.bits = sign | (uint32)__float2int_rn(__int_as_float(a) * 16777216.0f);
  else h.bits = sign | ((a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13);
  return h;
}
static __device__ inline bfloat16 toBFloat16(float x) {
  uint32 b = __float_as_int(x);
  bfloat16 h;
  h.bits = x != x ? (b >> 16) | 0x40u : (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  return h;
}

// The words of formulas that the CPU's library compiles too: runtime/lib/functions/elementary.h has them for the host.
#define FORMULA static __device__ inline
#define INLINED static __device__ __forceinline__
FORMULA double fused(double a, double b, double c) { return fma(a, b, c); }
FORMULA float fused(float a, float b, float c) { return fmaf(a, b, c); }
FORMULA double rootOf(double x) { return sqrt(x); }
FORMULA double floorOf(double x) { return floor(x); }
FORMULA double ceilOf(double x) { return ceil(x); }
FORMULA int64 bitsOf(double x) { return __double_as_longlong(x); }
FORMULA double ofBits(int64 x) { return __longlong_as_double(x); }
FORMULA int32 bitsOf(float x) { return __float_as_int(x); }
FORMULA float ofBits(int32 x) { return __int_as_float(x); }

// Between what is stored and what is computed in: of half types float, of truth bool, else the type itself.
template <class T> struct Compute { typedef T type; };
template <> struct Compute<float16> { typedef float type; };
template <> struct Compute<bfloat16> { typedef float type; };
template <> struct Compute<truth> { typedef bool type; };
template <class T> static __device__ inline T load(T v) { return v; }
static __device__ inline bool load(truth v) { return v.byte != 0; }
static __device__ inline float load(float16 v) { return widen(v); }
static __device__ inline float load(bfloat16 v) { return widen(v); }
template <class T> struct Store { template <class C> static __device__ inline T of(C v) { return (T)v; } };
template <> struct Store<float16> { static __device__ inline float16 of(float v) { return toFloat16(v); } };
template <> struct Store<bfloat16> { static __device__ inline bfloat16 of(float v) { return toBFloat16(v); } };
template <> struct Store<truth> { template <class C> static __device__ inline truth of(C v) { truth t; t.byte = v != 0; return t; } };

template <class T> static __device__ inline bool isNan(T v) { return v != v; }
static __device__ inline bool isNan(truth) { return false; }
static __device__ inline bool isNan(float16 v) { return (v.bits & 0x7fffu) > 0x7c00u; }
static __device__ inline bool isNan(bfloat16 v) { return (v.bits & 0x7fffu) > 0x7f80u; }

// An array: runtime/device/cuda/queue.h. Strides count elements.
struct View {
  void* data;
  int64 numel;
  int32 rank, contiguous;
  int64 shape[12], strides[12];
  template <class T> __device__ T* as() const { return (T*)data; }
  // The offset of element i in row-major order.
  __device__ int64 offset(int64 i) const {
    if (contiguous) return i;
    int64 at = 0;
    for (int d = rank - 1; d > 0; --d) {
      int64 q = divide(i, shape[d]);
      at += (i - q * shape[d]) * strides[d];
      i = q;
    }
    return rank == 0 ? 0 : at + i * strides[0];
  }
  // A quotient of numbers not negative: in 32 bits, which is several times as fast, where they fit.
  static __device__ int64 divide(int64 a, int64 b) {
    return ((a | b) >> 32) == 0 ? (int64)((uint32)a / (uint32)b) : a / b;
  }
};

// A shape and the strides of K operands that are walked together: runtime/lib/cuda/operands.h.
template <int K> struct Walk {
  int64 numel;
  int64 rank;
  int64 shape[12], strides[K][12];
  // The operands' offsets at element i in row-major order.
  __device__ void at(int64 i, int64 (&offset)[K]) const {
    for (int k = 0; k < K; ++k) offset[k] = 0;
    for (int d = (int)rank - 1; d >= 0; --d) {
      int64 q = d > 0 ? View::divide(i, shape[d]) : 0, r = i - q * shape[d];
      for (int k = 0; k < K; ++k) offset[k] += r * strides[k][d];
      i = q;
    }
  }
};

// What is moved at once where sizes and addresses allow.
struct alignas(16) Bytes16 { uint64 low, high; };

#define GRID_LOOP(i, n)                                                                       \
  for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (int64)gridDim.x * blockDim.x)

// Reports a wrong value; the first report counts.
static __device__ inline void fault(long long* where, long long a, long long b, long long c) {
  if (atomicCAS((unsigned long long*)where, 0ULL, 1ULL) != 0ULL) return;
  where[1] = a;
  where[2] = b;
  where[3] = c;
  __threadfence_system();
}

// Reports the wrong value of element `place`; of several that are reported with this function the one of the least place
// counts. where[0] is 1 while a thread writes, then 2.
static __device__ inline void faultFirst(long long* where, long long place, long long a, long long b) {
  volatile long long* now = where;
  for (;;) {
    if (now[0] == 2 && now[3] <= place) return;
    long long before = (long long)atomicExch((unsigned long long*)where, 1ULL);
    if (before == 1) continue;
    if (before == 0 || place < now[3]) {
      now[1] = a;
      now[2] = b;
      now[3] = place;
    }
    __threadfence_system();
    atomicExch((unsigned long long*)where, 2ULL);
    return;
  }
}
