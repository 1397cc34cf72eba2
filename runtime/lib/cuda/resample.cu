// A dim interpolated, and the transpose: every element of the result is a weighted sum of some of the others along the
// dim, which the host lists (runtime/lib/pool/taps.h), in the order of the list.
//
// ELEMENT: what is stored; COMPUTE: what is computed in, also the weights.

// [outer, n, inner] to [outer, m, inner]; element k of the dim is made of places index[starts[k]] to
// index[starts[k + 1] - 1].
struct Slabs {
  int64 n, m, inner;
};
struct Tapped {
  const ELEMENT* from;
  int64 first, end, inner;
};
static __device__ inline Tapped tapped(const ELEMENT* x, const int64* starts, const Slabs& s, int64 i) {
  const int64 q = View::divide(i, s.inner), slab = View::divide(q, s.m), k = q - slab * s.m;
  Tapped t = {x + slab * s.n * s.inner + (i - q * s.inner), starts[k], starts[k + 1], s.inner};
  return t;
}

// `fromZero`: sums begin with 0, which may change the sign of a zero.
extern "C" __global__ void weigh(const ELEMENT* x, ELEMENT* out, int64 n, const int64* starts, const int64* index,
                                 const COMPUTE* weight, int64 fromZero, Slabs s) {
  GRID_LOOP(i, n) {
    const Tapped t = tapped(x, starts, s, i);
    COMPUTE sum = COMPUTE();
    for (int64 k = t.first; k < t.end; ++k) {
      const COMPUTE part = (COMPUTE)(weight[k] * (COMPUTE)load(t.from[index[k] * t.inner]));
      sum = k == t.first && !fromZero ? part : (COMPUTE)(sum + part);
    }
    out[i] = Store<ELEMENT>::of(sum);
  }
}

// Each of one place.
extern "C" __global__ void pick(const ELEMENT* x, ELEMENT* out, int64 n, const int64* starts, const int64* index,
                                Slabs s) {
  GRID_LOOP(i, n) {
    const Tapped t = tapped(x, starts, s, i);
    out[i] = t.from[index[t.first] * t.inner];
  }
}

// Bytes, by weights of 2^-shift.
extern "C" __global__ void weighBytes(const ELEMENT* x, ELEMENT* out, int64 n, const int64* starts, const int64* index,
                                      const int32* weight, int64 shift, Slabs s) {
  GRID_LOOP(i, n) {
    const Tapped t = tapped(x, starts, s, i);
    int32 sum = shift > 0 ? 1 << (shift - 1) : 0;
    for (int64 k = t.first; k < t.end; ++k) sum += weight[k] * (int32)load(t.from[index[k] * t.inner]);
    sum >>= shift;
    out[i] = Store<ELEMENT>::of(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }
}
