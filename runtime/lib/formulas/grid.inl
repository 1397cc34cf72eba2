// Where grid_sample reads: one text for the GPU and for the CPU (runtime/lib/pool/grid_sample.cpp); elementary.inl or its
// words stand before it. Each operator is one IEEE operation, as written. Places differ: what is chosen for them is no
// branch, which would be guessed wrong.
//
// C is a number or, on the CPU, a vector of numbers of several places, for which the includer has these words: Kinds<C>,
// the types of offsets and of what comparisons give; numbers<C>(x), a constant; offsetsOf(x, stride), of whole numbers;
// wholeBelow(x); nearestWhole(x), of two the even one.
#ifndef HAS_VECTORS
template <class C> struct Kinds {
  typedef int64 Places;
  typedef bool Truths;
};
template <class C, class X> INLINED C numbers(X x) { return (C)x; }
template <class C> INLINED int64 offsetsOf(C x, int64 stride) { return (int64)x * stride; }
FORMULA float wholeBelow(float x) { return (float)floorOf((double)x); }
FORMULA double wholeBelow(double x) { return floorOf(x); }
template <class C> INLINED C nearestWhole(C x) {
  const C low = wholeBelow(x), rest = x - low;
  const bool odd = low != 2 * wholeBelow(low / 2);
  return (rest > (C)0.5) | ((rest == (C)0.5) & odd) ? low + 1 : low;
}
#endif
template <class C> using Places = typename Kinds<C>::Places;
template <class C> using Truths = typename Kinds<C>::Truths;

// One spatial dim, and how it is read. `padding`: 0 zeros, 1 border, 2 reflection (runtime/lib/grid_modes.h);
// `unknown`: the position that padding with elements brings NaN to.
struct GridAxis {
  int64 size, stride, unknown;
  int32 padding, corners;
};

// The taps along a dim: offsets (0 of those outside), whether they are inside, weights, and their slopes by the grid's
// coordinate.
template <class C, int K> struct AxisTaps {
  Places<C> at[K];
  Truths<C> inside[K];
  C weight[K], slope[K];
};
template <class C, int K> INLINED void placeTap(const GridAxis& a, C x, int k, AxisTaps<C, K>& taps) {
  taps.inside[k] = (x >= numbers<C>(0)) & (x < numbers<C>(a.size));
  taps.at[k] = offsetsOf(taps.inside[k] ? x : numbers<C>(0), a.stride);
}

// Positions outside mirrored at the borders until they are inside; `slope` is multiplied by the derivative.
template <class C> INLINED C mirrored(const GridAxis& a, C x, C& slope) {
  const C low = numbers<C>(a.corners ? 0 : -0.5), span = numbers<C>(a.corners ? a.size - 1 : a.size);
  if (a.size == 1 && a.corners) {
    slope = numbers<C>(0);
    return x * 0;
  }
  const C away = x - low, distance = away < 0 ? -away : away;
  const C turns = wholeBelow(distance / span), extra = fused(-turns, span, distance);
  const Truths<C> back = turns != 2 * wholeBelow(turns / 2);
  slope = back != (away < 0) ? -slope : slope;
  return (back ? span - extra : extra) + low;
}
// Positions outside brought inside, as the padding says. At a border the derivative is 0, as it is in PyTorch.
template <class C> INLINED C bounded(const GridAxis& a, C x, C& slope) {
  if (a.padding == 0) return x;
  if (a.padding == 2) x = mirrored(a, x, slope);
  const C none = numbers<C>(0), last = numbers<C>(a.size - 1);
  const Truths<C> inside = (x > none) & (x < last);
  slope = inside ? slope : none;
  const C end = x <= none ? none : last;
  return inside ? x : x != x ? numbers<C>(a.unknown) : end;
}

// Keys' cubic convolution with slope -0.75: the weight of an element at distance d, and its derivative.
template <class C> INLINED C cubicNear(C d) { return (numbers<C>(1.25) * d - numbers<C>(2.25)) * d * d + 1; }
template <class C> INLINED C cubicNearSlope(C d) { return (numbers<C>(3.75) * d - numbers<C>(4.5)) * d; }
template <class C> INLINED C cubicFar(C d) {
  return ((numbers<C>(-0.75) * d + numbers<C>(3.75)) * d - 6) * d + 3;
}
template <class C> INLINED C cubicFarSlope(C d) { return (numbers<C>(-2.25) * d + numbers<C>(7.5)) * d - 6; }

