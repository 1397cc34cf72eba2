// The patches of one image as a matrix [c / groups * kh * kw, oh * ow]: read from it, and added back into it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// Calls each(patch row, oh, ow of the first element, input offset of it, count) for the runs of output positions of
/// one kernel position and row; positions whose input lies in the padding are left out.
template <class Each>
void eachPatchRow(const ConvShape& s, Each each) {
  for (std::int64_t c = 0; c < s.groupChannels(); ++c)
    for (std::int64_t kh = 0; kh < s.kh; ++kh)
      for (std::int64_t kw = 0; kw < s.kw; ++kw) {
        std::int64_t row = (c * s.kh + kh) * s.kw + kw;
        // ow with 0 <= ow * stride + shift < w
        std::int64_t shift = kw * s.dilationW - s.padW;
        std::int64_t begin = shift >= 0 ? 0 : (-shift + s.strideW - 1) / s.strideW;
        std::int64_t end = s.w - shift <= 0 ? 0 : std::min(s.ow, (s.w - shift - 1) / s.strideW + 1);
        if (begin >= end) continue;
        for (std::int64_t oh = 0; oh < s.oh; ++oh) {
          std::int64_t h = oh * s.strideH + kh * s.dilationH - s.padH;
          if (h < 0 || h >= s.h) continue;
          each(row * s.oh * s.ow + oh * s.ow + begin, (c * s.h + h) * s.w + begin * s.strideW + shift, end - begin);
        }
      }
}

/// Of elements of any type, as numbers of their size.
template <class T>
[[gnu::noinline]] void toPatches(const ConvShape& s, const T* input, T* patches) {
  static_assert(std::is_unsigned_v<T>);
  std::fill_n(patches, s.groupChannels() * s.kh * s.kw * s.oh * s.ow, T{});
  eachPatchRow(s, [&](std::int64_t patch, std::int64_t in, std::int64_t count) {
    if (s.strideW == 1) return void(std::copy_n(input + in, count, patches + patch));
    for (std::int64_t i = 0; i < count; ++i) patches[patch + i] = input[in + i * s.strideW];
  });
}

/// Writes the image that the patches cover, of windows of `kw` columns.
template <class T, class Columns>
void placePatches(const ConvShape& s, const T* patches, T* input, Columns kw) {
  const std::int64_t rows = s.groupChannels() * s.kh, positions = s.oh * s.ow, ow = s.ow;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t oh = 0; oh < s.oh; ++oh) {
      const T* from = patches + row * kw * positions + oh * ow;
      T* to = input + ((row / s.kh * s.oh + oh) * s.kh + row % s.kh) * s.w;
      for (std::int64_t i = 0; i < ow; ++i)
        for (std::int64_t j = 0; j < kw; ++j) to[i * kw + j] = from[j * positions + i];
    }
}

template <class T>
[[gnu::noinline]] void addPatches(const ConvShape& s, const T* patches, T* input) {
  eachPatchRow(s, [&](std::int64_t patch, std::int64_t in, std::int64_t count) {
    const auto add = [&](auto stride) {
      for (std::int64_t i = 0; i < count; ++i)
        input[in + i * stride] = addElements(input[in + i * stride], patches[patch + i]);
    };
    if constexpr (std::is_floating_point_v<T>)
      if (s.strideW == 1) return add(std::integral_constant<std::int64_t, 1>());
    add(s.strideW);
  });
}

}  // namespace tandem::lib
