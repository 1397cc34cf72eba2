// gather and the scatters: one index an element. ELEMENT, INDEX: types; for scatters also HOW (combine.cu), KEY and VALUE.
//
// Writes meet only within a line along the dim, where they are made in the line's order by one thread, which keeps the
// result in a register: that of the first element that names the place, or, where the last one stays, of the last.

typedef ELEMENT T;
typedef INDEX I;

extern "C" __global__ void gather(Walk<2> walk, const I* index, const T* x, T* out, int64 stride, int64 size,
                                  int64* where) {
  GRID_LOOP(i, walk.numel) {
    int64 at[2];
    walk.at(i, at);
    const int64 v = (int64)index[at[0]];
    if (v < 0 || v >= size)
      faultFirst(where, i, v, 0);
    else
      out[i] = x[at[1] + v * stride];
  }
}

#ifdef HOW
typedef typename Compute<T>::type C;

// Of lines of few elements each looks at all of its line. `lines` walks the beginnings of lines in index, in an index that
// were contiguous, in out and in src; `across` says that neighbouring lines lie beside each other.
extern "C" __global__ void scatterShort(Walk<4> lines, const I* index, int64 indexStep, int64 placeStep, int64 length,
                                        int64 size, const T* src, int64 srcStep, T* out, int64 stride, int32 across,
                                        int64* where) {
  GRID_LOOP(e, lines.numel * length) {
    const int64 k = across ? e / lines.numel : e % length;
    int64 at[4];
    lines.at(across ? e % lines.numel : e / length, at);
    const I* line = index + at[0];
    const int64 v = (int64)line[k * indexStep];
    if (v < 0 || v >= size) {
      faultFirst(where, at[1] + k * placeStep, v, 0);
      continue;
    }
    const T* from = src + at[3];
    T* to = out + at[2] + v * stride;
    bool mine = true;
#if HOW == 0
    for (int64 r = k + 1; mine && r < length; ++r) mine = (int64)line[r * indexStep] != v;
    if (mine) *to = from[k * srcStep];
#else
    for (int64 r = 0; mine && r < k; ++r) mine = (int64)line[r * indexStep] != v;
    if (!mine) continue;
    C result = load(*to);
    for (int64 r = k; r < length; ++r)
      if ((int64)line[r * indexStep] == v) result = combined(result, (C)load(from[r * srcStep]));
    *to = Store<T>::of(result);
#endif
  }
}

#ifdef KEY
// The pairs that bring each line into the order of places; an index out of range is the place behind the last.
extern "C" __global__ void scatterPairs(Walk<2> lines, const I* index, int64 indexStep, int64 placeStep, int64 length,
                                        int64 size, KEY* keys, VALUE* values, int64* where) {
  GRID_LOOP(e, lines.numel * length) {
    const int64 line = e / length, k = e - line * length;
    int64 at[2];
    lines.at(line, at);
    const int64 v = (int64)index[at[0] + k * indexStep];
    const bool good = v >= 0 && v < size;
    if (!good) faultFirst(where, at[1] + k * placeStep, v, 0);
    keys[e] = good ? (KEY)v : (KEY)size;
    values[e] = (VALUE)k;
  }
}

// `lines` walks the beginnings of lines in out and in src.
extern "C" __global__ void scatterRuns(Walk<2> lines, const KEY* keys, const VALUE* values, int64 length, int64 size,
                                       const T* src, int64 srcStep, T* out, int64 stride) {
  GRID_LOOP(e, lines.numel * length) {
    const KEY key = keys[e];
    if ((int64)key >= size) continue;
    const int64 line = e / length, begin = line * length, end = begin + length;
    int64 at[2];
    lines.at(line, at);
    const T* from = src + at[1];
    T* to = out + at[0] + (int64)key * stride;
#if HOW == 0
    if (e + 1 < end && keys[e + 1] == key) continue;
    *to = from[(int64)values[e] * srcStep];
#else
    if (e > begin && keys[e - 1] == key) continue;
    C result = load(*to);
    int64 r = e;
    // Four at once are not waited for one by one.
    for (; r + 4 <= end && keys[r + 3] == key; r += 4) {
      C next[4];
      for (int j = 0; j < 4; ++j) next[j] = load(from[(int64)values[r + j] * srcStep]);
      for (int j = 0; j < 4; ++j) result = combined(result, next[j]);
    }
    for (; r < end && keys[r] == key; ++r) result = combined(result, (C)load(from[(int64)values[r] * srcStep]));
    *to = Store<T>::of(result);
#endif
  }
}
#endif
#endif

#ifdef ATOMIC
// Sums of integers, which wrap to one result in any order.
extern "C" __global__ void scatterAtomic(Walk<4> walk, const I* index, const T* src, T* out, int64 stride, int64 size,
                                         int64* where) {
  GRID_LOOP(i, walk.numel) {
    int64 at[4];
    walk.at(i, at);
    const int64 v = (int64)index[at[0]];
    if (v < 0 || v >= size)
      faultFirst(where, i, v, 0);
    else
      atomicAdd(out + at[2] + v * stride, src[at[3]]);
  }
}
#endif
