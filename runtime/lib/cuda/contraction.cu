// Products of matrices and the three convolutions as one: a block makes a tile of a product of a left operand [rows,
// depth] and a right one [depth, columns], through tiles of both in shared memory; what differs is where their elements
// are. Every element of a result is one chain of multiply-adds in the order of the depth, or as many as the depth has
// pieces, which `combine` adds in order: bits are a function of sizes alone, not of layouts.
//
// ELEMENT: what is multiplied; RESULT: what is stored; SUM: what it is added up in, integers without sign, since they wrap around; MODE: 0 of
// matrices, 1 a convolution, 2 its input's cotangent, 3 its weight's.

#define THREADS 256
#define TILE 64
#define DEPTH 16
#define MICRO 4  // rows and columns of a thread
#define LOADS (TILE * DEPTH / THREADS)

static __device__ inline float multiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
static __device__ inline double multiplyAdd(double a, double b, double c) { return fma(a, b, c); }
static __device__ inline uint32 multiplyAdd(uint32 a, uint32 b, uint32 c) { return a * b + c; }
static __device__ inline uint64 multiplyAdd(uint64 a, uint64 b, uint64 c) { return a * b + c; }
static __device__ inline bool multiplyAdd(bool a, bool b, bool c) { return (a && b) || c; }
template <class S> static __device__ inline S add(S a, S b) { return a + b; }
static __device__ inline bool add(bool a, bool b) { return a || b; }

static __device__ inline SUM element(const ELEMENT* from) { return (SUM)load(*from); }

#if MODE == 0

struct Contraction {
  int64 rows, columns, depth, batch;
  int64 pieces, length;  // of the depth
  int64 leftRow, leftDepth, rightDepth, rightColumn;
  int64 rank, shape[12], left[12], right[12];  // of the batch
  const int32* needed;                         // null, or of each product: it is made where that is above `step`
  int64 step;
  const RESULT* bias;  // null, or a number for each column
  int64 biasStride;
};
static __device__ inline SUM finished(const Contraction& p, SUM sum, int64 column) {
  return p.bias ? add(sum, (SUM)load(p.bias[column * p.biasStride])) : sum;
}
static __device__ inline bool isNeeded(const Contraction& p, int64 product) {
  return p.needed == 0 || p.needed[product] > p.step;
}
typedef int64 Depth;
static __device__ inline Depth depthOf(const Contraction&, int64 d) { return d; }
// Are neighbouring threads to read neighbours along the depth?
static __device__ inline bool leftAlong(const Contraction& p) { return p.leftDepth == 1; }
static __device__ inline bool rightAlong(const Contraction& p) { return p.rightColumn != 1 && p.rightDepth == 1; }

static __device__ inline int64 offsetOf(const Contraction& p, const int64* strides, int64 product) {
  int64 at = 0;
  for (int d = (int)p.rank - 1; d >= 0; --d) {
    int64 q = View::divide(product, p.shape[d]);
    at += (product - q * p.shape[d]) * strides[d];
    product = q;
  }
  return at;
}
static __device__ inline const ELEMENT* leftOf(const Contraction& p, const ELEMENT* a, int64 product) {
  return a + offsetOf(p, p.left, product);
}
static __device__ inline const ELEMENT* rightOf(const Contraction& p, const ELEMENT* b, int64 product) {
  return b + offsetOf(p, p.right, product);
}
struct Left {
  const ELEMENT* at;
  __device__ void begin(const Contraction& p, const ELEMENT* a, int64 row) {
    at = row < p.rows ? a + row * p.leftRow : 0;
  }
  __device__ SUM get(const Contraction& p, Depth d) const { return at ? element(at + d * p.leftDepth) : SUM(); }
};
struct Right {
  const ELEMENT* at;
  __device__ void begin(const Contraction& p, const ELEMENT* b, int64 column) {
    at = column < p.columns ? b + column * p.rightColumn : 0;
  }
  __device__ SUM get(const Contraction& p, Depth d) const { return at ? element(at + d * p.rightDepth) : SUM(); }
};
static __device__ inline int64 placeOf(const Contraction& p, int64 product, int64 row, int64 column) {
  return (product * p.rows + row) * p.columns + column;
}

