// avg_pool and its transpose. The rows of a window are added column by column, then its columns, in order, if it is
// long in several chains, and the sum is divided. Cotangents are divided, spread over columns in the order of the
// windows and then over rows. Rows of half types are widened and narrowed whole, so that the rest is that of float32.
// Several planes of short rows are brought to lie beside each other, as the channels of images sometimes do: vectors
// are elements of one place then.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/half_vectors.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/pool/averages.h"
#include "runtime/lib/pool/planes.h"
#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/pool/stretches.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kChains = 4;  // in which long windows are added

template <class C>
[[gnu::always_inline]] inline C sumOf(const C* x, std::int64_t n) {
  constexpr std::int64_t chains = kChains;
  C sum{};
  std::int64_t i = 0;
  if (n >= 2 * chains) {
    C chain[chains];
    std::copy_n(x, chains, chain);
    for (i = chains; i + chains <= n; i += chains)
      for (std::int64_t j = 0; j < chains; ++j) chain[j] = addElements(chain[j], x[i + j]);
    for (std::int64_t half = chains / 2; half >= 1; half /= 2)
      for (std::int64_t j = 0; j < half; ++j) chain[j] = addElements(chain[j], chain[j + half]);
    sum = addElements(sum, chain[0]);
  }
  for (; i < n; ++i) sum = addElements(sum, x[i]);
  return sum;
}

/// The sums of a row's windows.
template <class C>
[[gnu::always_inline]] inline void sumWindows(const PoolAxis& w, const AverageWindows& windows, const C* row, C* sums) {
  if (!takesPlaces(w)) {
    for (std::int64_t o = 0; o < w.out; ++o)
      sums[o] = sumOf(row + windows.inside[o].first, windows.inside[o].end - windows.inside[o].first);
    return;
  }
  std::fill_n(sums, w.out, C{});
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    Span s = w.outputs(k);
    const C* from = row + k - w.padding;
    withStride(w.stride, [&](auto step) TANDEM_INLINED {
      for (std::int64_t o = s.first; o < s.end; ++o) sums[o] = addElements(sums[o], from[o * step]);
    });
  }
}

/// to += from, or to = from.
template <class C>
[[gnu::always_inline]] inline void addRow(const C* from, C* to, std::int64_t n, bool add) {
  if (add)
    for (std::int64_t i = 0; i < n; ++i) to[i] = addElements(to[i], from[i]);
  else
    std::copy_n(from, n, to);
}

/// The sum of the rows of a window, of `length` elements each. `buffer`: for two of them; none is read twice.
template <class C>
class SumOfRows {
 public:
  [[gnu::always_inline]] SumOfRows(std::int64_t length, C* buffer) : length_(length), buffer_(buffer) {}
  [[gnu::always_inline]] void add(Stretches<C> x, std::int64_t from) {
    const C* row = x.read(from, length_, buffer_ + (sum_ == nullptr ? 0 : length_));
    if (sum_ == nullptr) {
      sum_ = row;
    } else if (sum_ == buffer_) {
      addRow(row, buffer_, length_, true);
    } else {
      for (std::int64_t i = 0; i < length_; ++i) buffer_[i] = addElements(sum_[i], row[i]);
      sum_ = buffer_;
    }
  }
  [[gnu::always_inline]] const C* get() {
    if (sum_ == nullptr) {
      std::fill_n(buffer_, length_, C{});
      sum_ = buffer_;
    }
    return sum_;
  }

 private:
  std::int64_t length_;
  C* buffer_;
  const C* sum_ = nullptr;  // a row of the input, or the buffer
};

/// `sumOf` and the sums place by place, of `n` columns of so many channels each. `chains`: for four of them.
template <class C>
[[gnu::always_inline]] inline void sumColumns(const C* x, std::int64_t n, bool inChains, std::int64_t channels, C* sums,
                                              C* chains) {
  constexpr std::int64_t count = kChains;
  std::fill_n(sums, channels, C{});
  std::int64_t i = 0;
  if (inChains && n >= 2 * count) {
    std::copy_n(x, count * channels, chains);
    for (i = count; i + count <= n; i += count) addRow(x + i * channels, chains, count * channels, true);
    addRow(chains + 2 * channels, chains, 2 * channels, true);
    addRow(chains + channels, chains, channels, true);
    addRow(chains, sums, channels, true);
  }
  for (; i < n; ++i) addRow(x + i * channels, sums, channels, true);
}

