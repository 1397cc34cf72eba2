// Cholesky's factors, BLOCK columns at a time; what these take from the rest is `subtract` of linalg.cu.

#define ROWS 128  // of a block that solves for rows

// The Cholesky factor of a diagonal block of `size` columns and the rows below it, x of x l^T = x; the first row is row
// `first` of its matrix. The block's factor, which all of a matrix's blocks of threads find for themselves, goes to
// `diagonals`, BLOCK columns of as many rows as a matrix has. `failed`: the order of the first leading minor that is not
// positive, of each matrix.
extern "C" __global__ void __launch_bounds__(ROWS) factorBlock(Matrices l, int64 rows, int64 size, int64 first,
                                                               ELEMENT* diagonals, int64 eachDiagonals, int32* failed,
                                                               int64 count) {
  __shared__ Triangle block;
  __shared__ ELEMENT below[ROWS][BLOCK + 1];
  const int t = (int)threadIdx.x, threads = (int)blockDim.x;
  const int64 groups = rows > size ? (rows - size + ROWS - 1) / ROWS : 1;
  for (int64 unit = blockIdx.x; unit < groups * count; unit += gridDim.x) {
    const int64 matrix = unit / groups, row0 = size + unit % groups * ROWS;
    const int here = (int)least(ROWS, rows - row0);
    for (int e = t; e < BLOCK * BLOCK; e += threads) {
      const int i = e / BLOCK, j = e % BLOCK;
      block[i][j] = i < size && j <= i ? *l.at(matrix, i, j) : (ELEMENT)(i == j);
    }
#pragma unroll 8
    for (int e = t; e < here * BLOCK; e += threads)
      below[e / BLOCK][e % BLOCK] = e % BLOCK < size ? *l.at(matrix, row0 + e / BLOCK, e % BLOCK) : ELEMENT();
    __syncthreads();
    if (t < BLOCK) {
      ELEMENT a[BLOCK];
      int wrong = 0;
#pragma unroll
      for (int k = 0; k < BLOCK; ++k) a[k] = block[t][k];
      __syncwarp();
#pragma unroll
      for (int j = 0; j < BLOCK; ++j) {
        const ELEMENT square = __shfl_sync(0xffffffffu, a[j], j), pivot = root(square);
        if (!(square > 0) && wrong == 0) wrong = j + 1;
        a[j] = t > j ? a[j] / pivot : pivot;
#pragma unroll
        for (int k = j + 1; k < BLOCK; ++k) a[k] = fused(-a[j], __shfl_sync(0xffffffffu, a[j], k), a[k]);
        block[j][t] = a[j];
      }
      if (t == 0 && row0 == size && wrong != 0 && failed[matrix] == 0) failed[matrix] = (int32)first + wrong;
    }
    __syncthreads();
    if (row0 == size)
      for (int e = t; e < (int)size * BLOCK; e += threads)
        diagonals[matrix * eachDiagonals + first * BLOCK + e] = block[e % BLOCK][e / BLOCK];
    if (t < here) {
      ELEMENT x[BLOCK];
#pragma unroll
      for (int k = 0; k < BLOCK; ++k) x[k] = below[t][k];
      substitute<true>(block, x);
#pragma unroll
      for (int k = 0; k < BLOCK; ++k) below[t][k] = x[k];
    }
    __syncthreads();
#pragma unroll 8
    for (int e = t; e < here * BLOCK; e += threads)
      if (e % BLOCK < size) *l.at(matrix, row0 + e / BLOCK, e % BLOCK) = below[e / BLOCK][e % BLOCK];
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
    else if (j / BLOCK == i / BLOCK)
      l[at] = diagonals[row * BLOCK + j % BLOCK];
  }
}
// Reports the first matrix that has none.
extern "C" __global__ void reportFailed(const int32* failed, int64 count, long long* wrong) {
  GRID_LOOP(i, count) {
    if (failed[i]) faultFirst(wrong, i, i, failed[i]);
  }
}
