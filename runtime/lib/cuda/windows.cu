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

extern "C" __global__ void unfold(const ELEMENT* x, ELEMENT* out, int64 n, Windows s) {
  GRID_LOOP(i, n) {
    int64 q = View::divide(i, s.ow);
    const int64 ox = i - q * s.ow;
    int64 r = View::divide(q, s.oh);
    const int64 oy = q - r * s.oh;
    q = View::divide(r, s.kw);
    const int64 x0 = ox * s.strideW - s.padW + (r - q * s.kw) * s.dilationW;
    r = View::divide(q, s.kh);
    const int64 y0 = oy * s.strideH - s.padH + (q - r * s.kh) * s.dilationH;
    // What is left is image and channel.
    out[i] = y0 >= 0 && y0 < s.h && x0 >= 0 && x0 < s.w ? x[(r * s.h + y0) * s.w + x0] : ELEMENT();
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
