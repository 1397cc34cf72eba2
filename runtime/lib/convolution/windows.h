// What the windows of a convolution see, laid out so that neighbours read side by side.
//
// A tile of a convolution copies the rows that its windows see into a *slab*, with the padding around them written out,
// so that nothing asks again where the image ends. Where windows are `stepW` columns apart, the columns can be sorted
// by their remainder: first all of remainder 0, then all of remainder 1. What windows of one row see at one place of
// the filter then lies side by side, at a fixed distance from what they see at another. For steps of 2 and a padding of
// 1:
//
//     row of the image   a b c d e          row of the slab   0 b d | a c e
//
// where the first place of the filter sees `0 b d`, the second `a c e`, and the third `b d`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/lib/convolution/conv_kernel.h"
#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// What the window of row 0 and column 0 sees at a place of the filter. It may lie outside of the plane.
struct Tap {
  std::int64_t row, column;
};

/// `rows` by `columns` windows over planes of h rows and w columns: that of row i and column j sees, of each plane, the
/// elements (i * stepH + tap.row, j * stepW + tap.column) of all taps, at least one; zeros outside of the plane.
struct Windows {
  std::int64_t h, w;
  std::int64_t rows, columns;
  std::int64_t stepH, stepW;
  ScratchList<Tap> taps;

  /// Without taps; of at most `most`.
  Windows(std::int64_t h, std::int64_t w, std::int64_t rows, std::int64_t columns, std::int64_t stepH,
          std::int64_t stepW, std::int64_t most)
      : h(h), w(w), rows(rows), columns(columns), stepH(stepH), stepW(stepW), taps(most) {}

  std::int64_t count() const { return rows * columns; }
};

/// What the window of row 0 and column 0 reaches over, from which row and column of the plane on and how far, with what
/// lies between its taps, of which there is at least one.
struct Reach {
  std::int64_t top, left;
  std::int64_t rows, columns;
};
Reach reachOf(const Windows& windows);

/// Into how many parts, at least 1 and at most `most`, each of `tiles` tiles of `work` multiply-adds is cut for the
/// threads: several tiles a thread, each worth handing over.
std::int64_t cutsOf(std::int64_t tiles, std::int64_t work, std::int64_t most);

/// Some of the taps, for some of the elements of a result: `rows` by `columns` windows, no more than there are, see
/// `count` taps from `tap` on; the first one's element is `first` of a plane of the result.
struct WindowPart {
  std::int64_t rows, columns;
  std::int64_t tap, count;
  std::int64_t first;
};

/// A convolution by its windows. Neighbours' elements lie stepH and stepW apart in a plane of the result, of `plane`
/// elements; `places` are those of the filter that the taps are of.
struct Windowed {
  Windows windows;
  ScratchList<WindowPart> parts;
  ScratchList<std::int64_t> places;
  std::int64_t plane, stepH, stepW;

  /// Without taps and parts, of at most `most`.
  Windowed(Windows over, std::int64_t most, std::int64_t plane, std::int64_t stepH, std::int64_t stepW)
      : windows(std::move(over)), parts(most), places(windows.taps.most()), plane(plane), stepH(stepH), stepW(stepW) {}
  /// Over the input, for the output: one part.
  static Windowed ofOutput(const ConvShape& s);
  /// Over the output's gradient, for that of the input: what reaches an element comes from the outputs whose windows
  /// saw it. Where windows are several steps apart, these are different places of the filter for different remainders
  /// of the element's row and column, with a part for each pair of them. A part without taps has zeros.
  static Windowed ofInputGrad(const ConvShape& s);
};

/// Some windows of an image: rows [i, i + rows), columns [j, j + columns).
struct WindowBlock {
  std::int64_t i, j, rows, columns;
};
/// The largest of even blocks of about `windows` windows, at most.
WindowBlock largestBlock(const Windows& w, std::int64_t windows);

/// The windows of `n` images in blocks, each some of an image or all of several.
class WindowBlocks {
 public:
  struct Block {
    std::int64_t image, images;
    WindowBlock windows;
    std::int64_t count() const { return images * windows.rows * windows.columns; }
  };

  /// Of about `windows` windows a block and at most `images` images, that of one having so many elements in its slab.
  WindowBlocks(const Windows& w, const WindowBlock& largest, std::int64_t n, std::int64_t slab, std::int64_t windows,
               std::int64_t images);

  const WindowBlock& largest() const { return largest_; }
  /// Of a block, at most.
  std::int64_t images() const { return images_; }

  std::int64_t count() const { return batches_ * down_ * across_; }
  Block operator[](std::int64_t index) const;

 private:
  std::int64_t n_, rows_, columns_;
  WindowBlock largest_;
  std::int64_t images_;
  std::int64_t batches_, down_, across_;
};
/// Windows of one tile of outputs or input gradients, about.
inline constexpr std::int64_t kTileWindows = 512;

