// What reductions without a first element (max, amin ...) need of their operand.
#pragma once

#include <optional>

#include "eager/helpers.h"
#include "eager/tensor.h"
#include "runtime/base/error.h"

namespace tandem::ops {

/// An error where there are no elements: the dims to reduce were not named.
inline void needElements(const char* op, const Tensor& x) {
  if (x.numel() == 0)
    fail(op,
         "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
         "argument.");
}

/// `reductionDims` where no elements ask for the dims to be named.
inline Dims namedDims(const char* op, const Tensor& x, const std::optional<Dims>& dims) {
  if (!dims || dims->empty()) needElements(op, x);
  return reductionDims(x, dims);
}

}  // namespace tandem::ops
