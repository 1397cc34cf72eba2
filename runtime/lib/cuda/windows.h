// Windows of images as columns, for unfold and for what is a product with them.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"

namespace tandem::cuda {

/// The struct Windows of windows.cu: sizes of an image, of a window and of the places of windows.
struct Windows {
  std::int64_t h, w, kh, kw, oh, ow;
  std::int64_t strideH, strideW, padH, padW, dilationH, dilationW;
};

/// `columns` [channels, kh * kw, oh * ow] of contiguous `images` [channels, h, w]: zeros outside of them.
void unfoldImages(const void* images, void* columns, DType dtype, std::int64_t channels, const Windows& windows);

/// `out` [size] is the sum of `each` [images, size], added to it where it is `onTop`: in an order of the sizes alone.
void sumImages(const void* each, void* out, DType dtype, std::int64_t size, std::int64_t images, bool onTop);

}  // namespace tandem::cuda
