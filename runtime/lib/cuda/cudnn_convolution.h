// The convolution and its two gradients by cuDNN (cudnn.h).
#pragma once

#include <array>
#include <cstdint>

#include "runtime/lib/cuda/contraction.h"
#include "runtime/lib/library.h"

namespace tandem::cuda {

/// Sizes of input [N, C, H, W], weight [O, C / groups, KH, KW] and output [N, O, OH, OW], and how they belong together.
struct ConvolutionSizes {
  std::array<std::int64_t, 4> input, weight, output;
  std::array<std::int64_t, 2> stride, padding, dilation;
  std::int64_t groups;
  friend auto operator<=>(const ConvolutionSizes&, const ConvolutionSizes&) = default;
};

/// Queues the operation of that kind (one of the convolutions) of two operands, into `out`, which is contiguous; no
/// size is 0. False, and nothing is queued, where cuDNN is missing, or has no engine for the dtype and sizes; where the
/// input has room for more output than there is, which cuDNN does not know; and for float64. Of sizes, dtype and the
/// flag depends which engine computes it, not of strides.
bool cudnnConvolution(ContractionKind kind, const ConvolutionSizes& sizes, const ArrayView& a, const ArrayView& b,
                      const ArrayView& out, bool allowsTf32);

}  // namespace tandem::cuda
