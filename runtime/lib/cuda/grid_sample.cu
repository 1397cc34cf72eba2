// grid_sample and its derivatives, by places and taps of runtime/lib/formulas/grid.inl. A thread has a place of the grid,
// with all channels.
//
// ELEMENT: what is stored; DIMS: of space; REACH: taps along a dim.

typedef Compute<ELEMENT>::type C;

struct Sampling {
  int64 batch, channels, plane, places;
  GridAxis axes[3];
};
typedef PlaceTaps<C, DIMS, REACH> Taps;

// Of place `p` of image `image`.
static __device__ inline void find(const ELEMENT* grid, int64 i, bool slopes, const Sampling& s, Taps& taps) {
  C at[DIMS];
  for (int d = 0; d < DIMS; ++d) at[d] = load(grid[i * DIMS + d]);
  placeTaps<C, DIMS, REACH>(s.axes, at, slopes, taps);
}
static __device__ inline C weighed(const ELEMENT* x, const Taps& taps, const C* weight) {
  C sum = 0;
  for (int t = 0; t < tapsOf(DIMS, REACH); ++t) {
    const C part = weight[t] * (taps.inside[t] ? load(x[taps.at[t]]) : (C)0);
    sum = t == 0 ? part : sum + part;
  }
  return sum;
}

extern "C" __global__ void sample(const ELEMENT* x, const ELEMENT* grid, ELEMENT* out, Sampling s) {
  GRID_LOOP(i, s.batch * s.places) {
    const int64 image = View::divide(i, s.places), p = i - image * s.places;
    Taps taps;
    find(grid, i, false, s, taps);
    for (int64 c = image * s.channels; c < (image + 1) * s.channels; ++c)
      out[c * s.places + p] = Store<ELEMENT>::of(weighed(x + c * s.plane, taps, taps.weight));
  }
}

extern "C" __global__ void slopes(const ELEMENT* g, const ELEMENT* x, const ELEMENT* grid, ELEMENT* out, Sampling s) {
  GRID_LOOP(i, s.batch * s.places) {
    const int64 image = View::divide(i, s.places), p = i - image * s.places;
    Taps taps;
    find(grid, i, true, s, taps);
    for (int d = 0; d < DIMS; ++d) {
      C sum = 0;
      for (int64 c = image * s.channels; c < (image + 1) * s.channels; ++c)
        sum += load(g[c * s.places + p]) * weighed(x + c * s.plane, taps, taps.slope[d]);
      out[i * DIMS + d] = Store<ELEMENT>::of(sum);
    }
  }
}

// What each place adds to which element of a plane.
extern "C" __global__ void parts(const ELEMENT* g, const ELEMENT* grid, C* parts, int64* index, Sampling s) {
  GRID_LOOP(i, s.batch * s.places) {
    const int64 image = View::divide(i, s.places), p = i - image * s.places;
    Taps taps;
    find(grid, i, false, s, taps);
    for (int t = 0; t < tapsOf(DIMS, REACH); ++t) {
      index[i * tapsOf(DIMS, REACH) + t] = taps.inside[t] ? taps.at[t] : s.plane;
      for (int64 c = image * s.channels; c < (image + 1) * s.channels; ++c)
        parts[(c * s.places + p) * tapsOf(DIMS, REACH) + t] = taps.weight[t] * load(g[c * s.places + p]);
    }
  }
}

extern "C" __global__ void inside(const C* sums, ELEMENT* out, int64 n, int64 plane) {
  GRID_LOOP(i, n) out[i] = Store<ELEMENT>::of(sums[i + View::divide(i, plane)]);
}
