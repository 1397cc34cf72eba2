// Householder's reflectors: of columns that are too long for panels.cu, and applied to matrices.

// All threads' numbers combined, for all of them: halves with halves.
template <class F> static __device__ inline ELEMENT overBlock(ELEMENT v, ELEMENT* shared, F combine) {
  const int t = (int)threadIdx.x;
  __syncthreads();
  shared[t] = v;
  __syncthreads();
  for (int half = MANY / 2; half > 0; half /= 2) {
    if (t < half) shared[t] = combine(shared[t], shared[t + half]);
    __syncthreads();
  }
  return shared[0];
}

// Column x of a matrix, of more rows than a panel (panels.cu) may have, becomes what its Householder reflector
// 1 - tau v v^T makes of it: its norm in the first place, and below it v, whose first element is 1.
extern "C" __global__ void __launch_bounds__(MANY)
reflect(Matrices x, ELEMENT* taus, int64 each, int64 rows, int64 count) {
  __shared__ ELEMENT shared[MANY];
  const int t = (int)threadIdx.x;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    ELEMENT by = 1, sum = 0, first = 0;
    // Once more where squares have no numbers, of what a power of 2 makes of the column.
    for (int pass = 0; pass < 2; ++pass) {
      ELEMENT most = 0;
      sum = 0;
      for (int64 i = 1 + t; i < rows; i += MANY) {
        const ELEMENT v = *x.at(matrix, i, 0) * by;
        sum = fused(v, v, sum);
        if (magnitude(v) > most) most = magnitude(v);
      }
      sum = overBlock(sum, shared, [](ELEMENT a, ELEMENT b) { return a + b; });
      first = *x.at(matrix, 0, 0) * by;
      if (pass == 1 || isSafe(first * first + sum)) break;
      most = overBlock(most, shared, [](ELEMENT a, ELEMENT b) { return a < b ? b : a; });
      by = powerAgainst(magnitude(first) > most ? first : most);
      if (by == 1) break;
    }
    __syncthreads();
    if (sum == 0) {
      if (t == 0) taus[matrix * each] = 0;
      continue;
    }
    ELEMENT norm = root(first * first + sum);
    if (first >= 0) norm = -norm;
    for (int64 i = 1 + t; i < rows; i += MANY) *x.at(matrix, i, 0) = *x.at(matrix, i, 0) * by / (first - norm);
    if (t == 0) {
      *x.at(matrix, 0, 0) = norm / by;
      taus[matrix * each] = (norm - first) / norm;
    }
  }
}

// Up to BLOCK reflectors are applied at once: with their vectors as the columns of v, of which each has a one on the
// diagonal and zeros above it, their product is 1 - v t v^T, where 1 / t is the part of v^T v above its diagonal, and
// the inverse of each tau on it (Schreiber, Van Loan, 1989). So of t nothing needs to be kept: solving by 1 / t is a
// substitution.
static __device__ inline ELEMENT reflector(const Matrices& v, int64 matrix, int64 i, int64 j, int64 rows, int64 size) {
  return j >= size || i < j || i >= rows ? ELEMENT() : i == j ? (ELEMENT)1 : *v.at(matrix, i, j);
}

// v^T v, and v^T c of tiles of TILE columns of c, as sums over pieces of `length` rows each. sums: of each matrix, piece
// and tile BLOCK x TILE elements.
extern "C" __global__ void __launch_bounds__(128)
project(Matrices v, Matrices c, ELEMENT* sums, int64 rows, int64 size, int64 columns, int64 pieces, int64 length,
        int64 count) {
  __shared__ ELEMENT left[BLOCK][BLOCK + 4], right[BLOCK][TILE + 4];
  const int t = (int)threadIdx.x, tx = t % 16, ty = t / 16;
  const int64 tiles = 1 + (columns + TILE - 1) / TILE;
  for (int64 unit = blockIdx.x; unit < tiles * pieces * count; unit += gridDim.x) {
    const int64 tile = unit % tiles, piece = unit / tiles % pieces, matrix = unit / (tiles * pieces);
    const int64 end = least(rows, (piece + 1) * length), column0 = (tile - 1) * TILE;
    ELEMENT x[BLOCK * BLOCK / 128], y[BLOCK * TILE / 128], sum[MICRO][MICRO];
    auto fetch = [&](int64 k) {
#pragma unroll
      for (int i = 0; i < BLOCK * BLOCK / 128; ++i)
        x[i] = reflector(v, matrix, k + t / BLOCK + i * (128 / BLOCK), t % BLOCK, end, size);
#pragma unroll
      for (int i = 0; i < BLOCK * TILE / 128; ++i) {
        const int64 row = k + t / TILE + i * (128 / TILE), column = column0 + t % TILE;
        if (tile == 0)
          y[i] = reflector(v, matrix, row, t % TILE, end, size);
        else
          y[i] = row < end && column < columns ? *c.at(matrix, row, column) : ELEMENT();
      }
    };
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) sum[i][j] = 0;
    fetch(piece * length);
    for (int64 k = piece * length; k < end; k += BLOCK) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < BLOCK * BLOCK / 128; ++i) left[t / BLOCK + i * (128 / BLOCK)][t % BLOCK] = x[i];
