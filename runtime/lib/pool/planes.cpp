#include "runtime/lib/pool/planes.h"

#include <array>

#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

void inPlanes(const LibraryCall& call, LibraryFn make) {
  const auto bytes = [&](std::size_t k) {
    if (k >= call.outputs.size()) return std::int64_t{0};
    return call.outputs[k].numel() * static_cast<std::int64_t>(itemSize(call.outputs[k].dtype));
  };
  const Scratch<char> memory[] = {Scratch<char>(bytes(0)), Scratch<char>(bytes(1))};
  std::array<ArrayView, 2> planes;
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    const Dims shape = channelsSecond(call.outputs[k].shape);
    planes[k] = {memory[k].data(), call.outputs[k].dtype, shape, contiguousStrides(shape)};
  }
  make({call.inputs, std::span(planes).first(call.outputs.size()), call.attrs, call.scalars, call.line});
  for (std::size_t k = 0; k < call.outputs.size(); ++k)
    copyArray(planes[k],
              {call.outputs[k].data, planes[k].dtype, planes[k].shape, channelsSecond(call.outputs[k].strides)});
}

}  // namespace tandem::lib
