// Means and maxima of windows, and their cotangents. Sums run in the order of runtime/lib/pool: the rows of a window
// column by column, then its columns; a cotangent's places in the order in which the windows are walked there.
//
// ELEMENT: what is stored; COMPUTE: what is computed in.

// As PoolAxis of runtime/lib/pool/pooling.h.
struct Axis {
  int64 size, out, kernel, stride, padding, dilation, adaptive;

  // The positions inside of the input that a window sees are first, first + dilation, ... below end.
  __device__ int64 first(int64 o) const {
    if (adaptive) return View::divide(o * size, out);
    int64 begin = o * stride - padding;
    return begin >= 0 ? begin : begin + (-begin + dilation - 1) / dilation * dilation;
  }
  __device__ int64 end(int64 o) const {
    if (adaptive) return View::divide((o + 1) * size + out - 1, out);
    int64 last = o * stride - padding + (kernel - 1) * dilation + 1;
    return last < size ? last : size;
  }
  // Of dilation 1: the windows that see position i.
  __device__ int64 firstWindow(int64 i) const {
    if (adaptive) return View::divide(i * out, size);
    int64 before = i + padding - kernel;  // a window that ends there does not
    return before < 0 ? 0 : View::divide(before, stride) + 1;
  }
  __device__ int64 lastWindow(int64 i) const {
    int64 o = adaptive ? View::divide((i + 1) * out - 1, size) : View::divide(i + padding, stride);
    return o < out ? o : out - 1;
  }
  // How many places count of a window.
  __device__ int64 places(int64 o, bool padded) const {
    if (!padded || adaptive) return end(o) - first(o);
    int64 begin = o * stride - padding, last = begin + kernel;
    return (last < size + padding ? last : size + padding) - begin;
  }
};
struct Pool {
  Axis axes[3];
  int64 countPadding, divisor;  // 0: what the window covers
  int64 byPlaces;  // one place of all windows after the other, or one window after the other
  __device__ int64 inputSize() const { return axes[0].size * axes[1].size * axes[2].size; }
  __device__ int64 outputSize() const { return axes[0].out * axes[1].out * axes[2].out; }
};

// A place i of planes of a x b x c.
struct Place {
  int64 plane, d, h, w;
  __device__ Place(int64 i, int64 a, int64 b, int64 c) {
    int64 q = View::divide(i, c);
    w = i - q * c;
    int64 r = View::divide(q, b);
    h = q - r * b;
    plane = View::divide(r, a);
    d = r - plane * a;
  }
};

template <class C> static __device__ inline C addElements(C a, C b) { return (C)((uint64)a + (uint64)b); }
static __device__ inline float addElements(float a, float b) { return a + b; }
static __device__ inline double addElements(double a, double b) { return a + b; }
static __device__ inline bool addElements(bool a, bool b) { return a || b; }

template <class C> static __device__ inline C quotient(C sum, int64 n) { return (C)(sum / (C)n); }
static __device__ inline bool quotient(bool sum, int64) { return sum; }

static __device__ inline COMPUTE columnOf(const Pool& p, const ELEMENT* plane, int64 od, int64 oh, int64 w) {
  const Axis& h = p.axes[1];
  COMPUTE sum = COMPUTE();
  bool first = true;
  for (int64 i = p.axes[0].first(od); i < p.axes[0].end(od); ++i)
    for (int64 j = h.first(oh); j < h.end(oh); ++j) {
      COMPUTE v = load(plane[(i * h.size + j) * p.axes[2].size + w]);
      sum = first ? v : addElements(sum, v);
      first = false;
    }
  return sum;
}

static __device__ inline int64 divisorOf(const Pool& p, int64 od, int64 oh, int64 ow) {
  if (p.divisor != 0) return p.divisor;
  const bool padded = p.countPadding != 0;
  return p.axes[0].places(od, padded) * p.axes[1].places(oh, padded) * p.axes[2].places(ow, padded);
}

extern "C" __global__ void average(const ELEMENT* x, ELEMENT* out, int64 n, Pool p) {
  const Axis& w = p.axes[2];
  GRID_LOOP(i, n) {
    const Place o(i, p.axes[0].out, p.axes[1].out, w.out);
    const ELEMENT* plane = x + o.plane * p.inputSize();
    COMPUTE sum = COMPUTE();
    int64 at = w.first(o.w);
    const int64 end = w.end(o.w);
    if (!p.byPlaces && end - at >= 8) {
      // Long windows have four chains.
      COMPUTE chain[4];
      for (int j = 0; j < 4; ++j) chain[j] = columnOf(p, plane, o.d, o.h, at + j);
      for (at += 4; at + 4 <= end; at += 4)
        for (int j = 0; j < 4; ++j) chain[j] = addElements(chain[j], columnOf(p, plane, o.d, o.h, at + j));
      chain[0] = addElements(chain[0], chain[2]);
      chain[1] = addElements(chain[1], chain[3]);
      sum = addElements(sum, addElements(chain[0], chain[1]));
    }
    for (; at < end; ++at) sum = addElements(sum, columnOf(p, plane, o.d, o.h, at));
    out[i] = Store<ELEMENT>::of(quotient(sum, divisorOf(p, o.d, o.h, o.w)));
  }
}

