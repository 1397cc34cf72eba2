// cumsum, cumprod, logcumsumexp, cummax, cummin, linear recurrences: one chain along the dim for every other position, in
// order. KIND: 0 sum, 1 product, 2 logcumsumexp, 3 cummax, 4 cummin, 5 recurrence. ELEMENT is stored; CARRY is what
// chains run in. elementary.inl stands before it.

#define THREADS 256
#define TILE 2048
#define AHEAD 8

typedef typename Compute<ELEMENT>::type C;

template <class N> static __device__ inline N addTo(N a, N b) { return (N)((uint64)a + (uint64)b); }
static __device__ inline bool addTo(bool a, bool b) { return a || b; }
static __device__ inline float addTo(float a, float b) { return a + b; }
static __device__ inline double addTo(double a, double b) { return a + b; }
template <class N> static __device__ inline N multiplyBy(N a, N b) { return (N)((uint64)a * (uint64)b); }
static __device__ inline bool multiplyBy(bool a, bool b) { return a && b; }
static __device__ inline float multiplyBy(float a, float b) { return a * b; }
static __device__ inline double multiplyBy(double a, double b) { return a * b; }

// A chain at its element r, of value v (and its factor).
struct Chain {
  CARRY value;
#if KIND == 3 || KIND == 4
  int64 place;
#endif
  __device__ void take(int64 r, CARRY v, CARRY factor) {
#if KIND == 3 || KIND == 4
    // A later equal value replaces the one before, and NaN everything.
    const bool better = KIND == 3 ? v >= value : v <= value;
    if (r == 0 || isNan(v) || (!isNan(value) && better)) {
      value = v;
      place = r;
    }
#else
    if (r == 0) {
      value = v;
      return;
    }
#if KIND == 0
    value = addTo(value, v);
#elif KIND == 1
    value = multiplyBy(value, v);
#elif KIND == 2
    value = logSum(value, v);
#elif KIND == 5
    value = addTo(v, multiplyBy(factor, value));
#endif
#endif
  }
};

#ifndef ASSOCIATIVE
// Chains of neighbours: each thread walks one, AHEAD elements at a time. `flip`: from the end of the dim.
extern "C" __global__ void scanColumns(const ELEMENT* x, const ELEMENT* factors, ELEMENT* out, int64* places, int64 outer,
                                       int64 size, int64 inner, int32 flip) {
  const int64 step = flip ? -inner : inner;
  GRID_LOOP(p, outer * inner) {
    const int64 o = View::divide(p, inner);
    int64 at = o * size * inner + (p - o * inner) + (flip ? (size - 1) * inner : 0);
    Chain chain;
    for (int64 r = 0; r < size;) {
      const int n = size - r < AHEAD ? (int)(size - r) : AHEAD;
      CARRY v[AHEAD], f[AHEAD];
      for (int k = 0; k < AHEAD; ++k) {
        if (k >= n) break;
        v[k] = (CARRY)load(x[at + k * step]);
#if KIND == 5
        f[k] = (CARRY)load(factors[at + k * step]);
#else
        f[k] = v[k];
#endif
      }
      for (int k = 0; k < AHEAD; ++k) {
        if (k >= n) break;
        chain.take(r + k, v[k], f[k]);
        out[at] = Store<ELEMENT>::of((C)chain.value);
#if KIND == 3 || KIND == 4
        places[at] = chain.place;
#endif
        at += step;
      }
      r += n;
    }
  }
}

// Contiguous lines: a block takes `together` of them, a power of two up to 32, a tile of TILE elements at a time, which
// all threads load and store, and a thread a line walks.
extern "C" __global__ void scanRows(const ELEMENT* x, const ELEMENT* factors, ELEMENT* out, int64* places, int64 lines,
                                    int64 size, int32 together, int32 flip) {
  __shared__ CARRY tile[TILE + 32];
#if KIND == 5
  __shared__ CARRY factorTile[TILE + 32];
#endif
#if KIND == 3 || KIND == 4
  __shared__ int64 placeTile[TILE + 32];
#endif
  const int t = threadIdx.x, width = TILE / together, pitch = width + 1;
  for (int64 first = (int64)blockIdx.x * together; first < lines; first += (int64)gridDim.x * together) {
    const int here = lines - first < together ? (int)(lines - first) : together;
    Chain chain;
    for (int64 begin = 0; begin < size; begin += width) {
      const int n = size - begin < width ? (int)(size - begin) : width;
      for (int e = t; e < here * width; e += THREADS) {
        const int row = e / width, column = e - row * width;
        if (column >= n) continue;
        const int64 r = begin + column, from = (first + row) * size + (flip ? size - 1 - r : r);
        tile[row * pitch + column] = (CARRY)load(x[from]);
#if KIND == 5
        factorTile[row * pitch + column] = (CARRY)load(factors[from]);
#endif
      }
      __syncthreads();
      if (t < here) {
        for (int k = 0; k < n; ++k) {
          const int at = t * pitch + k;
#if KIND == 5
          chain.take(begin + k, tile[at], factorTile[at]);
#else
          chain.take(begin + k, tile[at], tile[at]);
#endif
          tile[at] = chain.value;
#if KIND == 3 || KIND == 4
          placeTile[at] = chain.place;
#endif
        }
      }
      __syncthreads();
      for (int e = t; e < here * width; e += THREADS) {
        const int row = e / width, column = e - row * width;
        if (column >= n) continue;
        const int64 r = begin + column, to = (first + row) * size + (flip ? size - 1 - r : r);
        out[to] = Store<ELEMENT>::of((C)tile[row * pitch + column]);
#if KIND == 3 || KIND == 4
        places[to] = placeTile[row * pitch + column];
#endif
      }
      __syncthreads();
    }
  }
}

