// Attention in tiles, with an online softmax: what runtime/lib/attention does, with sums in an order of its own that is a
// function of shapes. No array of rows x keys is ever in device memory: the backward computes scores again, once for
// the cotangents of keys and values and once for that of queries, each of which one block adds up.
//
// PASS: which kernels there are, 0 forward, 1 what backward begins with, 2 and 3 backward, 4 the elements that are kept;
// ELEMENT: float or double; TILE: rows and keys of a tile, 64 or 32; WIDE: columns of a result that a block makes, 64 or
// 128; MASK: 0 none, 1 of bool, 2 added; DROPS: 0 or 1.

#define THREADS 256
#define DEPTH 16
#define MICRO (TILE / 16)
#define COLUMNS (WIDE / 16)
#define PARTS (THREADS / TILE)
// Two blocks a multiprocessor, or one where a thread has more sums than registers for that.
#define BOUNDS __launch_bounds__(THREADS, WIDE == 64 ? 2 : 1)

struct Attention {
  const ELEMENT *query, *key, *value, *grad;  // [B, H, rows, width], [B, K, keys, width] ...
  const void* mask;
  const int64* dropKey;
  int64 batch, heads, sharedHeads, rows, keys, width, valueWidth, causal;
  int64 queryStrides[4], keyStrides[4], valueStrides[4], gradStrides[4], maskStrides[4];
  int64 resultStrides[3][4];  // of the output, or of the cotangents of query, key and value
  double scale, dropScale;
  uint64 below;
};

static __device__ inline ELEMENT multiplyAdd(ELEMENT a, ELEMENT b, ELEMENT c) {
  return sizeof(ELEMENT) == 4 ? (ELEMENT)fmaf((float)a, (float)b, (float)c) : (ELEMENT)fma((double)a, (double)b, (double)c);
}

// e^x for x <= 0, as runtime/lib/attention/attention_body.h has it.
static __device__ inline float expNegative(float x) {
  const float shift = 12582912.0f;
  const float shifted = x * 1.44269504f + shift, n = shifted - shift;
  float r = fmaf(n, -0.693359375f, x);
  r = fmaf(n, 2.12194440e-4f, r);
  float p = 1.98412698e-4f;
  p = fmaf(p, r, 1.38888889e-3f);
  p = fmaf(p, r, 8.33333333e-3f);
  p = fmaf(p, r, 4.16666667e-2f);
  p = fmaf(p, r, 1.66666667e-1f);
  p = fmaf(p, r, 0.5f);
  p = fmaf(p, r, 1.0f);
  p = fmaf(p, r, 1.0f);
  const float y = p * __int_as_float((int)((uint32)(__float_as_int(shifted) + 127) << 23));
  return x < -87.3f ? 0.0f : y;
}
static __device__ inline double expNegative(double x) {
  const double shift = 6755399441055744.0;
  const double shifted = x * 1.44269504088896340736 + shift, n = shifted - shift;
  double r = fma(n, -0.69314718036912381649, x);
  r = fma(n, -1.90821492927058770002e-10, r);
  double p = 1.6059043836821613e-10;
  p = fma(p, r, 2.08767569878681e-9);
  p = fma(p, r, 2.505210838544172e-8);
  p = fma(p, r, 2.755731922398589e-7);
  p = fma(p, r, 2.7557319223985893e-6);
  p = fma(p, r, 2.48015873015873e-5);
  p = fma(p, r, 1.984126984126984e-4);
  p = fma(p, r, 1.388888888888889e-3);
  p = fma(p, r, 8.333333333333333e-3);
  p = fma(p, r, 4.1666666666666664e-2);
  p = fma(p, r, 1.6666666666666666e-1);
  p = fma(p, r, 0.5);
  p = fma(p, r, 1.0);
  p = fma(p, r, 1.0);
  const double y = p * __longlong_as_double((int64)((uint64)(__double_as_longlong(shifted) + 1023) << 52));
  return x < -708.3 ? 0.0 : y;
}
static __device__ inline ELEMENT minusInfinity() { return (ELEMENT)-INFINITY_D; }

