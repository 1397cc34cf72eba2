// max_pool: the largest element of each window and its place among the spatial dims; max_pool_values: the former alone.
// A NaN in the window is its maximum.
//
// Windows a fixed stride apart are taken place by place: what one place of the window sees in all windows is, once the
// input is sorted by its rows and columns modulo the stride, one stretch of memory, so that several rows of the output
// are a single loop of vectors. Narrow windows are read straight from the input (max_narrow.h); adaptive ones, and wide
// ones that have little of it in common, are taken by columns. Images whose channels lie beside each other are read as
// they lie (max_by_channels.h). Half types and integers of up to 32 bits are widened to floating types first, so that
// few types have code of their own.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/movement/transpose.h"
#include "runtime/lib/pool/max_by_channels.h"
#include "runtime/lib/pool/max_by_columns.h"
#include "runtime/lib/pool/max_narrow.h"
#include "runtime/lib/pool/planes.h"
#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

std::int64_t paddedSize(std::int64_t n) { return (n + kPad - 1) / kPad * kPad; }

/// An unsigned integer of so many bytes.
template <std::size_t Bytes>
using Unsigned = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// Window by window.
template <class C>
void maxByWindows(const Pool& pool, std::int64_t planes, const C* x, C* values, std::int64_t* indices) {
  const auto& [d, h, w] = pool.axes;
  for (; planes > 0; --planes, x += pool.inputSize())
    for (std::int64_t od = 0; od < d.out; ++od)
      for (std::int64_t oh = 0; oh < h.out; ++oh) {
        const Span depth = d.inside(od);
        const Span rows = h.inside(oh);
        for (std::int64_t o = 0; o < w.out; ++o) {
          const Span s = w.inside(o);
          C best = kLowest<C>;
          // A window of infinities has its maximum at its first element.
          std::int64_t at = (depth.first * h.size + rows.first) * w.size + s.first;
          for (std::int64_t i = depth.first; i < depth.end; i += d.dilation)
            for (std::int64_t j = rows.first; j < rows.end; j += h.dilation) {
              const std::int64_t base = (i * h.size + j) * w.size;
              for (std::int64_t k = s.first; k < s.end; k += w.dilation) {
                const bool take = replaces(x[base + k], best);
                best = take ? x[base + k] : best;
                at = take ? base + k : at;
              }
            }
          *values++ = best;
          if (indices != nullptr) *indices++ = at;
        }
      }
}

/// Some rows of a plane's output at a time, with the part of the input that they see.
template <class C, class I>
class Strided {
 public:
  explicit Strided(const Pool& pool)
      : pool_(pool), h_(pool.axes[1]), w_(pool.axes[2]), down_((h_.kernel - 1) * h_.dilation / h_.stride),
        rows_(phases(h_)), columns_(phases(w_)), parts_(std::ssize(rows_) * std::ssize(columns_)),
        pitch_(paddedSize(w_.out + (w_.kernel - 1) * w_.dilation / w_.stride)), tiles_(inTiles(w_, columns_, pitch_)),
        band_(std::clamp<std::int64_t>(kBandElements / (pitch_ * parts_), 1, h_.out)),
        part_((band_ + down_ + 1) * pitch_), sorted_(part_ * (parts_ + tiled(columns_) - std::ssize(columns_))),
        best_(band_ * pitch_), at_(band_ * pitch_) {}

  [[gnu::always_inline]] void run(const C* x, C* values, std::int64_t* indices) {
    for (std::int64_t od = 0; od < pool_.axes[0].out; ++od)
      for (std::int64_t first = 0; first < h_.out; first += band_) {
        const std::int64_t rows = std::min(band_, h_.out - first);
        begin(od, first, rows);
        const Span depth = pool_.axes[0].inside(od);
        for (std::int64_t i = depth.first; i < depth.end; i += pool_.axes[0].dilation) {
          const std::int64_t before = i * h_.size * w_.size;
          sort(x + before, first, rows);
          take(before, rows);
        }
        const std::int64_t done = (od * h_.out + first) * w_.out;
        store(first, rows, values + done, indices == nullptr ? nullptr : indices + done);
      }
  }

 private:
  static constexpr std::int64_t kBandElements = 16 * 1024;  // of the input, in the first caches

