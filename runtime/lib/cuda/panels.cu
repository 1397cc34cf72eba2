// Panels of LU and QR: the first few columns of a matrix and all of its rows, in the registers of one block. A thread
// has PER rows, every THREADS-th, of WIDTH elements each. What the step of a column needs of other threads' rows goes
// through shared memory, with one barrier a column.
//
// The elements of a row turn round in their registers, by one place a step: the first is always that of the column that
// is factored, what is finished follows the last, and code is not repeated for each column.
//
// THREADS, a power of 2 from 32; PER; WIDTH, a power of 2 up to BLOCK.

#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

// Where the panel is: of matrix 0; strides in elements, columns lie side by side.
struct Panel {
  ELEMENT* data;
  int64 row, each;
  int64 rows, columns;  // at most THREADS * PER and WIDTH
};

// A row's elements in shared memory, 16 bytes at once: the first `count`, and a few more.
#define QUAD (16 / (int)sizeof(ELEMENT))
struct alignas(16) Quad {
  ELEMENT element[QUAD];
};
static __device__ __forceinline__ void share(ELEMENT* to, const ELEMENT (&row)[WIDTH], int count) {
#pragma unroll
  for (int q = 0; q < WIDTH; q += QUAD) {
    Quad part;
#pragma unroll
    for (int k = 0; k < QUAD; ++k) part.element[k] = row[q + k];
    if (q < count) *(Quad*)(to + q) = part;
  }
}

// The panel's rows go from the device's memory to registers and back through these.
struct Stage {
  ELEMENT element[THREADS][WIDTH + 1];
  int32 place[THREADS];
};

// Between memory and the stage neighbouring threads have neighbours of a row, and every NEXT-th row.
#define NEXT (THREADS / WIDTH)

static __device__ inline void loadRows(const Panel& p, const ELEMENT* from, Stage& stage, ELEMENT (&a)[PER][WIDTH]) {
  const int t = (int)threadIdx.x, column = t % WIDTH, first = t / WIDTH;
  const int rows = column < (int)p.columns ? (int)p.rows - first : 0;
  const int64 next = NEXT * p.row;
  from += first * p.row + column;
#pragma unroll
  for (int r = 0; r < PER; ++r) {
#pragma unroll 16
    for (int i = 0; i < WIDTH; ++i, from += next)
      stage.element[first + i * NEXT][column] = r * THREADS + i * NEXT < rows ? *from : ELEMENT();
    __syncthreads();
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) a[r][k] = stage.element[t][k];
    __syncthreads();
  }
}
// Row r of a thread goes to place[r], none where that is negative. They have turned once for each column.
static __device__ inline void storeRows(const Panel& p, ELEMENT* to, Stage& stage, const ELEMENT (&a)[PER][WIDTH],
                                        const int32 (&place)[PER]) {
  const int t = (int)threadIdx.x, columns = (int)p.columns, column = t % WIDTH, first = t / WIDTH;
#pragma unroll
  for (int r = 0; r < PER; ++r) {
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) stage.element[t][(k + columns) % WIDTH] = a[r][k];
    stage.place[t] = place[r];
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < WIDTH; ++i) {
      const int32 row = stage.place[first + i * NEXT];
      if (row >= 0 && column < columns) to[row * p.row + column] = stage.element[first + i * NEXT][column];
    }
    __syncthreads();
  }
}

// Sizes as keys that grow with them, in one word or two; 0 is nothing, and a NaN's is the least that is something.
static __device__ inline uint32 keyOf(float x) {
  return x != x ? 1 : ((uint32)bitsOf(x) & 0x7fffffffu) + 2;
}
static __device__ inline uint64 keyOf(double x) {
  return x != x ? 1 : ((uint64)bitsOf(x) & 0x7fffffffffffffffull) + 2;
}
static __device__ inline uint32 largestOf(uint32 key) { return __reduce_max_sync(ALL, key); }
static __device__ inline uint64 largestOf(uint64 key) {
  const uint32 high = __reduce_max_sync(ALL, (uint32)(key >> 32));
  const uint32 low = __reduce_max_sync(ALL, (uint32)(key >> 32) == high ? (uint32)key : 0u);
  return (uint64)high << 32 | low;
}
typedef decltype(keyOf(ELEMENT())) Key;
// The largest of all lanes' keys, and the first place of several such.
static __device__ __forceinline__ void findLargest(Key& key, int32& place) {
  const Key most = largestOf(key);
  place = (int32)__reduce_min_sync(ALL, key == most ? (uint32)place : 0x7fffffffu);
  key = most;
}

// What the warps say of a column; of two columns in turn, so that a fast warp overwrites nothing that a slow one reads.
// A row ends with zeros, for what is finished.
struct alignas(16) Said {
  ELEMENT row[WARPS][WIDTH + QUAD];
  Key key[WARPS];
  int32 place[WARPS];
};

