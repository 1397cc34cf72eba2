// window_write: what a write through a view means for the tensor that is viewed.
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"

namespace tandem::cuda::lib {

void window_write(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  ArrayView value = call.inputs[1];
  AttrReader attrs(call.attrs);
  const DimsRef size = attrs.list();
  const DimsRef stride = attrs.list();
  const std::int64_t offset = attrs.integer();
  copyUnlessSame(call.inputs[0], out);
  value.strides = broadcastStrides(value.shape, value.strides, size);
  value.shape = size;
  copyUnlessSame(value, {out.as<unsigned char>() + static_cast<std::size_t>(offset) * itemSize(out.dtype), out.dtype,
                         size, stride});
}

namespace {

const Registered here{{"window_write", &window_write}};

}  // namespace

}  // namespace tandem::cuda::lib
