// Where grid_sample reads: one text for the GPU and for the CPU (runtime/lib/pool/grid_sample.cpp); elementary.inl or its
// words stand before it. Each operator is one IEEE operation, as written. Places differ: what is chosen for them is no
// branch, which would be guessed wrong.

// One spatial dim, and how it is read. `padding`: 0 zeros, 1 border, 2 reflection (runtime/lib/grid_modes.h);
// `unknown`: the position that padding with elements brings NaN to.
struct GridAxis {
  int64 size, stride, unknown;
  int32 padding, corners;
};

// The taps along a dim: positions (-1: outside), weights, and their slopes by the grid's coordinate.
template <class C, int K> struct AxisTaps {
  int64 at[K];
  C weight[K], slope[K];
};

// The CPU has these as instructions.
#ifndef WHOLE_NUMBERS
FORMULA float wholeBelow(float x) { return (float)floorOf((double)x); }
FORMULA double wholeBelow(double x) { return floorOf(x); }
// To the nearest whole number, of two the even one.
template <class C> INLINED C nearestWhole(C x) {
  const C low = wholeBelow(x), rest = x - low;
  const bool odd = low != 2 * wholeBelow(low / 2);
  return (rest > (C)0.5) | ((rest == (C)0.5) & odd) ? low + 1 : low;
}
#endif
// Positions outside mirrored at the borders until they are inside; `slope` is multiplied by the derivative.
template <class C> INLINED C mirrored(const GridAxis& a, C x, C& slope) {
  const C low = a.corners ? (C)0 : (C)-0.5, span = (C)(a.corners ? a.size - 1 : a.size);
  if (span == 0) {
    slope = 0;
    return x * 0;
  }
  const C away = x - low, distance = away < 0 ? -away : away;
  const C turns = wholeBelow(distance / span), extra = fused(-turns, span, distance);
  const bool back = turns != 2 * wholeBelow(turns / 2);
  slope = back != (away < 0) ? -slope : slope;
  return (back ? span - extra : extra) + low;
}
// Positions outside brought inside, as the padding says. At a border the derivative is 0, as it is in PyTorch.
template <class C> INLINED C bounded(const GridAxis& a, C x, C& slope) {
  if (a.padding == 0) return x;
  if (a.padding == 2) x = mirrored(a, x, slope);
  const C last = (C)(a.size - 1);
  const bool inside = (x > 0) & (x < last);
  slope = inside ? slope : 0;
  return inside ? x : x != x ? (C)a.unknown : x <= 0 ? (C)0 : last;
}
template <class C> INLINED int64 placeOf(const GridAxis& a, C x) { return (x >= 0) & (x < (C)a.size) ? (int64)x : -1; }

// Keys' cubic convolution with slope -0.75: the weight of an element at distance d, and its derivative.
template <class C> INLINED C cubicNear(C d) { return ((C)1.25 * d - (C)2.25) * d * d + 1; }
template <class C> INLINED C cubicNearSlope(C d) { return ((C)3.75 * d - (C)4.5) * d; }
template <class C> INLINED C cubicFar(C d) { return (((C)-0.75 * d + (C)3.75) * d - 6) * d + 3; }
template <class C> INLINED C cubicFarSlope(C d) { return ((C)-2.25 * d + (C)7.5) * d - 6; }

// Of a coordinate, in [-1, 1] from border to border.
template <class C, int K> INLINED void axisTaps(const GridAxis& a, C coordinate, AxisTaps<C, K>& taps) {
  const C n = (C)a.size;
  C x = a.corners ? (coordinate + 1) * ((n - 1) / 2) : ((coordinate + 1) * n - 1) / 2;
  C slope = (a.corners ? n - 1 : n) / 2;
  if (K == 1) {
    taps.at[0] = placeOf(a, nearestWhole(bounded(a, x, slope)));
    taps.weight[0] = 1;
    taps.slope[0] = 0;
    return;
  }
  if (K == 2) x = bounded(a, x, slope);
  const C low = wholeBelow(x);
  if (K == 2) {
    taps.at[0] = placeOf(a, low);
    taps.at[K - 1] = placeOf(a, low + 1);
    taps.weight[0] = low + 1 - x;
    taps.weight[K - 1] = x - low;
    taps.slope[0] = -slope;
    taps.slope[K - 1] = slope;
    return;
  }
  // Every one of four is brought inside by itself.
  const C t = x - low;
  for (int k = 0; k < K; ++k) {
    const C d = k < 2 ? t - (C)(k - 1) : (C)(k - 1) - t;
    const bool near = k == 1 || k == 2;
    C none = 0;
    taps.at[k] = placeOf(a, nearestWhole(bounded(a, low + (C)(k - 1), none)));
    taps.weight[k] = near ? cubicNear(d) : cubicFar(d);
    taps.slope[k] = (near ? cubicNearSlope(d) : cubicFarSlope(d)) * (k < 2 ? slope : -slope);
  }
}

FORMULA constexpr int tapsOf(int n, int k) { return n == 2 ? k * k : k * k * k; }

// The taps of a place: offsets in a plane (-1: outside, where there are zeros), the last dim fastest; weights, and their
// slopes by the coordinates of the grid, which names the last dim first.
template <class C, int N, int K> struct PlaceTaps {
  int64 at[tapsOf(N, K)];
  C weight[tapsOf(N, K)], slope[N][tapsOf(N, K)];
};
// Are all of them inside?
template <class C, int N, int K>
FORMULA bool placeTaps(const GridAxis* axes, const C* coordinates, bool slopes, PlaceTaps<C, N, K>& taps) {
  AxisTaps<C, K> along[N];
  for (int d = 0; d < N; ++d) axisTaps<C, K>(axes[d], coordinates[N - 1 - d], along[d]);
  bool all = true;
  for (int t = 0; t < tapsOf(N, K); ++t) {
    int of[N];
    for (int d = N - 1, rest = t; d >= 0; --d, rest /= K) of[d] = rest % K;
    C weight = along[N - 1].weight[of[N - 1]];
    int64 at = 0;
    bool inside = true;
    for (int d = N - 1; d >= 0; --d) {
      if (d < N - 1) weight = weight * along[d].weight[of[d]];
      inside = inside & (along[d].at[of[d]] >= 0);
      at += along[d].at[of[d]] * axes[d].stride;
    }
    // Images have NaN, volumes zeros, where the grid is no place, as in PyTorch.
    taps.at[t] = inside ? at : -1;
    taps.weight[t] = inside || (N == 2 && weight != weight) ? weight : 0;
    all = all & inside;
    for (int e = 0; e < N && slopes; ++e) {
      C slope = e == 0 ? along[N - 1].slope[of[N - 1]] : along[N - 1].weight[of[N - 1]];
      for (int d = N - 2; d >= 0; --d) slope = slope * (N - 1 - d == e ? along[d].slope[of[d]] : along[d].weight[of[d]]);
      taps.slope[e][t] = inside ? slope : 0;
    }
  }
  return all;
}