  using Phases = SmallVector<std::int64_t, 4>;
  /// The places of a window modulo the stride, each once. They repeat: place k has the phase of number k % their count.
  static Phases phases(const PoolAxis& a) {
    Phases all;
    for (std::int64_t k = 0; k < a.kernel && (k == 0 || k * a.dilation % a.stride != 0); ++k)
      all.push_back(k * a.dilation % a.stride);
    return all;
  }
  static std::int64_t numberOf(const Phases& all, std::int64_t k) { return k % std::ssize(all); }

  /// A window of infinities has its maximum at its first element. Places are counted from the window's first place in
  /// the first plane, which may lie outside of the input.
  [[gnu::always_inline]] void begin(std::int64_t od, std::int64_t first, std::int64_t rows) {
    std::fill_n(best_.data(), rows * pitch_, kLowest<C>);
    if constexpr (std::is_integral_v<I>) {
      const std::int64_t before = pool_.axes[0].inside(od).first * h_.size * w_.size;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t row = h_.inside(first + r).first - ((first + r) * h_.stride - h_.padding);
        I* at = at_.data() + r * pitch_;
        std::fill_n(at, pitch_, static_cast<I>(before + row * w_.size));
        for (std::int64_t o = 0; o * w_.stride < w_.padding && o < w_.out; ++o)
          at[o] += static_cast<I>(w_.inside(o).first - (o * w_.stride - w_.padding));
      }
    }
  }

  /// The input rows that output rows from `first` on see, by row and column of their windows modulo the strides.
  [[gnu::always_inline]] void sort(const C* plane, std::int64_t first, std::int64_t rows) {
    C* part = sorted_.data();
    for (std::int64_t phase : rows_) {
      if (tiles_ > 0) sortTiles(plane, first, rows, phase, part);
      for (std::int64_t p : columns_) {
        // Column q of this part is x = q * stride + left.
        const std::int64_t left = p - w_.padding;
        const std::int64_t from = left >= 0 ? tiles_ : (-left + w_.stride - 1) / w_.stride;
        const std::int64_t end = left >= w_.size ? 0 : std::min(pitch_, (w_.size - 1 - left) / w_.stride + 1);
        for (std::int64_t r = 0; r < rows + down_ + 1; ++r) {
          const std::int64_t y = (first + r) * h_.stride + phase - h_.padding;
          C* to = part + r * pitch_;
          if (y < 0 || y >= h_.size || from > end) {
            std::fill_n(to, pitch_, kLowest<C>);
            continue;
          }
          if (left < 0) std::fill_n(to, from, kLowest<C>);
          const C* row = plane + y * w_.size + left;
          withStride(w_.stride, [&](auto step) TANDEM_INLINED {
            for (std::int64_t q = from; q < end; ++q) to[q] = row[q * step];
          });
          std::fill_n(to + end, pitch_ - end, kLowest<C>);
        }
        part += part_;
      }
    }
  }

  /// Of columns side by side, all in windows inside of the input, each row is a transposition, in tiles up to the
  /// column that this returns: that takes less time than one element after the other. Tiles are whole: they may have a
  /// few columns of the next windows, which go to parts that are sorted later.
  static std::int64_t inTiles(const PoolAxis& w, const Phases& columns, std::int64_t pitch) {
    const std::int64_t whole = tiled(columns);
    if (whole - std::ssize(columns) > 3 || w.dilation != 1 || w.padding != 0 || w.size < whole) return 0;
    return std::min(pitch, (w.size - whole) / w.stride + 1) / kPad * kPad;
  }
  static std::int64_t tiled(const Phases& columns) {
    const std::int64_t n = std::ssize(columns);
    return n == 3 || n == 4 ? 4 : paddedSize(n);
  }
  void sortTiles(const C* plane, std::int64_t first, std::int64_t rows, std::int64_t phase, C* part) {
    using Bits = Unsigned<sizeof(C)>;
    for (std::int64_t r = 0; r < rows + down_ + 1; ++r) {
      const std::int64_t y = (first + r) * h_.stride + phase - h_.padding;
      if (y >= 0 && y < h_.size)
        transposeBlock(reinterpret_cast<const Bits*>(plane + y * w_.size), w_.stride,
                       reinterpret_cast<Bits*>(part + r * pitch_), part_, tiled(columns_), tiles_);
    }
  }

  [[gnu::always_inline]] void take(std::int64_t before, std::int64_t rows) {
    C* best = best_.data();
    I* at = at_.data();
    // What lies behind the last row's windows is not looked at.
    const std::int64_t n = (rows - 1) * pitch_ + paddedSize(w_.out);
    for (std::int64_t j = 0; j < h_.kernel; ++j)
      for (std::int64_t k = 0; k < w_.kernel; ++k) {
        const std::int64_t y = j * h_.dilation;
        const std::int64_t z = k * w_.dilation;
        const std::int64_t part = numberOf(rows_, j) * std::ssize(columns_) + numberOf(columns_, k);
        const C* seen = sorted_.data() + part * part_ + y / h_.stride * pitch_ + z / w_.stride;
        const I place(before + y * w_.size + z);
        for (std::int64_t o = 0; o < n; ++o) {
          const bool better = replaces(seen[o], best[o]);
          best[o] = better ? seen[o] : best[o];
          if constexpr (std::is_integral_v<I>) at[o] = better ? place : at[o];
        }
      }
  }

  [[gnu::always_inline]] void store(std::int64_t first, std::int64_t rows, C* values, std::int64_t* indices) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const C* best = best_.data() + r * pitch_;
      std::copy_n(best, w_.out, values + r * w_.out);
      if constexpr (std::is_integral_v<I>) {
        if (indices == nullptr) continue;
        const I* at = at_.data() + r * pitch_;
        const std::int64_t window = ((first + r) * h_.stride - h_.padding) * w_.size - w_.padding;
        for (std::int64_t o = 0; o < w_.out; ++o) indices[r * w_.out + o] = window + o * w_.stride + at[o];
      }
    }
  }

  const Pool& pool_;
  const PoolAxis& h_;
  const PoolAxis& w_;
  std::int64_t down_;      // rows of a part that a window sees below its first
  Phases rows_, columns_;  // of windows, modulo the strides: a part each
  std::int64_t parts_;
  std::int64_t pitch_;  // from one row to the next
  std::int64_t tiles_;  // columns of a part that are sorted in tiles
  std::int64_t band_;   // rows of the output at a time
  std::int64_t part_;   // elements of a part
  Scratch<C> sorted_;
  Scratch<C> best_;
  Scratch<I> at_;
};

