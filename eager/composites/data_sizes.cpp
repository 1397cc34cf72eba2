// Composites whose results' sizes depend on data. Each computes its size as a tensor and learns it in one way
// (`learnSize`); the rest is made of operations that know it.
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::ops {

Tensor nonzero(const Tensor& x) {
  Tensor mask = x.dtype() == DType::Bool ? x : ne(x, 0);
  Tensor count = sum(mask, {}, false, {});
  std::int64_t size = learnSize(count);
  return nonzero_rows(mask, count, size);
}

}  // namespace tandem::ops
