// Cholesky's factors, PAIR columns at a time; what these take from the rest is `subtract` of linalg.cu.

#define PAIR (2 * BLOCK)
#define ROWS 128  // below the diagonal, of a block of threads
#define WARP 0xffffffffu

// A row of a lower triangle, a lane's, becomes that of its factor, which is written by columns. Returns the order of the
// first leading minor that is not positive, or 0.
static __device__ __forceinline__ int factorRows(ELEMENT (&a)[BLOCK], Triangle& l) {
  const int lane = (int)threadIdx.x % BLOCK;
  int wrong = 0;
#pragma unroll
  for (int j = 0; j < BLOCK; ++j) {
    const ELEMENT square = __shfl_sync(WARP, a[j], j), pivot = root(square);
    if (!(square > 0) && wrong == 0) wrong = j + 1;
    a[j] = lane > j ? a[j] / pivot : pivot;
#pragma unroll
    for (int k = j + 1; k < BLOCK; ++k) a[k] = fused(-a[j], __shfl_sync(WARP, a[j], k), a[k]);
    l[j][lane] = a[j];
  }
  return wrong;
}
// The Cholesky factor of `size` columns from the diagonal on, at most PAIR: of the block on the diagonal, which all of a
// matrix's blocks of threads find for themselves, and which goes to `diagonals`, PAIR columns of as many rows as a matrix
// has; and of the rows below it, one a thread. The first row is row `first` of its matrix. The last warp has the
// diagonal, whose first half, what is beside its second half, and its second half follow one another, while the others
// solve for their rows with what is there. `failed`: the order of the first leading minor that is not positive, of each
// matrix.
extern __shared__ ELEMENT rowsBelow[];  // [ROWS][PAIR + 1], if there are such rows
extern "C" __global__ void __launch_bounds__(ROWS + BLOCK)
factorBlock(Matrices l, int64 rows, int64 size, int64 first, ELEMENT* diagonals, int64 eachDiagonals, int32* failed,
            int64 count) {
  __shared__ Triangle upper, beside, lower;  // the halves of the diagonal; their columns as soon as they are found
  const int t = (int)threadIdx.x, threads = (int)blockDim.x, lane = t % BLOCK;
  const bool isDiagonal = t >= threads - BLOCK, isPair = size > BLOCK;
  const int64 groups = rows > size ? (rows - size + ROWS - 1) / ROWS : 1;
  ELEMENT(*below)[PAIR + 1] = (ELEMENT(*)[PAIR + 1])(ELEMENT*)rowsBelow;
  for (int64 unit = blockIdx.x; unit < groups * count; unit += gridDim.x) {
    const int64 matrix = unit / groups, row0 = size + unit % groups * ROWS;
    const int here = (int)least(ROWS, rows - row0);
    const bool isFirst = row0 == size;
#pragma unroll 4
    for (int e = t; e < BLOCK * BLOCK; e += threads) {
      const int i = e / BLOCK, j = e % BLOCK;
      upper[i][j] = i < size && j <= i ? *l.at(matrix, i, j) : (ELEMENT)(i == j);
      beside[i][j] = BLOCK + i < size ? *l.at(matrix, BLOCK + i, j) : ELEMENT();
      lower[i][j] = BLOCK + i < size && j <= i ? *l.at(matrix, BLOCK + i, BLOCK + j) : (ELEMENT)(i == j);
    }
#pragma unroll 8
    for (int e = t; e < here * PAIR; e += threads)
      below[e / PAIR][e % PAIR] = e % PAIR < size ? *l.at(matrix, row0 + e / PAIR, e % PAIR) : ELEMENT();
    __syncthreads();
    int wrong = 0;
#pragma unroll 1
    for (int half = 0; half < (isPair ? 2 : 1); ++half) {
      Triangle& now = half == 0 ? upper : lower;
      ELEMENT x[BLOCK];
      const ELEMENT* from = isDiagonal ? now[lane] : below[t] + half * BLOCK;
      if (isDiagonal || t < here) {
#pragma unroll
        for (int k = 0; k < BLOCK; ++k) x[k] = from[k];
      }
      if (half == 1 && (isDiagonal || t < here)) {
#pragma unroll 4
        for (int k = 0; k < BLOCK; ++k) {
          const ELEMENT factor = -(isDiagonal ? beside[k][lane] : below[t][k]);
#pragma unroll
          for (int j = 0; j < BLOCK; ++j) x[j] = fused(beside[k][j], factor, x[j]);
        }
      }
      if (isDiagonal) {
        __syncwarp();
        const int found = factorRows(x, now);
        if (wrong == 0 && found != 0) wrong = half * BLOCK + found;
      }
      __syncthreads();
      if (isDiagonal) {
#pragma unroll
        for (int k = 0; k < BLOCK; ++k) x[k] = beside[lane][k];
        __syncwarp();
      }
      if (isDiagonal ? half == 0 : t < here) {
        substitute<true>(now, x);
        ELEMENT* to = isDiagonal ? &beside[0][lane] : below[t] + half * BLOCK;
#pragma unroll
        for (int k = 0; k < BLOCK; ++k) to[k * (isDiagonal ? BLOCK + 4 : 1)] = x[k];
      }
      __syncthreads();
    }
    if (isDiagonal && lane == 0 && isFirst && wrong != 0 && failed[matrix] == 0) failed[matrix] = (int32)first + wrong;
    if (isFirst)
      for (int e = t; e < (int)size * PAIR; e += threads) {
        const int i = e / PAIR, j = e % PAIR;
        diagonals[matrix * eachDiagonals + first * PAIR + e] =
            i < BLOCK ? upper[j % BLOCK][i] : j < BLOCK ? beside[j][i - BLOCK] : lower[j - BLOCK][i - BLOCK];
      }
#pragma unroll 8
    for (int e = t; e < here * PAIR; e += threads)
      if (e % PAIR < size) *l.at(matrix, row0 + e / PAIR, e % PAIR) = below[e / PAIR][e % PAIR];
    __syncthreads();
  }
}

// The diagonal blocks come to their places, zeros above the diagonal, and NaN where a matrix has no factor.
extern "C" __global__ void finishFactor(ELEMENT* l, const ELEMENT* diagonals, const int32* failed, int64 n, int64 count) {
  GRID_LOOP(at, n * n * count) {
    const int64 row = View::divide(at, n), matrix = View::divide(row, n);
    const int64 i = row - matrix * n, j = at - row * n;
    if (failed[matrix])
      l[at] = (ELEMENT)NAN_D;
    else if (j > i)
      l[at] = 0;
    else if (j / PAIR == i / PAIR)
      l[at] = diagonals[row * PAIR + j % PAIR];
  }
}
// Reports the first matrix that has none.
extern "C" __global__ void reportFailed(const int32* failed, int64 count, long long* wrong) {
  GRID_LOOP(i, count) {
    if (failed[i]) faultFirst(wrong, i, i, failed[i]);
  }
}
