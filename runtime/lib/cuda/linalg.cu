// Cholesky, LU and triangular systems of batches of matrices, BLOCK columns at a time: the columns themselves, then what
// they take from the rest (`subtract`). Every element has its products subtracted one by one, in order, and nothing is
// fused. QR goes column by column.
//
// ELEMENT: float or double.

#define BLOCK 32

static __device__ inline float root(float x) { return sqrtf(x); }
static __device__ inline double root(double x) { return sqrt(x); }

// Strides count elements and may be negative: an upper triangle read from its end is a lower one.
struct Matrices {
  ELEMENT* data;
  int64 row, column, each;
  __device__ ELEMENT* at(int64 matrix, int64 i, int64 j) const { return data + matrix * each + i * row + j * column; }
};

// c[rows, columns] -= a[rows, depth] b[depth, columns], depth at most BLOCK. `lower`: only what is not above the
// diagonal is needed.
extern "C" __global__ void subtract(Matrices c, Matrices a, Matrices b, int64 rows, int64 columns, int64 depth,
                                    int64 lower, int64 count) {
  __shared__ ELEMENT left[BLOCK][BLOCK + 1];
  __shared__ ELEMENT right[BLOCK][BLOCK + 1];
  const int64 down = (rows + BLOCK - 1) / BLOCK, across = (columns + BLOCK - 1) / BLOCK;
  const int tx = (int)threadIdx.x % BLOCK, ty = (int)threadIdx.x / BLOCK;
  for (int64 unit = blockIdx.x; unit < count * down * across; unit += gridDim.x) {
    const int64 column0 = unit % across * BLOCK, row0 = unit / across % down * BLOCK;
    const int64 matrix = unit / (across * down);
    if (lower && column0 > row0) continue;
    for (int i = ty; i < BLOCK; i += 8) {
      left[i][tx] = row0 + i < rows && tx < depth ? *a.at(matrix, row0 + i, tx) : ELEMENT();
      right[i][tx] = column0 + tx < columns && i < depth ? *b.at(matrix, i, column0 + tx) : ELEMENT();
    }
    __syncthreads();
    for (int i = ty; i < BLOCK; i += 8) {
      if (row0 + i >= rows || column0 + tx >= columns) continue;
      ELEMENT* to = c.at(matrix, row0 + i, column0 + tx);
      ELEMENT sum = *to;
      for (int k = 0; k < (int)depth; ++k) sum -= left[i][k] * right[k][tx];
      *to = sum;
    }
    __syncthreads();
  }
}

// The factor of a diagonal block of `size` columns, of which the first is column `first` of its matrix. `failed`: the
// order of the first leading minor that is not positive, of each matrix.
extern "C" __global__ void factorDiagonal(Matrices l, int64 size, int64 first, int32* failed, int64 count) {
  __shared__ ELEMENT block[BLOCK][BLOCK + 1];
  const int i = (int)threadIdx.x;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    for (int j = 0; j < size && i < size; ++j) block[i][j] = *l.at(matrix, i, j);
    __syncthreads();
    for (int j = 0; j < size; ++j) {
      if (i == j) {
        if (!(block[j][j] > 0) && failed[matrix] == 0) failed[matrix] = (int32)(first + j) + 1;
        block[j][j] = root(block[j][j]);
      }
      __syncthreads();
      if (i > j && i < size) {
        block[i][j] /= block[j][j];
      }
      __syncthreads();
      for (int k = j + 1; k <= i && i < size; ++k) block[i][k] -= block[i][j] * block[k][j];
      __syncthreads();
    }
    for (int j = 0; j <= i && i < size; ++j) *l.at(matrix, i, j) = block[i][j];
    __syncthreads();
  }
}

// x[rows, size] of x l^T = x, l the factor of a diagonal block: the rows below it.
extern "C" __global__ void factorBelow(Matrices x, Matrices l, int64 rows, int64 size, int64 count) {
  GRID_LOOP(at, rows * count) {
    const int64 matrix = View::divide(at, rows), i = at - matrix * rows;
    ELEMENT row[BLOCK];
    for (int j = 0; j < size; ++j) {
      ELEMENT sum = *x.at(matrix, i, j);
      for (int k = 0; k < j; ++k) sum -= row[k] * *l.at(matrix, j, k);
      row[j] = sum / *l.at(matrix, j, j);
    }
    for (int j = 0; j < size; ++j) *x.at(matrix, i, j) = row[j];
  }
}

// NaN where a matrix has no factor, and zeros above the diagonal.
extern "C" __global__ void finishFactor(ELEMENT* l, const int32* failed, int64 n, int64 count) {
  GRID_LOOP(at, n * n * count) {
    const int64 row = View::divide(at, n), matrix = View::divide(row, n);
    if (failed[matrix])
      l[at] = (ELEMENT)NAN_D;
    else if (at - row * n > row - matrix * n)
      l[at] = 0;
  }
}
// Reports the first matrix that has none. One thread: the first is the one that is named.
extern "C" __global__ void reportFailed(const int32* failed, int64 count, long long* wrong) {
  for (int64 i = 0; i < count; ++i) {
    if (!failed[i]) continue;
    fault(wrong, i, failed[i], 0);
    return;
  }
}