/// Is each place in one window at most?
inline bool meetNowhere(const PoolAxis& a) { return !a.adaptive && a.kernel <= a.stride; }

template <class C>
[[gnu::always_inline]] inline void spreadWindows(const PoolAxis& w, const AverageWindows& windows, const C* parts,
                                                 C* row) {
  if (meetNowhere(w) && w.kernel == 2 && w.stride == 2 && w.padding == 0 && 2 * w.out <= w.size) {
    for (std::int64_t o = 0; o < w.out; ++o) row[2 * o] = row[2 * o + 1] = addElements(C{}, parts[o]);
    std::fill(row + 2 * w.out, row + w.size, C{});
    return;
  }
  std::fill_n(row, w.size, C{});
  if (!takesPlaces(w)) {
    for (std::int64_t o = 0; o < w.out; ++o)
      for (std::int64_t i = windows.inside[o].first; i < windows.inside[o].end; ++i)
        row[i] = addElements(row[i], parts[o]);
    return;
  }
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    Span s = w.outputs(k);
    C* to = row + k - w.padding;
    withStride(w.stride, [&](auto step) TANDEM_INLINED {
      for (std::int64_t o = s.first; o < s.end; ++o) to[o * step] = addElements(to[o * step], parts[o]);
    });
  }
}

template <class C>
[[gnu::always_inline]] inline C quotient(C sum, std::int64_t n) {
  // The least integer has no negative.
  if (std::is_integral_v<C> && n == -1) return static_cast<C>(0 - static_cast<std::uint64_t>(sum));
  return sum / static_cast<C>(n);
}

/// Divisors of the places of one output row, all depths and rows of the window counted in.
template <class F>
[[gnu::always_inline]] inline void eachDivisor(const Average& a, const AverageWindows& windows, std::int64_t od,
                                               std::int64_t oh, F f) {
  const std::int64_t rows = a.placesDown(od, oh);
  for (std::int64_t o = 0; o < a.pool.axes[2].out; ++o) f(o, a.divisor != 0 ? a.divisor : rows * windows.places[o]);
}

/// The output rows [begin, end) of all planes. `buffer`: for two rows of the input and one of the output.
template <class C>
[[gnu::always_inline]] inline void averageRows(const Average& a, const AverageWindows& windows, std::int64_t begin,
                                               std::int64_t end, Stretches<C> x, Stretches<C> out, C* buffer) {
  const auto& [d, h, w] = a.pool.axes;
  C* next = buffer + w.size;
  C* sums = next + w.size;
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t plane = r / (d.out * h.out);
    const std::int64_t od = r / h.out % d.out;
    const std::int64_t oh = r % h.out;
    bool first = true;
    // One row after the other: memory is read faster in order than from two places.
    eachRow(a.pool, od, oh, [&](std::int64_t row) TANDEM_INLINED {
      const C* from = x.read(plane * a.pool.inputSize() + row, w.size, next);
      addRow(from, buffer, w.size, !std::exchange(first, false));
    });
    if (first) std::fill_n(buffer, w.size, C{});
    sumWindows(w, windows, buffer, sums);
    C* to = out.place(r * w.out, sums);
    eachDivisor(a, windows, od, oh,
                [&](std::int64_t o, std::int64_t n) TANDEM_INLINED { to[o] = quotient(sums[o], n); });
    out.written(r * w.out, w.out, to);
  }
}

// Vectors of 32 bytes, and of elements that are widened to as many.
template <class C>
struct VectorOf {
  typedef C Type __attribute__((vector_size(32)));
  static constexpr std::int64_t kLanes = 32 / sizeof(C);
};
TANDEM_IN_AVX2 inline void loadVector(const double* x, VectorOf<double>::Type& v) { std::memcpy(&v, x, sizeof v); }
template <class T>
TANDEM_IN_AVX2 inline void loadVector(const T* x, VectorOf<float>::Type& v) {
  v = floatsAt(x);
}

