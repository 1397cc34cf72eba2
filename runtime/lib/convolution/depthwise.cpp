// Convolutions of channels that have a filter each, float32 and float64. Vectors are of planes: a slab has the elements
// of as many planes as a vector has lanes side by side, with the padding around them, and each window takes them as
// they lie. Outputs and input gradients take planes of all images and channels together; weight gradients the channels
// of an image, one after another.
//
// An output is one chain of fused multiply-adds over the places of its window in row-major order, an input gradient
// over those that saw the element, and a weight gradient one over the windows of all images of a piece of the batch, in
// order, and over the pieces.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/conv_kernel.h"
#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/convolution/windows.h"

namespace tandem::lib {
namespace {

// Elements of the slab of a block of rows, about: half of the second-level cache.
constexpr std::int64_t kSlab = std::int64_t{1} << 17;
// Elements of all channels that a block reads, where they lie beside each other: lines of memory have several vectors,
// which are taken one after another.
constexpr std::int64_t kChannelRows = std::int64_t{1} << 16;
// Pieces of a batch, of a weight gradient, and their multiply-adds, at least.
constexpr std::int64_t kMaxPieces = 8;
constexpr std::int64_t kPieceWork = std::int64_t{1} << 17;

/// Copies `width` elements, at most 16, each of `count` times; those lie `fromApart` and `toApart` apart.
template <class T>
void copyLanes(const T* from, std::int64_t fromApart, T* to, std::int64_t toApart, std::int64_t count,
               std::int64_t width) {
  const auto all = [&](auto bytes) {
    for (std::int64_t x = 0; x < count; ++x) std::memcpy(to + x * toApart, from + x * fromApart, bytes);
  };
  switch (width * std::int64_t{sizeof(T)}) {
  case 64:
    return all(std::integral_constant<std::size_t, 64>());
  case 32:
    return all(std::integral_constant<std::size_t, 32>());
  default:
    for (std::int64_t x = 0; x < count; ++x) copyRow(from + x * fromApart, width, to + x * toApart);
  }
}

/// Blocks of whole rows of windows over planes that lie side by side, a lane each.
template <class T>
class LaneSlab {
 public:
  /// `channels`: those that lie beside each other, or 0.
  LaneSlab(const Windows& windows, std::int64_t channels)
      : windows_(windows), reach_(reachOf(windows)), offsets_(windows.taps.size()) {
    columns_ = (windows.columns - 1) * windows.stepW + reach_.columns;
    for (const Tap& tap : windows.taps)
      offsets_.push_back(((tap.row - reach_.top) * columns_ + tap.column - reach_.left) * lanes());
    std::int64_t room = kSlab / (columns_ * lanes()) - reach_.rows;
    if (channels > 0) room = std::min(room, kChannelRows / (columns_ * channels));
    rows_ = std::clamp<std::int64_t>(room / windows.stepH + 1, 1, windows.rows);
  }

  std::int64_t lanes() const { return kernels_.lanes; }
  std::int64_t rows() const { return rows_; }  // of windows in a block, at most
  std::int64_t size() const { return ((rows_ - 1) * windows_.stepH + reach_.rows) * columns_ * lanes(); }
  const std::int64_t* offsets() const { return offsets_.begin(); }
  std::int64_t down() const { return windows_.stepH * columns_ * lanes(); }
  std::int64_t step() const { return windows_.stepW * lanes(); }

  /// What `rows` rows of windows from row i on see of `planes` planes, which lie one after another, or are some of so
  /// many `channels` that lie beside each other, if that is not 0.
  void fill(const T* from, std::int64_t planes, std::int64_t i, std::int64_t rows, T* slab,
            std::int64_t channels) const {
    const std::int64_t seen = (rows - 1) * windows_.stepH + reach_.rows;
    const std::int64_t begin =
        std::min(std::max<std::int64_t>(0, -reach_.left), columns_);  // columns inside of the plane
    const std::int64_t end = std::clamp(windows_.w - reach_.left, begin, columns_);
    const bool whole = planes == lanes();
    for (std::int64_t r = 0, y = i * windows_.stepH + reach_.top; r < seen; ++r, ++y) {
      T* row = slab + r * columns_ * lanes();
      const bool inside = y >= 0 && y < windows_.h && begin < end;
      if (!inside || !whole) {
        std::fill_n(row, columns_ * lanes(), T{});
        if (!inside) continue;
      } else {
        std::fill_n(row, begin * lanes(), T{});
        std::fill_n(row + end * lanes(), (columns_ - end) * lanes(), T{});
      }
      if (channels > 0) {
        const T* place = from + (y * windows_.w + reach_.left + begin) * channels;
        copyLanes(place, channels, row + begin * lanes(), lanes(), end - begin, planes);
        continue;
      }
      kernels_.turn(from + y * windows_.w + reach_.left + begin, windows_.h * windows_.w, row + begin * lanes(),
                    lanes(), end - begin, planes);
    }
  }

