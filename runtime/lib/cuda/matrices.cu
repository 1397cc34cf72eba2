// What the texts of factorisations share, and stands before them: matrices, and systems of small triangles.
//
// ELEMENT: float or double.

#define BLOCK 32
#define TILE 64   // rows and columns of a tile of a product
#define MICRO 4   // rows and columns of a thread
#define MANY 1024  // threads of a block that walks over long columns

static __device__ inline float root(float x) { return sqrtf(x); }
static __device__ inline double root(double x) { return sqrt(x); }

// Strides count elements and may be negative: an upper triangle read from its end is a lower one.
struct Matrices {
  ELEMENT* data;
  int64 row, column, each;
  __device__ ELEMENT* at(int64 matrix, int64 i, int64 j) const { return data + matrix * each + i * row + j * column; }
};
static __device__ inline bool areNeighbours(int64 stride) { return stride == 1 || stride == -1; }
static __device__ inline int64 least(int64 a, int64 b) { return a < b ? a : b; }

// The columns of a lower triangle, one behind the other, in shared memory.
typedef ELEMENT Triangle[BLOCK][BLOCK + 4];

// x = l^-1 x, with a factor in place of each divisor if not DIVIDES.
template <bool DIVIDES> static __device__ __forceinline__ void substitute(const Triangle& l, ELEMENT (&x)[BLOCK]) {
#pragma unroll
  for (int j = 0; j < BLOCK; ++j) {
    if (DIVIDES)
      x[j] /= l[j][j];
    else
      x[j] *= l[j][j];
#pragma unroll
    for (int k = j + 1; k < BLOCK; ++k) x[k] = fused(-l[j][k], x[j], x[k]);
  }
}

// Adds the products of a column of the left tile and a row of the right one to what a thread has of a tile.
static __device__ __forceinline__ void addProducts(const ELEMENT* left, const ELEMENT* right, int ty, int tx,
                                                   ELEMENT (&sums)[MICRO][MICRO]) {
  ELEMENT a[MICRO], b[MICRO];
#pragma unroll
  for (int i = 0; i < MICRO; ++i) {
    a[i] = left[ty * MICRO + i];
    b[i] = right[tx + 16 * i];
  }
#pragma unroll
  for (int i = 0; i < MICRO; ++i)
#pragma unroll
    for (int j = 0; j < MICRO; ++j) sums[i][j] = fused(a[i], b[j], sums[i][j]);
}

// Which power of 2 brings a number near to 1: 1 where it is zero or not finite.
static __device__ inline float powerAgainst(float x) {
  const int32 e = (bitsOf(x) >> 23) & 255;
  return x == 0 || e == 255 ? 1.0f : ofBits((e < 1 ? 253 : e > 253 ? 1 : 254 - e) << 23);
}
static __device__ inline double powerAgainst(double x) {
  const int64 e = (bitsOf(x) >> 52) & 2047;
  return x == 0 || e == 2047 ? 1.0 : ofBits((e < 1 ? 2045 : e > 2045 ? 1 : 2046 - e) << 52);
}
// Do squares that add up to this have numbers, and products with what else may be there?
static __device__ inline bool isSafe(float sum) { return sum > 1e-8f && sum < 1e12f; }
static __device__ inline bool isSafe(double sum) { return sum > 1e-100 && sum < 1e100; }
static __device__ inline ELEMENT magnitude(ELEMENT x) { return x < 0 ? -x : x; }