/// Do windows share few columns, each short enough to be added in one chain? Then columns that are shared are added up
/// again instead of being kept.
inline bool standApart(const PoolAxis& w) {
  const std::int64_t longest = w.adaptive ? w.size / w.out + 2 : w.kernel;
  return (w.adaptive || w.kernel <= w.stride) && (takesPlaces(w) || longest < 2 * kChains);
}

/// Where the rows of the windows of output row `r` of all depths begin, of so many channels; how many places they have.
[[gnu::noinline]] std::int64_t rowsOf(const Average& a, std::int64_t r, std::int64_t channels,
                                      ScratchList<std::int64_t>& rows) {
  const std::int64_t od = r / a.pool.axes[1].out, oh = r % a.pool.axes[1].out;
  rows.clear();
  eachRow(a.pool, od, oh, [&](std::int64_t row) TANDEM_INLINED { rows.push_back(row * channels); });
  return a.placesDown(od, oh);
}

/// `Vectors` vectors of channels of all columns of a window. `rows`: where its rows begin.
template <int Vectors, class C, class T>
TANDEM_IN_AVX2 inline void averageVectors(const T* x, const ScratchList<std::int64_t>& rows, const Span& columns,
                                          std::int64_t channels, C divisor, C* to) {
  using V = typename VectorOf<C>::Type;
  V sums[Vectors] = {};
  for (std::int64_t k = columns.first; k < columns.end; ++k) {
    V column[Vectors] = {}, next;
    for (const std::int64_t* row = rows.begin(); row != rows.end(); ++row)
#pragma GCC unroll 4
      for (int i = 0; i < Vectors; ++i) {
        loadVector(x + *row + k * channels + i * VectorOf<C>::kLanes, next);
        column[i] = row == rows.begin() ? next : column[i] + next;
      }
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) sums[i] += column[i];
  }
#pragma GCC unroll 4
  for (int i = 0; i < Vectors; ++i) sums[i] /= divisor;
  std::memcpy(to, sums, sizeof sums);
}

/// averageChannels of at least a vector of channels, where windows stand apart.
template <class C, class T>
TANDEM_IN_AVX2 inline void averageApart(const Average& a, const AverageWindows& windows, std::int64_t begin,
                                        std::int64_t end, std::int64_t channels, const T* x, C* to) {
  constexpr std::int64_t kLanes = VectorOf<C>::kLanes;
  ScratchList<std::int64_t> rows(a.pool.axes[0].size * a.pool.axes[1].size);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t down = rowsOf(a, r, channels, rows);
    for (std::int64_t o = 0; o < a.pool.axes[2].out; ++o, to += channels) {
      const Span& columns = windows.inside[o];
      const C divisor = static_cast<C>(a.divisor != 0 ? a.divisor : down * windows.places[o]);
      std::int64_t c = 0;
      for (; c + 4 * kLanes <= channels; c += 4 * kLanes)
        averageVectors<4>(x + c, rows, columns, channels, divisor, to + c);
      // The last vector has some channels of the one before once more.
      for (; c < channels; c += kLanes) {
        const std::int64_t from = std::min(c, channels - kLanes);
        averageVectors<1>(x + from, rows, columns, channels, divisor, to + from);
      }
    }
  }
}

/// The same where channels lie beside each other: of image `image` the output rows [begin, end) of all depths, each
/// place with all channels, one after the other into `to`. `buffer`: for two rows of the input and five places. As many
/// windows at a time as the first cache holds columns of.
template <class C>
[[gnu::always_inline]] inline void averageChannels(const Average& a, const AverageWindows& windows, std::int64_t begin,
                                                   std::int64_t end, std::int64_t image, std::int64_t channels,
                                                   Stretches<C> x, C* to, C* buffer) {
  constexpr std::int64_t kElements = 8 * 1024 / sizeof(C);
  const auto& [d, h, w] = a.pool.axes;
  C* chains = buffer + 2 * w.size * channels;
  for (std::int64_t r = begin; r < end; ++r, to += w.out * channels) {
    const std::int64_t down = a.placesDown(r / h.out, r % h.out);
    for (std::int64_t o = 0; o < w.out;) {
      const Stretch some(windows, o, w.out, kElements / channels);
      const std::int64_t from = some.columns.first * channels;
      SumOfRows<C> sum(some.columns.end * channels - from, buffer);
      eachRow(a.pool, r / h.out, r % h.out,
              [&](std::int64_t row) TANDEM_INLINED { sum.add(x, image + row * channels + from); });
      const C* rows = sum.get();
      for (; o < some.end; ++o) {
        const Span s = windows.inside[o];
        C* sums = to + o * channels;
        sumColumns(rows + s.first * channels - from, std::max<std::int64_t>(s.end - s.first, 0), !takesPlaces(w),
                   channels, sums, chains);
        const std::int64_t n = a.divisor != 0 ? a.divisor : down * windows.places[o];
        for (std::int64_t c = 0; c < channels; ++c) sums[c] = quotient(sums[c], n);
      }
    }
  }
}

