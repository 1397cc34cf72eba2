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

/// `channels` of one place, as C. `buffer`: for those that are widened.
template <class C>
[[gnu::always_inline]] inline const C* channelsAt(const ArrayView& x, std::int64_t at, std::int64_t channels,
                                                  C* buffer) {
  if constexpr (std::is_same_v<C, float>) {
    if (x.dtype == DType::Float16) return widen(x.as<const Half>() + at, buffer, channels), buffer;
    if (x.dtype == DType::BFloat16) return widen(x.as<const BFloat16>() + at, buffer, channels), buffer;
  }
  return x.as<const C>() + at;
}

/// Of the image that begins at `image`, the output rows [begin, end) of all depths: each place with all channels.
template <class C>
[[gnu::always_inline]] inline void maximaOfRows(const Pool& pool, std::int64_t begin, std::int64_t end,
                                                const ArrayView& x, std::int64_t image, std::int64_t channels,
                                                C* buffer, C* best, std::int32_t* at) {
  const auto& [d, h, w] = pool.axes;
  for (std::int64_t r = begin; r < end; ++r) {
    const Span depth = d.inside(r / h.out);
    const Span rows = h.inside(r % h.out);
    for (std::int64_t o = 0; o < w.out; ++o, best += channels, at += at == nullptr ? 0 : channels) {
      const Span s = w.inside(o);
      bool first = true;
      for (std::int64_t i = depth.first; i < depth.end; i += d.dilation)
        for (std::int64_t j = rows.first; j < rows.end; j += h.dilation)
          for (std::int64_t k = s.first; k < s.end; k += w.dilation, first = false) {
            const std::int64_t place = (i * h.size + j) * w.size + k;
            takePlace(channelsAt(x, image + place * channels, channels, buffer), static_cast<std::int32_t>(place),
                      channels, first, best, at);
          }
      if (!first) continue;
      // A window that sees nothing of the input.
      std::fill_n(best, channels, kLowest<C>);
      if (at != nullptr)
        std::fill_n(at, channels, static_cast<std::int32_t>((depth.first * h.size + rows.first) * w.size + s.first));
    }
  }
}

/// Of float32 and half types as float, of float64 as double. Some rows of the output at a time, which are transposed to
/// where their channels are planes.
template <class C>
void maxByChannels(const Pool& pool, const ArrayView& x, const ArrayView& values, const ArrayView* indices) {
  constexpr std::int64_t kElements = 32 * 1024 / sizeof(C);  // of a band: in the first cache
  const std::int64_t channels = x.shape[1];
  const std::int64_t places = pool.axes[2].out;
  const std::int64_t rows = pool.outputSize() / places;
  const std::int64_t band = std::clamp<std::int64_t>(kElements / (places * channels), 1, rows);
  const std::int64_t bands = ceilDiv(rows, band);
  const std::int64_t most = band * places * channels;
  const bool halves = itemSize(values.dtype) != sizeof(C);
  parallelFor(
      x.shape[0] * bands, grainOf(2 * pool.work() / rows * band * channels), [&](std::int64_t begin, std::int64_t end) {
        const Scratch<C> best(most);
        const Scratch<C> buffer(halves ? channels : 0);
        const Scratch<std::uint16_t> narrowed(halves ? most : 0);
        const Scratch<std::int32_t> at(indices == nullptr ? 0 : most);
        const Scratch<std::int64_t> wide(indices == nullptr ? 0 : most);
        for (std::int64_t unit = begin; unit < end; ++unit) {
          const std::int64_t image = unit / bands;
          const std::int64_t first = unit % bands * band;
          const std::int64_t last = std::min(first + band, rows);
          withAvx2([&]() TANDEM_INLINED {
            maximaOfRows<C>(pool, first, last, x, image * x.strides[0], channels, buffer.data(), best.data(),
                            indices == nullptr ? nullptr : at.data());
          });
          const std::int64_t n = (last - first) * places;
          const std::int64_t to = (image * channels * rows + first) * places;
          const auto turn = [&](const void* from, const ArrayView& out) {
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
