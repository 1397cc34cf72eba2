// float32 convolutions of channels that have a filter each, straight from the input: oneDNN brings images into blocks
// of channels and back, which takes longer than the products. Each output is one chain of fused multiply-adds over the
// places of its window in row-major order, those in the padding left out; the chains of neighbours are a vector.
#include <algorithm>
#include <cmath>
#include <immintrin.h>

#include "runtime/base/small_vector.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma")  // which generated code needs too

namespace tandem::lib {
namespace {

constexpr std::int64_t kLanes = 8;

/// A row of the input and the row of the filter that meets it.
struct Line {
  const float* row;
  const float* filter;
};
using Lines = SmallVector<Line, 8>;

/// The elements 0, Stride, 2 Stride ... from p on; nothing behind the last of them is read.
template <int Stride>
struct Whole {
  __m256 operator()(const float* p) const {
    const __m256 a = _mm256_loadu_ps(p);
    if constexpr (Stride == 1) return a;
    const __m256 b = _mm256_loadu_ps(p + 7);
    return everySecond(a, b);
  }
  static __m256 everySecond(__m256 a, __m256 b) {
    const __m256 pairs = _mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 2, 0));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(pairs), _MM_SHUFFLE(3, 1, 2, 0)));
  }
};
/// The first `count` of them, and zeros.
template <int Stride>
class Few {
 public:
  explicit Few(std::int64_t count) : first_(mask((count - 1) * Stride + 1)), second_(mask((count - 1) * Stride - 6)) {}
  __m256 operator()(const float* p) const {
    const __m256 a = _mm256_maskload_ps(p, first_);
    if constexpr (Stride == 1) return a;
    return Whole<2>::everySecond(a, _mm256_maskload_ps(p + 7, second_));
  }

 private:
  static __m256i mask(std::int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  __m256i first_, second_;
};

/// One plane by one filter of `Taps` columns, or of any number for 0.
template <int Stride, int Taps>
class Plane {
 public:
  explicit Plane(const ConvShape& s) : s_(s), columns_(Taps == 0 ? s.kw : Taps), apart_(s.dilationW) {
    const std::int64_t room = s.w - 1 + s.padW - (columns_ - 1) * apart_;
    from_ = std::min(s.ow, (s.padW + Stride - 1) / Stride);
    to_ = room < 0 ? from_ : std::clamp(room / Stride + 1, from_, s.ow);
    for (std::int64_t o = 0; o < from_; ++o) edges_.push_back(edge(o));
    for (std::int64_t o = to_; o < s.ow; ++o) edges_.push_back(edge(o));
  }

  void run(const float* x, const float* filter, float* out) const {
    Lines lines;
    for (std::int64_t r = 0; r < s_.oh; ++r, out += s_.ow) {
      lines.clear();
      for (std::int64_t k = 0; k < s_.kh; ++k) {
        const std::int64_t y = r * s_.strideH - s_.padH + k * s_.dilationH;
        if (y >= 0 && y < s_.h) lines.push_back({x + y * s_.w - s_.padW, filter + k * columns_});
      }
      for (const Edge& edge : edges_) out[edge.column] = sum(lines, edge);
      inside(lines, out);
    }
  }

 private:
  struct Edge {
    std::int64_t column, first, end;  // of the output, and of the filter those that meet the input
  };
  Edge edge(std::int64_t column) const {
    const std::int64_t before = s_.padW - column * Stride;  // columns of padding from the window's first on
    const std::int64_t room = before + s_.w;
    return {column, before <= 0 ? 0 : (before + apart_ - 1) / apart_,
            room <= 0 ? 0 : std::min(columns_, (room - 1) / apart_ + 1)};
  }
  float sum(const Lines& lines, const Edge& edge) const {
    float sum = 0;
    for (const Line& line : lines)
      for (std::int64_t k = edge.first; k < edge.end; ++k)
        sum = std::fma(line.row[edge.column * Stride + k * apart_], line.filter[k], sum);
    return sum;
  }

  /// The windows inside of the input; the last vector may make some of them once more.
  void inside(const Lines& lines, float* out) const {
    std::int64_t o = from_;
    o = vectors<4>(lines, o, out);
    o = vectors<2>(lines, o, out);
    o = vectors<1>(lines, o, out);
    if (o == to_) return;
    __m256 sum[1];
    if (to_ - from_ >= kLanes) {
      windows(lines, to_ - kLanes, Whole<Stride>(), sum);
      _mm256_storeu_ps(out + to_ - kLanes, sum[0]);
    } else {
      windows(lines, o, Few<Stride>(to_ - o), sum);
      alignas(32) float few[kLanes];
      _mm256_store_ps(few, sum[0]);
      std::copy_n(few, to_ - o, out + o);
    }
  }

  /// Several vectors at a time, so that their chains fill the time that a link takes; returns where it ended.
  template <int Vectors>
  std::int64_t vectors(const Lines& lines, std::int64_t o, float* out) const {
    for (; o + Vectors * kLanes <= to_; o += Vectors * kLanes) {
      __m256 sums[Vectors];
      windows(lines, o, Whole<Stride>(), sums);
      for (int v = 0; v < Vectors; ++v) _mm256_storeu_ps(out + o + v * kLanes, sums[v]);
    }
    return o;
  }

  template <int Vectors, class Load>
  void windows(const Lines& lines, std::int64_t o, Load load, __m256 (&sums)[Vectors]) const {
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
    for (const Line& line : lines) {
      const float* at = line.row + o * Stride;
      auto tap = [&](std::int64_t k) {
        const __m256 weight = _mm256_set1_ps(line.filter[k]);
        for (int v = 0; v < Vectors; ++v)
          sums[v] = _mm256_fmadd_ps(load(at + k * apart_ + v * kLanes * Stride), weight, sums[v]);
      };
      if constexpr (Taps == 0)
        for (std::int64_t k = 0; k < columns_; ++k) tap(k);
      else
        for (int k = 0; k < Taps; ++k) tap(k);
    }
  }

  const ConvShape& s_;
  std::int64_t columns_, apart_;  // of the filter
  std::int64_t from_, to_;        // columns of the output whose windows lie inside of the input
  SmallVector<Edge, 8> edges_;    // the others
};

template <int Stride, int Taps>
void eachPlane(const ConvShape& s, const float* input, const float* weight, float* output) {
  const Plane<Stride, Taps> plane(s);
  parallelFor(s.n * s.c, grainOf(s.oh * s.ow * s.kh * s.kw), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      plane.run(input + p * s.h * s.w, weight + p % s.c * s.kh * s.kw, output + p * s.oh * s.ow);
  });
}
template <int Stride>
void byTaps(const ConvShape& s, const float* input, const float* weight, float* output) {
  switch (s.kw) {
  case 3:
    return eachPlane<Stride, 3>(s, input, weight, output);
  case 5:
    return eachPlane<Stride, 5>(s, input, weight, output);
  case 7:
    return eachPlane<Stride, 7>(s, input, weight, output);
  default:
    return eachPlane<Stride, 0>(s, input, weight, output);
  }
}

}  // namespace

bool servesDepthwise(const ConvShape& s) { return s.groups == s.c && s.o == s.c && s.c > 1 && s.strideW <= 2; }

void depthwiseForward(const ConvShape& s, const float* input, const float* weight, float* output) {
  s.strideW == 1 ? byTaps<1>(s, input, weight, output) : byTaps<2>(s, input, weight, output);
}

}  // namespace tandem::lib
