#include "codegen/cuda/bodies.h"

#include "codegen/scalar_bodies.h"

namespace tandem::codegen::cuda {

Text emitOperation(TextBuilder& builder, OpCode op, int result, DType dtype, std::span<const Text> operands) {
  return emitBody(builder, op, result, dtype, operands);
}

}  // namespace tandem::codegen::cuda
