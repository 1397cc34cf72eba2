// Triangular systems: one launch for all of a system, in which a block of threads has some of its right sides.
//
// COLUMNS: how many.

#define STEP (sizeof(ELEMENT) == 4 ? 16 : 8)

// x[n, m] = l^-1 x, l lower triangular; `unit`: its diagonal counts as ones. A block solves for COLUMNS of them: BLOCK
// rows, then what these take from the rows below, a row a thread.
extern "C" __global__ void __launch_bounds__(256)
solveTriangular(Matrices l, Matrices x, int64 n, int64 m, int64 unit, int64 count) {
  __shared__ Triangle block;
  __shared__ ELEMENT solved[2][BLOCK][COLUMNS], tile[256 * (STEP + 1)];
  const int t = (int)threadIdx.x, threads = (int)blockDim.x;
  const int64 groups = (m + COLUMNS - 1) / COLUMNS;
  const bool along = areNeighbours(l.column);
  // What a thread brings of a tile of l, of `threads` rows and STEP columns, so that neighbours bring neighbours: the
  // first element, how far the next ones are, in memory and in the tile, and how many rows.
  const int r = along ? t / STEP : t, d = along ? t % STEP : 0, down = along ? threads / STEP : 0;
  const int64 next = along ? down * l.row : l.column;
  const int place = r * (STEP + 1) + d, apart = along ? down * (STEP + 1) : 1;
  for (int64 u = blockIdx.x; u < groups * count; u += gridDim.x) {
    const int64 matrix = u / groups, column0 = u % groups * COLUMNS;
    const int width = (int)least(COLUMNS, m - column0);
    auto bringTriangle = [&](int64 k) {
#pragma unroll 4
      for (int e = t; e < BLOCK * BLOCK; e += threads) {
        const int i = along ? e / BLOCK : e % BLOCK, j = along ? e % BLOCK : e / BLOCK;
        const bool isOne = i == j && (unit || k + i >= n);
        block[j][i] = isOne ? (ELEMENT)1 : j <= i && k + i < n ? *l.at(matrix, k + i, k + j) : ELEMENT();
      }
    };
    bringTriangle(0);
    for (int e = t; e < BLOCK * COLUMNS; e += threads) {
      const int i = e / COLUMNS, c = e % COLUMNS;
      solved[0][i][c] = i < n && c < width ? *x.at(matrix, i, column0 + c) : ELEMENT();
    }
    __syncthreads();
    for (int64 k = 0; k < n; k += BLOCK) {
      ELEMENT(&now)[BLOCK][COLUMNS] = solved[k / BLOCK % 2];
      ELEMENT(&then)[BLOCK][COLUMNS] = solved[(k / BLOCK + 1) % 2];
      // Tiles of l below the block: the next one is on its way while one is worked on.
      ELEMENT coming[STEP], values[COLUMNS], start[COLUMNS];
      int64 fetched = k + BLOCK;
      int from = 0;
      auto fetch = [&]() {
        const ELEMENT* at = l.at(matrix, fetched + r, k + from + d);
        const int64 left = n - fetched - r;
#pragma unroll
        for (int i = 0; i < STEP; ++i, at += next) coming[i] = i * down < left ? *at : ELEMENT();
        if (from == 0) {
          const ELEMENT* of = x.at(matrix, fetched + t, column0);
#pragma unroll
          for (int c = 0; c < COLUMNS; ++c, of += x.column) start[c] = fetched + t < n && c < width ? *of : ELEMENT();
        }
        from += STEP;
        if (from < BLOCK) return;
        from = 0;
        fetched += threads;
      };
      if (fetched < n) fetch();
      // A right side a warp, a row a lane. Quotients are products with the inverse, and what is left of them is added.
      const int lane = t % BLOCK;
      const ELEMENT divisor = block[lane][lane], inverse = 1 / divisor;
      for (int c = t / BLOCK; c < width; c += threads / BLOCK) {
        ELEMENT y = now[lane][c];
#pragma unroll 4
        for (int j = 0; j < BLOCK; ++j) {
          ELEMENT quotient = y * inverse;
          const ELEMENT better = fused(fused(-quotient, divisor, y), inverse, quotient);
          if (better - better == 0) quotient = better;
          if (inverse - inverse != 0) quotient = y / divisor;
          quotient = __shfl_sync(0xffffffffu, quotient, j);
          y = lane > j ? fused(-block[j][lane], quotient, y) : lane == j ? quotient : y;
        }
        now[lane][c] = y;
      }
      __syncthreads();
      if (k + BLOCK < n) bringTriangle(k + BLOCK);
      for (int e = t; e < BLOCK * COLUMNS; e += threads) {
        const int i = e / COLUMNS, c = e % COLUMNS;
        if (k + i < n && c < width) *x.at(matrix, k + i, column0 + c) = now[i][c];
      }
      for (int64 row = k + BLOCK + t; row - t < n; row += threads) {
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) values[c] = start[c];
#pragma unroll 1
        for (int s = 0; s < BLOCK; s += STEP) {
#pragma unroll
          for (int i = 0; i < STEP; ++i) tile[place + i * apart] = coming[i];
          __syncthreads();
          if (fetched < n) fetch();
#pragma unroll
          for (int i = 0; i < STEP; ++i) {
            const ELEMENT factor = -tile[t * (STEP + 1) + i];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) values[c] = fused(factor, now[s + i][c], values[c]);
          }
          __syncthreads();
        }
        // The first rows are those of the next step.
        if (row < k + 2 * BLOCK) {
#pragma unroll
          for (int c = 0; c < COLUMNS; ++c) then[t][c] = values[c];
        } else if (row < n) {
          ELEMENT* to = x.at(matrix, row, column0);
#pragma unroll
          for (int c = 0; c < COLUMNS; ++c, to += x.column)
            if (c < width) *to = values[c];
        }
      }
      __syncthreads();
    }
  }
}
