// unfold: the windows of images as columns, and fold: columns added back, to each position in the order of the windows'
// places.
//
// ELEMENT: what is stored; COMPUTE: what is added in.

struct Windows {
  int64 h, w, kh, kw, oh, ow;
  int64 strideH, strideW, padH, padW, dilationH, dilationW;
};

template <class C> static __device__ inline C addElements(C a, C b) { return (C)((uint64)a + (uint64)b); }
static __device__ inline float addElements(float a, float b) { return a + b; }
static __device__ inline double addElements(double a, double b) { return a + b; }
static __device__ inline bool addElements(bool a, bool b) { return a || b; }

// A warp takes a row of the result: what one place of the windows sees of a channel of an image.
extern "C" __global__ void unfold(const ELEMENT* x, ELEMENT* out, int64 rows, Windows s) {
  const int lane = (int)threadIdx.x % 32;
  const int64 down = View::divide(32, s.ow), across = 32 - down * s.ow;
  const int64 y0 = View::divide(lane, s.ow), x0 = lane - y0 * s.ow;
  for (int64 row = ((int64)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows;
       row += (int64)gridDim.x * blockDim.x / 32) {
    const int64 q = View::divide(row, s.kw), channel = View::divide(q, s.kh);
    const int64 left = (row - q * s.kw) * s.dilationW - s.padW, top = (q - channel * s.kh) * s.dilationH - s.padH;
    const ELEMENT* const from = x + channel * s.h * s.w;
    ELEMENT* const to = out + row * s.oh * s.ow;
    for (int64 i = lane, oy = y0, ox = x0; i < s.oh * s.ow; i += 32) {
      const int64 iy = top + oy * s.strideH, ix = left + ox * s.strideW;
      to[i] = iy >= 0 && iy < s.h && ix >= 0 && ix < s.w ? from[iy * s.w + ix] : ELEMENT();
      ox += across, oy += down;
      if (ox >= s.ow) ox -= s.ow, ++oy;
    }
  }
}

extern "C" __global__ void fold(const ELEMENT* columns, ELEMENT* out, int64 n, Windows s) {
  GRID_LOOP(i, n) {
    int64 q = View::divide(i, s.w);
    const int64 x = i - q * s.w + s.padW;
    const int64 channel = View::divide(q, s.h);
    const int64 y = q - channel * s.h + s.padH;
    COMPUTE sum = COMPUTE();
    for (int64 a = 0; a < s.kh; ++a) {
      const int64 down = y - a * s.dilationH;
      if (down < 0) break;
      const int64 oy = View::divide(down, s.strideH);
      if (oy * s.strideH != down || oy >= s.oh) continue;
      for (int64 b = 0; b < s.kw; ++b) {
        const int64 across = x - b * s.dilationW;
        if (across < 0) break;
        const int64 ox = View::divide(across, s.strideW);
        if (ox * s.strideW != across || ox >= s.ow) continue;
        const int64 at = (((channel * s.kh + a) * s.kw + b) * s.oh + oy) * s.ow + ox;
        sum = addElements(sum, (COMPUTE)load(columns[at]));
      }
    }
    out[i] = Store<ELEMENT>::of(sum);
  }
}

// Sums of what images gave, [images, size], in one order: eight lanes, each of every eighth image, one after the other.
extern "C" __global__ void sumImages(const ELEMENT* each, ELEMENT* out, int64 size, int64 images, int onTop) {
  __shared__ COMPUTE sums[8][32];
  const int lane = (int)threadIdx.y, column = (int)threadIdx.x;
  for (int64 tile = blockIdx.x; tile * 32 < size; tile += gridDim.x) {
    const int64 at = tile * 32 + column;
    COMPUTE sum = COMPUTE();
    if (at < size) {
#pragma unroll 8
      for (int64 image = lane; image < images; image += 8) sum = addElements(sum, (COMPUTE)load(each[image * size + at]));
    }
    sums[lane][column] = sum;
    __syncthreads();
    if (lane == 0 && at < size) {
#pragma unroll
      for (int k = 1; k < 8; ++k) sum = addElements(sum, sums[k][column]);
      out[at] = Store<ELEMENT>::of(onTop ? addElements((COMPUTE)load(out[at]), sum) : sum);
    }
    __syncthreads();
  }
}
