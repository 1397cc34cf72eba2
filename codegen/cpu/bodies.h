// The border to the generated scalar bodies: the one file that instantiates them includes everything they need, the
// others only this.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/dtype.h"
#include "runtime/base/op_code.h"

namespace tandem::codegen {

struct Val;
class VectorBuilder;

/// Result number `result` of the operation in `dtype` at one point (or vector of points), not yet rounded to a half
/// type.
Val emitOperation(VectorBuilder& builder, OpCode op, int result, DType dtype, std::span<const Val> operands);

}  // namespace tandem::codegen
