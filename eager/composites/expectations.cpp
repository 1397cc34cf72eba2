// Checks of values: at once where they are memory of the host, as an operation in a trace and on other devices.
#include "eager/batch.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/host.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::ops {
namespace {

/// Of a tensor on the host.
ArrayView arrayOf(const Tensor& t) { return {t.data(), t.dtype(), t.shape(), t.strides()}; }

}  // namespace

Tensor expected(const Tensor& x, const Tensor& good, Expectation what, const Tensor& shown, std::int64_t detail) {
  const Tensor& named = shown.defined() ? shown : good;
  const Operand operands[] = {x, good, named};
  // What is made of the result lies in the order of its strides, which are those of `x` in every mode.
  if (recorderFor(operands) != nullptr || anyBatched(operands))
    return laidOut(x, orderOfStrides(x.shape(), {&x.strides(), 1}),
                   [&](const Tensor& in) { return expect(in, good, named, static_cast<std::int64_t>(what), detail); });
  if (!good.device().isCpu()) {
    // Raised by whoever waits next. Nothing is computed from the small copy, so that `x` is not copied.
    expect(good, good, named, static_cast<std::int64_t>(what), detail);
  } else if (good.numel() != 0 && !readElement<bool>(all(good))) {
    // One look at most values; which one is wrong is asked only when one is.
    checkExpectation(what, detail, arrayOf(readHost(good)), arrayOf(readHost(named)));
  }
  return repeatsElements(x) ? copyIn(x, MemoryFormat::Preserve, x.dtype(), "expected") : x;
}

}  // namespace tandem::ops
