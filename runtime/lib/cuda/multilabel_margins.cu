// multilabel_margins: the sums of each class over labels, the slopes, the sums of rows. Of a class that is a label
// `counts` has minus its times, of another how many labels add to it.
//
// ELEMENT: what is stored.

typedef Compute<ELEMENT>::type C;

// Of one label and one class that is none.
static __device__ inline C excessOf(const ELEMENT* row, int64 i, int64 label) {
  const C excess = load(row[i]) - load(row[label]) + 1;
  return excess > 0 ? excess : (C)0;
}

extern "C" __global__ void classes(const ELEMENT* x, const int64* labels, int64 n, int64 classes, int64* counts,
                                   C* sums) {
  GRID_LOOP(e, n) {
    const int64 r = View::divide(e, classes), i = e - r * classes;
    const ELEMENT* row = x + r * classes;
    C sum = 0;
    int64 above = 0, times = 0;
    for (const int64* l = labels + r * classes; l < labels + (r + 1) * classes && *l >= 0; ++l) {
      if (*l >= classes) continue;
      const C excess = excessOf(row, i, *l);
      times += *l == i;
      sum += excess;
      above += excess > 0;
    }
    counts[e] = times > 0 ? -times : above;
    sums[e] = times > 0 ? (C)0 : sum;
  }
}

extern "C" __global__ void slopes(const ELEMENT* x, const int64* labels, int64 n, int64 classes, const int64* counts,
                                  ELEMENT* out) {
  GRID_LOOP(e, n) {
    const int64 r = View::divide(e, classes), label = e - r * classes;
    const ELEMENT* row = x + r * classes;
    int64 slope = counts[e];
    if (slope < 0) {
      int64 above = 0;
      for (int64 i = 0; i < classes; ++i) above += counts[r * classes + i] >= 0 && excessOf(row, i, label) > 0;
      slope *= above;
    }
    out[e] = Store<ELEMENT>::of((C)slope / (C)classes);
  }
}

extern "C" __global__ void rows(const C* sums, int64 n, int64 classes, ELEMENT* out) {
  GRID_LOOP(r, n) {
    C sum = 0;
    for (int64 i = 0; i < classes; ++i) sum += sums[r * classes + i];
    out[r] = Store<ELEMENT>::of(sum / (C)classes);
  }
}
