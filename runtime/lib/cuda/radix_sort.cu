// A stable radix sort of pairs by the lowest `bits` bits of KEY; VALUE goes along. Up to TILE elements are sorted by one
// block, four bits at a time. More are sorted by passes over eight bits: each tile is sorted for itself, and its elements
// then go, in order, to where the counts of all tiles before say. No warp's votes: what is counted is a column of
// numbers a thread, so that the order follows from positions alone. LINES: the kernel of short lines, alone.

#define THREADS 256
#define EACH 8
#define TILE (THREADS * EACH)
#define DIGITS 256

struct Tile {
  KEY keys[TILE];
  VALUE values[TILE];
#ifdef LINES
  unsigned short lines[TILE];
#endif
  unsigned short counts[16 * THREADS];
  uint32 totals[2][THREADS];
};

// What a thread has of a tile: EACH neighbours.
struct Own {
  KEY keys[EACH];
  VALUE values[EACH];
#ifdef LINES
  unsigned short lines[EACH];
#endif
};

// Moves the tile's elements into the order of digit(k), k being the place among a thread's own. Each thread has its
// elements of the new order afterwards; the tile has all.
template <class Digit>
static __device__ inline void sortByDigit(Tile& tile, Own& own, bool withLines, Digit digit) {
  const int t = threadIdx.x;
  for (int d = 0; d < 16; ++d) tile.counts[d * THREADS + t] = 0;
  for (int k = 0; k < EACH; ++k) ++tile.counts[digit(k) * THREADS + t];
  __syncthreads();
  unsigned short before[16];
  uint32 total = 0;
  for (int j = 0; j < 16; ++j) {
    before[j] = total;
    total += tile.counts[t * 16 + j];
  }
  tile.totals[0][t] = total;
  int from = 0;
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2, from ^= 1) {
    tile.totals[from ^ 1][t] = tile.totals[from][t] + (t >= step ? tile.totals[from][t - step] : 0);
    __syncthreads();
  }
  const uint32 front = t == 0 ? 0 : tile.totals[from][t - 1];
  for (int j = 0; j < 16; ++j) tile.counts[t * 16 + j] = front + before[j];
  __syncthreads();
  for (int k = 0; k < EACH; ++k) {
    const int place = tile.counts[digit(k) * THREADS + t]++;
    tile.keys[place] = own.keys[k];
    tile.values[place] = own.values[k];
#ifdef LINES
    if (withLines) tile.lines[place] = own.lines[k];
#endif
  }
  __syncthreads();
  for (int k = 0; k < EACH; ++k) {
    own.keys[k] = tile.keys[t * EACH + k];
    own.values[k] = tile.values[t * EACH + k];
#ifdef LINES
    if (withLines) own.lines[k] = tile.lines[t * EACH + k];
#endif
  }
  __syncthreads();
}

static __device__ inline void sortByKey(Tile& tile, Own& own, int shift, int bits, bool withLines) {
  const int mask = (1 << (bits < 4 ? bits : 4)) - 1;
  sortByDigit(tile, own, withLines, [&](int k) { return (int)(own.keys[k] >> shift) & mask; });
}

// What is beyond the end has the greatest key, and stays behind all others since it comes last.
static __device__ inline void loadTile(Own& own, const KEY* keys, const VALUE* values, int count) {
  for (int k = 0; k < EACH; ++k) {
    const int i = threadIdx.x * EACH + k;
    own.keys[k] = i < count ? keys[i] : (KEY)~(KEY)0;
    own.values[k] = i < count ? values[i] : (VALUE)0;
  }
}

#ifdef LINES
// Lines of at most TILE elements, `together` of them a block: by key, and then by line.
extern "C" __global__ void sortLines(KEY* keys, VALUE* values, int64 lines, int32 size, int32 together, int32 bits) {
  __shared__ Tile tile;
  Own own;
  for (int64 first = (int64)blockIdx.x * together; first < lines; first += (int64)gridDim.x * together) {
    const int here = lines - first < together ? (int)(lines - first) : together;
    const int count = here * size;
    loadTile(own, keys + first * size, values + first * size, count);
    for (int k = 0; k < EACH; ++k) own.lines[k] = (threadIdx.x * EACH + k) / size;
    for (int shift = 0; shift < bits; shift += 4) sortByKey(tile, own, shift, bits - shift, here > 1);
    if (here > 1)
      for (int shift = 0; (TILE - 1) / size >> shift != 0; shift += 4)
        sortByDigit(tile, own, true, [&](int k) { return own.lines[k] >> shift & 15; });
    for (int i = threadIdx.x; i < count; i += THREADS) {
      keys[first * size + i] = tile.keys[i];
      values[first * size + i] = tile.values[i];
    }
    __syncthreads();
  }
}

#else
// counts[line][digit][tile]: how many elements of the tile have the digit.
extern "C" __global__ void countDigits(const KEY* keys, int64 lines, int64 size, int64 tiles, int32 shift, int32 bits,
                                       int64* counts) {
  __shared__ uint32 histogram[DIGITS];
  const uint32 mask = (1u << (bits < 8 ? bits : 8)) - 1;
  for (int64 b = blockIdx.x; b < lines * tiles; b += gridDim.x) {
    const int64 line = b / tiles, tile = b - line * tiles, begin = tile * TILE;
    const int count = size - begin < TILE ? (int)(size - begin) : TILE;
    histogram[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += THREADS)
      atomicAdd(&histogram[(uint32)(keys[line * size + begin + i] >> shift) & mask], 1u);
    __syncthreads();
    counts[(line * DIGITS + threadIdx.x) * tiles + tile] = histogram[threadIdx.x];
    __syncthreads();
  }
}

// places[line][digit][tile]: where the first such element goes.
extern "C" __global__ void moveTiles(const KEY* keys, const VALUE* values, KEY* toKeys, VALUE* toValues, int64 lines,
                                     int64 size, int64 tiles, int32 shift, int32 bits, const int64* places) {
  __shared__ Tile tile;
  __shared__ int32 starts[DIGITS];
  const uint32 mask = (1u << (bits < 8 ? bits : 8)) - 1;
  Own own;
  for (int64 b = blockIdx.x; b < lines * tiles; b += gridDim.x) {
    const int64 line = b / tiles, number = b - line * tiles, begin = number * TILE;
    const int count = size - begin < TILE ? (int)(size - begin) : TILE;
    loadTile(own, keys + line * size + begin, values + line * size + begin, count);
    sortByKey(tile, own, shift, bits, false);
    if (bits > 4) sortByKey(tile, own, shift + 4, bits - 4, false);
    for (int i = threadIdx.x; i < count; i += THREADS) {
      const uint32 digit = (uint32)(tile.keys[i] >> shift) & mask;
      if (i == 0 || ((uint32)(tile.keys[i - 1] >> shift) & mask) != digit) starts[digit] = i;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += THREADS) {
      const uint32 digit = (uint32)(tile.keys[i] >> shift) & mask;
      const int64 to = places[(line * DIGITS + digit) * tiles + number] + i - starts[digit];
      toKeys[to] = tile.keys[i];
      toValues[to] = tile.values[i];
    }
    __syncthreads();
  }
}
#endif