// A row's share of one row of windows, at column w.
static __device__ inline COMPUTE spreadRow(const Pool& p, const ELEMENT* row, int64 od, int64 oh, int64 w) {
  const Axis& a = p.axes[2];
  const int64 first = a.firstWindow(w), last = a.lastWindow(w);
  COMPUTE sum = COMPUTE();
  // One place after the other, position w is seen by the last window first.
  for (int64 i = first; i <= last; ++i) {
    const int64 o = p.byPlaces ? first + last - i : i;
    sum = addElements(sum, quotient((COMPUTE)load(row[o]), divisorOf(p, od, oh, o)));
  }
  return sum;
}

extern "C" __global__ void spread(const ELEMENT* grad, ELEMENT* out, int64 n, Pool p) {
  GRID_LOOP(i, n) {
    const Place at(i, p.axes[0].size, p.axes[1].size, p.axes[2].size);
    const ELEMENT* plane = grad + at.plane * p.outputSize();
    COMPUTE sum = COMPUTE();
    for (int64 od = p.axes[0].firstWindow(at.d); od <= p.axes[0].lastWindow(at.d); ++od)
      for (int64 oh = p.axes[1].firstWindow(at.h); oh <= p.axes[1].lastWindow(at.h); ++oh)
        sum = addElements(sum, spreadRow(p, plane + (od * p.axes[1].out + oh) * p.axes[2].out, od, oh, at.w));
    out[i] = Store<ELEMENT>::of(sum);
  }
}

template <class C> static __device__ inline C lowest() {
  return (C)-1 < (C)0 ? (C)((uint64)1 << (sizeof(C) * 8 - 1)) : (C)0;
}
template <> __device__ inline float lowest<float>() { return -INFINITY_F; }
template <> __device__ inline double lowest<double>() { return -INFINITY_D; }

// `indices` may be null.
extern "C" __global__ void maximum(const ELEMENT* x, ELEMENT* values, int64* indices, int64 n, Pool p) {
  const Axis &d = p.axes[0], &h = p.axes[1], &w = p.axes[2];
  GRID_LOOP(i, n) {
    const Place o(i, d.out, h.out, w.out);
    const ELEMENT* plane = x + o.plane * p.inputSize();
    const int64 d0 = d.first(o.d), h0 = h.first(o.h), w0 = w.first(o.w);
    const int64 d1 = d.end(o.d), h1 = h.end(o.h), w1 = w.end(o.w);
    COMPUTE best = lowest<COMPUTE>();
    // A window of infinities has its maximum at its first element.
    int64 at = (d0 * h.size + h0) * w.size + w0;
    for (int64 a = d0; a < d1; a += d.dilation)
      for (int64 b = h0; b < h1; b += h.dilation)
        for (int64 c = w0; c < w1; c += w.dilation) {
          const int64 place = (a * h.size + b) * w.size + c;
          const COMPUTE v = load(plane[place]);
          if (!(v > best || v != v)) continue;
          best = v;
          at = place;
        }
    values[i] = Store<ELEMENT>::of(best);
    if (indices) indices[i] = at;
  }
}

// The windows whose maximum an element is, as a list each: 1 + the number of a window, 0 at the end.
extern "C" __global__ void link(const int64* indices, uint64* heads, uint64* next, int64 n, int64 outputSize,
                                int64 inputSize, long long* wrong) {
  GRID_LOOP(i, n) {
    const int64 at = indices[i];
    if (at < 0 || at >= inputSize) {
      fault(wrong, inputSize, 0, 0);
      continue;
    }
    next[i] = atomicExch(heads + View::divide(i, outputSize) * inputSize + at, (uint64)i + 1);
  }
}

// The list in increasing order, by merging ever longer stretches of it: it was linked in any.
static __device__ inline uint64 sortList(uint64 head, uint64* next) {
  for (int64 width = 1;; width *= 2) {
    uint64 rest = head, last = 0;
    int64 merges = 0;
    head = 0;
    while (rest) {
      ++merges;
      uint64 left = rest, right = rest;
      int64 lefts = 0, rights = width;
      while (lefts < width && right) {
        right = next[right - 1];
        ++lefts;
      }
      while (lefts > 0 || (rights > 0 && right)) {
        const bool takeLeft = lefts > 0 && (rights == 0 || !right || left < right);
        const uint64 taken = takeLeft ? left : right;
        if (takeLeft) {
          left = next[left - 1];
          --lefts;
        } else {
          right = next[right - 1];
          --rights;
        }
        if (last)
          next[last - 1] = taken;
        else
          head = taken;
        last = taken;
      }
      rest = right;
    }
    if (last) next[last - 1] = 0;
    if (merges <= 1) return head;
  }
}

extern "C" __global__ void collect(const ELEMENT* grad, const uint64* heads, uint64* next, ELEMENT* out, int64 n) {
  GRID_LOOP(i, n) {
    COMPUTE sum = COMPUTE();
    for (uint64 at = sortList(heads[i], next); at; at = next[at - 1])
      sum = addElements(sum, (COMPUTE)load(grad[at - 1]));
    out[i] = Store<ELEMENT>::of(sum);
  }
}
