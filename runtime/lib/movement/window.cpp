// window_write: what a write through a view means for the tensor that is viewed.
#include "runtime/lib/strided.h"

namespace tandem::lib {

void window_write(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  ArrayView value = call.inputs[1];
  AttrReader attrs(call.attrs);
  DimsRef size = attrs.list();
  DimsRef stride = attrs.list();
  std::int64_t offset = attrs.integer();
  copyArray(call.inputs[0], out);
  value.strides = broadcastStrides(value.shape, value.strides, size);
  value.shape = size;
  ArrayView window{out.as<unsigned char>() + static_cast<std::size_t>(offset) * itemSize(out.dtype), out.dtype, size,
                   stride};
  copyArray(value, window);
}

}  // namespace tandem::lib