/// `grad`: from place `first` on, `to`: the plane's sums.
template <class C>
[[gnu::always_inline]] inline void spreadPlane(const Average& a, const AverageWindows& windows, Stretches<C> grad,
                                               std::int64_t first, C* to, C* buffer) {
  const auto& [d, h, w] = a.pool.axes;
  C* parts = buffer + w.size;
  // A sum of one term is the term: none is -0.
  const bool once = meetNowhere(d) && meetNowhere(h);
  std::fill_n(to, a.pool.inputSize(), C{});
  for (std::int64_t od = 0; od < d.out; ++od)
    for (std::int64_t oh = 0; oh < h.out; ++oh, first += w.out) {
      const C* from = grad.read(first, w.out, parts);
      eachDivisor(a, windows, od, oh,
                  [&](std::int64_t o, std::int64_t n) TANDEM_INLINED { parts[o] = quotient<C>(from[o], n); });
      spreadWindows(w, windows, parts, buffer);
      eachRow(a.pool, od, oh, [&](std::int64_t row) TANDEM_INLINED { addRow(buffer, to + row, w.size, !once); });
    }
}

/// The same where channels lie beside each other: `grad` and `to` hold each place of a plane with all channels.
/// `buffer`: for a row of the input and one of the output.
template <class C>
[[gnu::always_inline]] inline void spreadChannels(const Average& a, const AverageWindows& windows,
                                                  std::int64_t channels, Stretches<C> grad, C* to, C* buffer) {
  const auto& [d, h, w] = a.pool.axes;
  const std::int64_t length = w.size * channels;
  C* parts = buffer + length;
  std::fill_n(to, a.pool.inputSize() * channels, C{});
  std::int64_t first = 0;
  for (std::int64_t od = 0; od < d.out; ++od)
    for (std::int64_t oh = 0; oh < h.out; ++oh, first += w.out * channels) {
      const C* from = grad.read(first, w.out * channels, parts);
      eachDivisor(a, windows, od, oh, [&](std::int64_t o, std::int64_t n) TANDEM_INLINED {
        for (std::int64_t c = o * channels; c < (o + 1) * channels; ++c) parts[c] = quotient<C>(from[c], n);
      });
      std::fill_n(buffer, length, C{});
      if (takesPlaces(w)) {
        for (std::int64_t k = 0; k < w.kernel; ++k) {
          const Span s = w.outputs(k);
          for (std::int64_t o = s.first; o < s.end; ++o)
            addRow(parts + o * channels, buffer + (o * w.stride + k - w.padding) * channels, channels, true);
        }
      } else {
        for (std::int64_t o = 0; o < w.out; ++o)
          for (std::int64_t i = windows.inside[o].first; i < windows.inside[o].end; ++i)
            addRow(parts + o * channels, buffer + i * channels, channels, true);
      }
      eachRow(a.pool, od, oh,
              [&](std::int64_t row) TANDEM_INLINED { addRow(buffer, to + row * channels, length, true); });
    }
}

/// With vectors of the host's width for what most pools are of, which it is worth the code.
template <class C, class F>
void inVectors(F run) {
  if constexpr (std::is_same_v<C, float>)
    withHostIsa(run);
  else
    withAvx2(run);
}