#else

// A product is a group's.
struct Contraction {
  int64 rows, columns, depth, batch;
  int64 pieces, length;
  int64 channels, outputs;  // of all groups
  int64 h, w, kh, kw, oh, ow;
  int64 strideH, strideW, padH, padW, dilationH, dilationW;
};
static __device__ inline SUM finished(const Contraction&, SUM sum, int64) { return sum; }
static __device__ inline bool isNeeded(const Contraction&, int64) { return true; }

// i = (first * b + second) * c + third
struct Triple {
  int64 first, second, third;
};
static __device__ inline Triple tripleOf(int64 i, int64 b, int64 c) {
  Triple t;
  int64 q = View::divide(i, c);
  t.third = i - q * c;
  t.first = View::divide(q, b);
  t.second = q - t.first * b;
  return t;
}

typedef Triple Depth;
static __device__ inline bool leftAlong(const Contraction&) { return true; }

#if MODE == 1
static __device__ inline bool rightAlong(const Contraction&) { return false; }
static __device__ inline Depth depthOf(const Contraction& p, int64 d) { return tripleOf(d, p.kh, p.kw); }
static __device__ inline const ELEMENT* leftOf(const Contraction& p, const ELEMENT* weight, int64 group) {
  return weight + group * p.rows * p.depth;
}
static __device__ inline const ELEMENT* rightOf(const Contraction& p, const ELEMENT* input, int64 group) {
  return input + group * (p.channels / p.batch) * p.h * p.w;
}
// The weight's row of an output.
struct Left {
  const ELEMENT* at;
  __device__ void begin(const Contraction& p, const ELEMENT* weight, int64 row) {
    at = row < p.rows ? weight + row * p.depth : 0;
  }
  __device__ SUM get(const Contraction& p, Depth d) const {
    return at ? element(at + (d.first * p.kh + d.second) * p.kw + d.third) : SUM();
  }
};
// What an output position sees of the input.
struct Right {
  const ELEMENT* at;
  int64 top, left;
  __device__ void begin(const Contraction& p, const ELEMENT* input, int64 column) {
    at = 0;
    if (column >= p.columns) return;
    Triple o = tripleOf(column, p.oh, p.ow);
    at = input + o.first * p.channels * p.h * p.w;
    top = o.second * p.strideH - p.padH;
    left = o.third * p.strideW - p.padW;
  }
  __device__ SUM get(const Contraction& p, Depth d) const {
    int64 y = top + d.second * p.dilationH, x = left + d.third * p.dilationW;
    return at && y >= 0 && y < p.h && x >= 0 && x < p.w ? element(at + (d.first * p.h + y) * p.w + x) : SUM();
  }
};
static __device__ inline int64 placeOf(const Contraction& p, int64 group, int64 row, int64 column) {
  int64 plane = p.oh * p.ow, image = View::divide(column, plane);
  return (image * p.outputs + group * p.rows + row) * plane + (column - image * plane);
}