 private:
  const Windows& windows_;
  const ConvKernels<T>& kernels_ = convKernels<T>();
  Reach reach_;
  std::int64_t columns_, rows_;  // of the slab, and of windows
  ScratchList<std::int64_t> offsets_;
};

/// A convolution of the planes of all images with the filter of their channel each. `seen` and `made`: do channels lie
/// beside each other in what is read, and what is written? Vectors are then of one image.
template <class T>
void planeWindows(const ConvShape& s, const Windowed& of, const T* input, const T* weight, T* output, bool seen,
                  bool made) {
  const auto& kernels = convKernels<T>();
  const Windows& windows = of.windows;
  const bool apart = seen || made;
  const LaneSlab<T> layout(windows, apart ? s.c : 0);
  const std::int64_t lanes = kernels.lanes, taps = of.places.size();
  const std::int64_t images = apart ? s.n : 1, planes = apart ? s.c : s.n * s.c;
  const std::int64_t blocks = ceilDiv(windows.rows, layout.rows()), groups = ceilDiv(planes, lanes);
  const std::int64_t work = windows.columns * layout.rows() * lanes * (taps + 8);
  parallelFor(images * groups * blocks, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
    const Scratch<T> slab(layout.size());
    const Scratch<T> filters(taps * lanes);
    const Scratch<T> results(layout.rows() * of.stepH * lanes);
    std::int64_t filtersOf = -1;
    for (std::int64_t t = begin; t < end; ++t) {
      // The groups of a block of an image, or the blocks of a group, one after another.
      const std::int64_t block = apart ? t / groups % blocks : t % blocks, image = t / groups / blocks;
      const std::int64_t plane = (apart ? t % groups : t / blocks) * lanes, count = std::min(lanes, planes - plane);
      const std::int64_t i = block * layout.rows();
      if (std::exchange(filtersOf, plane) != plane) {
        std::fill_n(filters.data(), taps * lanes, T{});
        for (std::int64_t p = 0; p < count; ++p)
          for (std::int64_t k = 0; k < taps; ++k)
            filters[k * lanes + p] = weight[(plane + p) % s.c * s.kh * s.kw + of.places[k]];
      }
      const std::int64_t size = windows.h * windows.w;
      const T* from = input + image * s.c * size + plane * (seen ? 1 : size);
      layout.fill(from, count, i, std::min(layout.rows(), windows.rows - i), slab.data(), seen ? s.c : 0);
      const std::int64_t first = i * of.stepH, elements = std::min(layout.rows() * of.stepH, of.plane - first);
      T* const to = output + image * s.c * of.plane + (made ? first * s.c + plane : plane * of.plane + first);
      // Whole vectors go to their places, others through memory where planes lie side by side.
      const bool straight = made && count == lanes;
      const std::int64_t beside = straight ? s.c : lanes;
      T* const sums = straight ? to : results.data();
      for (const WindowPart& part : of.parts) {
        const std::int64_t rows = std::min(layout.rows(), part.rows - i);
        for (std::int64_t y = 0; y < rows; ++y)
          kernels.planes({part.columns, part.count, filters.data() + part.tap * lanes, slab.data() + y * layout.down(),
                          layout.offsets() + part.tap, layout.step(), sums + (part.first + y * of.stepH) * beside,
                          of.stepW * beside});
      }
      if (straight) continue;
      if (made)
        copyLanes(results.data(), lanes, to, s.c, elements, count);
      else
        kernels.turn(results.data(), lanes, to, of.plane, count, elements);
    }
  });
}

}  // namespace