/// The first `planes` planes. `I`: what places are counted in, of a plane that has room for them. With AVX2: vectors of
/// 64 bytes take as long.
template <class C, class I>
void maxPlanes(const Pool& pool, std::int64_t planes, const C* x, C* values, std::int64_t* indices) {
  const auto each = [&](auto take) TANDEM_INLINED {
    for (std::int64_t p = 0; p < planes; ++p)
      take(x + p * pool.inputSize(), values + p * pool.outputSize(),
           indices == nullptr ? nullptr : indices + p * pool.outputSize());
  };
  const bool adaptive = std::any_of(pool.axes.begin(), pool.axes.end(), [](const PoolAxis& a) { return a.adaptive; });
  const bool large = pool.inputSize() + kPad * 2 > std::numeric_limits<std::int32_t>::max();
  if (large && (adaptive || std::is_same_v<I, std::int32_t>)) return maxByWindows(pool, planes, x, values, indices);
  if constexpr (!std::is_integral_v<I>) {
    if (Pairs<C>::serves(pool)) {
      Pairs<C> pairs(pool, planes);
      return withAvx2([&]() TANDEM_INLINED { pairs.run(x, values); });
    }
  }
  if constexpr (std::is_floating_point_v<C>)
    if (!adaptive && Narrow<C, I>::serves(pool)) {
      Narrow<C, I> narrow(pool);
      return withAvx2([&]() TANDEM_INLINED { narrow.run(planes, x, values, indices); });
    }
  if (adaptive || ByColumns<C>::serves(pool)) {
    ByColumns<C> columns(pool);
    return withAvx2([&]() TANDEM_INLINED {
      each([&](const C* plane, C* to, std::int64_t* at) TANDEM_INLINED { columns.run(plane, to, at); });
    });
  }
  Strided<C, I> strided(pool);
  withAvx2([&]() TANDEM_INLINED {
    each([&](const C* plane, C* to, std::int64_t* at) TANDEM_INLINED { strided.run(plane, to, at); });
  });
}

/// What elements of `T` are pooled in: a type that has each of their values.
template <class T>
using Pooled = std::conditional_t<std::is_same_v<T, std::int32_t>, double,
                                  std::conditional_t<sizeof(T) < sizeof(float), float, T>>;

