// index_select, index_get, index_add, index_put: one index a block. An array is outer x places x inner; several index
// tensors name a place together. ELEMENT: type; INDEX: of an index tensor; HOW (combine.cu), KEY, VALUE for writes.

typedef ELEMENT T;

#ifdef INDEX
// One index tensor's part of the places: `factor` places a step; negative indices count from the end where `least` says
// so. A wrong one makes its place `none`, which is beyond all. The last of several also numbers the positions.
extern "C" __global__ void indexPlaces(Walk<1> walk, const INDEX* index, int64 least, int64 size, int64 factor, int64 none,
                                       int32 first, int64* places, int64* positions, int64* where) {
  GRID_LOOP(j, walk.numel) {
    int64 at[1];
    walk.at(j, at);
    int64 v = (int64)index[at[0]];
    const bool good = v >= least && v < size;
    if (!good) faultFirst(where, j, v, 0);
    if (v < 0) v += size;
    const int64 before = first ? 0 : places[j];
    places[j] = good && before != none ? before + v * factor : none;
    if (positions) positions[j] = j;
  }
}

// out[o, j, i] = x[o, index[j], i] of one contiguous index tensor.
extern "C" __global__ void readIndexed(Walk<1> outer, Walk<1> inner, const INDEX* index, int64 count, int64 least,
                                       int64 size, int64 stride, const T* x, T* out, int64* where) {
  GRID_LOOP(e, outer.numel * count * inner.numel) {
    const int64 row = View::divide(e, inner.numel), o = View::divide(row, count), j = row - o * count;
    int64 v = (int64)index[j];
    if (v < least || v >= size) {
      faultFirst(where, j, v, 0);
      continue;
    }
    if (v < 0) v += size;
    int64 from[1], within[1];
    outer.at(o, from);
    inner.at(e - row * inner.numel, within);
    out[e] = x[from[0] + within[0] + v * stride];
  }
}
#endif

// out[o, j, i] = x[o, places[j], i], of places that are offsets.
extern "C" __global__ void readPlaces(Walk<1> outer, Walk<1> inner, const int64* places, int64 count, int64 none, const T* x,
                                      T* out) {
  GRID_LOOP(e, outer.numel * count * inner.numel) {
    const int64 row = View::divide(e, inner.numel), o = View::divide(row, count), place = places[row - o * count];
    if (place == none) continue;
    int64 from[1], within[1];
    outer.at(o, from);
    inner.at(e - row * inner.numel, within);
    out[e] = x[from[0] + within[0] + place];
  }
}

#ifdef HOW
typedef typename Compute<T>::type C;

// Writes values[o, j, i] to out[o, places[j], i]. The positions are in the order of their places, those of one place in
// their own order; a place is written by the thread of its first position, which walks the others (of its last, where
// that stays). `values` is walked by three parts of its dims.
extern "C" __global__ void writePlaces(const int64* places, const int64* positions, int64 count, int64 none, int64 blocks,
                                       int64 inner, Walk<1> outerWalk, Walk<1> indexWalk, Walk<1> innerWalk,
                                       const T* values, T* out) {
  GRID_LOOP(e, outerWalk.numel * count * inner) {
    const int64 row = View::divide(e, inner), o = View::divide(row, count), r = row - o * count, i = e - row * inner;
    const int64 place = places[r];
    if (place == none) continue;
    int64 at[1], from[1], within[1];
    outerWalk.at(o, from);
    innerWalk.at(i, within);
    const T* source = values + from[0] + within[0];
    T* to = out + (o * blocks + place) * inner + i;
#if HOW == 0
    if (r + 1 < count && places[r + 1] == place) continue;
    indexWalk.at(positions[r], at);
    *to = source[at[0]];
#else
    if (r > 0 && places[r - 1] == place) continue;
    C result = load(*to);
    int64 p = r;
    // Four at once are not waited for one by one.
    for (; p + 4 <= count && places[p + 3] == place; p += 4) {
      C next[4];
      for (int k = 0; k < 4; ++k) {
        indexWalk.at(positions[p + k], at);
        next[k] = load(source[at[0]]);
      }
      for (int k = 0; k < 4; ++k) result = combined(result, next[k]);
    }
    for (; p < count && places[p] == place; ++p) {
      indexWalk.at(positions[p], at);
      result = combined(result, (C)load(source[at[0]]));
    }
    *to = Store<T>::of(result);
#endif
  }
}
#endif

#ifdef ATOMIC
// Sums of integers, which wrap to one result in any order.
extern "C" __global__ void addPlaces(const int64* places, int64 count, int64 none, int64 blocks, int64 inner,
                                     Walk<1> outerWalk, Walk<1> indexWalk, Walk<1> innerWalk, const T* values, T* out) {
  GRID_LOOP(e, outerWalk.numel * count * inner) {
    const int64 row = View::divide(e, inner), o = View::divide(row, count), j = row - o * count, i = e - row * inner;
    if (places[j] == none) continue;
    int64 at[1], from[1], within[1];
    outerWalk.at(o, from);
    indexWalk.at(j, at);
    innerWalk.at(i, within);
    atomicAdd(out + (o * blocks + places[j]) * inner + i, values[from[0] + at[0] + within[0]]);
  }
}
#endif