bool servesDepthwise(const ConvShape& s) {
  return s.groups == s.c && s.o == s.c && s.c > 1 && s.n * s.c * 2 > convKernels<float>().lanes;
}

template <class T>
void depthwiseForward(const ConvShape& s, const T* input, const T* weight, T* output) {
  planeWindows(s, Windowed::ofOutput(s), input, weight, output, s.inputChannels, s.outputChannels);
}

template <class T>
void depthwiseInputGrad(const ConvShape& s, const T* grad, const T* weight, T* inputGrad) {
  const Windowed of = Windowed::ofInputGrad(s);
  if (of.places.empty()) return void(std::fill_n(inputGrad, s.n * s.inputSize(), T{}));
  planeWindows(s, of, grad, weight, inputGrad, s.outputChannels, s.inputChannels);
}

template <class T>
void depthwiseWeightGrad(const ConvShape& s, const T* grad, const T* input, T* weightGrad) {
  const auto& kernels = convKernels<T>();
  const Windowed of = Windowed::ofOutput(s);
  const LaneSlab<T> layout(of.windows, s.inputChannels ? s.c : 0);
  const std::int64_t lanes = kernels.lanes, taps = s.kh * s.kw, blocks = ceilDiv(s.c, lanes);
  const std::int64_t pieces = std::clamp<std::int64_t>(s.n * s.imageWork() / kPieceWork, 1, std::min(kMaxPieces, s.n));
  const Scratch<T> sums(pieces * blocks * taps * lanes);
  parallelTiles(pieces * blocks, [&](std::int64_t t) {
    const std::int64_t piece = t / blocks, channel = t % blocks * lanes, count = std::min(lanes, s.c - channel);
    const Scratch<T> slab(layout.size());
    const Scratch<T> grads(layout.rows() * s.ow * lanes);
    T* const to = sums.data() + t * taps * lanes;
    std::fill_n(to, taps * lanes, T{});
    if (count < lanes) std::fill_n(grads.data(), layout.rows() * s.ow * lanes, T{});
    for (std::int64_t image = piece * s.n / pieces; image < (piece + 1) * s.n / pieces; ++image)
      for (std::int64_t i = 0; i < s.oh; i += layout.rows()) {
        const std::int64_t rows = std::min(layout.rows(), s.oh - i);
        layout.fill(input + image * s.inputSize() + (s.inputChannels ? channel : channel * s.h * s.w), count, i, rows,
                    slab.data(), s.inputChannels ? s.c : 0);
        const T* from = grad + image * s.outputSize();
        if (s.outputChannels)
          copyLanes(from + i * s.ow * s.c + channel, s.c, grads.data(), lanes, rows * s.ow, count);
        else
          kernels.turn(from + (channel * s.oh + i) * s.ow, s.oh * s.ow, grads.data(), lanes, rows * s.ow, count);
        for (std::int64_t k = 0; k < taps; k += kPlaneTaps)
          for (std::int64_t y = 0; y < rows; ++y)
            kernels.planesSums({s.ow, std::min(kPlaneTaps, taps - k), grads.data() + y * s.ow * lanes,
                                slab.data() + y * layout.down(), layout.offsets() + k, layout.step(), to + k * lanes});
      }
  });
  for (std::int64_t c = 0; c < s.c; ++c)
    for (std::int64_t k = 0; k < taps; ++k) {
      const T* from = sums.data() + (c / lanes * taps + k) * lanes + c % lanes;
      T sum = *from;
      for (std::int64_t p = 1; p < pieces; ++p) sum += from[p * blocks * taps * lanes];
      weightGrad[c * taps + k] = sum;
    }
}

template void depthwiseForward(const ConvShape&, const float*, const float*, float*);
template void depthwiseForward(const ConvShape&, const double*, const double*, double*);
template void depthwiseInputGrad(const ConvShape&, const float*, const float*, float*);
template void depthwiseInputGrad(const ConvShape&, const double*, const double*, double*);
template void depthwiseWeightGrad(const ConvShape&, const float*, const float*, float*);
template void depthwiseWeightGrad(const ConvShape&, const double*, const double*, double*);

}  // namespace tandem::lib