template <class C>
void averageChannelsInVectors(const Average& a, const AverageWindows& windows, std::int64_t begin, std::int64_t end,
                              std::int64_t image, std::int64_t channels, Stretches<C> x, C* to, C* buffer) {
  if constexpr (std::is_floating_point_v<C>)
    if (standApart(a.pool.axes[2]) && channels >= VectorOf<C>::kLanes)
      return x.withElements([&](const auto* elements) {
        withAvx2([&]() TANDEM_IN_AVX2 { averageApart(a, windows, begin, end, channels, elements + image, to); });
      });
  // Reads and writes what the first cache holds: wider vectors bring little time.
  withAvx2([&]() TANDEM_INLINED { averageChannels<C>(a, windows, begin, end, image, channels, x, to, buffer); });
}

/// Results of several channels, those of a place beside each other, on their way to where channels are planes, or, with
/// `asImages`, lie beside each other too.
template <class C>
class Beside {
 public:
  Beside(const ArrayView& out, std::int64_t most, bool asImages = false)
      : out_(out), asImages_(asImages), made_(most),
        halves_(Stretches<C>{out}.wide() ? most * static_cast<std::int64_t>(itemSize(out.dtype)) : 0) {}
  C* made() const { return made_.data(); }
  /// To the places of a plane from `first` on, planes `apart` from each other; as images from element `first` on.
  void store(std::int64_t channels, std::int64_t places, std::int64_t first, std::int64_t apart) const {
    if (asImages_) return store(places * channels, first);
    const auto item = static_cast<std::int64_t>(itemSize(out_.dtype));
    const ArrayView block{halves_.data(), out_.dtype, {}, {}};
    const bool wide = Stretches<C>{out_}.wide();
    if (wide) Stretches<C>{block}.written(0, places * channels, made_.data());
    transposeMatrix(wide ? static_cast<const void*>(halves_.data()) : made_.data(), channels,
                    out_.as<char>() + first * item, apart, channels, places, out_.dtype);
  }

 private:
  void store(std::int64_t n, std::int64_t first) const {
    const Stretches<C> out{out_};
    if (out.wide()) return out.written(first, n, made_.data());
    std::copy_n(made_.data(), n, out_.as<C>() + first);
  }

  const ArrayView& out_;
  bool asImages_;
  Scratch<C> made_;
  Scratch<char> halves_;
};

/// Some rows of the output at a time, which are transposed where their channels are planes.
template <class C>
void averageByChannels(const Average& a, const AverageWindows& windows, const ArrayView& x, const ArrayView& out,
                       bool asImages) {
  constexpr std::int64_t kElements = 32 * 1024 / sizeof(C);  // of a band: in the first cache
  const PoolAxis& w = a.pool.axes[2];
  const std::int64_t channels = x.shape[1];
  const std::int64_t rows = a.pool.outputSize() / w.out;
  const std::int64_t band = std::clamp<std::int64_t>(kElements / (w.out * channels), 1, rows);
  const std::int64_t bands = (rows + band - 1) / band;
  const std::int64_t work = 2 * a.pool.work() / rows * band * channels;
  parallelFor(x.shape[0] * bands, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
    const Scratch<C> buffer((2 * w.size + 4) * channels);
    const Beside<C> results(out, band * w.out * channels, asImages);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t image = unit / bands;
      const std::int64_t first = unit % bands * band;
      const std::int64_t last = std::min(first + band, rows);
      averageChannelsInVectors<C>(a, windows, first, last, image * x.strides[0], channels, {x}, results.made(),
                                  buffer.data());
      const std::int64_t to = asImages ? (image * rows + first) * channels : image * channels * rows + first;
      results.store(channels, (last - first) * w.out, to * w.out, rows * w.out);
    }
  });
}

/// Planes with rows so short that it takes longer to go from one to the next than to add them up are taken some at a
/// time, as the channels of an image: how many, or 0 for planes that are taken one by one.
std::int64_t planesAtOnce(const Pool& pool, std::int64_t planes) {
  constexpr std::int64_t kElements = 16 * 1024;
  constexpr std::int64_t kLeast = 16;
  const std::int64_t most = kElements / std::max(pool.inputSize(), pool.outputSize()) / kLeast * kLeast;
  if (pool.axes[2].out >= 8 || most == 0 || planes < kManyChannels) return 0;
  return std::min<std::int64_t>(most, 64);
}

