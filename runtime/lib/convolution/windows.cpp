#include "runtime/lib/convolution/windows.h"

#include "runtime/device/thread_pool.h"

namespace tandem::lib {

Windowed Windowed::ofOutput(const ConvShape& s) {
  const std::int64_t taps = s.kh * s.kw;
  Windowed of(Windows(s.h, s.w, s.oh, s.ow, s.strideH, s.strideW, taps), 1, s.oh * s.ow, s.ow, 1);
  for (std::int64_t y = 0; y < s.kh; ++y)
    for (std::int64_t x = 0; x < s.kw; ++x) {
      of.windows.taps.push_back({y * s.dilationH - s.padH, x * s.dilationW - s.padW});
      of.places.push_back(y * s.kw + x);
    }
  of.parts.push_back({s.oh, s.ow, 0, taps, 0});
  return of;
}

Windowed Windowed::ofInputGrad(const ConvShape& s) {
  const std::int64_t taps = s.kh * s.kw, below = std::min(s.strideH, s.h), beside = std::min(s.strideW, s.w);
  Windowed of(Windows(s.oh, s.ow, ceilDiv(s.h, s.strideH), ceilDiv(s.w, s.strideW), 1, 1, taps), below * beside,
              s.h * s.w, s.strideH * s.w, s.strideW);
  for (std::int64_t a = 0; a < below; ++a)
    for (std::int64_t b = 0; b < beside; ++b) {
      const std::int64_t tap = of.places.size();
      for (std::int64_t y = 0; y < s.kh; ++y)
        for (std::int64_t x = 0; x < s.kw; ++x) {
          const std::int64_t row = a + s.padH - y * s.dilationH, column = b + s.padW - x * s.dilationW;
          if (row % s.strideH != 0 || column % s.strideW != 0) continue;
          of.windows.taps.push_back({row / s.strideH, column / s.strideW});
          of.places.push_back(y * s.kw + x);
        }
      of.parts.push_back(
          {ceilDiv(s.h - a, s.strideH), ceilDiv(s.w - b, s.strideW), tap, of.places.size() - tap, a * s.w + b});
    }
  return of;
}

Reach reachOf(const Windows& windows) {
  Tap first = windows.taps[0], last = first;
  for (const Tap& tap : windows.taps) {
    first = {std::min(first.row, tap.row), std::min(first.column, tap.column)};
    last = {std::max(last.row, tap.row), std::max(last.column, tap.column)};
  }
  return {first.row, first.column, last.row - first.row + 1, last.column - first.column + 1};
}

std::int64_t cutsOf(std::int64_t tiles, std::int64_t work, std::int64_t most) {
  constexpr std::int64_t kTilesAThread = 4;
  constexpr std::int64_t kWorthSharing = std::int64_t{1} << 19;
  if (numThreads() == 1) return 1;
  return std::max<std::int64_t>(1,
                                std::min({ceilDiv(numThreads() * kTilesAThread, tiles), work / kWorthSharing, most}));
}

WindowBlock largestBlock(const Windows& w, std::int64_t windows) {
  if (w.count() <= windows) return {0, 0, w.rows, w.columns};
  const std::int64_t columns = ceilDiv(w.columns, std::max<std::int64_t>(1, w.columns / windows));
  const std::int64_t down = ceilDiv(w.rows, std::max<std::int64_t>(1, windows / columns));
  return {0, 0, ceilDiv(w.rows, down), columns};
}

WindowBlocks::WindowBlocks(const Windows& w, const WindowBlock& largest, std::int64_t n, std::int64_t slab,
                           std::int64_t windows, std::int64_t images)
    : n_(n), rows_(w.rows), columns_(w.columns), largest_(largest) {
  constexpr std::int64_t kMostSlab = std::int64_t{1} << 19;  // elements, of several images
  images_ = std::clamp<std::int64_t>(std::min({images, windows / w.count(), kMostSlab / slab}), 1, n);
  batches_ = ceilDiv(n, images_), down_ = ceilDiv(rows_, largest_.rows), across_ = ceilDiv(columns_, largest_.columns);
}

WindowBlocks::Block WindowBlocks::operator[](std::int64_t index) const {
  const std::int64_t j = index % across_ * largest_.columns, i = index / across_ % down_ * largest_.rows;
  const std::int64_t image = index / across_ / down_ * images_;
  return {image,
          std::min(images_, n_ - image),
          {i, j, std::min(largest_.rows, rows_ - i), std::min(largest_.columns, columns_ - j)}};
}

Scratch<std::int64_t> offsetsOfParts(const Windowed& of, const SlabLayout& layout, std::int64_t planes) {
  const std::int64_t taps = of.places.size();
  Scratch<std::int64_t> all(planes * taps);
  std::int64_t* to = all.data();
  for (const WindowPart& part : of.parts)
    for (std::int64_t plane = 0; plane < planes; ++plane, to += part.count)
      std::copy_n(layout.offsets() + plane * taps + part.tap, part.count, to);
  return all;
}

SlabLayout::SlabLayout(const Windows& windows, std::int64_t planes, std::int64_t rows, std::int64_t columns,
                       bool sorted)
    : windows_(windows), planes_(planes), step_(sorted ? windows.stepW : 1), reach_(reachOf(windows)),
      rowsSeen_(windows.stepH), columnsSeen_(step_), offsets_(planes * windows.taps.size()) {
  std::fill_n(rowsSeen_.data(), windows.stepH, false);
  std::fill_n(columnsSeen_.data(), step_, false);
  for (const Tap& tap : windows.taps) {
    rowsSeen_[(tap.row - reach_.top) % windows.stepH] = true;
    columnsSeen_[(tap.column - reach_.left) % step_] = true;
  }
  part_ = (columns - 1) * beside() + (reach_.columns - 1) / step_ + 1;
  row_ = step_ * part_;
  plane_ = ((rows - 1) * windows.stepH + reach_.rows) * row_;
  // Planes a multiple of 1 KiB apart, of elements of 4 bytes, would fall on the same few cache lines.
  if (plane_ % 256 == 0) plane_ += 16;
  std::int64_t* offset = offsets_.data();
  for (std::int64_t p = 0; p < planes; ++p)
    for (const Tap& tap : windows.taps) {
      const std::int64_t column = tap.column - reach_.left;
      *offset++ = p * plane_ + (tap.row - reach_.top) * row_ + column % step_ * part_ + column / step_;
    }
}

}  // namespace tandem::lib
