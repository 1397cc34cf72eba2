// The maxima of windows of images whose channels lie beside each other: vectors are channels of one place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/pool/max_by_columns.h"
#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// The channels of one place in one of their windows: `at` is where the largest ones are, if that is asked for.
template <class C>
[[gnu::always_inline]] inline void takePlace(const C* x, std::int32_t place, std::int64_t channels, bool first, C* best,
                                             std::int32_t* at) {
  // A window of infinities has its maximum at its first element.
  if (first) {
    std::copy_n(x, channels, best);
    if (at != nullptr) std::fill_n(at, channels, place);
    return;
  }
  for (std::int64_t c = 0; at != nullptr && c < channels; ++c) at[c] = replaces(x[c], best[c]) ? place : at[c];
  for (std::int64_t c = 0; c < channels; ++c) best[c] = replaces(x[c], best[c]) ? x[c] : best[c];
}

/// `n` elements from `at` on, as C. `buffer`: for those that are widened.
template <class C>
[[gnu::always_inline]] inline const C* elementsAt(const ArrayView& x, std::int64_t at, std::int64_t n, C* buffer) {
  if constexpr (std::is_same_v<C, float>) {
    if (x.dtype == DType::Float16) return widen(x.as<const Half>() + at, buffer, n), buffer;
    if (x.dtype == DType::BFloat16) return widen(x.as<const BFloat16>() + at, buffer, n), buffer;
  }
  return x.as<const C>() + at;
}

/// Of the image that begins at `image`, the output rows [begin, end) of all depths: each place with all channels.
/// `columns`: what each window sees of a row. What `together` of them see is widened at a time.
template <class C>
[[gnu::always_inline]] inline void
maximaOfRows(const Pool& pool, const Span* columns, std::int64_t together, std::int64_t begin, std::int64_t end,
             const ArrayView& x, std::int64_t image, std::int64_t channels, C* buffer, C* best, std::int32_t* at) {
  const auto& [d, h, w] = pool.axes;
  for (std::int64_t r = begin; r < end; ++r) {
    const Span depth = d.inside(r / h.out);
    const Span rows = h.inside(r % h.out);
    for (std::int64_t o = 0, count; o < w.out; o += count) {
      count = std::min(together, w.out - o);
      Span seen = columns[o];
      for (std::int64_t i = 1; i < count; ++i)
        seen = {std::min(seen.first, columns[o + i].first), std::max(seen.end, columns[o + i].end)};
      bool first = true;
      for (std::int64_t i = depth.first; i < depth.end; i += d.dilation)
        for (std::int64_t j = rows.first; j < rows.end && seen.first < seen.end; j += h.dilation, first = false) {
          const std::int64_t row = (i * h.size + j) * w.size;
          const C* from =
              elementsAt(x, image + (row + seen.first) * channels, (seen.end - seen.first) * channels, buffer);
          for (std::int64_t p = 0; p < count; ++p)
            for (std::int64_t k = columns[o + p].first; k < columns[o + p].end; k += w.dilation)
              takePlace(from + (k - seen.first) * channels, static_cast<std::int32_t>(row + k), channels,
                        first && k == columns[o + p].first, best + p * channels,
                        at == nullptr ? nullptr : at + p * channels);
        }
      for (std::int64_t p = 0; p < count; ++p, best += channels, at += at == nullptr ? 0 : channels) {
        if (!first && columns[o + p].first < columns[o + p].end) continue;
        // A window that sees nothing of the input.
        std::fill_n(best, channels, kLowest<C>);
        if (at != nullptr)
          std::fill_n(at, channels,
                      static_cast<std::int32_t>((depth.first * h.size + rows.first) * w.size + columns[o + p].first));
      }
    }
  }
}

/// Of float32 and half types as float, of float64 as double. Some rows of the output at a time, which are transposed
/// where their channels are planes, and not `asImages`.
template <class C>
void maxByChannels(const Pool& pool, const ArrayView& x, const ArrayView& values, const ArrayView* indices,
                   bool asImages) {
  constexpr std::int64_t kWide = 2048;
  constexpr std::int64_t kElements = 32 * 1024 / sizeof(C);  // of a band: in the first cache
  const std::int64_t channels = x.shape[1];
  const std::int64_t places = pool.axes[2].out;
  const std::int64_t rows = pool.outputSize() / places;
  const std::int64_t band = std::clamp<std::int64_t>(kElements / (places * channels), 1, rows);
  const std::int64_t bands = ceilDiv(rows, band);
  const std::int64_t most = band * places * channels;
  const bool halves = itemSize(values.dtype) != sizeof(C);
  const std::int64_t size = pool.axes[2].size;
  // Windows whose elements are widened together, of a row that stays in the first cache.
  const std::int64_t together = halves ? std::clamp<std::int64_t>(places * kWide / (size * channels), 1, places) : 1;
  const Scratch<Span> columns(places);
  for (std::int64_t o = 0; o < places; ++o) columns[o] = pool.axes[2].inside(o);
  parallelFor(
      x.shape[0] * bands, grainOf(2 * pool.work() / rows * band * channels), [&](std::int64_t begin, std::int64_t end) {
        const Scratch<C> best(most);
        const Scratch<C> buffer(halves ? size * channels : 0);
        const Scratch<std::uint16_t> narrowed(halves ? most : 0);
        const Scratch<std::int32_t> at(indices == nullptr ? 0 : most);
        const Scratch<std::int64_t> wide(indices == nullptr ? 0 : most);
        for (std::int64_t unit = begin; unit < end; ++unit) {
          const std::int64_t image = unit / bands;
          const std::int64_t first = unit % bands * band;
          const std::int64_t last = std::min(first + band, rows);
          withAvx2([&]() TANDEM_INLINED {
            maximaOfRows<C>(pool, columns.data(), together, first, last, x, image * x.strides[0], channels,
                            buffer.data(), best.data(), indices == nullptr ? nullptr : at.data());
          });
          const std::int64_t n = (last - first) * places;
          const std::int64_t to = (image * channels * rows + first) * places;
          const auto turn = [&](const void* from, const ArrayView& out) {
            const auto item = static_cast<std::int64_t>(itemSize(out.dtype));
            if (asImages)
              return void(std::memcpy(out.as<char>() + (image * rows + first) * places * channels * item, from,
                                      static_cast<std::size_t>(n * channels * item)));
            transposeMatrix(from, channels, out.as<char>() + to * static_cast<std::int64_t>(itemSize(out.dtype)),
                            rows * places, channels, n, out.dtype);
          };
          const void* made = best.data();
          if constexpr (std::is_same_v<C, float>) {
            if (halves) made = narrowed.data();
            if (values.dtype == DType::Float16)
              narrow(best.data(), reinterpret_cast<Half*>(narrowed.data()), n * channels);
            if (values.dtype == DType::BFloat16)
              narrow(best.data(), reinterpret_cast<BFloat16*>(narrowed.data()), n * channels);
          }
          turn(made, values);
          if (indices == nullptr) continue;
          std::copy_n(at.data(), n * channels, wide.data());
          turn(wide.data(), *indices);
        }
      });
}

}  // namespace tandem::lib
