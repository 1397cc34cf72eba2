// bag_sum, bag_max. ELEMENT: type of the table; INDEX, OFFSET: of its rows and of where bags begin; MAXIMA: 1 for bag_max.

typedef ELEMENT T;
typedef Compute<T>::type C;

template <class V> static __device__ inline V plus(V a, V b) { return (V)((uint64)a + (uint64)b); }
static __device__ inline float plus(float a, float b) { return a + b; }
static __device__ inline double plus(double a, double b) { return a + b; }
template <class V> static __device__ inline V times(V a, V b) { return (V)((uint64)a * (uint64)b); }
static __device__ inline float times(float a, float b) { return a * b; }
static __device__ inline double times(double a, double b) { return a * b; }

// The first of `n` rows that is none of `size` is reported, also where no bag has it.
extern "C" __global__ void checkRows(View index, int64 size, int64* where) {
  GRID_LOOP(p, index.numel) {
    const int64 row = (int64)index.as<INDEX>()[index.offset(p)];
    if (row < 0 || row >= size) faultFirst(where, p, row, 0);
  }
}

// The rows of a bag: of `each` rows, or from one offset to the next; the last bag ends at `n`, or with `last` at the offset
// behind it. False, and reported, where offsets are no such.
struct Bags {
  View offsets;
  int64 count, each, n;
  int32 last;
  __device__ bool rows(int64 bag, int64& begin, int64& end, int64* where) const {
    begin = bag * each;
    end = begin + each;
    if (!offsets.data) return true;
    const OFFSET* given = offsets.as<OFFSET>();
    begin = (int64)given[bag * offsets.strides[0]];
    end = bag + 1 < count || last ? (int64)given[(bag + 1) * offsets.strides[0]] : n;
    if ((bag > 0 || begin == 0) && begin >= 0 && begin <= end && end <= n) return true;
    faultFirst(where, bag, n, 0);
    return false;
  }
};

// A thread a column of a bag.
extern "C" __global__ void bags(View table, View index, View factors, Bags bags, int64 padding, const int64* means,
                                T* out, int64* rows, int64* where) {
  const int64 size = table.shape[0], width = table.shape[1];
  GRID_LOOP(e, bags.count * width) {
    const int64 bag = View::divide(e, width), column = e - bag * width;
    int64 begin, end;
    if (!bags.rows(bag, begin, end, where)) continue;
    const T* from = table.as<T>() + column * table.strides[1];
    C result = (C)0;
    int64 best = -1;
    for (int64 p = begin; p < end; ++p) {
      const int64 row = (int64)index.as<INDEX>()[index.offset(p)];
      if (row == padding || row < 0 || row >= size) continue;
      const C v = (C)load(from[row * table.strides[0]]);
#if MAXIMA
      if (best < 0 || v > result) {
        result = v;
        best = row;
      }
#else
      const C factor = factors.data ? (C)load(factors.as<T>()[factors.offset(p)]) : (C)1;
      result = plus(result, times(factor, v));
#endif
    }
#if MAXIMA
    rows[e] = best;
#else
    if (means && means[bag] > 1) result = result / (C)means[bag];
#endif
    out[e] = Store<T>::of(result);
  }
}

// How many rows of a bag count.
extern "C" __global__ void countRows(View index, Bags bags, int64 padding, int64* counts, int64* where) {
  GRID_LOOP(bag, bags.count) {
    int64 begin, end, counted = 0;
    if (!bags.rows(bag, begin, end, where)) continue;
    for (int64 p = begin; p < end; ++p) counted += (int64)index.as<INDEX>()[index.offset(p)] != padding;
    counts[bag] = counted;
  }
}
