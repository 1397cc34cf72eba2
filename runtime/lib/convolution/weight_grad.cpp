// Weight gradients of float32 and float64: for each place of the filter, plane and output channel, the sum over all
// windows of what they see there times the gradient of their output.
//
// A block of windows has its gradients packed, a window after another with a vector of output channels each, and what
// it sees in a slab (windows.h), where a place of the filter sees its windows in order: a row of sums reads it there,
// element by element, and several rows share each vector of gradients.
//
// An element is a sum in the order of windows in blocks of kBlockWindows, the blocks in order, over the images of one
// piece of the batch; and the pieces in order. Blocks and pieces are cut by sizes alone.
#include <algorithm>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/conv_kernel.h"
#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/convolution/windows.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kBlockWindows = 256;
// Pieces of a batch, at most, and the multiply-adds of one, at least.
constexpr std::int64_t kMaxPieces = 8;
constexpr std::int64_t kPieceWork = std::int64_t{1} << 20;
// Rows of sums of a tile, at least: each packs the gradients again.
constexpr std::int64_t kTileRows = 48;

template <class T>
class WeightGrad {
 public:
  WeightGrad(const ConvShape& s, const Windows& windows, const T* grad, const T* input)
      : s_(s), windows_(windows), grad_(grad), input_(input), taps_(windows.taps.size()),
        outputs_(ceilDiv(s.groupOutputs(), kernels_.lanes) * kernels_.lanes) {
    const std::int64_t count = windows.count();
    images_ = std::clamp<std::int64_t>(kBlockWindows / count, 1, s.n);
    block_ = {0, 0, windows.rows, windows.columns};
    if (count > kBlockWindows) {
      block_.columns = ceilDiv(windows.columns, ceilDiv(windows.columns, kBlockWindows));
      block_.rows =
          ceilDiv(windows.rows, ceilDiv(windows.rows, std::max<std::int64_t>(1, kBlockWindows / block_.columns)));
    }
    // No more pieces than there is work for, nor than would write more sums than there are elements to read.
    const std::int64_t work = s.n * s.imageWork();
    const std::int64_t light = s.n * (s.inputSize() + s.outputSize()) / std::max<std::int64_t>(1, s.weightSize());
    pieces_ = std::max<std::int64_t>(1, std::min({kMaxPieces, ceilDiv(s.n, images_), work / kPieceWork, light}));
    const std::int64_t tiles = pieces_ * s.groups;
    channels_ = ceilDiv(s.groupChannels(), cutsOf(tiles, work / tiles, s.groupChannels() * taps_ / kTileRows));
    cuts_ = ceilDiv(s.groupChannels(), channels_);
  }

