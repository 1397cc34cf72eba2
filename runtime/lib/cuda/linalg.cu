// LU, and what several factorisations need. Panels of LU are in panels.cu. Every element has its products subtracted one
// by one, in order.

#define DEPTH 16  // of a step of a product

// c[rows, columns] -= a[rows, depth] b[depth, columns]. `lower`: only what is not above the diagonal is needed.
extern "C" __global__ void __launch_bounds__(256)
subtract(Matrices c, Matrices a, Matrices b, int64 rows, int64 columns, int64 depth, int64 lower, int64 count) {
  __shared__ ELEMENT left[DEPTH][TILE + 4], right[DEPTH][TILE + 4];
  const int t = (int)threadIdx.x, tx = t % 16, ty = t / 16;
  const int64 down = (rows + TILE - 1) / TILE, across = (columns + TILE - 1) / TILE;
  // Neighbouring threads read neighbours: of the left along the depth or across it, likewise of the right.
  const bool la = areNeighbours(a.column), ra = !areNeighbours(b.column);
  const int l = la ? t / DEPTH : t % TILE, r = ra ? t / DEPTH : t % TILE;
  const int dl = la ? t % DEPTH : t / TILE, dr = ra ? t % DEPTH : t / TILE;
  for (int64 unit = blockIdx.x; unit < count * down * across; unit += gridDim.x) {
    const int64 column0 = unit % across * TILE, row0 = unit / across % down * TILE, matrix = unit / (across * down);
    if (lower && column0 > row0) continue;
    ELEMENT x[MICRO], y[MICRO], sums[MICRO][MICRO];
    auto fetch = [&](int64 k) {
#pragma unroll
      for (int i = 0; i < MICRO; ++i) {
        const int64 row = row0 + l + (la ? i * (256 / DEPTH) : 0), d = k + dl + (la ? 0 : i * (256 / TILE));
        x[i] = row < rows && d < depth ? *a.at(matrix, row, d) : ELEMENT();
        const int64 column = column0 + r + (ra ? i * (256 / DEPTH) : 0), e = k + dr + (ra ? 0 : i * (256 / TILE));
        y[i] = column < columns && e < depth ? *b.at(matrix, e, column) : ELEMENT();
      }
    };
    fetch(0);
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) {
        const int64 row = row0 + ty * MICRO + i, column = column0 + tx + 16 * j;
        sums[i][j] = row < rows && column < columns ? *c.at(matrix, row, column) : ELEMENT();
      }
    for (int64 k = 0; k < depth; k += DEPTH) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < MICRO; ++i) {
        left[dl + (la ? 0 : i * (256 / TILE))][l + (la ? i * (256 / DEPTH) : 0)] = -x[i];
        right[dr + (ra ? 0 : i * (256 / TILE))][r + (ra ? i * (256 / DEPTH) : 0)] = y[i];
      }
      __syncthreads();
      if (k + DEPTH < depth) fetch(k + DEPTH);
#pragma unroll
      for (int d = 0; d < DEPTH; ++d) addProducts(left[d], right[d], ty, tx, sums);
    }
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) {
        const int64 row = row0 + ty * MICRO + i, column = column0 + tx + 16 * j;
        if (row < rows && column < columns) *c.at(matrix, row, column) = sums[i][j];
      }
    __syncthreads();
  }
}

extern "C" __global__ void beginOrder(int64* order, int64 rows, int64 count) {
  GRID_LOOP(at, rows * count) order[at] = at - View::divide(at, rows) * rows;
}

// For each of the first rows the row that comes to its place, and where it goes itself.
struct Moves {
  int32 from[BLOCK], to[BLOCK];
};
// The first `size` rows of one column, and those that change places with them.
template <class T>
static __device__ __forceinline__ void exchange(T* column, int64 stride, const Moves& moves, int size) {
  T before[BLOCK], after[BLOCK];
#pragma unroll
  for (int i = 0; i < BLOCK; ++i) {
    before[i] = i < size ? column[i * stride] : T();
    after[i] = i < size ? column[moves.from[i] * stride] : T();
  }
#pragma unroll
  for (int i = 0; i < BLOCK; ++i) {
    if (i < size) column[i * stride] = after[i];
    if (i < size && moves.to[i] >= size) column[moves.to[i] * stride] = before[i];
  }
}
// The rows from `first` on, of all columns but the `size` from there, and their order, as a panel has exchanged its own.
// moves: of each matrix `width` rows that come, and as many that go.
extern "C" __global__ void __launch_bounds__(TILE)
exchangeRows(ELEMENT* lu, int64* order, const int32* moves, int64 rows, int64 columns, int64 first, int64 size,
             int64 width, int64 count) {
  __shared__ Moves shared;
  const int t = (int)threadIdx.x;
  const int64 others = columns - size, groups = (others + TILE) / TILE;
  for (int64 unit = blockIdx.x; unit < groups * count; unit += gridDim.x) {
    const int64 matrix = unit / groups, other = unit % groups * TILE + t;
    if (t < size) shared.from[t] = moves[matrix * 2 * width + t];
    if (t >= BLOCK && t - BLOCK < size) shared.to[t - BLOCK] = moves[(matrix * 2 + 1) * width + t - BLOCK];
    __syncthreads();
    if (other == others) exchange(order + matrix * rows + first, 1, shared, (int)size);
    if (other < others)
      exchange(lu + (matrix * rows + first) * columns + (other < first ? other : other + size), columns, shared,
               (int)size);
    __syncthreads();
  }
}