#else
// Long lines whose result is the same however they are cut (integers, extremes), a block for each tile: the chain of each
// tile alone, what comes before each, and the tile's elements behind that.

#define EACH (TILE / THREADS)

// `later` behind this one.
static __device__ inline void append(Chain& chain, const Chain& later) {
#if KIND == 3 || KIND == 4
  chain.take(later.place, later.value, later.value);
#elif KIND == 0
  chain.value = addTo(chain.value, later.value);
#else
  chain.value = multiplyBy(chain.value, later.value);
#endif
}

// The chain of `count` elements from element `begin` of a line on.
static __device__ inline Chain chainOf(const ELEMENT* line, int64 begin, int count) {
  Chain chain;
  for (int k = 0; k < count; ++k) {
    const CARRY v = (CARRY)load(line[begin + k]);
    Chain next;
    next.take(0, v, v);
#if KIND == 3 || KIND == 4
    next.place = begin + k;
#endif
    if (k == 0) chain = next;
    else append(chain, next);
  }
  return chain;
}

static __device__ inline int countOf(int64 begin, int64 size) {
  return begin >= size ? 0 : size - begin < EACH ? (int)(size - begin) : EACH;
}

// Leaves each thread's chain with those of all threads before it in front, in chains[result][thread].
static __device__ inline int chainThreads(Chain (&chains)[2][THREADS], int count) {
  const int t = threadIdx.x;
  int from = 0;
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2, from ^= 1) {
    Chain chain = chains[from][t];
    if (t >= step && count > 0) {
      chain = chains[from][t - step];
      append(chain, chains[from][t]);
    }
    chains[from ^ 1][t] = chain;
    __syncthreads();
  }
  return from;
}

extern "C" __global__ void chainTiles(const ELEMENT* x, int64 lines, int64 size, int64 tiles, Chain* out) {
  __shared__ Chain chains[2][THREADS];
  const int t = threadIdx.x;
  for (int64 b = blockIdx.x; b < lines * tiles; b += gridDim.x) {
    const int64 line = b / tiles, begin = (b - line * tiles) * TILE + t * EACH;
    const int count = countOf(begin, size);
    if (count > 0) chains[0][t] = chainOf(x + line * size, begin, count);
    const int from = chainThreads(chains, count);
    if (count > 0 && (t == THREADS - 1 || begin + count == size)) out[b] = chains[from][t];
    __syncthreads();
  }
}

// Each tile's chain becomes that of all tiles up to it.
extern "C" __global__ void chainLines(int64 lines, int64 tiles, Chain* chains) {
  GRID_LOOP(line, lines) {
    Chain* own = chains + line * tiles;
    Chain chain = own[0];
    for (int64 b = 1; b < tiles;) {
      const int n = tiles - b < AHEAD ? (int)(tiles - b) : AHEAD;
      Chain next[AHEAD];
      for (int k = 0; k < AHEAD; ++k)
        if (k < n) next[k] = own[b + k];
      for (int k = 0; k < AHEAD; ++k) {
        if (k >= n) break;
        append(chain, next[k]);
        own[b + k] = chain;
      }
      b += n;
    }
  }
}

extern "C" __global__ void scanTiles(const ELEMENT* x, int64 lines, int64 size, int64 tiles, const Chain* before,
                                     ELEMENT* out, int64* places) {
  __shared__ Chain chains[2][THREADS];
  const int t = threadIdx.x;
  for (int64 b = blockIdx.x; b < lines * tiles; b += gridDim.x) {
    const int64 line = b / tiles, tile = b - line * tiles, begin = tile * TILE + t * EACH;
    const int count = countOf(begin, size);
    if (count > 0) chains[0][t] = chainOf(x + line * size, begin, count);
    const int from = chainThreads(chains, count);
    if (count > 0) {
      bool any = tile > 0;
      Chain chain;
      if (any) chain = before[b - 1];
      if (t > 0) {
        if (any) append(chain, chains[from][t - 1]);
        else chain = chains[from][t - 1];
        any = true;
      }
      for (int k = 0; k < count; ++k) {
        const Chain next = chainOf(x + line * size, begin + k, 1);
        if (any) append(chain, next);
        else chain = next;
        any = true;
        out[line * size + begin + k] = Store<ELEMENT>::of((C)chain.value);
#if KIND == 3 || KIND == 4
        places[line * size + begin + k] = chain.place;
#endif
      }
    }
    __syncthreads();
  }
}
#endif
