// Lines along a dim put in order, and what is chosen of ordered lines. A line's elements become items, an integer key in
// the order of the values with the place it came from, which are ordered by key and then by place: the order is one,
// whatever the algorithm. Blocks of a line are ordered in shared memory; then pairs of runs are merged, each item
// finding its place by halving the other run. Runs are cut off where no more of the line is asked for.
//
// ELEMENT: what is stored; KIND: 0 items of one word, 1 of two, 2 whole rows of a matrix compared element by element;
// FLOATING: are there NaN; CHUNK: items of a block, of half as many threads.

static __device__ inline uint64 keyBits(float v) {
  uint32 bits = (uint32)__float_as_int(v + 0.0f);  // -0 + 0 is +0
  return v != v ? 0xffffffffu : bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
static __device__ inline uint64 keyBits(double v) {
  uint64 bits = (uint64)__double_as_longlong(v + 0.0), top = 1ULL << 63;
  return v != v ? ~0ULL : bits & top ? ~bits : bits | top;
}
static __device__ inline uint64 keyBits(bool v) { return v ? 1 : 0; }
static __device__ inline uint64 keyBits(uint8 v) { return v; }
static __device__ inline uint64 keyBits(int8 v) { return (uint32)(int32)v ^ 0x80000000u; }
static __device__ inline uint64 keyBits(int16 v) { return (uint32)(int32)v ^ 0x80000000u; }
static __device__ inline uint64 keyBits(int32 v) { return (uint32)v ^ 0x80000000u; }
static __device__ inline uint64 keyBits(int64 v) { return (uint64)v ^ (1ULL << 63); }
// Integers in the order of the values: equal for the two zeros, one for all NaN, which is the largest.
static __device__ inline uint64 keyOf(ELEMENT x) { return keyBits(load(x)); }
static __device__ inline bool isNanKey(uint64 key) {
  return FLOATING && key == (sizeof(ELEMENT) == 8 ? ~0ULL : 0xffffffffULL);
}

// What is ordered: [outer, size, inner] along the dim in the middle, or the rows of a matrix [size, inner].
struct Lines {
  const ELEMENT* x;
  int64 size, inner, keep, descending;
};

#if KIND == 0
// Of the largest first all bits of the key are turned.
struct Item {
  uint64 word;
  __device__ int64 place() const { return (int64)(word & 0xffffffffULL); }
  __device__ uint64 key() const { return word >> 32; }
};
static __device__ inline Item itemOf(const Lines& s, ELEMENT x, int64 place) {
  uint64 key = keyOf(x);
  if (s.descending) key ^= 0xffffffffULL;
  Item item = {key << 32 | (uint64)place};
  return item;
}
static __device__ inline Item nothing() {
  Item item = {~0ULL};
  return item;
}
static __device__ inline bool before(const Lines&, const Item& a, const Item& b) { return a.word < b.word; }
#elif KIND == 1
struct Item {
  uint64 own;
  int64 from;
  __device__ int64 place() const { return from; }
  __device__ uint64 key() const { return own; }
};
static __device__ inline Item itemOf(const Lines& s, ELEMENT x, int64 place) {
  Item item = {s.descending ? ~keyOf(x) : keyOf(x), place};
  return item;
}
static __device__ inline Item nothing() {
  Item item = {~0ULL, 0x7fffffffffffffffLL};
  return item;
}
static __device__ inline bool before(const Lines&, const Item& a, const Item& b) {
  return a.own < b.own || (a.own == b.own && a.from < b.from);
}
#else
struct Item {
  int64 from;
  __device__ int64 place() const { return from; }
};
static __device__ inline Item itemOf(const Lines&, ELEMENT, int64 place) {
  Item item = {place};
  return item;
}
static __device__ inline Item nothing() {
  Item item = {0x7fffffffffffffffLL};
  return item;
}
static __device__ inline bool before(const Lines& s, const Item& a, const Item& b) {
  if (a.from < s.size && b.from < s.size)
    for (int64 i = 0; i < s.inner; ++i) {
      const uint64 x = keyOf(s.x[a.from * s.inner + i]), y = keyOf(s.x[b.from * s.inner + i]);
      if (x != y) return x < y;
    }
  return a.from < b.from;
}
#endif

static __device__ inline int64 smaller(int64 a, int64 b) { return a < b ? a : b; }

// Runs of `width` elements each, a power of two up to CHUNK, of which the first `room` are written.
extern "C" __global__ void sortChunks(Lines s, Item* to, int64 lines, int64 runs, int64 width, int64 room) {
  __shared__ Item items[CHUNK];
  const int t = (int)threadIdx.x, w = (int)width;
  const int64 together = CHUNK / width;
  for (int64 unit = blockIdx.x; unit < (lines * runs + together - 1) / together; unit += gridDim.x) {
    for (int i = t; i < CHUNK; i += CHUNK / 2) {
      const int64 segment = unit * together + i / w, line = View::divide(segment, runs);
      const int64 place = (segment - line * runs) * width + i % w;
      if (line < lines && place < s.size) {
#if KIND == 2
        items[i] = itemOf(s, ELEMENT(), place);
#else
        const int64 outer = View::divide(line, s.inner);
        items[i] = itemOf(s, s.x[(outer * s.size + place) * s.inner + (line - outer * s.inner)], place);
#endif
      } else {
        items[i] = nothing();
      }
    }
    __syncthreads();
    // Bitonic: sequences that rise and fall in turn, of twice the length each time.
    for (int length = 2; length <= w; length *= 2)
      for (int step = length / 2; step > 0; step /= 2) {
        const int i = (t & ~(step - 1)) * 2 | (t & (step - 1)), j = i | step;
        const bool rising = (i & (w - 1) & length) == 0;
        const Item a = items[i], b = items[j];
        if (before(s, b, a) == rising) {
          items[i] = b;
          items[j] = a;
        }
        __syncthreads();
      }
    for (int i = t; i < CHUNK; i += CHUNK / 2) {
      const int64 segment = unit * together + i / w;
      if (segment < lines * runs && i % w < room) to[segment * room + i % w] = items[i];
    }
    __syncthreads();
  }
}

// Pairs of runs of `width` elements of a line, `room` items of each kept, to runs of which `newRoom` are.
extern "C" __global__ void mergeRuns(Lines s, const Item* from, Item* to, int64 lines, int64 runs, int64 width,
                                     int64 room, int64 newRoom) {
  GRID_LOOP(at, lines * runs * room) {
    const int64 segment = View::divide(at, room), i = at - segment * room;
    const int64 line = View::divide(segment, runs), run = segment - line * runs;
    if (i >= smaller(room, s.size - run * width)) continue;
    const Item item = from[at];
    const int64 other = run ^ 1;
    int64 rank = i;
    if (other < runs) {
      const Item* items = from + (line * runs + other) * room;
      int64 low = 0, high = smaller(room, s.size - other * width);
      while (low < high) {
        const int64 middle = low + (high - low) / 2;
        if (before(s, items[middle], item))
          low = middle + 1;
        else
          high = middle;
      }
      rank += low;
    }
    if (rank < newRoom) to[(line * ((runs + 1) / 2) + run / 2) * newRoom + rank] = item;
  }
}

// The elements of ordered lines and where they were. `values` may be null.
extern "C" __global__ void takeItems(Lines s, const Item* items, ELEMENT* values, int64* indices, int64 lines) {
  GRID_LOOP(at, lines * s.keep) {
    const int64 line = View::divide(at, s.keep), r = at - line * s.keep;
    const int64 place = items[at].place();
#if KIND == 2
    indices[at] = place;
#else
    const int64 outer = View::divide(line, s.inner), i = line - outer * s.inner;
    const int64 to = (outer * s.keep + r) * s.inner + i;
    values[to] = s.x[(outer * s.size + place) * s.inner + i];
    indices[to] = place;
#endif
  }
}

#if KIND != 2

// How many of the first n items have a smaller key, or one not greater (`also`).
static __device__ inline int64 itemsBelow(const Item* items, int64 n, uint64 key, bool also) {
  int64 low = 0;
  while (low < n) {
    const int64 middle = low + (n - low) / 2;
    const uint64 other = items[middle].key();
    if (other < key || (also && other == key))
      low = middle + 1;
    else
      n = middle;
  }
  return low;
}

static __device__ inline void choose(const Lines& s, int64 line, int64 place, ELEMENT* values, int64* indices) {
  const int64 outer = View::divide(line, s.inner);
  values[line] = s.x[(outer * s.size + place) * s.inner + (line - outer * s.inner)];
  indices[line] = place;
}

// The first place of the element of a rank; a rank of -1 is the lower middle of all (NaN if there is one), of -2 that of
// what is no NaN.
extern "C" __global__ void chooseRank(Lines s, const Item* items, ELEMENT* values, int64* indices, int64 lines,
                                      int64 rank) {
  GRID_LOOP(line, lines) {
    const Item* own = items + line * s.keep;
    int64 at = rank;
    if (rank < 0) {
      int64 n = s.keep;
      if (isNanKey(own[n - 1].key())) n = itemsBelow(own, n, own[n - 1].key(), false);
      // NaN are the last.
      at = n == 0 || (n < s.keep && rank == -1) ? s.keep - 1 : (n - 1) / 2;
    }
    choose(s, line, own[itemsBelow(own, at, own[at].key(), false)].place(), values, indices);
  }
}

// The last place of the most frequent element, the smallest of several such. A NaN is equal to nothing.
extern "C" __global__ void chooseMode(Lines s, const Item* items, ELEMENT* values, int64* indices, int64 lines) {
  __shared__ int64 counts[128];
  __shared__ int64 places[128];
  const int t = (int)threadIdx.x;
  for (int64 line = blockIdx.x; line < lines; line += gridDim.x) {
    const Item* own = items + line * s.keep;
    int64 most = 0, first = s.keep;
    for (int64 r = t; r < s.keep; r += 128) {
      const uint64 key = own[r].key();
      if (r > 0 && own[r - 1].key() == key) continue;
      const int64 count = isNanKey(key) ? 1 : r + 1 < s.keep && own[r + 1].key() == key
                                                ? itemsBelow(own + r, s.keep - r, key, true)
                                                : 1;
      if (count <= most) continue;
      most = count;
      first = r;
    }
    counts[t] = most;
    places[t] = first;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
      if (t < half) {
        const int64 other = counts[t + half];
        if (other > counts[t] || (other == counts[t] && places[t + half] < places[t])) {
          counts[t] = other;
          places[t] = places[t + half];
        }
      }
      __syncthreads();
    }
    if (t == 0) {
      const int64 r = places[0];
      choose(s, line, own[r + itemsBelow(own + r, s.keep - r, own[r].key(), true) - 1].place(), values, indices);
    }
    __syncthreads();
  }
}

#endif
