// gcd, by Euclid's algorithm on magnitudes: that of the least integer is no integer of its type.

static __device__ inline uint64 magnitude(ELEMENT v) { return v < (ELEMENT)0 ? 0 - (uint64)(int64)v : (uint64)v; }

extern "C" __global__ void gcd(Walk<2> walk, const ELEMENT* x, const ELEMENT* y, ELEMENT* out) {
  GRID_LOOP(i, walk.numel) {
    int64 at[2];
    walk.at(i, at);
    uint64 a = magnitude(x[at[0]]), b = magnitude(y[at[1]]);
    while (b != 0) {
      const uint64 rest = ((a | b) >> 32) == 0 ? (uint64)((uint32)a % (uint32)b) : a % b;
      a = b;
      b = rest;
    }
    out[i] = (ELEMENT)a;
  }
}