  void run(T* weightGrad) const {
    const std::int64_t rows = s_.groupChannels() * taps_, size = s_.groups * rows * outputs_;
    const Scratch<T> sums(pieces_ * size);
    parallelTiles(pieces_ * s_.groups * cuts_, [&](std::int64_t t) {
      const std::int64_t channel = t % cuts_ * channels_, group = t / cuts_ % s_.groups, piece = t / cuts_ / s_.groups;
      tile(piece, group, channel, std::min(channels_, s_.groupChannels() - channel),
           sums.data() + piece * size + (group * rows + channel * taps_) * outputs_);
    });
    constexpr std::int64_t together = 16;  // rows
    parallelFor(s_.groups * ceilDiv(rows, together), grainOf(together * outputs_ * pieces_),
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i) {
                    const std::int64_t group = i / ceilDiv(rows, together);
                    const std::int64_t row = i % ceilDiv(rows, together) * together;
                    const std::int64_t here = std::min(together, rows - row);
                    T* to = sums.data() + (group * rows + row) * outputs_;
                    for (std::int64_t p = 1; p < pieces_; ++p)
                      for (std::int64_t e = 0; e < here * outputs_; ++e) to[e] += to[p * size + e];
                    kernels_.turn(to, outputs_, weightGrad + group * s_.groupOutputs() * rows + row, rows,
                                  s_.groupOutputs(), here);
                  }
                });
  }

 private:
  /// The sums of some channels of a group over the images of a piece, [channels * taps, outputs_].
  void tile(std::int64_t piece, std::int64_t group, std::int64_t channel, std::int64_t channels, T* sums) const {
    const SlabLayout layout(windows_, channels, block_.rows, block_.columns);
    const Scratch<T> slab(images_ * layout.size());
    const std::int64_t most = images_ * block_.rows * block_.columns;
    const Scratch<T> panels(most * outputs_);
    const std::int64_t to = (piece + 1) * s_.n / pieces_;
    bool add = false;
    for (std::int64_t image = piece * s_.n / pieces_; image < to; image += images_) {
      const std::int64_t images = std::min(images_, to - image);
      for (WindowBlock block = block_; block.i < windows_.rows; block.i += block_.rows) {
        block.rows = std::min(block_.rows, windows_.rows - block.i);
        for (block.j = 0; block.j < windows_.columns; block.j += block_.columns) {
          block.columns = std::min(block_.columns, windows_.columns - block.j);
          for (std::int64_t i = 0; i < images; ++i)
            layout.fill(input_ + (image + i) * s_.inputSize() +
                            (group * s_.groupChannels() + channel) * (s_.inputChannels ? 1 : s_.h * s_.w),
                        block, slab.data() + i * layout.size(), s_.inputChannels ? s_.c : 0);
          pack(image, images, group, block, panels.data());
          addBlock(layout, slab.data(), images, channels, block, panels.data(), sums, add);
          add = true;
        }
      }
    }
  }

  /// The panels of gradients of the block, each of two vectors but perhaps the last.
  void pack(std::int64_t image, std::int64_t images, std::int64_t group, const WindowBlock& block, T* panels) const {
    const std::int64_t count = images * block.rows * block.columns;
    const std::int64_t plane = windows_.count();
    const bool whole = block.columns == windows_.columns;
    const std::int64_t stretches = whole ? 1 : block.rows;  // that lie side by side
    const std::int64_t length = block.rows * block.columns / stretches;
    for (std::int64_t o = 0; o < outputs_; o += 2 * kernels_.lanes) {
      const std::int64_t width = std::min(2 * kernels_.lanes, outputs_ - o);
      const std::int64_t here = std::min(width, s_.groupOutputs() - o);
      T* to = panels + o * count;
      if (here < width) std::fill_n(to, width * count, T{});
      for (std::int64_t i = 0; i < images; ++i) {
        const std::int64_t output = group * s_.groupOutputs() + o;
        const T* from = grad_ + (image + i) * s_.o * plane;
        for (std::int64_t y = 0; y < stretches; ++y, to += length * width) {
          const std::int64_t place = (block.i + y) * windows_.columns + block.j;
          if (s_.outputChannels)
            for (std::int64_t x = 0; x < length; ++x) copyRow(from + (place + x) * s_.o + output, here, to + x * width);
          else
            kernels_.turn(from + output * plane + place, plane, to, width, length, here);
        }
      }
    }
  }

  void addBlock(const SlabLayout& layout, const T* slab, std::int64_t images, std::int64_t channels,
                const WindowBlock& block, const T* panels, T* sums, bool add) const {
    ScratchList<Run> rows(images * block.rows);
    for (std::int64_t i = 0; i < images; ++i)
      for (std::int64_t y = 0; y < block.rows; ++y)
        rows.push_back({i * layout.size() + y * layout.down(), block.columns, rows.size() * block.columns});
    const std::int64_t count = images * block.rows * block.columns;
    const std::int64_t all = channels * taps_, tiles = ceilDiv(all, kernels_.rows);
    for (std::int64_t o = 0; o < outputs_; o += 2 * kernels_.lanes) {
      const std::int64_t width = std::min(2 * kernels_.lanes, outputs_ - o);
      for (std::int64_t t = 0; t < tiles; ++t) {
        const std::int64_t first = t * all / tiles, last = (t + 1) * all / tiles;
        const T* taps[kMaxRows];
        T* to[kMaxRows];
        for (std::int64_t k = first; k < last; ++k) {
          taps[k - first] = slab + layout.offsets()[k];
          to[k - first] = sums + k * outputs_ + o;
        }
        kernels_.sum({taps, last - first, static_cast<int>(width / kernels_.lanes), rows.begin(), rows.size(),
                      panels + o * count, to, add});
      }
    }
  }

  const ConvShape& s_;
  const Windows& windows_;
  const T* grad_;
  const T* input_;
  const ConvKernels<T>& kernels_ = convKernels<T>();
  std::int64_t taps_;
  std::int64_t outputs_;  // of a group, whole vectors
  std::int64_t images_;   // of a block
  WindowBlock block_;     // the largest
  std::int64_t pieces_;
  std::int64_t channels_, cuts_;  // of a tile, and tiles of a group
};

}  // namespace

template <class T>
void windowWeightGrad(const ConvShape& s, const T* grad, const T* input, T* weightGrad) {
  const Windowed of = Windowed::ofOutput(s);
  WeightGrad<T>(s, of.windows, grad, input).run(weightGrad);
}
template void windowWeightGrad(const ConvShape&, const float*, const float*, float*);
template void windowWeightGrad(const ConvShape&, const double*, const double*, double*);

}  // namespace tandem::lib
