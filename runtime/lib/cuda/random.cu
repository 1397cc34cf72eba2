// Keys of a random permutation, and draws: the formulas of philox, elementary and draw stand before it.

extern "C" __global__ void permutationKeys(int64 n, int64 seed, int64 offset, uint64* keys, int64* values) {
  GRID_LOOP(i, n) {
    uint32 c[4] = {(uint32)i, (uint32)((uint64)i >> 32), (uint32)offset, (uint32)((uint64)offset >> 32)};
    philoxRounds(c, (uint64)seed);
    keys[i] = (uint64)c[1] << 32 | c[0];
    values[i] = i;
  }
}

extern "C" __global__ void gammaDraws(int64 n, int64 seed, int64 offset, const double* alpha, double* out) {
  GRID_LOOP(i, n) {
    ElementStream s = streamOf(seed, offset, i);
    out[i] = gammaDraw(s, alpha[i]);
  }
}
extern "C" __global__ void poissonDraws(int64 n, int64 seed, int64 offset, const double* rate, double* out) {
  GRID_LOOP(i, n) {
    ElementStream s = streamOf(seed, offset, i);
    out[i] = poissonDraw(s, rate[i]);
  }
}
extern "C" __global__ void binomialDraws(int64 n, int64 seed, int64 offset, const double* count, const double* prob,
                                         double* out) {
  GRID_LOOP(i, n) {
    ElementStream s = streamOf(seed, offset, i);
    out[i] = binomialDraw(s, count[i], prob[i]);
  }
}
