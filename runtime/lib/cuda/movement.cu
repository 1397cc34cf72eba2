// cat and take_pieces. ELEMENT moves an element or several: runtime/lib/cuda/operands.h, unitOf.

#ifdef RUNS
// Contiguous inputs of cat: one run in every block of the output.
struct Runs {
  int64 count;
  int64 ends[RUNS];  // in the part of the block that they make up
  const ELEMENT* from[RUNS];
};

// `width` of each block of `block` elements, from `first` on.
extern "C" __global__ void joinRuns(Runs runs, int64 blocks, int64 width, int64 block, int64 first, ELEMENT* out) {
  GRID_LOOP(e, blocks * width) {
    const int64 b = View::divide(e, width), i = e - b * width;
    int low = 0, high = (int)runs.count - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (runs.ends[middle] <= i) low = middle + 1;
      else high = middle;
    }
    const int64 begin = low == 0 ? 0 : runs.ends[low - 1];
    out[b * block + first + i] = runs.from[low][b * (runs.ends[low] - begin) + i - begin];
  }
}
#endif

#ifdef PIECES
// The dims of the output, outermost first. Of a dim with pieces, `begin` to `end` are its pieces' numbers in the list;
// begin == end of one that is whole.
struct PieceDims {
  int64 rank;
  int64 sizes[12], strides[12];
  int32 begin[12], end[12];
};
// start, step and where the piece ends in the dim of the output.
struct PieceList {
  int64 pieces[PIECES][3];
};

extern "C" __global__ void takePieces(PieceDims dims, PieceList list, const int64* longList, const ELEMENT* x, int64 n,
                                      ELEMENT* out) {
  GRID_LOOP(e, n) {
    int64 i = e, from = 0;
    for (int d = (int)dims.rank - 1; d >= 0; --d) {
      const int64 q = View::divide(i, dims.sizes[d]);
      int64 at = i - q * dims.sizes[d];
      i = q;
      if (dims.begin[d] < dims.end[d]) {
        int low = dims.begin[d], high = dims.end[d] - 1;
#if PIECES > 1
#define PIECE(p, k) list.pieces[p][k]
#else
#define PIECE(p, k) longList[(int64)(p) * 3 + (k)]
#endif
        while (low < high) {
          const int middle = (low + high) / 2;
          if (PIECE(middle, 2) <= at) low = middle + 1;
          else high = middle;
        }
        const int64 first = low == dims.begin[d] ? 0 : PIECE(low - 1, 2);
        at = PIECE(low, 0) + (at - first) * PIECE(low, 1);
      }
      from += at * dims.strides[d];
    }
    out[e] = x[from];
  }
}
#endif