// Columns [first, first + size) of matrices with more rows than a panel (panels.cu) may have, of rows x columns: of each the largest element that is left comes to the
// diagonal, the first of several such; whole rows change places.
extern "C" __global__ void __launch_bounds__(MANY)
factorColumns(ELEMENT* lu, int32* swaps, int64* order, int64 rows, int64 columns, int64 first, int64 size, int64 count) {
  __shared__ ELEMENT sizes[MANY];
  __shared__ int64 places[MANY];
  const int t = (int)threadIdx.x;
  const int64 most = rows < columns ? rows : columns;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    ELEMENT* a = lu + matrix * rows * columns;
    for (int64 j = first; j < first + size; ++j) {
      ELEMENT best = -1;
      int64 place = j;
      for (int64 i = j + t; i < rows; i += MANY) {
        ELEMENT v = a[i * columns + j];
        v = v < 0 ? -v : v;
        if (v > best) {
          best = v;
          place = i;
        }
      }
      sizes[t] = best;
      places[t] = place;
      __syncthreads();
      for (int half = MANY / 2; half > 0; half /= 2) {
        if (t < half) {
          const ELEMENT other = sizes[t + half];
          if (other > sizes[t] || (other == sizes[t] && places[t + half] < places[t])) {
            sizes[t] = other;
            places[t] = places[t + half];
          }
        }
        __syncthreads();
      }
      place = places[0];
      if (t == 0) {
        swaps[matrix * most + j] = (int32)place + 1;
        int64* at = order + matrix * rows;
        const int64 moved = at[j];
        at[j] = at[place];
        at[place] = moved;
      }
      if (place != j)
        for (int64 k = t; k < columns; k += MANY) {
          const ELEMENT moved = a[j * columns + k];
          a[j * columns + k] = a[place * columns + k];
          a[place * columns + k] = moved;
        }
      __syncthreads();
      const ELEMENT pivot = a[j * columns + j];
      for (int64 i = j + 1 + t; i < rows; i += MANY) {
        ELEMENT* row = a + i * columns;
        if (pivot != 0) row[j] /= pivot;
        for (int64 k = j + 1; k < first + size; ++k) row[k] -= row[j] * a[j * columns + k];
      }
      __syncthreads();
    }
  }
}

// The rows of b in the order of a factorisation, or with `back` as they were before it. A place that is none stays as it
// is.
extern "C" __global__ void permuteRows(const ELEMENT* b, const int64* order, ELEMENT* x, int64 rows, int64 columns,
                                       int64 back, int64 count) {
  GRID_LOOP(at, rows * columns * count) {
    const int64 row = View::divide(at, columns), matrix = View::divide(row, rows);
    if (order[row] < 0 || order[row] >= rows) continue;
    const int64 other = (matrix * rows + order[row]) * columns + (at - row * columns);
    if (back)
      x[other] = b[at];
    else
      x[at] = b[other];
  }
}

template <class T> static __device__ inline void swapTwo(T* at, int64 i, int64 j) {
  const T moved = at[i];
  at[i] = at[j];
  at[j] = moved;
}

// The row (from 0) that swaps (from 1) bring to each place. One thread of a block swaps, as one swap needs the other, in
// shared memory where that suffices.
#define HELD 8192
extern "C" __global__ void __launch_bounds__(256)
orderRows(const int32* swaps, int64* order, int64 rows, int64 count, long long* wrong) {
  __shared__ int32 held[HELD], next[256];
  const int t = (int)threadIdx.x;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    int64* const to = order + matrix * rows;
    for (int64 i = t; i < rows; i += 256) {
      if (rows <= HELD)
        held[i] = (int32)i;
      else
        to[i] = i;
    }
    bool isRight = true;
    for (int64 first = 0; first < rows; first += 256) {
      if (first + t < rows) next[t] = swaps[matrix * rows + first + t];
      __syncthreads();
      for (int i = 0; t == 0 && isRight && i < least(256, rows - first); ++i) {
        isRight = next[i] >= 1 && next[i] <= rows;
        if (!isRight)
          fault(wrong, matrix, next[i], 0);
        else if (rows <= HELD)
          swapTwo(held, first + i, next[i] - 1);
        else
          swapTwo(to, first + i, next[i] - 1);
      }
      __syncthreads();
    }
    for (int64 i = t; rows <= HELD && i < rows; i += 256) to[i] = held[i];
    __syncthreads();
  }
}

extern "C" __global__ void identity(ELEMENT* to, int64 rows, int64 columns, int64 count) {
  GRID_LOOP(at, rows * columns * count) {
    const int64 row = View::divide(at, columns);
    to[at] = at - row * columns == row - View::divide(row, rows) * rows ? 1 : 0;
  }
}

// The upper triangles of the first `rows` of matrices.
extern "C" __global__ void upperPart(Matrices from, ELEMENT* to, int64 rows, int64 columns, int64 count) {
  GRID_LOOP(at, rows * columns * count) {
    const int64 row = View::divide(at, columns), matrix = View::divide(row, rows);
    const int64 i = row - matrix * rows, j = at - row * columns;
    to[at] = i <= j ? *from.at(matrix, i, j) : (ELEMENT)0;
  }
}
