// The scalar bodies of the records, as one function over a builder. Includes all of the vector math: one file a builder
// includes this.
#pragma once

#include <span>

#include "codegen/math/math.h"
#include "ir/schema/op_code.h"
#include "runtime/base/error.h"

namespace tandem {

/// Result `result` of a pointwise operation on `v`, its operands in the record's order (and the index). `dtype` is that
/// of the operation; half types are computed in float32, and the result is not yet rounded.
template <class B>
typename B::V emitBody(B& b, OpCode op, [[maybe_unused]] int result, [[maybe_unused]] DType dtype,
                       std::span<const typename B::V> v) {
  switch (op) {
#include "codegen/bodies.inc"
  default:
    break;
  }
  fail<InternalError>("operation ", static_cast<int>(op), " has no scalar body");
}

}  // namespace tandem
