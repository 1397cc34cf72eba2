// The border to the generated scalar bodies, as codegen/cpu/bodies.h.
#pragma once

#include <span>

#include "codegen/cuda/text_builder.h"
#include "runtime/base/op_code.h"

namespace tandem::codegen::cuda {

/// Result number `result` of the operation in `dtype` at one point, not yet rounded to a half type.
Text emitOperation(TextBuilder& builder, OpCode op, int result, DType dtype, std::span<const Text> operands);

}  // namespace tandem::codegen::cuda
