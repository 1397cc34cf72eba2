// What is known of a tensor without its memory.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tandem {

/// Shape and dtype of an operand or result. A Python number has `weak` set, no shape, and `category` as its dtype
/// (Bool, Int64 or Float64).
struct TensorMeta {
  Dims shape;
  DType dtype = DType::Float32;
  bool weak = false;
  bool absent = false;  // an optional operand that was not given
};

}  // namespace tandem