/// The planes [begin, end) of elements that are widened, some at a time.
template <class I, class C, class T>
void widenedPlanes(const Pool& pool, std::int64_t begin, std::int64_t end, const T* x, T* values,
                   std::int64_t* indices) {
  constexpr std::int64_t kTogether = 16 * 1024;
  const std::int64_t in = pool.inputSize();
  const std::int64_t out = pool.outputSize();
  const std::int64_t most = std::clamp<std::int64_t>(kTogether / std::max<std::int64_t>(in, 1), 1, end - begin);
  const Scratch<C> from(most * in);
  const Scratch<C> to(most * out);
  for (std::int64_t p = begin; p < end; p += most) {
    const std::int64_t planes = std::min(most, end - p);
    if constexpr (std::is_integral_v<T>)
      std::copy_n(x + p * in, planes * in, from.data());
    else
      widen(x + p * in, from.data(), planes * in);
    maxPlanes<C, I>(pool, planes, from.data(), to.data(), indices == nullptr ? nullptr : indices + p * out);
    if constexpr (std::is_integral_v<T>)
      // A window that sees nothing of the input has the lowest maximum.
      std::transform(to.data(), to.data() + planes * out, values + p * out,
                     [](C v) { return static_cast<T>(std::max<C>(v, std::numeric_limits<T>::lowest())); });
    else
      narrow(to.data(), values + p * out, planes * out);
  }
}

template <bool Places, class T>
void maxPool(const Pool& pool, std::int64_t planes, const T* x, T* values, std::int64_t* indices) {
  using C = Pooled<T>;
  using Place = std::conditional_t<sizeof(C) == sizeof(std::int64_t), std::int64_t, std::int32_t>;
  using I = std::conditional_t<Places, Place, NoPlace>;
  parallelFor(planes, grainOf(2 * pool.work()), [&](std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<T, C>)
      maxPlanes<C, I>(pool, end - begin, x + begin * pool.inputSize(), values + begin * pool.outputSize(),
                      indices == nullptr ? nullptr : indices + begin * pool.outputSize());
    else
      widenedPlanes<I, C>(pool, begin, end, x, values, indices);
  });
}

/// Images that are read as they lie, with channels beside each other.
bool readsChannels(const ArrayView& x, std::size_t spatial) {
  return isFloating(x.dtype) && channelsLast(x, spatial) &&
         numelOf(spatialSizes(x.shape, spatial)) <= std::numeric_limits<std::int32_t>::max();
}

void pool(const LibraryCall& call, bool places, bool asImages) {
  const ArrayView& values = call.outputs[0];
  AttrReader attrs(call.attrs);
  DimsRef kernel = attrs.list();
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  DimsRef dilation = attrs.list();
  DimsRef size = attrs.list();
  Pool pool(spatialSizes(call.inputs[0].shape, size.size()), size, kernel, stride, padding, dilation);
  pool.makeRegular();
  if (readsChannels(call.inputs[0], size.size()))
    return withFloating(values.dtype, [&](auto tag) {
      maxByChannels<typename decltype(tag)::Type>(pool, call.inputs[0], values, places ? &call.outputs[1] : nullptr,
                                                  asImages);
    });
  Contiguous x(call.inputs[0]);
  std::int64_t planes = values.numel() / pool.outputSize();
  withType(x.view().dtype, [&](auto tag) {
    using Stored = typename decltype(tag)::Type;
    using T = std::conditional_t<std::is_same_v<Stored, bool>, std::uint8_t, Stored>;
    // Maxima alone are rarely asked for of them.
    constexpr bool always = std::is_same_v<T, std::int64_t>;
    std::int64_t* indices = places ? call.outputs[1].as<std::int64_t>() : nullptr;
    if (places || always)
      maxPool<true>(pool, planes, x.as<T>(), values.as<T>(), indices);
    else
      maxPool<always>(pool, planes, x.as<T>(), values.as<T>(), indices);
  });
}

void maxima(const LibraryCall& call, bool places) {
  AttrReader attrs(call.attrs);
  for (int i = 0; i < 4; ++i) attrs.list();
  const std::size_t spatial = attrs.list().size();
  if (call.outputs[0].numel() == 0) return;
  const bool last = attrs.boolean(false);
  if (last && !readsChannels(call.inputs[0], spatial))
    return inPlanes(call, [](const LibraryCall& planes) { pool(planes, planes.outputs.size() == 2, false); });
  pool(call, places, last);
}