// The factors of a panel with rows exchanged: of each column the largest element that is left comes to the diagonal, the
// first of several such, and a NaN only where there is nothing else. swaps[j]: the row (from 1, `first` that of the
// panel) that row j changes places with. moves: for each column the row (from 0, of the panel) that came to its place,
// and behind WIDTH of these where the row went that was there.
extern "C" __global__ void __launch_bounds__(THREADS)
factorPanel(Panel p, int32* swaps, int64 eachSwaps, int64 first, int32* moves, int64 count) {
  __shared__ Stage stage;
  __shared__ Said both[2];
  const int t = (int)threadIdx.x, warp = t / 32, rows = (int)p.rows, columns = (int)p.columns;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    ELEMENT a[PER][WIDTH];
    int32 place[PER];
    for (int e = t; e < WARPS * WIDTH; e += THREADS)
      both[0].row[e / WIDTH][e % WIDTH] = both[1].row[e / WIDTH][e % WIDTH] = 0;
    loadRows(p, p.data + matrix * p.each, stage, a);
#pragma unroll
    for (int r = 0; r < PER; ++r) place[r] = r * THREADS + t < rows ? r * THREADS + t : -1;
    for (int j = 0; j < columns; ++j) {
      Said& said = both[j % 2];
      Key key = 0;
      int32 best = rows;
#pragma unroll
      for (int r = 0; r < PER; ++r) {
        const Key own = place[r] >= j ? keyOf(a[r][0]) : 0;
        if (own > key || (own == key && own != 0 && place[r] < best)) {
          key = own;
          best = place[r];
        }
      }
      findLargest(key, best);
#pragma unroll
      for (int r = 0; r < PER; ++r) {
        if (key == 0 || place[r] != best) continue;
        share(said.row[warp], a[r], WIDTH - j);
#pragma unroll
        for (int k = 0; k < QUAD; ++k) said.row[warp][WIDTH - j + k] = 0;
      }
      if (t % 32 == 0) {
        said.key[warp] = key;
        said.place[warp] = best;
      }
      __syncthreads();
      key = said.key[t % WARPS];
      const int32 own = said.place[t % WARPS];
      best = own;
      findLargest(key, best);
      const ELEMENT* chosen = said.row[(__ffs((int)__ballot_sync(ALL, own == best)) - 1) % WARPS];
      if (t == 0) swaps[matrix * eachSwaps + j] = (int32)first + best + 1;
      const ELEMENT pivot = chosen[0];
      ELEMENT factor[PER];
#pragma unroll
      for (int r = 0; r < PER; ++r) {
        if (place[r] == best)
          place[r] = j;
        else if (place[r] == j)
          place[r] = best;
        const bool isBelow = place[r] > j;
        ELEMENT ratio = a[r][0];
        if (isBelow && pivot != 0) ratio /= pivot;
        factor[r] = isBelow ? -ratio : ELEMENT();
        a[r][0] = ratio;
      }
      ELEMENT finished[PER];
#pragma unroll
      for (int r = 0; r < PER; ++r) finished[r] = a[r][0];
#pragma unroll
      for (int k = 1; k < WIDTH; ++k) {
        const ELEMENT u = chosen[k];
#pragma unroll
        for (int r = 0; r < PER; ++r) a[r][k - 1] = fused(factor[r], u, a[r][k]);
      }
#pragma unroll
      for (int r = 0; r < PER; ++r) a[r][WIDTH - 1] = finished[r];
    }
    int32* to = moves + matrix * 2 * WIDTH;
#pragma unroll
    for (int r = 0; r < PER; ++r) {
      const int32 was = r * THREADS + t;
      if (place[r] < 0) continue;
      if (place[r] < columns) to[place[r]] = was;
      if (was < columns) to[WIDTH + was] = place[r];
    }
    storeRows(p, p.data + matrix * p.each, stage, a, place);
  }
}

// Sums over the lanes of a warp of N numbers each: lane l gets that of numbers l % N.
template <int N> struct Across {
  static __device__ __forceinline__ ELEMENT sum(const ELEMENT (&d)[N]) {
    const bool upper = threadIdx.x & (N / 2);
    ELEMENT halves[N / 2];
#pragma unroll
    for (int q = 0; q < N / 2; ++q) {
      const ELEMENT given = upper ? d[q] : d[q + N / 2];
      halves[q] = (upper ? d[q + N / 2] : d[q]) + __shfl_xor_sync(ALL, given, N / 2);
    }
    return Across<N / 2>::sum(halves);
  }
};
template <> struct Across<1> {
  static __device__ __forceinline__ ELEMENT sum(const ELEMENT (&d)[1]) {
    ELEMENT sum = d[0];
#pragma unroll
    for (int lanes = WIDTH; lanes < 32; lanes *= 2) sum += __shfl_xor_sync(ALL, sum, lanes);
    return sum;
  }
};

