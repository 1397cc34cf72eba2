// cat: each input is copied into its part of the output.
#include "runtime/lib/strided.h"

namespace tandem::lib {

void cat(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(out.shape.size()));
  auto d = static_cast<std::size_t>(dim);
  std::int64_t at = 0;
  for (const ArrayView& x : call.inputs) {
    // An empty operand adds nothing; one of shape [0] need not even have the others' rank.
    if (x.numel() == 0) continue;
    ArrayView part{out.as<unsigned char>() + static_cast<std::size_t>(at * out.strides[d]) * itemSize(out.dtype),
                   out.dtype, x.shape, out.strides};
    copyArray(x, part);
    at += x.shape[d];
  }
}

}  // namespace tandem::lib
