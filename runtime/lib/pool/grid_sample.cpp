// grid_sample: images or volumes read at the places of a grid, and the derivatives by both. Every result is a sum over
// taps (runtime/lib/formulas/grid.inl), elements around a place with their weights, in their order. A place's taps are
// found once for all channels. Half types are widened whole.
#include <array>
#include <type_traits>

#include "runtime/base/attrs.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/grid_modes.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma")  // which generated code needs too
#include "runtime/lib/functions/elementary.h"

namespace tandem::lib {
namespace {

#define FORMULA inline
#define INLINED [[gnu::always_inline]] inline
#define WHOLE_NUMBERS
FORMULA float wholeBelow(float x) { return __builtin_floorf(x); }
FORMULA double wholeBelow(double x) { return __builtin_floor(x); }
FORMULA float nearestWhole(float x) { return __builtin_roundevenf(x); }
FORMULA double nearestWhole(double x) { return __builtin_roundeven(x); }
#include "runtime/lib/formulas/grid.inl"
#undef FORMULA
#undef INLINED
#undef WHOLE_NUMBERS

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
      if (from.dtype == DType::Float16)
        widenAll(dense_.template as<Half>(), data_, from.numel());
      else
        widenAll(dense_.template as<BFloat16>(), data_, from.numel());
    }
  }
  [[nodiscard]] const C* data() const { return data_; }

 private:
  Contiguous dense_;
  Scratch<C> wide_;
  C* data_;
};
/// A result as C, on its way to `to`.
template <class C>
class Narrowed {
 public:
  explicit Narrowed(const ArrayView& to) : to_(to), wide_(isHalf(to.dtype) ? to.numel() : 0) {}
  [[nodiscard]] C* data() const { return isHalf(to_.dtype) ? wide_.data() : to_.template as<C>(); }
  void store() const {
    if constexpr (std::is_same_v<C, float>) {
      if (to_.dtype == DType::Float16) narrowAll(wide_.data(), to_.template as<Half>(), to_.numel());
      if (to_.dtype == DType::BFloat16) narrowAll(wide_.data(), to_.template as<BFloat16>(), to_.numel());
    }
  }

 private:
  const ArrayView& to_;
  Scratch<C> wide_;
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

/// The taps of a block of places of an image, and what is done along them with its planes.
template <class C, int N, int K>
class Block {
 public:
  static constexpr int kTaps = tapsOf(N, K);

  [[gnu::noinline]] void find(const Sampling& s, const C* grid, std::int64_t count, bool slopes) {
    count_ = count;
    for (std::int64_t p = 0; p < count; ++p)
      inside_[p] = placeTaps<C, N, K>(s.axes.data(), grid + p * N, slopes, taps_[p]);
  }

  /// Of each place the weighted sums in planes `plane` apart, to rows `apart`.
  [[gnu::noinline]] void weigh(const C* x, std::int64_t plane, std::int64_t channels, C* __restrict out,
                               std::int64_t apart) const {
    eachPlace(channels, [&](std::int64_t first, std::int64_t n, std::int64_t p) TANDEM_INLINED {
      C sums[kPlanes];
      weighed(x + first * plane, plane, n, p, taps_[p].weight, sums);
      for (std::int64_t c = 0; c < n; ++c) out[(first + c) * apart + p] = sums[c];
    });
  }
  /// The transpose: what each place of rows adds to planes.
  [[gnu::noinline]] void spread(const C* g, std::int64_t apart, std::int64_t channels, C* __restrict to,
                                std::int64_t plane) const {
    eachPlace(channels, [&](std::int64_t first, std::int64_t n, std::int64_t p) TANDEM_INLINED {
      const PlaceTaps<C, N, K>& taps = taps_[p];
      for (int t = 0; t < kTaps; ++t)
        if (inside_[p] || taps.at[t] >= 0)
          for (std::int64_t c = first; c < first + n; ++c)
            to[c * plane + taps.at[t]] += taps.weight[t] * g[c * apart + p];
    });
  }
  /// The sums over planes of cotangents times slopes, N of each place.
  [[gnu::noinline]] void slopes(const C* g, std::int64_t apart, const C* x, std::int64_t plane, std::int64_t channels,
                                C* __restrict out) const {
    std::fill_n(out, count_ * N, C{});
    eachPlace(channels, [&](std::int64_t first, std::int64_t n, std::int64_t p) TANDEM_INLINED {
      for (int d = 0; d < N; ++d) {
        C slopes[kPlanes];
        weighed(x + first * plane, plane, n, p, taps_[p].slope[d], slopes);
        for (std::int64_t c = 0; c < n; ++c) out[p * N + d] += g[(first + c) * apart + p] * slopes[c];
      }
    });
  }