#elif MODE == 2
static __device__ inline bool rightAlong(const Contraction&) { return false; }
static __device__ inline Depth depthOf(const Contraction& p, int64 d) { return tripleOf(d, p.kh, p.kw); }
static __device__ inline const ELEMENT* leftOf(const Contraction& p, const ELEMENT* weight, int64 group) {
  return weight + group * (p.outputs / p.batch) * p.rows * p.kh * p.kw;
}
static __device__ inline const ELEMENT* rightOf(const Contraction& p, const ELEMENT* grad, int64 group) {
  return grad + group * (p.outputs / p.batch) * p.oh * p.ow;
}
// The weights of an input channel.
struct Left {
  const ELEMENT* at;
  __device__ void begin(const Contraction& p, const ELEMENT* weight, int64 row) {
    at = row < p.rows ? weight + row * p.kh * p.kw : 0;
  }
  __device__ SUM get(const Contraction& p, Depth d) const {
    return at ? element(at + (d.first * p.rows * p.kh + d.second) * p.kw + d.third) : SUM();
  }
};
// The output positions that see an input position.
struct Right {
  const ELEMENT* at;
  int64 y, x;
  __device__ void begin(const Contraction& p, const ELEMENT* grad, int64 column) {
    at = 0;
    if (column >= p.columns) return;
    Triple i = tripleOf(column, p.h, p.w);
    at = grad + i.first * p.outputs * p.oh * p.ow;
    y = i.second + p.padH;
    x = i.third + p.padW;
  }
  __device__ SUM get(const Contraction& p, Depth d) const {
    int64 down = y - d.second * p.dilationH, across = x - d.third * p.dilationW;
    if (!at || down < 0 || across < 0) return SUM();
    int64 oy = View::divide(down, p.strideH), ox = View::divide(across, p.strideW);
    if (oy * p.strideH != down || ox * p.strideW != across || oy >= p.oh || ox >= p.ow) return SUM();
    return element(at + (d.first * p.oh + oy) * p.ow + ox);
  }
};
static __device__ inline int64 placeOf(const Contraction& p, int64 group, int64 row, int64 column) {
  int64 plane = p.h * p.w, image = View::divide(column, plane);
  return (image * p.channels + group * p.rows + row) * plane + (column - image * plane);
}

#else
static __device__ inline bool rightAlong(const Contraction&) { return true; }
static __device__ inline Depth depthOf(const Contraction& p, int64 d) { return tripleOf(d, p.oh, p.ow); }
static __device__ inline const ELEMENT* leftOf(const Contraction& p, const ELEMENT* grad, int64 group) {
  return grad + group * p.rows * p.oh * p.ow;
}
static __device__ inline const ELEMENT* rightOf(const Contraction& p, const ELEMENT* input, int64 group) {
  return input + group * (p.channels / p.batch) * p.h * p.w;
}
// The cotangents of an output channel.
struct Left {
  const ELEMENT* at;
  __device__ void begin(const Contraction& p, const ELEMENT* grad, int64 row) {
    at = row < p.rows ? grad + row * p.oh * p.ow : 0;
  }
  __device__ SUM get(const Contraction& p, Depth d) const {
    return at ? element(at + (d.first * p.outputs * p.oh + d.second) * p.ow + d.third) : SUM();
  }
};
// What a weight sees of the input.
struct Right {
  const ELEMENT* at;
  int64 top, left;
  __device__ void begin(const Contraction& p, const ELEMENT* input, int64 column) {
    at = 0;
    if (column >= p.columns) return;
    Triple k = tripleOf(column, p.kh, p.kw);
    at = input + k.first * p.h * p.w;
    top = k.second * p.dilationH - p.padH;
    left = k.third * p.dilationW - p.padW;
  }
  __device__ SUM get(const Contraction& p, Depth d) const {
    int64 y = top + d.second * p.strideH, x = left + d.third * p.strideW;
    if (!at || y < 0 || y >= p.h || x < 0 || x >= p.w) return SUM();
    return element(at + (d.first * p.channels * p.h + y) * p.w + x);
  }
};
static __device__ inline int64 placeOf(const Contraction& p, int64 group, int64 row, int64 column) {
  return (group * p.rows + row) * p.columns + column;
}
#endif

#endif

// Of all that a thread brings, the column is one where neighbours do not read along the depth.
#define RIGHTS (MODE == 1 || MODE == 2 ? 1 : LOADS)

// The next elements of both tiles that this thread brings.
struct Fetched {
  SUM left[LOADS], right[LOADS];
  __device__ void fetch(const Contraction& p, const Left* rows, const Right* columns, int64 from, int64 end) {
    bool la = leftAlong(p), ra = rightAlong(p);
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      int e = (int)threadIdx.x + i * THREADS;
      int64 l = from + (la ? e % DEPTH : e / TILE), r = from + (ra ? e % DEPTH : e / TILE);
      left[i] = l < end ? rows[i].get(p, depthOf(p, l)) : SUM();
      right[i] = r < end ? columns[i % RIGHTS].get(p, depthOf(p, r)) : SUM();
    }
  }
};