// The panel becomes R on and above its diagonal, and below it the vectors v of Householder's reflectors 1 - tau v v^T,
// whose first elements are 1. One pass over a column x gives both its norm and what its reflector takes from the other
// columns: v is x but for its first element and a factor.
extern "C" __global__ void __launch_bounds__(THREADS) reflectPanel(Panel p, ELEMENT* taus, int64 eachTaus, int64 count) {
  __shared__ Stage stage;
  __shared__ __align__(16) ELEMENT sums[2][WARPS][WIDTH], diagonal[2][WIDTH], taken[WARPS][WIDTH];
  const int t = (int)threadIdx.x, warp = t / 32, lane = t % 32, rows = (int)p.rows, columns = (int)p.columns;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    ELEMENT a[PER][WIDTH];
    loadRows(p, p.data + matrix * p.each, stage, a);
    for (int j = 0; j < columns; ++j) {
      ELEMENT sum, first, square, by = 1;
      const int column = lane % WIDTH;
      // Once more where products may have no numbers, of what a power of 2 makes of the column.
      for (bool again = true; again;) {
        ELEMENT d[WIDTH];
#pragma unroll
        for (int k = 0; k < WIDTH; ++k) d[k] = 0;
#pragma unroll
        for (int r = 0; r < PER; ++r) {
          const ELEMENT x = r * THREADS + t > j ? a[r][0] * by : ELEMENT();
#pragma unroll
          for (int k = 1; k < WIDTH; ++k) d[k] = fused(x, a[r][k], d[k]);
          d[0] = fused(x, x, d[0]);
          if (r * THREADS + t == j) share(diagonal[j % 2], a[r], WIDTH);
        }
        sum = Across<WIDTH>::sum(d);
        if (lane < WIDTH) sums[j % 2][warp][lane] = sum;
        __syncthreads();
        sum = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w += 32 / WIDTH)
          if (w + lane / WIDTH < WARPS) sum += sums[j % 2][w + lane / WIDTH][column];
#pragma unroll
        for (int lanes = WIDTH; lanes < 32; lanes *= 2) sum += __shfl_xor_sync(ALL, sum, lanes);
        first = diagonal[j % 2][0] * by;
        square = __shfl_sync(ALL, sum, 0);
        // Of all warps alike.
        again = __any_sync(ALL, by == 1 && (!isSafe(first * first + square) || sum - sum != 0));
        if (!again) break;
        ELEMENT most = 0;
#pragma unroll
        for (int r = 0; r < PER; ++r)
          if (r * THREADS + t >= j && magnitude(a[r][0]) > most) most = magnitude(a[r][0]);
#pragma unroll
        for (int lanes = 16; lanes > 0; lanes /= 2) {
          const ELEMENT other = __shfl_xor_sync(ALL, most, lanes);
          if (other > most) most = other;
        }
        if (lane == 0) sums[(j + 1) % 2][warp][0] = most;
        __syncthreads();
        for (int w = 0; w < WARPS; ++w)
          if (sums[(j + 1) % 2][w][0] > most) most = sums[(j + 1) % 2][w][0];
        by = powerAgainst(most);
        again = by != 1;
      }
      ELEMENT norm = first, tau = 0, scale = 1;
      if (square != 0) {
        norm = root(first * first + square);
        if (first >= 0) norm = -norm;
        tau = (norm - first) / norm;
        scale = first - norm;
      }
      if (lane < WIDTH)
        taken[warp][lane] = lane > 0 && lane < WIDTH - j ? -tau * (diagonal[j % 2][column] + sum / scale) : ELEMENT();
      __syncwarp();
      if (t == 0) taus[matrix * eachTaus + j] = tau;
      ELEMENT v[PER], finished[PER];
#pragma unroll
      for (int r = 0; r < PER; ++r) {
        const int row = r * THREADS + t;
        v[r] = row > j ? a[r][0] * by / scale : row == j ? (ELEMENT)1 : ELEMENT();
        finished[r] = row > j ? v[r] : row == j ? norm / by : a[r][0];
      }
#pragma unroll
      for (int k = 1; k < WIDTH; ++k) {
        const ELEMENT w = taken[warp][k];
#pragma unroll
        for (int r = 0; r < PER; ++r) a[r][k - 1] = fused(v[r], w, a[r][k]);
      }
      __syncwarp();
#pragma unroll
      for (int r = 0; r < PER; ++r) a[r][WIDTH - 1] = finished[r];
    }
    int32 place[PER];
#pragma unroll
    for (int r = 0; r < PER; ++r) place[r] = r * THREADS + t < rows ? r * THREADS + t : -1;
    storeRows(p, p.data + matrix * p.each, stage, a, place);
  }
}
