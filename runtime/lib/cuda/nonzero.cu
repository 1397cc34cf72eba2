// nonzero_rows: how many elements of each tile are true, and then their rows behind those of the tiles before.

#define THREADS 256
#define EACH 8
#define TILE (THREADS * EACH)

static __device__ inline bool isTrue(const Walk<1>& walk, const uint8* x, int64 i) {
  if (i >= walk.numel) return false;
  int64 at[1];
  walk.at(i, at);
  return x[at[0]] != 0;
}

extern "C" __global__ void countTiles(Walk<1> walk, const uint8* x, int64 tiles, int64* counts) {
  __shared__ uint32 total;
  for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    uint32 own = 0;
    for (int k = 0; k < EACH; ++k) own += isTrue(walk, x, tile * TILE + k * THREADS + threadIdx.x);
    if (own) atomicAdd(&total, own);
    __syncthreads();
    if (threadIdx.x == 0) counts[tile] = total;
    __syncthreads();
  }
}

struct Shape {
  int64 rank;
  int64 sizes[32];
};

// Rows of `shape`'s rank. `rows` are expected: another number is a fault, and none is written beyond.
extern "C" __global__ void writeRows(Walk<1> walk, Shape shape, const uint8* x, int64 tiles, const int64* starts,
                                     int64* out, int64 rows, int64* where) {
  __shared__ uint32 totals[2][THREADS];
  const int t = threadIdx.x;
  for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64 base = tile * TILE + t * EACH;
    uint32 holds = 0, own = 0;
    for (int k = 0; k < EACH; ++k) {
      const bool is = isTrue(walk, x, base + k);
      holds |= (uint32)is << k;
      own += is;
    }
    totals[0][t] = own;
    int from = 0;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2, from ^= 1) {
      totals[from ^ 1][t] = totals[from][t] + (t >= step ? totals[from][t - step] : 0);
      __syncthreads();
    }
    int64 row = starts[tile] + totals[from][t] - own;
    for (int k = 0; k < EACH; ++k) {
      if (!(holds >> k & 1)) continue;
      if (row < rows) {
        int64 i = base + k;
        for (int d = (int)shape.rank - 1; d >= 0; --d) {
          const int64 q = View::divide(i, shape.sizes[d]);
          out[row * shape.rank + d] = i - q * shape.sizes[d];
          i = q;
        }
      }
      ++row;
    }
    if (tile == tiles - 1 && t == THREADS - 1 && row != rows) faultFirst(where, 0, row, rows);
    __syncthreads();
  }
}
