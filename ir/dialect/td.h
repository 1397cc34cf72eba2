// The dialect `td` in C++: the classes mlir-tblgen makes of td.td, and the way between their types and ours.
#pragma once

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "ir/schema/op_table.h"

namespace tandem::td {

/// Of a dtype; bool is i1, uint8 is ui8, the signed integers are signless.
mlir::Type elementType(mlir::MLIRContext* context, DType dtype);
/// The dtype of a tensor's or scalar's type.
DType dtypeOf(mlir::Type type);
mlir::RankedTensorType tensorType(mlir::MLIRContext* context, const TensorMeta& meta);
/// Static shape and an element type of ours.
bool isTensorType(mlir::Type type);
/// As the schema's rules see a value: scalars are weak numbers.
TensorMeta metaOf(mlir::Type type);
inline DimsRef shapeOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()).getShape(); }
inline std::int64_t bytesOf(mlir::Type type) {
  return numelOf(mlir::cast<mlir::RankedTensorType>(type).getShape()) *
         static_cast<std::int64_t>(itemSize(dtypeOf(type)));
}

}  // namespace tandem::td

#include "ir/dialect/td_dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/dialect/td_attrs.h.inc"
#define GET_OP_CLASSES
#include "ir/dialect/td_ops.h.inc"