// Of a coordinate, in [-1, 1] from border to border.
template <class C, int K> FORMULA void axisTaps(const GridAxis& a, C coordinate, AxisTaps<C, K>& taps) {
  const C n = numbers<C>(a.size);
  C x = a.corners ? (coordinate + 1) * ((n - 1) / 2) : ((coordinate + 1) * n - 1) / 2;
  C slope = (a.corners ? n - 1 : n) / 2;
  if (K == 1) {
    placeTap(a, nearestWhole(bounded(a, x, slope)), 0, taps);
    taps.weight[0] = numbers<C>(1);
    taps.slope[0] = numbers<C>(0);
    return;
  }
  if (K == 2) x = bounded(a, x, slope);
  const C low = wholeBelow(x);
  if (K == 2) {
    placeTap(a, low, 0, taps);
    placeTap(a, low + 1, K - 1, taps);
    taps.weight[0] = low + 1 - x;
    taps.weight[K - 1] = x - low;
    taps.slope[0] = -slope;
    taps.slope[K - 1] = slope;
    return;
  }
  // Every one of four is brought inside by itself.
  const C t = x - low;
  for (int k = 0; k < K; ++k) {
    const C step = numbers<C>(k - 1), d = k < 2 ? t - step : step - t;
    const bool near = k == 1 || k == 2;
    C none = numbers<C>(0);
    placeTap(a, nearestWhole(bounded(a, low + step, none)), k, taps);
    taps.weight[k] = near ? cubicNear(d) : cubicFar(d);
    taps.slope[k] = (near ? cubicNearSlope(d) : cubicFarSlope(d)) * (k < 2 ? slope : -slope);
  }
}

FORMULA constexpr int tapsOf(int n, int k) { return n == 2 ? k * k : k * k * k; }

// The taps of a place: offsets in a plane, the last dim fastest; whether they are inside, with zeros elsewhere; weights,
// and their slopes by the coordinates of the grid, which names the last dim first.
template <class C, int N, int K> struct PlaceTaps {
  Places<C> at[tapsOf(N, K)];
  Truths<C> inside[tapsOf(N, K)];
  C weight[tapsOf(N, K)], slope[N][tapsOf(N, K)];
};
// Are all of them inside?
template <class C, int N, int K>
FORMULA Truths<C> placeTaps(const GridAxis* axes, const C* coordinates, bool slopes, PlaceTaps<C, N, K>& taps) {
  AxisTaps<C, K> along[N];
  for (int d = 0; d < N; ++d) axisTaps<C, K>(axes[d], coordinates[N - 1 - d], along[d]);
  const C none = numbers<C>(0);
  Truths<C> all = along[0].inside[0];
  for (int t = 0; t < tapsOf(N, K); ++t) {
    int of[N];
    for (int d = N - 1, rest = t; d >= 0; --d, rest /= K) of[d] = rest % K;
    C weight = along[N - 1].weight[of[N - 1]];
    Places<C> at = along[N - 1].at[of[N - 1]];
    Truths<C> inside = along[N - 1].inside[of[N - 1]];
    for (int d = N - 2; d >= 0; --d) {
      weight = weight * along[d].weight[of[d]];
      inside = inside & along[d].inside[of[d]];
      at += along[d].at[of[d]];
    }
    // Images have NaN, volumes zeros, where the grid is no place, as in PyTorch.
    const Truths<C> counts = N == 2 ? inside | (weight != weight) : inside;
    taps.at[t] = at;
    taps.inside[t] = inside;
    taps.weight[t] = counts ? weight : none;
    all = all & inside;
    for (int e = 0; e < N && slopes; ++e) {
      C slope = e == 0 ? along[N - 1].slope[of[N - 1]] : along[N - 1].weight[of[N - 1]];
      for (int d = N - 2; d >= 0; --d) slope = slope * (N - 1 - d == e ? along[d].slope[of[d]] : along[d].weight[of[d]]);
      taps.slope[e][t] = inside ? slope : none;
    }
  }
  return all;
}
