// Checks of values: class_indices, expect, expect_size.

extern "C" __global__ void classIndices(Walk<1> walk, const int64* target, int64 classes, int64 ignored, int64* out,
                                        int64* where) {
  GRID_LOOP(i, walk.numel) {
    int64 at[1];
    walk.at(i, at);
    const int64 value = target[at[0]];
    if ((value < 0 || value >= classes) && value != ignored) faultFirst(where, i, value, 0);
    out[i] = value == ignored ? 0 : value;
  }
}

// `shown` may be null.
extern "C" __global__ void expectAll(Walk<2> walk, const uint8* good, const int64* shown, int64* where) {
  GRID_LOOP(i, walk.numel) {
    int64 at[2];
    walk.at(i, at);
    if (!good[at[0]]) faultFirst(where, i, i, shown ? shown[at[1]] : 0);
  }
}

extern "C" __global__ void expectSize(const int64* count, int64 size, int64* out, int64* where) {
  *out = *count;
  if (*count != size) faultFirst(where, 0, *count, 0);
}
