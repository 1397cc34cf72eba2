// argmax, argmin, max_dim, min_dim: the first place of the extreme value, the first NaN before everything. LARGEST: 1 for
// the largest, 0 for the smallest. The better of two candidates is the same in whatever order they are met, so lines are
// cut into chunks freely; each chunk leaves the place of its best, and a last kernel takes the best of those.

#define THREADS 256

typedef typename Compute<ELEMENT>::type C;

// Is a the better value?
static __device__ inline bool beats(C a, C b) {
  return (LARGEST ? a > b : a < b) || (isNan(a) && !isNan(b));
}
// Does the candidate at place p replace the one at q?
static __device__ inline bool replaces(C a, int64 p, C b, int64 q) {
  return beats(a, b) || (!beats(b, a) && p < q);
}

// Line p of outer x inner has `size` elements `inner` apart. Of chunk c the best place goes to places[c * lines + p]; the
// element there to values[p], which is null where there are several chunks.
extern "C" __global__ void bestOfColumns(const ELEMENT* x, int64 lines, int64 size, int64 inner, int64 chunks,
                                         int64 length, int64* places, ELEMENT* values) {
  GRID_LOOP(e, lines * chunks) {
    const int64 c = View::divide(e, lines), p = e - c * lines, o = View::divide(p, inner);
    const ELEMENT* line = x + o * size * inner + (p - o * inner);
    const int64 begin = c * length, end = size - begin < length ? size : begin + length;
    int64 place = begin;
    C best = load(line[begin * inner]);
    for (int64 r = begin + 1; r < end; ++r) {
      const C v = load(line[r * inner]);
      if (beats(v, best)) {
        best = v;
        place = r;
      }
    }
    places[e] = place;
    if (values) values[p] = line[place * inner];
  }
}

// The same of contiguous lines, a block for each chunk.
extern "C" __global__ void bestOfRows(const ELEMENT* x, int64 lines, int64 size, int64 chunks, int64 length, int64* places,
                                      ELEMENT* values) {
  __shared__ C best[THREADS];
  __shared__ int64 at[THREADS];
  const int t = threadIdx.x;
  for (int64 e = blockIdx.x; e < lines * chunks; e += gridDim.x) {
    const int64 c = View::divide(e, lines), p = e - c * lines;
    const ELEMENT* line = x + p * size;
    const int64 begin = c * length, end = size - begin < length ? size : begin + length;
    // Threads without an element have the first one, which changes nothing.
    int64 place = begin + t < end ? begin + t : begin;
    C value = load(line[place]);
    for (int64 r = begin + t + THREADS; r < end; r += THREADS) {
      const C v = load(line[r]);
      if (beats(v, value)) {
        value = v;
        place = r;
      }
    }
    best[t] = value;
    at[t] = place;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
      if (t < half && replaces(best[t + half], at[t + half], best[t], at[t])) {
        best[t] = best[t + half];
        at[t] = at[t + half];
      }
      __syncthreads();
    }
    if (t == 0) {
      places[e] = at[0];
      if (values) values[p] = line[at[0]];
    }
    __syncthreads();
  }
}

extern "C" __global__ void bestOfChunks(const ELEMENT* x, int64 lines, int64 size, int64 inner, int64 chunks,
                                        const int64* found, int64* places, ELEMENT* values) {
  GRID_LOOP(p, lines) {
    const int64 o = View::divide(p, inner);
    const ELEMENT* line = x + o * size * inner + (p - o * inner);
    int64 place = found[p];
    C best = load(line[place * inner]);
    for (int64 c = 1; c < chunks; ++c) {
      const int64 other = found[c * lines + p];
      const C v = load(line[other * inner]);
      if (beats(v, best)) {
        best = v;
        place = other;
      }
    }
    places[p] = place;
    if (values) values[p] = line[place * inner];
  }
}
