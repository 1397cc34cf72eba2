#include "codegen/cpu/bodies.h"

#include "codegen/cpu/vector_builder.h"
#include "codegen/scalar_bodies.h"

namespace tandem::codegen {

Val emitOperation(VectorBuilder& builder, OpCode op, int result, DType dtype, std::span<const Val> operands) {
  return emitBody(builder, op, result, dtype, operands);
}

}  // namespace tandem::codegen
