// gcd: runtime/lib/functions/gcd.cpp.
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kGcd("gcd", kGcdText);

}  // namespace

void gcd(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& y = call.inputs[1];
  const ArrayView& out = call.outputs[0];
  if (!isInteger(x.dtype)) fail<InternalError>("gcd of ", dtypeName(x.dtype));
  launch(kGcd.kernel("gcd", {{"ELEMENT", typeName(x.dtype)}}), elementwise(out.numel()),
         walk<2>(out.shape, {x.strides, y.strides}), x.data, y.data, out.data);
}

namespace {

const Registered here{{"gcd", &gcd}};

}  // namespace

}  // namespace tandem::cuda::lib
