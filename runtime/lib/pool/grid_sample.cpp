// grid_sample: images or volumes read at the places of a grid, and the derivatives by both. Every result is a sum over
// taps (runtime/lib/formulas/grid.inl), elements around a place with their weights, in their order. The taps of a
// vector of places are found at once, and once for all channels; where all are inside, those of a row are read by
// pairs. Images whose channels lie beside each other are read as they lie, channels in vectors. Half types are widened
// whole.
#include <algorithm>
#include <array>
#include <cstring>
#include <immintrin.h>
#include <optional>
#include <type_traits>

#include "runtime/base/attrs.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/grid_modes.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma")  // which generated code needs too
#include "runtime/lib/functions/elementary.h"

namespace tandem::lib {
namespace {

// Vectors of places, 32 bytes each.
typedef float Floats __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(32)));
typedef std::int32_t Truths32 __attribute__((vector_size(32)));
typedef std::int64_t Truths64 __attribute__((vector_size(32)));

/// As wide as offsets of the elements of a vector of float.
struct OffsetPairs {
  Truths64 low, high;
  [[gnu::always_inline]] OffsetPairs& operator+=(const OffsetPairs& o) {
    low += o.low;
    high += o.high;
    return *this;
  }
};

#define FORMULA inline
#define INLINED [[gnu::always_inline]] inline
#define HAS_VECTORS
template <class C>
struct Kinds;
template <>
struct Kinds<Floats> {
  using Places = OffsetPairs;
  using Truths = Truths32;
};
template <>
struct Kinds<Doubles> {
  using Places = Truths64;
  using Truths = Truths64;
};
template <class C, class X>
INLINED C numbers(X x) {
  return C{} + static_cast<std::remove_reference_t<decltype(C{}[0])>>(x);
}
/// AVX2 converts no 64-bit integers: a double that counts up to 2^51 has its number in its low bits, behind this one.
INLINED Truths64 offsetsOf(Doubles x, int64 stride) {
  const Doubles moved = Doubles{} + 0x1.8p52;
  return (Truths64)(x * (Doubles{} + static_cast<double>(stride)) + moved) - (Truths64)moved;
}
INLINED OffsetPairs offsetsOf(Floats x, int64 stride) {
  return {offsetsOf((Doubles)_mm256_cvtps_pd(_mm256_castps256_ps128(x)), stride),
          offsetsOf((Doubles)_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)), stride)};
}
FORMULA Floats fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
FORMULA Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(a, b, c); }
FORMULA Floats wholeBelow(Floats x) { return _mm256_floor_ps(x); }
FORMULA Doubles wholeBelow(Doubles x) { return _mm256_floor_pd(x); }
FORMULA Floats nearestWhole(Floats x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
FORMULA Doubles nearestWhole(Doubles x) { return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#include "runtime/lib/formulas/grid.inl"
#undef FORMULA
#undef INLINED
#undef HAS_VECTORS

constexpr std::int64_t kBlock = 64;     // places of an image at a time
constexpr std::int64_t kTogether = 16;  // planes that take what is added at a time
// Planes that a place is read in, one after the other: their lines of memory, often as far apart as those that a cache
// keeps in one set, must stay there for the places after it.
constexpr std::int64_t kPlanes = 4;

/// The elements of an operand as C, in row-major order.
template <class C>
class Widened {
 public:
  explicit Widened(const ArrayView& from)
      : dense_(from), wide_(isHalf(from.dtype) ? from.numel() : 0), data_(dense_.template as<C>()) {
    if constexpr (std::is_same_v<C, float>) {
      if (!isHalf(from.dtype)) return;
      data_ = wide_.data();
      widenAll(dense_.view(), data_);
    }
  }
  [[nodiscard]] const C* data() const { return data_; }

 private:
  Contiguous dense_;
  Scratch<C> wide_;
  C* data_;
};

struct Sampling {
  std::int64_t batch, channels, plane, places;
  std::array<GridAxis, 3> axes{};
  std::size_t dims;
  int reach;  // taps along a dim

  /// Of an image of this shape.
  Sampling(DimsRef image, const ArrayView& grid, AttrReader attrs)
      : batch(image[0]), channels(image[1]), plane(numelOf(image.subspan(2))), places(1), dims(image.size() - 2) {
    reach = reachOf(static_cast<GridMode>(attrs.integer()));
    const auto padding = static_cast<std::int32_t>(attrs.integer());
    const auto corners = static_cast<std::int32_t>(attrs.boolean());
    std::int64_t stride = 1;
    for (std::size_t d = dims; d-- > 0; stride *= image[2 + d]) {
      places *= grid.shape[1 + d];
      // As in PyTorch, whose images clip NaN to the first position and volumes to the last.
      axes[d] = {image[2 + d], stride, dims == 2 ? 0 : image[2 + d] - 1, padding, corners};
    }
  }
  [[nodiscard]] std::int64_t blocks() const { return (places + kBlock - 1) / kBlock; }
};

// Of the places of a vector, the elements at their offsets from `x`: one of each, or two that lie beside each other.
Floats elementsAt(const float* x, const std::int64_t* at) {
  return Floats{x[at[0]], x[at[1]], x[at[2]], x[at[3]], x[at[4]], x[at[5]], x[at[6]], x[at[7]]};
}
Doubles elementsAt(const double* x, const std::int64_t* at) { return Doubles{x[at[0]], x[at[1]], x[at[2]], x[at[3]]}; }
__m128 twoPairs(const float* first, const float* second) {
  double low, high;
  std::memcpy(&low, first, sizeof low);
  std::memcpy(&high, second, sizeof high);
  return _mm_castpd_ps(_mm_set_pd(high, low));
}
[[gnu::always_inline]] inline void pairsAt(const float* x, const std::int64_t* at, Floats& even, Floats& odd) {
  const __m256 low = _mm256_set_m128(twoPairs(x + at[4], x + at[5]), twoPairs(x + at[0], x + at[1]));
  const __m256 high = _mm256_set_m128(twoPairs(x + at[6], x + at[7]), twoPairs(x + at[2], x + at[3]));
  even = _mm256_shuffle_ps(low, high, 0x88);
  odd = _mm256_shuffle_ps(low, high, 0xdd);
}
[[gnu::always_inline]] inline void pairsAt(const double* x, const std::int64_t* at, Doubles& even, Doubles& odd) {
  const __m256d low = _mm256_set_m128d(_mm_loadu_pd(x + at[2]), _mm_loadu_pd(x + at[0]));
  const __m256d high = _mm256_set_m128d(_mm_loadu_pd(x + at[3]), _mm_loadu_pd(x + at[1]));
  even = _mm256_unpacklo_pd(low, high);
  odd = _mm256_unpackhi_pd(low, high);
}

/// The taps of a block of places of an image, and what is done along them with its planes.
template <class C>
class Block {
 public:
  virtual void find(const Sampling& s, const C* grid, std::int64_t count, bool slopes) = 0;
  /// Of each place the weighted sums in planes `plane` apart, to rows `apart`.
  virtual void weigh(const C* x, std::int64_t plane, std::int64_t channels, C* out, std::int64_t apart) const = 0;
  /// The same where channels lie beside each other, at least a vector of them: all of a place, then of the next.
  virtual void weighBeside(const C* x, std::int64_t channels, C* out) const = 0;
  /// The transpose of `weigh`: what each place of rows adds to planes.
  virtual void spread(const C* g, std::int64_t apart, std::int64_t channels, C* to, std::int64_t plane) const = 0;
  /// The sums over planes of cotangents times slopes, N of each place.
  virtual void slopes(const C* g, std::int64_t apart, const C* x, std::int64_t plane, std::int64_t channels,
                      C* out) const = 0;

 protected:
  Block() = default;
  ~Block() = default;
};

template <class C, int N, int K>
class BlockOf final : public Block<C> {
  using V = std::conditional_t<std::is_same_v<C, float>, Floats, Doubles>;
  using Taps = PlaceTaps<V, N, K>;
  static constexpr std::int64_t kLanes = sizeof(V) / sizeof(C);

 public:
  static constexpr int kTaps = tapsOf(N, K);

  void find(const Sampling& s, const C* grid, std::int64_t count, bool slopes) override {
    count_ = count;
    for (int row = 0; row < kRows; ++row)
      rows_[row] = N == 2 ? row * s.axes[0].stride : row / K * s.axes[0].stride + row % K * s.axes[1].stride;
    alignas(V) C coordinates[N][kBlock] = {};
    for (std::int64_t p = 0; p < count; ++p)
      for (int d = 0; d < N; ++d) coordinates[d][p] = grid[p * N + d];
    for (std::int64_t v = 0; v * kLanes < count; ++v) {
      V at[N];
      for (int d = 0; d < N; ++d) std::memcpy(&at[d], coordinates[d] + v * kLanes, sizeof at[d]);
      const Truths<V> inside = placeTaps<V, N, K>(s.axes.data(), at, slopes, taps_[v]);
      regular_[v] = true;
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        regular_[v] &=
            inside[lane] != 0 && offsets(v, kTaps - 1)[lane] - offsets(v, 0)[lane] == rows_[kRows - 1] + K - 1;
    }
  }

  void weigh(const C* x, std::int64_t plane, std::int64_t channels, C* __restrict out,
             std::int64_t apart) const override {
    eachVector(channels, [&](std::int64_t c, std::int64_t v, std::int64_t lanes) TANDEM_INLINED {
      V sum[1];
      weighed(x + c * plane, v, &taps_[v].weight, sum);
      C* to = out + c * apart + v * kLanes;
      if (lanes == kLanes)
        std::memcpy(to, sum, sizeof sum);
      else
        for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = sum[0][lane];
    });
  }
  void weighBeside(const C* x, std::int64_t channels, C* __restrict out) const override {
    for (std::int64_t p = 0; p < count_; ++p, out += channels) {
      const Taps& taps = taps_[p / kLanes];
      const std::int64_t lane = p % kLanes;
      for (std::int64_t next = 0; next < channels; next += kLanes) {
        // The last vector has some channels of the one before once more.
        const std::int64_t c = std::min(next, channels - kLanes);
        V sum{};
        for (int t = 0; t < kTaps; ++t) {
          V part;
          std::memcpy(&part, x + offsets(p / kLanes, t)[lane] * channels + c, sizeof part);
          part = taps.weight[t][lane] * (V)((Truths<V>)part & taps.inside[t][lane]);
          sum = t == 0 ? part : sum + part;
        }
        std::memcpy(out + c, &sum, sizeof sum);
      }
    }
  }
  void spread(const C* g, std::int64_t apart, std::int64_t channels, C* __restrict to,
              std::int64_t plane) const override {
    for (std::int64_t first = 0; first < channels; first += kPlanes)
      for (std::int64_t p = 0; p < count_; ++p) {
        const Taps& taps = taps_[p / kLanes];
        const std::int64_t lane = p % kLanes;
        for (int t = 0; t < kTaps; ++t)
          if (taps.inside[t][lane] != 0)
            for (std::int64_t c = first; c < std::min(first + kPlanes, channels); ++c)
              to[c * plane + offsets(p / kLanes, t)[lane]] += taps.weight[t][lane] * g[c * apart + p];
      }
  }
  void slopes(const C* g, std::int64_t apart, const C* x, std::int64_t plane, std::int64_t channels,
              C* __restrict out) const override {
    std::fill_n(out, count_ * N, C{});
    if constexpr (kTaps > 1)
      eachVector(channels, [&](std::int64_t c, std::int64_t v, std::int64_t lanes) TANDEM_INLINED {
        V slopes[N];
        weighed(x + c * plane, v, taps_[v].slope, slopes);
        for (std::int64_t lane = 0; lane < lanes; ++lane)
          for (int d = 0; d < N; ++d)
            out[(v * kLanes + lane) * N + d] += g[c * apart + v * kLanes + lane] * slopes[d][lane];
      });
  }

 private:
  static constexpr int kRows = kTaps / K;

  [[gnu::always_inline]] const std::int64_t* offsets(std::int64_t v, int t) const {
    return reinterpret_cast<const std::int64_t*>(&taps_[v].at[t]);
  }
  /// f(plane, vector, how many of its places are), planes in order for each place.
  template <class F>
  [[gnu::always_inline]] void eachVector(std::int64_t channels, F f) const {
    for (std::int64_t first = 0; first < channels; first += kPlanes)
      for (std::int64_t v = 0; v * kLanes < count_; ++v)
        for (std::int64_t c = first; c < std::min(first + kPlanes, channels); ++c)
          f(c, v, std::min(kLanes, count_ - v * kLanes));
  }
  /// Of the places of a vector, in a plane, the sums with each of `S` kinds of weights; what lies outside is zero.
  template <int S>
  [[gnu::always_inline]] void weighed(const C* x, std::int64_t v, const V (*weights)[kTaps], V (&sums)[S]) const {
    const auto add = [&](int t, const V& value) TANDEM_INLINED {
      for (int s = 0; s < S; ++s) sums[s] = t == 0 ? weights[s][t] * value : sums[s] + weights[s][t] * value;
    };
    if (regular_[v]) {
      // All are inside, so that those of a row lie beside each other.
      const std::int64_t* const at = offsets(v, 0);
#pragma GCC unroll 4
      for (int row = 0; row < kRows; ++row)
        if constexpr (K == 1)
          add(0, elementsAt(x, at));
        else
#pragma GCC unroll 2
          for (int k = 0; k < K; k += 2) {
            V even, odd;
            pairsAt(x + rows_[row] + k, at, even, odd);
            add(row * K + k, even);
            add(row * K + k + 1, odd);
          }
      return;
    }
    for (int t = 0; t < kTaps; ++t) add(t, taps_[v].inside[t] ? elementsAt(x, offsets(v, t)) : V{});
  }

  std::int64_t count_ = 0;
  std::int64_t rows_[kRows];       // offsets of the first elements of the rows of taps
  bool regular_[kBlock / kLanes];  // are all taps of a vector inside, and their rows as far apart as those of a plane?
  Taps taps_[kBlock / kLanes];
};

template <class C, int N, int K>
void callWith(FunctionRef<void(Block<C>&)> f) {
  BlockOf<C, N, K> block;
  f(block);
}
/// Calls f with a block of places.
template <class C>
void withBlock(const Sampling& s, FunctionRef<void(Block<C>&)> f) {
  if (s.dims == 2) {
    if (s.reach == 1) return callWith<C, 2, 1>(f);
    if (s.reach == 2) return callWith<C, 2, 2>(f);
    return callWith<C, 2, 4>(f);
  }
  if (s.reach == 1) return callWith<C, 3, 1>(f);
  callWith<C, 3, 2>(f);
}

/// Every block of places of every image: f(block, image, first place, how many).
template <class C>
void eachBlock(const Sampling& s, FunctionRef<void(Block<C>&, std::int64_t, std::int64_t, std::int64_t)> f) {
  parallelFor(s.batch * s.blocks(), grainOf(kBlock * (16 + 4 * s.channels)), [&](std::int64_t begin, std::int64_t end) {
    withBlock<C>(s, [&](Block<C>& block) {
      for (std::int64_t b = begin; b < end; ++b) {
        const std::int64_t first = b % s.blocks() * kBlock;
        f(block, b / s.blocks(), first, std::min(kBlock, s.places - first));
      }
    });
  });
}

}  // namespace

void grid_sample(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Sampling s(call.inputs[0].shape, call.inputs[1], AttrReader(call.attrs));
  const bool beside = !isHalf(out.dtype) && channelsLast(call.inputs[0], s.dims);
  withFloating(out.dtype, [&](auto type) {
    using C = typename decltype(type)::Type;
    std::optional<Widened<C>> planes;
    if (!beside) planes.emplace(call.inputs[0]);
    const C* const x = beside ? call.inputs[0].as<C>() : planes->data();
    const Widened<C> grid(call.inputs[1]);
    const Narrowed<C> to(out);
    eachBlock<C>(s, [&](Block<C>& block, std::int64_t image, std::int64_t first, std::int64_t count) {
      const auto dims = static_cast<std::int64_t>(s.dims);
      block.find(s, grid.data() + (image * s.places + first) * dims, count, false);
      C* const results = to.data() + image * s.channels * s.places + first;
      if (!beside) return block.weigh(x + image * s.channels * s.plane, s.plane, s.channels, results, s.places);
      const Scratch<C> places(count * s.channels);
      block.weighBeside(x + image * call.inputs[0].strides[0], s.channels, places.data());
      transposeMatrix(places.data(), s.channels, results, s.places, s.channels, count, out.dtype);
    });
    to.store();
  });
}

/// Operands (grad, grid): each element spread over the taps of its place, place after place.
void grid_sample_input_grad(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  AttrReader attrs(call.attrs);
  attrs.list();
  const Sampling s(out.shape, call.inputs[1], attrs);
  withFloating(out.dtype, [&](auto type) {
    using C = typename decltype(type)::Type;
    const Widened<C> g(call.inputs[0]);
    const Widened<C> grid(call.inputs[1]);
    const Narrowed<C> to(out);
    const std::int64_t parts = ceilDiv(s.channels, kTogether);
    const auto run = [&](Block<C>& block, std::int64_t part) {
      const std::int64_t image = part / parts;
      const std::int64_t channel = part % parts * kTogether;
      const std::int64_t channels = std::min(kTogether, s.channels - channel);
      const std::int64_t before = image * s.channels + channel;
      C* planes = to.data() + before * s.plane;
      std::fill_n(planes, channels * s.plane, C{});
      for (std::int64_t first = 0; first < s.places; first += kBlock) {
        block.find(s, grid.data() + (image * s.places + first) * static_cast<std::int64_t>(s.dims),
                   std::min(kBlock, s.places - first), false);
        block.spread(g.data() + before * s.places + first, s.places, channels, planes, s.plane);
      }
    };
    parallelFor(s.batch * parts, grainOf(s.plane + s.places * (16 + 8 * std::min(s.channels, kTogether))),
                [&](std::int64_t begin, std::int64_t end) {
                  withBlock<C>(s, [&](Block<C>& block) {
                    for (std::int64_t part = begin; part < end; ++part) run(block, part);
                  });
                });
    to.store();
  });
}

/// Operands (grad, input, grid): of each place the sum over channels, one after the other.
void grid_sample_grid_grad(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Sampling s(call.inputs[1].shape, call.inputs[2], AttrReader(call.attrs));
  if (s.reach == 1) {  // the nearest places are the same beside a place
    std::fill_n(out.as<char>(), out.numel() * static_cast<std::int64_t>(itemSize(out.dtype)), '\0');
    return;
  }
  withFloating(out.dtype, [&](auto type) {
    using C = typename decltype(type)::Type;
    const Widened<C> g(call.inputs[0]);
    const Widened<C> x(call.inputs[1]);
    const Widened<C> grid(call.inputs[2]);
    const Narrowed<C> to(out);
    eachBlock<C>(s, [&](Block<C>& block, std::int64_t image, std::int64_t first, std::int64_t count) {
      const std::int64_t at = (image * s.places + first) * static_cast<std::int64_t>(s.dims);
      block.find(s, grid.data() + at, count, true);
      block.slopes(g.data() + image * s.channels * s.places + first, s.places, x.data() + image * s.channels * s.plane,
                   s.plane, s.channels, to.data() + at);
    });
    to.store();
  });
}

}  // namespace tandem::lib