 private:
  /// f(first plane, how many, place), planes in order for each place.
  template <class F>
  [[gnu::always_inline]] void eachPlace(std::int64_t channels, F f) const {
    for (std::int64_t first = 0; first < channels; first += kPlanes)
      for (std::int64_t p = 0; p < count_; ++p) f(first, std::min(kPlanes, channels - first), p);
  }
  /// Of a place in some planes; what lies outside is zero.
  [[gnu::always_inline]] void weighed(const C* x, std::int64_t plane, std::int64_t planes, std::int64_t p,
                                      const C* weight, C* sums) const {
    const int64* at = taps_[p].at;
    const auto add = [&](auto n, int t, C zero) TANDEM_INLINED {
      for (std::int64_t c = 0; c < n; ++c) {
        const C part = weight[t] * (inside_[p] || at[t] >= 0 ? x[c * plane + at[t]] : zero);
        sums[c] = t == 0 ? part : sums[c] + part;
      }
    };
    if (planes == kPlanes)
      for (int t = 0; t < kTaps; ++t) add(std::integral_constant<std::int64_t, kPlanes>(), t, C{});
    else
      for (int t = 0; t < kTaps; ++t) add(planes, t, C{});
  }

  std::int64_t count_ = 0;
  bool inside_[kBlock];  // all taps of a place
  PlaceTaps<C, N, K> taps_[kBlock];
};

/// Calls f(TypeTag of the block).
template <class C, class F>
void withBlock(const Sampling& s, F f) {
  if (s.dims == 2) {
    if (s.reach == 1) return f(TypeTag<Block<C, 2, 1>>{});
    if (s.reach == 2) return f(TypeTag<Block<C, 2, 2>>{});
    return f(TypeTag<Block<C, 2, 4>>{});
  }
  if (s.reach == 1) return f(TypeTag<Block<C, 3, 1>>{});
  f(TypeTag<Block<C, 3, 2>>{});
}

/// Every block of places of every image: f(image, first place, how many).
void eachBlock(const Sampling& s, FunctionRef<void(std::int64_t, std::int64_t, std::int64_t)> f) {
  parallelFor(s.batch * s.blocks(), grainOf(kBlock * (16 + 4 * s.channels)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b % s.blocks() * kBlock;
      f(b / s.blocks(), first, std::min(kBlock, s.places - first));
    }
  });
}

}  // namespace

void grid_sample(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Sampling s(call.inputs[0].shape, call.inputs[1], AttrReader(call.attrs));
  withFloating(out.dtype, [&](auto type) {
    using C = typename decltype(type)::Type;
    const Widened<C> x(call.inputs[0]);
    const Widened<C> grid(call.inputs[1]);
    const Narrowed<C> to(out);
    withBlock<C>(s, [&](auto tag) {
      eachBlock(s, [&](std::int64_t image, std::int64_t first, std::int64_t count) {
        typename decltype(tag)::Type block;
        const auto dims = static_cast<std::int64_t>(s.dims);
        block.find(s, grid.data() + (image * s.places + first) * dims, count, false);
        block.weigh(x.data() + image * s.channels * s.plane, s.plane, s.channels,
                    to.data() + image * s.channels * s.places + first, s.places);
      });
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
    withBlock<C>(s, [&](auto tag) {
      const std::int64_t parts = ceilDiv(s.channels, kTogether);
      parallelFor(s.batch * parts, grainOf(s.plane + s.places * (16 + 8 * std::min(s.channels, kTogether))),
                  [&](std::int64_t begin, std::int64_t end) {
                    typename decltype(tag)::Type block;
                    const auto dims = static_cast<std::int64_t>(s.dims);
                    for (std::int64_t part = begin; part < end; ++part) {
                      const std::int64_t image = part / parts;
                      const std::int64_t channel = part % parts * kTogether;
                      const std::int64_t channels = std::min(kTogether, s.channels - channel);
                      const std::int64_t before = image * s.channels + channel;
                      C* planes = to.data() + before * s.plane;
                      std::fill_n(planes, channels * s.plane, C{});
                      for (std::int64_t first = 0; first < s.places; first += kBlock) {
                        block.find(s, grid.data() + (image * s.places + first) * dims,
                                   std::min(kBlock, s.places - first), false);
                        block.spread(g.data() + before * s.places + first, s.places, channels, planes, s.plane);
                      }
                    }
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
    withBlock<C>(s, [&](auto tag) {
      eachBlock(s, [&](std::int64_t image, std::int64_t first, std::int64_t count) {
        typename decltype(tag)::Type block;
        const std::int64_t at = (image * s.places + first) * static_cast<std::int64_t>(s.dims);
        block.find(s, grid.data() + at, count, true);
        if constexpr (decltype(block)::kTaps > 1)
          block.slopes(g.data() + image * s.channels * s.places + first, s.places,
                       x.data() + image * s.channels * s.plane, s.plane, s.channels, to.data() + at);
      });
    });
    to.store();
  });
}

}  // namespace tandem::lib
