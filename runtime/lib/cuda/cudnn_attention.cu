// What is done beside cuDNN's work: masks as it takes them, statistics of rows between its form and ours, and results
// where they are not its own: of masked rows, of heads that share one, of float32 (OUT).

// A row's mask as numbers that are added. -infinity is -2e38 there and less than -1e38 counts as that, so that no
// difference of scores overflows; a row of nothing else is not alive, and what is computed of it is not used.
#define NOTHING -2e38f
#define LEAST -1e38f

// A block a row of the mask: [batch, heads, rows] of them, `keys` wide; `alive` gets a byte each.
extern "C" __global__ void prepareMask(View mask, float* out, uint8* alive) {
  __shared__ int seen;
  const int64 keys = mask.shape[3], lines = mask.shape[0] * mask.shape[1] * mask.shape[2];
  for (int64 line = blockIdx.x; line < lines; line += gridDim.x) {
    if (threadIdx.x == 0) seen = 0;
    __syncthreads();
    const int64 row = line % mask.shape[2], h = line / mask.shape[2] % mask.shape[1];
    const int64 b = line / (mask.shape[2] * mask.shape[1]);
    const int64 at = b * mask.strides[0] + h * mask.strides[1] + row * mask.strides[2];
    for (int64 key = threadIdx.x; key < keys; key += blockDim.x) {
      const Compute<MASK>::type m = load(((const MASK*)mask.data)[at + key * mask.strides[3]]);
#if IS_BOOL
      const float v = m ? 0.0f : NOTHING;
#else
      const float v = m == -INFINITY_F ? NOTHING : m < LEAST ? LEAST : m;
#endif
      if (v != NOTHING) seen = 1;
      out[line * keys + key] = v;
    }
    __syncthreads();
    if (threadIdx.x == 0) alive[line] = (uint8)seen;
    __syncthreads();
  }
}

extern "C" __global__ void writeNumber(float value, float* to) { *to = value; }

struct Rows {
  const uint8* alive;  // null: all are
  int64 batch, heads, rows, aliveBatch, aliveHeads;  // the latter strides of rows of the mask
};
static __device__ inline bool isAlive(const Rows& r, int64 line) {
  if (r.alive == 0) return true;
  const int64 row = line % r.rows, h = line / r.rows % r.heads, b = line / (r.rows * r.heads);
  return r.alive[b * r.aliveBatch + h * r.aliveHeads + row] != 0;
}

// Of log-sum-exps: exp(score - first) * second is a probability.
extern "C" __global__ void finishStats(Rows r, const float* sums, float* stats) {
  GRID_LOOP(i, r.batch * r.heads * r.rows) {
    const bool alive = isAlive(r, i);
    stats[2 * i] = alive ? sums[i] : -INFINITY_F;
    stats[2 * i + 1] = alive ? 1.0f : 0.0f;
  }
}
extern "C" __global__ void finishOutput(Rows r, const HALF* from, View to) {
  GRID_LOOP(i, to.numel) {
    const float v = isAlive(r, i / to.shape[3]) ? load(from[i]) : 0.0f;
    to.as<OUT>()[to.offset(i)] = Store<OUT>::of(v);
  }
}

// Back to log-sum-exps; +infinity of a row that attends to nothing, so that its probabilities are 0.
extern "C" __global__ void sumsOfStats(View stats, float* sums) {
  GRID_LOOP(i, stats.shape[0] * stats.shape[1] * stats.shape[2]) {
    const int64 row = i % stats.shape[2], h = i / stats.shape[2] % stats.shape[1];
    const int64 b = i / (stats.shape[2] * stats.shape[1]);
    const float* s = (const float*)stats.data + b * stats.strides[0] + h * stats.strides[1] + row * stats.strides[2];
    sums[i] = s[0] == -INFINITY_F ? INFINITY_F : (float)(s[0] - logOf(s[stats.strides[3]]));
  }
}

// [B, shared * group, inner] to [B, shared, inner]: the sum over each group, in order.
extern "C" __global__ void sumGroups(int64 group, const HALF* from, View to) {
  const int64 inner = to.shape[2] * to.shape[3];
  GRID_LOOP(i, to.numel) {
    const int64 head = i / inner, at = i % inner;
    float sum = 0;
    for (int64 g = 0; g < group; ++g) sum += load(from[(head * group + g) * inner + at]);
    to.as<OUT>()[to.offset(i)] = Store<OUT>::of(sum);
  }
}
