// Triangular systems: one launch for all of a system, in which a block of threads has some of its right sides.
//
// COLUMNS: how many.

#define STEP (sizeof(ELEMENT) == 4 ? 16 : 8)

// x[n, m] = l^-1 x, l lower triangular; `unit`: its diagonal counts as ones. A block solves for COLUMNS of them: BLOCK
// rows, then what these take from the rows below, a row a thread.
extern "C" __global__ void __launch_bounds__(256)
solveTriangular(Matrices l, Matrices x, int64 n, int64 m, int64 unit, int64 count) {
  __shared__ Triangle block;
  __shared__ ELEMENT solved[BLOCK][COLUMNS], tile[256][STEP + 1];
  const int t = (int)threadIdx.x, threads = (int)blockDim.x;
  const int64 groups = (m + COLUMNS - 1) / COLUMNS;
  const bool along = areNeighbours(l.column);
  const int r = along ? t / STEP : t, d = along ? t % STEP : 0;  // what a thread brings first of a tile of l
  const int64 next = along ? threads / STEP * l.row : l.column;
  for (int64 u = blockIdx.x; u < groups * count; u += gridDim.x) {
    const int64 matrix = u / groups, column0 = u % groups * COLUMNS;
    const int width = (int)least(COLUMNS, m - column0);
    for (int64 k = 0; k < n; k += BLOCK) {
      const int size = (int)least(BLOCK, n - k);
      for (int e = t; e < BLOCK * BLOCK; e += threads) {
        const int i = along ? e / BLOCK : e % BLOCK, j = along ? e % BLOCK : e / BLOCK;
        const bool isOne = i == j && (unit || i >= size);
        block[j][i] = isOne ? (ELEMENT)1 : j <= i && i < size ? *l.at(matrix, k + i, k + j) : ELEMENT();
      }
      for (int e = t; e < BLOCK * COLUMNS; e += threads) {
        const int i = e / COLUMNS, c = e % COLUMNS;
        solved[i][c] = i < size && c < width ? *x.at(matrix, k + i, column0 + c) : ELEMENT();
      }
      // Tiles of l below, of `threads` rows and STEP columns: the next one is on its way while one is worked on.
      ELEMENT coming[STEP], values[COLUMNS], start[COLUMNS];
      int64 fetched = k + size;
      int from = 0;
      auto fetch = [&]() {
        const ELEMENT* at = l.at(matrix, fetched + r, k + from + d);
#pragma unroll
        for (int i = 0; i < STEP; ++i)
          coming[i] = fetched + r + (along ? i * (threads / STEP) : 0) < n ? at[i * next] : ELEMENT();
        if (from == 0) {
#pragma unroll
          for (int c = 0; c < COLUMNS; ++c)
            start[c] = fetched + t < n && c < width ? *x.at(matrix, fetched + t, column0 + c) : ELEMENT();
        }
        from += STEP;
        if (from < BLOCK) return;
        from = 0;
        fetched += threads;
      };
      if (fetched < n) fetch();
      __syncthreads();
      if (t < COLUMNS) {
        ELEMENT y[BLOCK];
#pragma unroll
        for (int i = 0; i < BLOCK; ++i) y[i] = solved[i][t];
        substitute<true>(block, y);
#pragma unroll
        for (int i = 0; i < BLOCK; ++i) solved[i][t] = y[i];
      }
      __syncthreads();
      for (int e = t; e < BLOCK * COLUMNS; e += threads) {
        const int i = e / COLUMNS, c = e % COLUMNS;
        if (i < size && c < width) *x.at(matrix, k + i, column0 + c) = solved[i][c];
      }
      for (int64 row = k + size + t; row - t < n; row += threads) {
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) values[c] = start[c];
        for (int s = 0; s < BLOCK; s += STEP) {
#pragma unroll
          for (int i = 0; i < STEP; ++i) tile[along ? r + i * (threads / STEP) : t][along ? d : i] = -coming[i];
          __syncthreads();
          if (fetched < n) fetch();
#pragma unroll
          for (int i = 0; i < STEP; ++i) {
            const ELEMENT factor = tile[t][i];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) values[c] = fused(factor, solved[s + i][c], values[c]);
          }
          __syncthreads();
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
          if (row < n && c < width) *x.at(matrix, row, column0 + c) = values[c];
      }
      __syncthreads();
    }
  }
}