// Philox4x32-10 (Salmon et al. 2011): is an element of [B, H, rows, keys] kept? Of the four words of a counter it has
// its own.
static __device__ inline bool keepsElement(uint64 seed, uint64 below, uint64 element) {
  uint32 c0 = (uint32)(element >> 2), c1 = (uint32)(element >> 34), c2 = 0, c3 = 0;
  uint32 k0 = (uint32)seed, k1 = (uint32)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64 p0 = (uint64)0xD2511F53u * c0, p1 = (uint64)0xCD9E8D57u * c2;
    const uint32 a = (uint32)(p1 >> 32) ^ c1 ^ k0, b = (uint32)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32)p1;
    c3 = (uint32)p0;
    c0 = a;
    c2 = b;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const int at = (int)(element & 3);
  return (at == 0 ? c0 : at == 1 ? c1 : at == 2 ? c2 : c3) >= below;
}
static __device__ inline bool keeps(const Attention& p, int64 b, int64 h, int64 row, int64 key) {
  return keepsElement((uint64)*p.dropKey, p.below, (uint64)(((b * p.heads + h) * p.rows + row) * p.keys + key));
}

static __device__ inline bool sees(const Attention& p, int64 row, int64 key) {
  return row < p.rows && key < p.keys && !(p.causal && key > row);
}
// A product of query and key that the row sees, as a score.
static __device__ inline ELEMENT scoreOf(const Attention& p, int64 b, int64 h, int64 row, int64 key, ELEMENT product) {
  ELEMENT s = product * (ELEMENT)p.scale;
#if MASK != 0
  const int64 at = b * p.maskStrides[0] + h * p.maskStrides[1] + row * p.maskStrides[2] + key * p.maskStrides[3];
#endif
#if MASK == 1
  s += load(((const truth*)p.mask)[at]) ? (ELEMENT)0 : minusInfinity();
#elif MASK == 2
  s += ((const ELEMENT*)p.mask)[at];
#endif
  return s;
}

// Lines of a head's matrix, from one of them on.
struct Lines {
  const ELEMENT* data;
  int64 line, column, count;  // strides; how many lines there are from here on
};
static __device__ inline Lines linesOf(const ELEMENT* data, const int64* strides, int64 b, int64 h, int64 first,
                                       int64 all) {
  Lines l = {data + b * strides[0] + h * strides[1] + first * strides[2], strides[2], strides[3], all - first};
  return l;
}

static __device__ inline int lineOf(int thread, int i) { return thread * MICRO + i; }
// Columns of a result lie in groups of four.
static __device__ inline int columnOf(int thread, int j) { return j / 4 * 64 + thread * 4 + j % 4; }

struct Shared {
  ELEMENT left[DEPTH][TILE + 4], right[DEPTH][TILE + 4];
  ELEMENT wide[DEPTH][WIDE];
  ELEMENT tile[TILE][TILE + 1];
};

// products[i][j] = the sum over `width` of a[line i][.] b[line j][.]
static __device__ inline void multiplyLines(Shared& m, const Lines& a, const Lines& b, int64 width,
                                            ELEMENT products[MICRO][MICRO]) {
  const int tx = (int)threadIdx.x % 16, ty = (int)threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < MICRO; ++i)