// `partial`: where the sums of pieces go, [batch, pieces, rows, columns]; null where there is one piece.
extern "C" __global__ void __launch_bounds__(THREADS, sizeof(SUM) <= 4 ? 2 : 1)
contract(const ELEMENT* a, const ELEMENT* b, RESULT* c, SUM* partial, Contraction p) {
  __shared__ SUM left[DEPTH][TILE + 4];
  __shared__ SUM right[DEPTH][TILE + 4];
  const int tx = (int)threadIdx.x % 16, ty = (int)threadIdx.x / 16;
  const int64 down = (p.rows + TILE - 1) / TILE, across = (p.columns + TILE - 1) / TILE;
  for (int64 unit = blockIdx.x; unit < p.batch * p.pieces * down * across; unit += gridDim.x) {
    const int64 column0 = unit % across * TILE, row0 = unit / across % down * TILE;
    const int64 piece = unit / (across * down) % p.pieces, product = unit / (across * down * p.pieces);
    if (!isNeeded(p, product)) continue;
    const ELEMENT *x0 = leftOf(p, a, product), *y0 = rightOf(p, b, product);
    Left rows[LOADS];
    Right columns[RIGHTS];
    bool la = leftAlong(p), ra = rightAlong(p);
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      int e = (int)threadIdx.x + i * THREADS;
      rows[i].begin(p, x0, row0 + (la ? e / DEPTH : e % TILE));
      if (i < RIGHTS) columns[i].begin(p, y0, column0 + (ra ? e / DEPTH : e % TILE));
    }
    SUM sums[MICRO][MICRO];
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) sums[i][j] = SUM();

    const int64 first = piece * p.length;
    const int64 end = first + p.length < p.depth ? first + p.length : p.depth;
    // While a step is added up the next one is on its way.
    for (int64 k = first;; k += DEPTH) {
      Fetched next;
      const bool more = k < end;
      if (more) next.fetch(p, rows, columns, k, end);
      if (k > first) {
#pragma unroll 4
        for (int d = 0; d < DEPTH; ++d) {
          SUM x[MICRO], y[MICRO];
#pragma unroll
          for (int i = 0; i < MICRO; ++i) {
            x[i] = left[d][ty * MICRO + i];
            y[i] = right[d][tx * MICRO + i];
          }
#pragma unroll
          for (int i = 0; i < MICRO; ++i)
#pragma unroll
            for (int j = 0; j < MICRO; ++j) sums[i][j] = multiplyAdd(x[i], y[j], sums[i][j]);
        }
      }
      if (!more) break;
      __syncthreads();
#pragma unroll
      for (int i = 0; i < LOADS; ++i) {
        int e = (int)threadIdx.x + i * THREADS;
        left[la ? e % DEPTH : e / TILE][la ? e / DEPTH : e % TILE] = next.left[i];
        right[ra ? e % DEPTH : e / TILE][ra ? e / DEPTH : e % TILE] = next.right[i];
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) {
        const int64 row = row0 + ty * MICRO + i, column = column0 + tx * MICRO + j;
        if (row >= p.rows || column >= p.columns) continue;
        if (partial)
          partial[((product * p.pieces + piece) * p.rows + row) * p.columns + column] = sums[i][j];
        else
          c[placeOf(p, product, row, column)] = Store<RESULT>::of(finished(p, sums[i][j], column));
      }
  }
}

// The pieces' sums, in order.
extern "C" __global__ void combine(const SUM* partial, RESULT* c, Contraction p) {
  const int64 size = p.rows * p.columns;
  GRID_LOOP(i, p.batch * size) {
    const int64 product = View::divide(i, size), at = i - product * size;
    SUM sum = partial[product * p.pieces * size + at];
    for (int64 k = 1; k < p.pieces; ++k) sum = add(sum, partial[(product * p.pieces + k) * size + at]);
    const int64 row = View::divide(at, p.columns), column = at - row * p.columns;
    c[placeOf(p, product, row, column)] = Store<RESULT>::of(finished(p, sum, column));
  }
}