[[noreturn]] void failOutside(std::int64_t inputSize) {
  fail<IndexError>("max_pool: an index lies outside of the input, which has ", inputSize, " elements");
}

void collect(const LibraryCall& call) {
  Contiguous grad(call.inputs[0]);
  Contiguous indices(call.inputs[1]);
  const ArrayView& out = call.outputs[0];
  std::int64_t inputSize = numelOf(AttrReader(call.attrs).list());
  std::int64_t planes = out.numel() / inputSize;
  std::int64_t outputSize = planes == 0 ? 0 : grad.view().numel() / planes;
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = typename Element<T>::Compute;
    parallelFor(planes, grainOf(2 * (inputSize + outputSize)), [&](std::int64_t begin, std::int64_t end) {
      // Of half types the sums, and what is added, of a plane.
      Scratch<C> wide(std::is_same_v<T, C> ? 0 : inputSize + outputSize);
      for (std::int64_t p = begin; p < end; ++p) {
        T* plane = out.as<T>() + p * inputSize;
        C* to = wide.data();
        if constexpr (std::is_same_v<T, C>) to = plane;
        std::fill_n(to, inputSize, C{});
        const std::int64_t* at = indices.as<std::int64_t>() + p * outputSize;
        std::uint64_t outside = 0;  // the sign bits: negative, or not below the size
        for (std::int64_t o = 0; o < outputSize; ++o)
          outside |=
              static_cast<std::uint64_t>(at[o]) | static_cast<std::uint64_t>(inputSize - 1 - (at[o] & INT64_MAX));
        if (outside >> 63 != 0) failOutside(inputSize);
        const T* g = grad.as<T>() + p * outputSize;
        if constexpr (std::is_same_v<T, C>) {
          for (std::int64_t o = 0; o < outputSize; ++o) to[at[o]] = addElements(to[at[o]], g[o]);
        } else {
          C* added = wide.data() + inputSize;
          widen(g, added, outputSize);
          for (std::int64_t o = 0; o < outputSize; ++o) to[at[o]] += added[o];
          narrow(to, plane, inputSize);
        }
      }
    });
  });
}

/// The same of float32 and float64 where the channels of all lie beside each other.
void collectByChannels(const LibraryCall& call) {
  const ArrayView &grad = call.inputs[0], &indices = call.inputs[1], &out = call.outputs[0];
  const std::int64_t inputSize = numelOf(AttrReader(call.attrs).list());
  const std::int64_t channels = grad.shape[1], outputSize = grad.numel() / grad.shape[0], n = inputSize * channels;
  withFloating(out.dtype, [&](auto tag) {
    using C = typename decltype(tag)::Type;
    parallelTiles(grad.shape[0], [&](std::int64_t image) {
      C* to = out.as<C>() + image * n;
      std::fill_n(to, n, C{});
      const std::int64_t* at = indices.as<std::int64_t>() + image * outputSize;
      const C* g = grad.as<C>() + image * outputSize;
      for (std::int64_t place = 0; place < outputSize; place += channels, at += channels, g += channels)
        for (std::int64_t c = 0; c < channels; ++c) {
          if (static_cast<std::uint64_t>(at[c]) >= static_cast<std::uint64_t>(inputSize)) failOutside(inputSize);
          to[at[c] * channels + c] += g[c];
        }
    });
  });
}

}  // namespace

void max_pool(const LibraryCall& call) { maxima(call, true); }
void max_pool_values(const LibraryCall& call) { maxima(call, false); }

/// Operands (grad, indices): each element added where its maximum was, in row-major order.
void max_pool_grad(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::size_t spatial = attrs.list().size();
  if (call.outputs[0].numel() == 0) return;
  if (!attrs.boolean(false)) return collect(call);
  const bool lie = channelsLast(call.inputs[0], spatial) && channelsLast(call.inputs[1], spatial);
  const DType t = call.inputs[0].dtype;
  const bool served = lie && (t == DType::Float32 || t == DType::Float64) && call.inputs[0].numel() > 0;
  served ? collectByChannels(call) : inPlanes(call, collect);
}

}  // namespace tandem::lib
