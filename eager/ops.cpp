// The primitives as C++ functions: generated, each packs its operands and attributes and goes to the dispatcher. Where
// a primitive needs its arguments brought into a normal form first (dims wrapped, index tensors checked), that is here.
#include "eager/ops.h"

#include <algorithm>
#include <array>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "runtime/base/attrs.h"

namespace tandem {

Dims reductionDims(const Tensor& x, const std::optional<Dims>& dims) {
  Dims out;
  if (!dims || dims->empty()) {
    for (std::int64_t d = 0; d < x.dim(); ++d) out.push_back(d);
    return out;
  }
  std::uint64_t seen = 0;
  for (auto d : *dims) {
    std::int64_t k = wrapDim(d, x.dim());
    if ((seen >> k & 1) != 0) fail("dim ", k, " appears multiple times in the list of dims ", shapeText(*dims));
    seen |= std::uint64_t{1} << k;
  }
  for (std::int64_t d = 0; d < x.dim(); ++d)
    if ((seen >> d & 1) != 0) out.push_back(d);
  return out;
}

}  // namespace tandem

namespace tandem::ops {

#include "eager/ops.inc"

void assign(const Tensor& into, const Tensor& value) { applyInto(into, OpCode::clone, {value}); }

void assignResult(const char* op, const Tensor& into, const std::function<Tensor()>& compute) {
  InPlaceForm form(into);
  Tensor value = compute();
  if (!(value.shape() == into.shape()))
    fail(op, "_: output with shape ", shapeText(into.shape()), " doesn't match the broadcast shape ",
         shapeText(value.shape()));
  if (category(value.dtype()) > category(into.dtype()))
    fail(op, "_: result type ", dtypeClassName(value.dtype()), " can't be cast to the desired output type ",
         dtypeClassName(into.dtype()));
  form.end(std::move(value));
}

}  // namespace tandem::ops