#pragma unroll
    for (int j = 0; j < MICRO; ++j) products[i][j] = 0;
  for (int64 d0 = 0; d0 < width; d0 += DEPTH) {
#pragma unroll
    for (int e = (int)threadIdx.x; e < TILE * DEPTH; e += THREADS) {
      const int d = e % DEPTH, line = e / DEPTH;
      const bool inside = d0 + d < width;
      m.left[d][line] = inside && line < a.count ? a.data[line * a.line + (d0 + d) * a.column] : (ELEMENT)0;
      m.right[d][line] = inside && line < b.count ? b.data[line * b.line + (d0 + d) * b.column] : (ELEMENT)0;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      ELEMENT x[MICRO], y[MICRO];
#pragma unroll
      for (int i = 0; i < MICRO; ++i) {
        x[i] = m.left[d][lineOf(ty, i)];
        y[i] = m.right[d][lineOf(tx, i)];
      }
#pragma unroll
      for (int i = 0; i < MICRO; ++i)
#pragma unroll
        for (int j = 0; j < MICRO; ++j) products[i][j] = multiplyAdd(x[i], y[j], products[i][j]);
    }
    __syncthreads();
  }
}

// sums += the tile times WIDE columns, from column0 on, of TILE lines.
static __device__ inline void addProducts(Shared& m, const Lines& a, int64 column0, int64 columns,
                                          ELEMENT sums[MICRO][COLUMNS]) {
  const int tx = (int)threadIdx.x % 16, ty = (int)threadIdx.x / 16;
  for (int d0 = 0; d0 < TILE && d0 < a.count; d0 += DEPTH) {
#pragma unroll
    for (int e = (int)threadIdx.x; e < DEPTH * WIDE; e += THREADS) {
      const int d = e / WIDE, j = e % WIDE;
      m.wide[d][j] = d0 + d < a.count && column0 + j < columns
                         ? a.data[(d0 + d) * a.line + (column0 + j) * a.column]
                         : (ELEMENT)0;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      ELEMENT y[COLUMNS];
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) y[j] = m.wide[d][columnOf(tx, j)];
#pragma unroll
      for (int i = 0; i < MICRO; ++i) {
        const ELEMENT x = m.tile[lineOf(ty, i)][d0 + d];
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] = multiplyAdd(x, y[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
}

static __device__ inline void storeTile(Shared& m, ELEMENT values[MICRO][MICRO]) {
  const int tx = (int)threadIdx.x % 16, ty = (int)threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < MICRO; ++i)
#pragma unroll
    for (int j = 0; j < MICRO; ++j) m.tile[lineOf(ty, i)][lineOf(tx, j)] = values[i][j];
  __syncthreads();
}
static __device__ inline void clear(ELEMENT sums[MICRO][COLUMNS]) {
#pragma unroll
  for (int i = 0; i < MICRO; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = 0;
}
// Of a head, from a line on; `strides` are the result's.
static __device__ inline void storeSums(ELEMENT* result, const int64* strides, int64 b, int64 h, int64 first, int64 lines,
                                        int64 column0, int64 columns, ELEMENT sums[MICRO][COLUMNS]) {
  ELEMENT* to = result + b * strides[0] + h * strides[1] + first * strides[2];
  const int tx = (int)threadIdx.x % 16, ty = (int)threadIdx.x / 16;
#pragma unroll
  for (int i = 0; i < MICRO; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      const int64 line = lineOf(ty, i), column = column0 + columnOf(tx, j);
      if (line < lines && column < columns) to[line * strides[2] + column] = sums[i][j];
    }
}

// What a block works on: WIDE columns of TILE lines of a head.
struct Unit {
  int64 b, h, line0, column0;
  __device__ Unit(int64 unit, int64 heads, int64 tiles, int64 across) {
    column0 = unit % across * WIDE;
    line0 = unit / across % tiles * TILE;
    h = unit / (across * tiles) % heads;
    b = unit / (across * tiles * heads);
  }
};

#if PASS == 0

extern "C" __global__ void BOUNDS forward(Attention p, ELEMENT* out, ELEMENT* stats) {
  __shared__ Shared m;
  __shared__ ELEMENT best[TILE], total[TILE], shrinks[TILE];
  __shared__ ELEMENT parts[TILE][PARTS];
  __shared__ bool nans[TILE][PARTS];
  const int t = (int)threadIdx.x, tx = t % 16, ty = t / 16;
  const int own = t / PARTS, part = t % PARTS, share = TILE / PARTS;  // of the rows' statistics
  const int64 tiles = (p.rows + TILE - 1) / TILE;
  const int64 across = p.valueWidth > WIDE ? (p.valueWidth + WIDE - 1) / WIDE : 1;
  for (int64 unit = blockIdx.x; unit < p.batch * p.heads * tiles * across; unit += gridDim.x) {
    const Unit u(unit, p.heads, tiles, across);
    const int64 b = u.b, h = u.h, r0 = u.line0, shared = h / (p.heads / p.sharedHeads);
    const Lines rows = linesOf(p.query, p.queryStrides, b, h, r0, p.rows);
    ELEMENT sums[MICRO][COLUMNS];
    clear(sums);
    if (t < TILE) {
      best[t] = minusInfinity();
      total[t] = 0;
    }
    __syncthreads();
    const int64 last = p.causal && r0 + TILE < p.keys ? r0 + TILE : p.keys;
    for (int64 k0 = 0; k0 < last; k0 += TILE) {
      ELEMENT s[MICRO][MICRO];
      multiplyLines(m, rows, linesOf(p.key, p.keyStrides, b, shared, k0, p.keys), p.width, s);
#pragma unroll
      for (int i = 0; i < MICRO; ++i)
#pragma unroll
        for (int j = 0; j < MICRO; ++j) {
          const int64 row = r0 + lineOf(ty, i), key = k0 + lineOf(tx, j);
          s[i][j] = sees(p, row, key) ? scoreOf(p, b, h, row, key, s[i][j]) : minusInfinity();
        }
      storeTile(m, s);

      // The largest score: a NaN is passed over (the exponentials' sum shows it) unless all others are -infinity.
      ELEMENT most = minusInfinity();
      bool nan = false;
      for (int j = part * share; j < (part + 1) * share; ++j) {
        const ELEMENT v = m.tile[own][j];
        most = v > most ? v : most;
        nan = nan || v != v;
      }
      parts[own][part] = most;
      nans[own][part] = nan;
      __syncthreads();
      for (int i = 0; i < PARTS; ++i) {
        most = parts[own][i] > most ? parts[own][i] : most;
        nan = nan || nans[own][i];
      }
      if (most == minusInfinity() && nan) most = (ELEMENT)NAN_D;
      const ELEMENT before = best[own];
      most = most > before || most != most ? most : before;
      const bool nothing = most == minusInfinity();  // to attend to so far
      ELEMENT sum = 0;
      __syncthreads();
      for (int j = part * share; j < (part + 1) * share; ++j) {
        ELEMENT e = 0;
        if (!nothing && sees(p, r0 + own, k0 + j)) {
          e = expNegative(m.tile[own][j] - most);
          sum += e;
#if DROPS
          e = keeps(p, b, h, r0 + own, k0 + j) ? e * (ELEMENT)p.dropScale : (ELEMENT)0;
#endif
        }
        m.tile[own][j] = e;
      }
      parts[own][part] = sum;
      __syncthreads();
      if (part == 0) {
        const ELEMENT shrink = nothing ? (ELEMENT)1 : expNegative(before - most);
        sum = 0;
        for (int i = 0; i < PARTS; ++i) sum += parts[own][i];
        total[own] = total[own] * shrink + sum;
        best[own] = most;
        shrinks[own] = shrink;
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < MICRO; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] *= shrinks[lineOf(ty, i)];
      addProducts(m, linesOf(p.value, p.valueStrides, b, shared, k0, p.keys), u.column0, p.valueWidth, sums);
    }
    const int64 first = (b * p.heads + h) * p.rows + r0;
#pragma unroll
    for (int i = 0; i < MICRO; ++i) {
      const int line = lineOf(ty, i);
      const ELEMENT inverse = best[line] == minusInfinity() ? (ELEMENT)0 : 1 / total[line];
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) sums[i][j] *= inverse;
    }
    storeSums(out, p.resultStrides[0], b, h, r0, p.rows - r0, u.column0, p.valueWidth, sums);
    if (u.column0 == 0 && t < TILE && r0 + t < p.rows) {
      stats[(first + t) * 2] = best[t];
      stats[(first + t) * 2 + 1] = best[t] == minusInfinity() ? (ELEMENT)0 : 1 / total[t];
    }
    __syncthreads();
  }
}

#elif PASS == 1

// Of each row: its statistics, the largest score any finite number where it attends to nothing, and the sum of grad *
// output.
extern "C" __global__ void rowNumbers(Attention p, View output, View stats, ELEMENT* to) {
  GRID_LOOP(i, p.batch * p.heads * p.rows) {
    const int64 head = View::divide(i, p.rows), row = i - head * p.rows, b = View::divide(head, p.heads);
    const int64 h = head - b * p.heads;
    const ELEMENT* g = p.grad + b * p.gradStrides[0] + h * p.gradStrides[1] + row * p.gradStrides[2];
    const ELEMENT* o = output.as<ELEMENT>() + b * output.strides[0] + h * output.strides[1] + row * output.strides[2];
    const ELEMENT* s = stats.as<ELEMENT>() + b * stats.strides[0] + h * stats.strides[1] + row * stats.strides[2];
    ELEMENT sum = 0;
    for (int64 j = 0; j < p.valueWidth; ++j)
      sum = multiplyAdd(g[j * p.gradStrides[3]], o[j * output.strides[3]], sum);
    to[i * 3] = s[0] == minusInfinity() ? (ELEMENT)0 : s[0];
    to[i * 3 + 1] = s[stats.strides[3]];
    to[i * 3 + 2] = sum;
  }
}

#elif PASS == 2 || PASS == 3

// s: a product of query and key, which becomes the probability (with dropout); t: one of value and grad, which becomes
// the cotangent of the score. `numbers`: the row's.
static __device__ inline void scoreCotangent(const Attention& p, int64 b, int64 h, int64 row, int64 key,
                                             const ELEMENT* numbers, ELEMENT& s, ELEMENT& t) {
  if (!sees(p, row, key)) {
    s = t = 0;
    return;
  }
  const ELEMENT* own = numbers + ((b * p.heads + h) * p.rows + row) * 3;
  const ELEMENT x = expNegative(scoreOf(p, b, h, row, key, s) - own[0]) * own[1];
  ELEMENT keep = 1;
#if DROPS
  keep = keeps(p, b, h, row, key) ? (ELEMENT)p.dropScale : (ELEMENT)0;
#endif
  s = x * keep;
  t = x * (t * keep - own[2]) * (ELEMENT)p.scale;
}

#if PASS == 2

// Cotangents of keys and values, of all heads of queries that share them and all rows, in order.
extern "C" __global__ void BOUNDS backwardKeys(Attention p, const ELEMENT* numbers, ELEMENT* keyGrad, ELEMENT* valueGrad) {
  __shared__ Shared m;
  const int tx = (int)threadIdx.x % 16, ty = (int)threadIdx.x / 16;
  const int64 tiles = (p.keys + TILE - 1) / TILE, group = p.heads / p.sharedHeads;
  const int64 widest = p.width > p.valueWidth ? p.width : p.valueWidth;
  const int64 across = (widest + WIDE - 1) / WIDE;
  for (int64 unit = blockIdx.x; unit < p.batch * p.sharedHeads * tiles * across; unit += gridDim.x) {
    const Unit u(unit, p.sharedHeads, tiles, across);
    const int64 b = u.b, k0 = u.line0;
    const Lines keys = linesOf(p.key, p.keyStrides, b, u.h, k0, p.keys);
    const Lines values = linesOf(p.value, p.valueStrides, b, u.h, k0, p.keys);
    ELEMENT keySums[MICRO][COLUMNS], valueSums[MICRO][COLUMNS];
    clear(keySums);
    clear(valueSums);
    for (int64 h = u.h * group; h < (u.h + 1) * group; ++h)
      for (int64 r0 = p.causal ? k0 : 0; r0 < p.rows; r0 += TILE) {
        const Lines rows = linesOf(p.query, p.queryStrides, b, h, r0, p.rows);
        const Lines grads = linesOf(p.grad, p.gradStrides, b, h, r0, p.rows);
        ELEMENT s[MICRO][MICRO], t[MICRO][MICRO];
        multiplyLines(m, keys, rows, p.width, s);
        multiplyLines(m, values, grads, p.valueWidth, t);
#pragma unroll
        for (int i = 0; i < MICRO; ++i)
#pragma unroll
          for (int j = 0; j < MICRO; ++j)
            scoreCotangent(p, b, h, r0 + lineOf(tx, j), k0 + lineOf(ty, i), numbers, s[i][j], t[i][j]);
        if (u.column0 < p.valueWidth) {
          storeTile(m, s);
          addProducts(m, grads, u.column0, p.valueWidth, valueSums);
        }
        if (u.column0 < p.width) {
          storeTile(m, t);
          addProducts(m, rows, u.column0, p.width, keySums);
        }
      }
    storeSums(keyGrad, p.resultStrides[1], b, u.h, k0, p.keys - k0, u.column0, p.width, keySums);
    storeSums(valueGrad, p.resultStrides[2], b, u.h, k0, p.keys - k0, u.column0, p.valueWidth, valueSums);
  }
}

#else

extern "C" __global__ void BOUNDS backwardRows(Attention p, const ELEMENT* numbers, ELEMENT* queryGrad) {
  __shared__ Shared m;
  const int tx = (int)threadIdx.x % 16, ty = (int)threadIdx.x / 16;
  const int64 tiles = (p.rows + TILE - 1) / TILE, across = (p.width + WIDE - 1) / WIDE;
  for (int64 unit = blockIdx.x; unit < p.batch * p.heads * tiles * across; unit += gridDim.x) {
    const Unit u(unit, p.heads, tiles, across);
    const int64 b = u.b, h = u.h, r0 = u.line0, shared = h / (p.heads / p.sharedHeads);
    const Lines rows = linesOf(p.query, p.queryStrides, b, h, r0, p.rows);
    const Lines grads = linesOf(p.grad, p.gradStrides, b, h, r0, p.rows);
    ELEMENT sums[MICRO][COLUMNS];
    clear(sums);
    const int64 last = p.causal && r0 + TILE < p.keys ? r0 + TILE : p.keys;
    for (int64 k0 = 0; k0 < last; k0 += TILE) {
      const Lines keys = linesOf(p.key, p.keyStrides, b, shared, k0, p.keys);
      ELEMENT s[MICRO][MICRO], t[MICRO][MICRO];
      multiplyLines(m, rows, keys, p.width, s);
      multiplyLines(m, grads, linesOf(p.value, p.valueStrides, b, shared, k0, p.keys), p.valueWidth, t);
#pragma unroll
      for (int i = 0; i < MICRO; ++i)
#pragma unroll
        for (int j = 0; j < MICRO; ++j)
          scoreCotangent(p, b, h, r0 + lineOf(ty, i), k0 + lineOf(tx, j), numbers, s[i][j], t[i][j]);
      storeTile(m, t);
      addProducts(m, keys, u.column0, p.width, sums);
    }
    storeSums(queryGrad, p.resultStrides[0], b, h, r0, p.rows - r0, u.column0, p.width, sums);
  }
}

#endif

#else

extern "C" __global__ void keepAll(const int64* key, uint64 below, bool* out, int64 n) {
  GRID_LOOP(i, n) out[i] = keepsElement((uint64)*key, below, (uint64)i);
}

#endif
