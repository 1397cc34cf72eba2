// Exponentials of square matrices by scaling and squaring: exp(A) = T(A / 2^s)^(2^s), T the first terms of the power
// series. How often a matrix is squared is known to the device alone.
//
// ELEMENT: float or double.

static __device__ inline double powerOfTwo(int exponent) {
  return __longlong_as_double((int64)(1023 + exponent) << 52);
}

// The least s, not negative, for which the 1-norm of A / 2^s is below `theta`; -1 where A is not finite. Sums are
// of numbers times 2^-32, so that they do not overflow.
extern "C" __global__ void countSquarings(const ELEMENT* matrices, int64 n, double theta, int32* squarings,
                                          int64 count) {
  __shared__ double norms[256];
  const int t = (int)threadIdx.x;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    const ELEMENT* a = matrices + matrix * n * n;
    double norm = 0;
    for (int64 j = t; j < n; j += 256) {
      double sum = 0;
      for (int64 i = 0; i < n; ++i) sum += fabs((double)a[i * n + j] * powerOfTwo(-32));
      if (!(norm >= sum)) norm = sum;  // NaN, too
    }
    norms[t] = norm;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
      if (t < half && !(norms[t] >= norms[t + half]) && norms[t] == norms[t]) norms[t] = norms[t + half];
      __syncthreads();
    }
    if (t == 0) {
      const double ratio = norms[0] / theta;
      const int exponent = (int)(__double_as_longlong(ratio) >> 52) - 1022 + 32;
      squarings[matrix] = !(ratio <= 1.7e308) ? -1 : exponent > 0 ? exponent : 0;
    }
    __syncthreads();
  }
}

// Zeros where A is not finite.
extern "C" __global__ void scale(const ELEMENT* a, const int32* squarings, ELEMENT* to, int64 size, int64 count) {
  GRID_LOOP(i, size * count) {
    const int s = squarings[View::divide(i, size)], half = s / 2;
    to[i] = s < 0 ? (ELEMENT)0 : (ELEMENT)((double)a[i] * powerOfTwo(-half) * powerOfTwo(half - s));
  }
}

struct Coefficients {
  double of[4], leading;
};
// A part of the series: c0 + c1 A + c2 A^2 + c3 A^3 + `leading` times `rest`, which may be `to`.
extern "C" __global__ void addTerms(const ELEMENT* a, const ELEMENT* a2, const ELEMENT* a3, const ELEMENT* rest,
                                    ELEMENT* to, int64 n, int64 count, Coefficients c) {
  GRID_LOOP(i, n * n * count) {
    const int64 row = View::divide(i, n);
    ELEMENT sum = (ELEMENT)c.leading * rest[i] + (ELEMENT)c.of[3] * a3[i];
    sum += (ELEMENT)c.of[2] * a2[i];
    sum += (ELEMENT)c.of[1] * a[i];
    to[i] = i - row * n == row - View::divide(row, n) * n ? sum + (ELEMENT)c.of[0] : sum;
  }
}

static __device__ inline float multiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
static __device__ inline double multiplyAdd(double a, double b, double c) { return fma(a, b, c); }

// The result of each matrix, which is in `even` or in `odd` by how many of its squarings were `done`: those that are left
// are made here, by a block, until they change nothing.
extern "C" __global__ void finish(ELEMENT* even, ELEMENT* odd, const int32* squarings, int64 done, ELEMENT* out,
                                  int64 n, int64 count) {
  __shared__ int32 changed;
  const int64 size = n * n;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    const int64 wanted = squarings[matrix];
    int64 s = wanted < done ? wanted : done;
    ELEMENT* now = (s > 0 && s % 2 == 1 ? odd : even) + matrix * size;
    ELEMENT* next = (s > 0 && s % 2 == 1 ? even : odd) + matrix * size;
    for (bool more = true; more && s < wanted; ++s) {
      if (threadIdx.x == 0) changed = 0;
      __syncthreads();
      for (int64 i = threadIdx.x; i < size; i += blockDim.x) {
        const int64 row = View::divide(i, n), column = i - row * n;
        ELEMENT sum = 0;
        for (int64 k = 0; k < n; ++k) sum = multiplyAdd(now[row * n + k], now[k * n + column], sum);
        if (sum != now[i] && (sum == sum || now[i] == now[i])) changed = 1;
        next[i] = sum;
      }
      __syncthreads();
      more = changed != 0;
      ELEMENT* before = now;
      now = next;
      next = before;
      __syncthreads();
    }
    for (int64 i = threadIdx.x; i < size; i += blockDim.x)
      out[matrix * size + i] = wanted < 0 ? (ELEMENT)NAN_F : now[i];
    __syncthreads();
  }
}