/// Such planes of `in` elements and `out` results: run(their elements, channels beside each other, how many planes, the
/// results likewise, memory for two rows of each and four places).
template <class C, class Run>
void eachFewPlanes(const Average& a, std::int64_t together, const ArrayView& x, std::int64_t in, const ArrayView& y,
                   std::int64_t out, Run run) {
  const auto item = static_cast<std::int64_t>(itemSize(x.dtype));
  const std::int64_t planes = y.numel() / out;
  parallelFor(
      ceilDiv(planes, together), grainOf(2 * a.pool.work() * together), [&](std::int64_t begin, std::int64_t end) {
        const Scratch<char> elements(together * in * item);
        const Beside<C> results(y, together * out);
        const Scratch<C> buffer((2 * (a.pool.axes[2].size + a.pool.axes[2].out) + 4) * together);
        const ArrayView view{elements.data(), x.dtype, {}, {}};
        for (std::int64_t first = begin * together; first < std::min(end * together, planes); first += together) {
          const std::int64_t n = std::min(together, planes - first);
          transposeMatrix(x.as<char>() + first * in * item, in, elements.data(), n, in, n, x.dtype);
          run(Stretches<C>{view}, n, results.made(), buffer.data());
          results.store(n, out, first * out, out);
        }
      });
}

/// After the sizes that come first: kernel, stride, padding, output size, count_include_pad, divisor.
Average readAverage(AttrReader& attrs, DimsRef in, DimsRef out) {
  DimsRef kernel = attrs.list();
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  attrs.list();
  bool count = attrs.boolean();
  Pool pool(in, out, kernel, stride, padding, {});
  pool.makeRegular();
  return {pool, count, attrs.integer()};
}

/// The spatial sizes of the output, the fourth list of the attributes.
DimsRef outputSizes(AttrReader attrs) {
  for (int i = 0; i < 3; ++i) attrs.list();
  return attrs.list();
}

void averages(const LibraryCall& call, bool asImages) {
  const ArrayView& out = call.outputs[0];
  AttrReader attrs(call.attrs);
  DimsRef size = outputSizes(attrs);
  Average a = readAverage(attrs, spatialSizes(call.inputs[0].shape, size.size()), size);
  const AverageWindows windows(a);
  const bool integers = out.dtype == DType::Int64;
  if (!integers && !isFloating(out.dtype)) fail<InternalError>("avg_pool of ", dtypeName(out.dtype));
  if (!integers && channelsLast(call.inputs[0], size.size()))
    return withFloating(out.dtype, [&](auto tag) {
      averageByChannels<typename decltype(tag)::Type>(a, windows, call.inputs[0], out, asImages);
    });
  Contiguous x(call.inputs[0]);
  const std::int64_t together = integers ? 0 : planesAtOnce(a.pool, out.numel() / a.pool.outputSize());
  if (together != 0)
    return withFloating(out.dtype, [&](auto tag) {
      using C = typename decltype(tag)::Type;
      eachFewPlanes<C>(a, together, x.view(), a.pool.inputSize(), out, a.pool.outputSize(),
                       [&](Stretches<C> from, std::int64_t n, C* to, C* buffer) {
                         averageChannelsInVectors<C>(a, windows, 0, a.pool.outputSize() / a.pool.axes[2].out, 0, n,
                                                     from, to, buffer);
                       });
    });
  const auto average = [&](auto tag) {
    using C = typename decltype(tag)::Type;
    const std::int64_t rows = a.pool.axes[0].out * a.pool.axes[1].out;
    parallelFor(out.numel() / a.pool.outputSize() * rows, grainOf(2 * a.pool.work() / rows),
                [&](std::int64_t begin, std::int64_t end) {
                  const Scratch<C> buffer(2 * a.pool.axes[2].size + a.pool.axes[2].out);
                  inVectors<C>([&]() TANDEM_INLINED {
                    averageRows<C>(a, windows, begin, end, {x.view()}, {out}, buffer.data());
                  });
                });
  };
  integers ? average(TypeTag<std::int64_t>{}) : withFloating(out.dtype, average);
}

/// spreadChannels, in one place.
template <class C>
[[gnu::noinline]] void spreadChannelsInVectors(const Average& a, const AverageWindows& windows, std::int64_t channels,
                                               Stretches<C> grad, C* to, C* buffer) {
  inVectors<C>([&]() TANDEM_INLINED { spreadChannels<C>(a, windows, channels, grad, to, buffer); });
}