/// How `planes` planes lie in a slab of at most `rows` by `columns` windows, their columns sorted or as they are.
class SlabLayout {
 public:
  SlabLayout(const Windows& windows, std::int64_t planes, std::int64_t rows, std::int64_t columns, bool sorted = true);

  /// Elements of the slab of one image.
  std::int64_t size() const { return planes_ * plane_; }
  /// Elements from what one window sees to what those below and beside it see.
  std::int64_t down() const { return windows_.stepH * row_; }
  std::int64_t beside() const { return windows_.stepW / step_; }
  /// Where the first window of the block sees the tap `k % taps` of the plane `k / taps`.
  const std::int64_t* offsets() const { return offsets_.data(); }

  /// Copies what `block` sees from an image, planes h * w elements apart, or some of so many `channels` that lie beside
  /// each other, if that is not 0.
  template <class T>
  [[gnu::noinline]] void fill(const T* image, const WindowBlock& block, T* slab, std::int64_t channels = 0) const {
    const std::int64_t top = block.i * windows_.stepH + reach_.top, step = step_;
    const std::int64_t seen = (block.rows - 1) * windows_.stepH + reach_.rows;
    const std::int64_t first = std::max<std::int64_t>(0, -top), last = std::min(seen, windows_.h - top);
    bool padded = first > 0 || last < seen;
    // Of the columns of each remainder, those that lie in the plane: [begin, end), from column `from` of it on.
    struct Part {
      std::int64_t begin, end, from;
    };
    ScratchList<Part> parts(step);
    for (std::int64_t part = 0, x = block.j * windows_.stepW + reach_.left; part < step; ++part, ++x) {
      const std::int64_t begin = std::min(part_, x >= 0 ? 0 : (-x + step - 1) / step);
      const std::int64_t end = x >= windows_.w ? begin : std::clamp((windows_.w - x - 1) / step + 1, begin, part_);
      parts.push_back({begin, end, x + begin * step});
      padded = padded || begin > 0 || end < part_;
    }
    // In one stretch: most rows of images are short.
    if (padded) std::fill_n(slab, size(), T{});
    if constexpr (std::is_floating_point_v<T>)
      if (channels > 0) {
        const auto turn = convKernels<T>().turn;
        for (std::int64_t r = first; r < last; ++r) {
          if (!rowsSeen_[r % windows_.stepH]) continue;
          const T* row = image + (top + r) * windows_.w * channels;
          for (std::int64_t part = 0; part < step; ++part) {
            const auto [begin, end, from] = parts[part];
            if (columnsSeen_[part] && begin < end)
              turn(row + from * channels, step * channels, slab + r * row_ + part * part_ + begin, plane_, planes_,
                   end - begin);
          }
        }
        return;
      }
    const auto eachRow = [&](auto copy) {
      for (std::int64_t p = 0; p < planes_; ++p, image += windows_.h * windows_.w, slab += plane_)
        for (std::int64_t phase = 0; phase < windows_.stepH; ++phase) {
          if (!rowsSeen_[phase]) continue;
          for (std::int64_t r = phase + ceilDiv(first - phase, windows_.stepH) * windows_.stepH; r < last;
               r += windows_.stepH)
            copy(image + (top + r) * windows_.w, slab + r * row_);
        }
    };
    if (step == 1) {
      const auto [begin, end, from] = parts[0];
      return eachRow([begin, end, from](const T* row, T* to) { copyRow(row + from, end - begin, to + begin); });
    }
    const auto sorted = [&](auto apart) {
      eachRow([&](const T* row, T* to) {
        for (std::int64_t part = 0; part < step; ++part, to += part_) {
          if (!columnsSeen_[part]) continue;
          const auto [begin, end, from] = parts[part];
          const T* first = row + from;
          T* target = to + begin;
          for (std::int64_t e = 0; e < end - begin; ++e) target[e] = first[e * apart];
        }
      });
    };
    if constexpr (sizeof(T) <= sizeof(float))
      if (step == 2) return sorted(std::integral_constant<std::int64_t, 2>());
    sorted(step);
  }

 private:
  const Windows& windows_;
  std::int64_t planes_;
  std::int64_t step_;  // columns are sorted by their remainders by it
  Reach reach_;
  std::int64_t part_, row_, plane_;       // elements of the columns of one remainder, of a row, of a plane
  Scratch<bool> rowsSeen_, columnsSeen_;  // by remainder: does any tap see them?
  Scratch<std::int64_t> offsets_;
};

/// The offsets of a slab of so many planes for each part, plane and tap, of the part's in turn.
Scratch<std::int64_t> offsetsOfParts(const Windowed& of, const SlabLayout& layout, std::int64_t planes);

}  // namespace tandem::lib
