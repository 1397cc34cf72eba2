// How elements that go to one place are put together. It stands before gather.cu and index_blocks.cu, which are compiled
// with HOW: 0 the last one stays, 1 sum, 2 product, 3 smaller one, 4 larger one. Sums and products of integers wrap.

template <class C> static __device__ inline C sumOf(C a, C b) { return (C)((uint64)a + (uint64)b); }
static __device__ inline float sumOf(float a, float b) { return a + b; }
static __device__ inline double sumOf(double a, double b) { return a + b; }
template <class C> static __device__ inline C productOf(C a, C b) { return (C)((uint64)a * (uint64)b); }
static __device__ inline float productOf(float a, float b) { return a * b; }
static __device__ inline double productOf(double a, double b) { return a * b; }

// Of a, which is there, and b, which comes later. The first of equal ones stays, and NaN before all.
template <class C> static __device__ inline C combined(C a, C b) {
#if HOW == 1
  return sumOf(a, b);
#elif HOW == 2
  return productOf(a, b);
#elif HOW == 3
  return a <= b || isNan(a) ? a : b;
#elif HOW == 4
  return a >= b || isNan(a) ? a : b;
#else
  return b;
#endif
}