void spreadAverages(const LibraryCall& call) {
  Contiguous grad(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  AttrReader attrs(call.attrs);
  DimsRef inputSize = attrs.list();
  Average a = readAverage(attrs, inputSize, spatialSizes(grad.view().shape, inputSize.size()));
  const AverageWindows windows(a);
  std::int64_t n = a.pool.inputSize();
  const std::int64_t together = planesAtOnce(a.pool, out.numel() / n);
  withFloating(out.dtype, [&](auto tag) {
    using C = typename decltype(tag)::Type;
    if (together != 0)
      return eachFewPlanes<C>(a, together, grad.view(), a.pool.outputSize(), out, n,
                              [&](Stretches<C> from, std::int64_t planes, C* to, C* buffer) {
                                spreadChannelsInVectors<C>(a, windows, planes, from, to, buffer);
                              });
    const Stretches<C> g{grad.view()};
    const Stretches<C> planes{out};
    parallelFor(out.numel() / n, grainOf(2 * (a.pool.work() + n)), [&](std::int64_t begin, std::int64_t end) {
      const Scratch<C> buffer(a.pool.axes[2].size + a.pool.axes[2].out);
      const Scratch<C> sums(planes.wide() ? n : 0);
      for (std::int64_t p = begin; p < end; ++p) {
        C* to = planes.place(p * n, sums.data());
        inVectors<C>([&]()
                         TANDEM_INLINED { spreadPlane<C>(a, windows, g, p * a.pool.outputSize(), to, buffer.data()); });
        planes.written(p * n, n, to);
      }
    });
  });
}

/// The same of cotangents whose channels lie beside each other, to such.
void spreadByChannels(const LibraryCall& call) {
  const ArrayView &grad = call.inputs[0], &out = call.outputs[0];
  AttrReader attrs(call.attrs);
  const DimsRef inputSize = attrs.list();
  const Average a = readAverage(attrs, inputSize, spatialSizes(grad.shape, inputSize.size()));
  const AverageWindows windows(a);
  const std::int64_t channels = grad.shape[1], n = a.pool.inputSize() * channels;
  const PoolAxis& w = a.pool.axes[2];
  withFloating(out.dtype, [&](auto tag) {
    using C = typename decltype(tag)::Type;
    const Stretches<C> images{out};
    parallelTiles(grad.shape[0], [&](std::int64_t image) {
      const Scratch<C> buffer((w.size + w.out) * channels), sums(images.wide() ? n : 0);
      const auto item = static_cast<std::int64_t>(itemSize(grad.dtype));
      const ArrayView from{grad.as<char>() + image * grad.strides[0] * item, grad.dtype, {}, {}};
      C* to = images.place(image * n, sums.data());
      spreadChannelsInVectors<C>(a, windows, channels, {from}, to, buffer.data());
      images.written(image * n, n, to);
    });
  });
}

}  // namespace

void avg_pool(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  if (call.outputs[0].numel() == 0) return;
  const std::size_t spatial = outputSizes(attrs).size();
  readAverage(attrs, spatialSizes(call.inputs[0].shape, spatial), outputSizes(AttrReader(call.attrs)));
  if (!attrs.boolean(false)) return averages(call, false);
  if (isFloating(call.inputs[0].dtype) && channelsLast(call.inputs[0], spatial)) return averages(call, true);
  inPlanes(call, [](const LibraryCall& planes) { averages(planes, false); });
}

void avg_pool_grad(const LibraryCall& call) {
  const ArrayView& grad = call.inputs[0];
  AttrReader attrs(call.attrs);
  const DimsRef inputSize = attrs.list();
  if (call.outputs[0].numel() == 0) return;
  if (!isFloating(grad.dtype)) fail<InternalError>("avg_pool_grad of ", dtypeName(grad.dtype));
  readAverage(attrs, inputSize, spatialSizes(grad.shape, inputSize.size()));
  if (!attrs.boolean(false)) return spreadAverages(call);
  channelsLast(grad, inputSize.size()) ? spreadByChannels(call) : inPlanes(call, spreadAverages);
}

}  // namespace tandem::lib
