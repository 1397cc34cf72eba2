// The inner loops of convolutions of float32 and float64, as templates over a vector type; compiled once an instruction
// set. Each element of a result is one chain of fused multiply-adds, so the bits do not depend on tiles and vectors.
#pragma once

#include <cstdint>

namespace tandem::lib {

/// c[m, panel] = or += a[m, k] b[k, panel]; rows of a `lda` apart, those of c `ldc`; row p of b lies at `b +
/// offsets[p]`. Of the two vectors of a panel the second begins `second` elements behind the first, at most a vector: a
/// panel that is narrower than two has some elements in both.
template <class T>
struct PanelProduct {
  std::int64_t m, k;
  const T* a;
  std::int64_t lda;
  const T* b;
  const std::int64_t* offsets;
  std::int64_t second;
  T* c;
  std::int64_t ldc;
  bool add;
};

/// c[count, vectors * lanes] = or += for `count` neighbouring windows, at most kernels.windows and at least one fewer
/// than half as many, what they see, window w at `b + offsets[p] + w`, times row p of `panel`; all dense, 1 or 2
/// vectors.
template <class T>
struct ChannelProduct {
  std::int64_t count, k;
  int vectors;
  const T* b;
  const std::int64_t* offsets;
  const T* panel;
  T* c;
  bool add;
};

/// Elements that lie side by side in a slab, `offset` behind where a row of sums begins there, and what they meet in a
/// panel, from row `row` on.
struct Run {
  std::int64_t offset, length, row;
};

/// sums[r][c] = or += the sum over all elements e of all runs of from[r][e] * panel[row of e][c]: `count` rows of sums,
/// at most kernels.rows of them, of `vectors` vectors, 1 or 2, as those of the panel.
template <class T>
struct RunSums {
  const T* const* from;
  std::int64_t count;
  int vectors;
  const Run* runs;
  std::int64_t runCount;
  const T* panel;
  T* const* sums;
  bool add;
};

/// Vectors of planes, each with filters of its own. c[w * apart] = the sum over p < k of b[offsets[p] + w * step] *
/// a[p] for w < count, all of them vectors; offsets, step and apart count elements.
template <class T>
struct PlanesProduct {
  std::int64_t count, k;
  const T* a;
  const T* b;
  const std::int64_t* offsets;
  std::int64_t step;
  T* c;
  std::int64_t apart;
};

/// sums[p] += the sum over w < count of b[offsets[p] + w * step] * g[w] for p < taps, at most kPlaneTaps, all of them
/// vectors.
template <class T>
struct PlanesSums {
  std::int64_t count, taps;
  const T* g;
  const T* b;
  const std::int64_t* offsets;
  std::int64_t step;
  T* sums;
};
inline constexpr std::int64_t kPlaneTaps = 9;

inline constexpr std::int64_t kMaxRows = 12;

template <class T>
struct ConvKernels {
  std::int64_t lanes;  // elements of a vector, of which a panel has two
  std::int64_t rows;   // of a product that share what is read, at most; no more than kMaxRows
  std::int64_t windows;
  void (*product)(const PanelProduct<T>& p);
  void (*channels)(const ChannelProduct<T>& p);
  void (*sum)(const RunSums<T>& s);
  void (*planes)(const PlanesProduct<T>& p);
  void (*planesSums)(const PlanesSums<T>& s);
  /// dst[x * dstLd + y] = src[y * srcLd + x]
  void (*turn)(const T* src, std::int64_t srcLd, T* dst, std::int64_t dstLd, std::int64_t xs, std::int64_t ys);
};

namespace avx2 {
ConvKernels<float> convKernels(float);
ConvKernels<double> convKernels(double);
}  // namespace avx2
namespace avx512 {
ConvKernels<float> convKernels(float);
ConvKernels<double> convKernels(double);
}  // namespace avx512

/// Those that this process runs with.
template <class T>
const ConvKernels<T>& convKernels();

}  // namespace tandem::lib
