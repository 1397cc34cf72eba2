// Memory formats: the order in which the dims of a dense tensor lie in memory, as PyTorch's `memory_format` names them.
#pragma once

#include "eager/tensor.h"

namespace tandem {

enum class MemoryFormat : std::uint8_t {
  Contiguous,      // row-major
  Preserve,        // the order that the source has
  ChannelsLast,    // [N, C, H, W] with the channels innermost
  ChannelsLast3d,  // [N, C, D, H, W] likewise
};

/// Does `t` lie dense in the order of `format` (not Preserve)? False where the format is for another number of dims.
bool isContiguousIn(const Tensor& t, MemoryFormat format);

/// The format that the strides of `t` speak for, as PyTorch reads them: ChannelsLast or ChannelsLast3d where the
/// channels are innermost beyond doubt, else Contiguous.
MemoryFormat formatOf(const Tensor& t);

/// A copy of `t` in that format and dtype, on a device; a tensor of its own, whose gradient passes to `t`. With
/// Preserve the strides of a dense `t` are kept, and of another its order of dims. RuntimeError where the format is for
/// another number of dims, naming `op`.
Tensor copyIn(const Tensor& t, MemoryFormat format, DType dtype, Device device, const char* op);
inline Tensor copyIn(const Tensor& t, MemoryFormat format, DType dtype, const char* op) {
  return copyIn(t, format, dtype, t.device(), op);
}

}  // namespace tandem