// x[size, columns] = l^-1 x for a diagonal block l.
extern "C" __global__ void solveDiagonal(Matrices l, Matrices x, int64 size, int64 columns, int64 unit, int64 count) {
  GRID_LOOP(at, columns * count) {
    const int64 matrix = View::divide(at, columns), j = at - matrix * columns;
    ELEMENT column[BLOCK];
    for (int i = 0; i < size; ++i) {
      ELEMENT sum = *x.at(matrix, i, j);
      for (int k = 0; k < i; ++k) sum -= *l.at(matrix, i, k) * column[k];
      if (!unit) sum /= *l.at(matrix, i, i);
      column[i] = sum;
      *x.at(matrix, i, j) = sum;
    }
  }
}

extern "C" __global__ void beginOrder(int64* order, int64 rows, int64 count) {
  GRID_LOOP(at, rows * count) order[at] = at - View::divide(at, rows) * rows;
}

// Columns [first, first + size) of matrices of rows x columns: of each the largest element that is left comes to the
// diagonal, the first of several such; whole rows change places.
extern "C" __global__ void factorColumns(ELEMENT* lu, int32* swaps, int64* order, int64 rows, int64 columns,
                                         int64 first, int64 size, int64 count) {
  __shared__ ELEMENT sizes[256];
  __shared__ int64 places[256];
  const int t = (int)threadIdx.x;
  const int64 most = rows < columns ? rows : columns;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    ELEMENT* a = lu + matrix * rows * columns;
    for (int64 j = first; j < first + size; ++j) {
      ELEMENT best = -1;
      int64 place = j;
      for (int64 i = j + t; i < rows; i += 256) {
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
      for (int half = 128; half > 0; half /= 2) {
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
        for (int64 k = t; k < columns; k += 256) {
          const ELEMENT moved = a[j * columns + k];
          a[j * columns + k] = a[place * columns + k];
          a[place * columns + k] = moved;
        }
      __syncthreads();
      const ELEMENT pivot = a[j * columns + j];
      for (int64 i = j + 1 + t; i < rows; i += 256) {
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

// The row (from 0) that swaps (from 1) bring to each place; a matrix a thread.
extern "C" __global__ void orderRows(const int32* swaps, int64* order, int64 rows, int64 count, long long* wrong) {
  GRID_LOOP(matrix, count) {
    int64* at = order + matrix * rows;
    for (int64 i = 0; i < rows; ++i) at[i] = i;
    for (int64 i = 0; i < rows; ++i) {
      const int32 place = swaps[matrix * rows + i];
      if (place < 1 || place > rows) {
        fault(wrong, matrix, place, 0);
        break;
      }
      const int64 moved = at[i];
      at[i] = at[place - 1];
      at[place - 1] = moved;
    }
  }
}

// The sum of 256 threads' numbers, for all of them: halves are added to halves.
static __device__ inline ELEMENT sumOfBlock(ELEMENT v, ELEMENT* shared) {
  const int t = (int)threadIdx.x;
  __syncthreads();
  shared[t] = v;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
    __syncthreads();
  }
  return shared[0];
}

// Column x of a matrix, of so many rows, becomes what its Householder reflector 1 - tau v v^T makes of it: its norm in
// the first place, and below it v, whose first element is 1.
extern "C" __global__ void reflect(Matrices x, ELEMENT* taus, int64 each, int64 rows, int64 count) {
  __shared__ ELEMENT shared[256];
  const int t = (int)threadIdx.x;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    ELEMENT sum = 0;
    for (int64 i = 1 + t; i < rows; i += 256) {
      const ELEMENT v = *x.at(matrix, i, 0);
      sum += v * v;
    }
    sum = sumOfBlock(sum, shared);
    const ELEMENT first = *x.at(matrix, 0, 0);
    __syncthreads();
    if (sum == 0) {
      if (t == 0) taus[matrix * each] = 0;
      continue;
    }
    ELEMENT norm = root(first * first + sum);
    if (first >= 0) norm = -norm;
    for (int64 i = 1 + t; i < rows; i += 256) *x.at(matrix, i, 0) /= first - norm;
    if (t == 0) {
      *x.at(matrix, 0, 0) = norm;
      taus[matrix * each] = (norm - first) / norm;
    }
  }
}

// c = (1 - tau v v^T) c, 32 columns a block: each is eight sums of every eighth row.
extern "C" __global__ void applyReflector(Matrices c, Matrices v, const ELEMENT* taus, int64 each, int64 rows,
                                          int64 columns, int64 count) {
  __shared__ ELEMENT sums[8][BLOCK];
  const int tx = (int)threadIdx.x % BLOCK, ty = (int)threadIdx.x / BLOCK;
  const int64 across = (columns + BLOCK - 1) / BLOCK;
  for (int64 unit = blockIdx.x; unit < count * across; unit += gridDim.x) {
    const int64 matrix = unit / across, column = unit % across * BLOCK + tx;
    const ELEMENT tau = taus[matrix * each];
    ELEMENT sum = 0;
    if (column < columns)
      for (int64 i = ty; i < rows; i += 8) sum += (i == 0 ? (ELEMENT)1 : *v.at(matrix, i, 0)) * *c.at(matrix, i, column);
    sums[ty][tx] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 8; ++i) sum += sums[i][tx];
    sum *= tau;
    if (column < columns)
      for (int64 i = ty; i < rows; i += 8) *c.at(matrix, i, column) -= (i == 0 ? (ELEMENT)1 : *v.at(matrix, i, 0)) * sum;
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