#pragma unroll
      for (int i = 0; i < BLOCK * TILE / 128; ++i) right[t / TILE + i * (128 / TILE)][t % TILE] = y[i];
      __syncthreads();
      if (k + BLOCK < end) fetch(k + BLOCK);
#pragma unroll 8
      for (int d = 0; d < BLOCK; ++d) addProducts(left[d], right[d], ty, tx, sum);
    }
    ELEMENT* to = sums + ((matrix * pieces + piece) * tiles + tile) * BLOCK * TILE;
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) to[(ty * MICRO + i) * TILE + tx + 16 * j] = sum[i][j];
    __syncthreads();
  }
}

// c = (1 - v t v^T) c, or with `transposed` (1 - v t^T v^T) c, from what `project` has found.
#define HIGH (sizeof(ELEMENT) == 4 ? 128 : 64)  // rows of a block, an eighth of them a warp's
extern "C" __global__ void __launch_bounds__(256)
applyReflectors(Matrices v, Matrices c, const ELEMENT* taus, int64 eachTaus, const ELEMENT* sums, int64 rows,
                int64 size, int64 columns, int64 pieces, int64 transposed, int64 count) {
  __shared__ ELEMENT left[BLOCK][HIGH + 4], right[BLOCK][BLOCK];
  __shared__ Triangle triangle;
  const int t = (int)threadIdx.x, lane = t % BLOCK, warp = t / BLOCK;
  const int64 down = (rows + HIGH - 1) / HIGH, across = (columns + BLOCK - 1) / BLOCK;
  const int64 tiles = 1 + (columns + TILE - 1) / TILE;
  for (int64 unit = blockIdx.x; unit < down * across * count; unit += gridDim.x) {
    const int64 column0 = unit % across * BLOCK, row0 = unit / across % down * HIGH, matrix = unit / (across * down);
    const int64 first = row0 + warp * (HIGH / 8);
    ELEMENT values[HIGH / 8];
#pragma unroll
    for (int i = 0; i < HIGH / 8; ++i)
      values[i] = first + i < rows && column0 + lane < columns ? *c.at(matrix, first + i, column0 + lane) : ELEMENT();
#pragma unroll
    for (int i = 0; i < HIGH / 8; ++i)
      left[lane][warp + 8 * i] = reflector(v, matrix, row0 + warp + 8 * i, lane, rows, size);
    const ELEMENT* from = sums + matrix * pieces * tiles * BLOCK * TILE;
    const ELEMENT* of = from + (1 + column0 / TILE) * BLOCK * TILE + column0 % TILE;
    ELEMENT own[BLOCK / 8], sum[BLOCK / 8];
#pragma unroll
    for (int i = 0; i < BLOCK / 8; ++i) own[i] = sum[i] = 0;
#pragma unroll 4
    for (int64 p = 0; p < pieces; ++p) {
#pragma unroll
      for (int i = 0; i < BLOCK / 8; ++i) {
        const int64 at = (p * tiles * BLOCK + warp + 8 * i) * TILE + lane;
        own[i] += from[at];
        sum[i] += of[at];
      }
    }
#pragma unroll
    for (int i = 0; i < BLOCK / 8; ++i) {
      const int row = warp + 8 * i;
      if (row == lane) own[i] = row < size ? taus[matrix * eachTaus + row] : ELEMENT();
      // The last is the first of a substitution that goes backwards.
      const int turned = transposed ? row : BLOCK - 1 - row;
      triangle[turned][transposed ? lane : BLOCK - 1 - lane] = own[i];
      right[turned][lane] = sum[i];
    }
    __syncthreads();
    if (warp == 0) {
      ELEMENT x[BLOCK];
#pragma unroll
      for (int i = 0; i < BLOCK; ++i) x[i] = right[i][lane];
      substitute<false>(triangle, x);
#pragma unroll
      for (int i = 0; i < BLOCK; ++i) right[transposed ? i : BLOCK - 1 - i][lane] = -x[i];
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < BLOCK; ++k) {
      const ELEMENT y = right[k][lane];
#pragma unroll
      for (int i = 0; i < HIGH / 8; ++i) values[i] = fused(left[k][warp * (HIGH / 8) + i], y, values[i]);
    }
#pragma unroll
    for (int i = 0; i < HIGH / 8; ++i)
      if (first + i < rows && column0 + lane < columns) *c.at(matrix, first + i, column0 + lane) = values[i];
    __syncthreads();
  }
}
