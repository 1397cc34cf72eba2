// Sums of all elements before each, in place: blocks of kTile elements first, then the blocks' sums likewise, then what
// came before a block is added to its elements. The sums are of integers, so that no order matters.

#define THREADS 256
#define EACH 8
#define TILE (THREADS * EACH)

// Elements in front, within their tile; the tile's sum goes to `sums`, if there is such.
extern "C" __global__ void sumTiles(int64* data, int64 n, int64* sums) {
  __shared__ int64 totals[2][THREADS];
  const int t = threadIdx.x;
  for (int64 tile = blockIdx.x; tile * TILE < n; tile += gridDim.x) {
    int64 base = tile * TILE + t * EACH, own[EACH], total = 0;
    for (int k = 0; k < EACH; ++k) {
      own[k] = total;
      if (base + k < n) total += data[base + k];
    }
    totals[0][t] = total;
    int from = 0;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2, from ^= 1) {
      totals[from ^ 1][t] = totals[from][t] + (t >= step ? totals[from][t - step] : 0);
      __syncthreads();
    }
    int64 before = t == 0 ? 0 : totals[from][t - 1];
    if (t == THREADS - 1 && sums) sums[tile] = totals[from][t];
    for (int k = 0; k < EACH; ++k)
      if (base + k < n) data[base + k] = before + own[k];
    __syncthreads();
  }
}

extern "C" __global__ void addSums(int64* data, int64 n, const int64* sums) {
  GRID_LOOP(i, n) data[i] += sums[i / TILE];
}
