#include "codegen/cpu/bodies.h"

#include "codegen/bodies.h"
#include "codegen/cpu/vector_builder.h"

namespace tandem::codegen {

Val emitOperation(VectorBuilder& builder, OpCode op, int result, DType type, std::span<const Val> operands) {
  return emitBody(builder, op, result, type, operands);
}

Combine combinerOf(OpCode op) {
  switch (reduceKind(op)) {
  case ReduceKind::Sum:
    return Combine::Sum;
  case ReduceKind::Prod:
    return Combine::Prod;
  case ReduceKind::Max:
    return Combine::Max;
  case ReduceKind::Min:
    return Combine::Min;
  case ReduceKind::Any:
    return Combine::Any;
  case ReduceKind::All:
    return Combine::All;
  }
  fail<InternalError>("operation ", static_cast<int>(op), " has an unknown combiner");
}

}  // namespace tandem::codegen
