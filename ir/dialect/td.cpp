#include "ir/dialect/td.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/DialectImplementation.h>

// The attributes of table operations: `[1, 0]`, nothing where there are none.
static mlir::ParseResult parseAttrs(mlir::OpAsmParser& parser, mlir::DenseI64ArrayAttr& attrs) {
  llvm::SmallVector<std::int64_t> values;
  if (mlir::succeeded(parser.parseOptionalLSquare())) {
    if (mlir::failed(parser.parseOptionalRSquare())) {
      auto one = [&] { return parser.parseInteger(values.emplace_back()); };
      if (parser.parseCommaSeparatedList(one) || parser.parseRSquare()) return mlir::failure();
    }
  }
  attrs = mlir::DenseI64ArrayAttr::get(parser.getContext(), values);
  return mlir::success();
}
static void printAttrs(mlir::OpAsmPrinter& printer, mlir::Operation*, mlir::DenseI64ArrayAttr attrs) {
  if (attrs.empty()) return;
  printer << " [";
  llvm::interleaveComma(attrs.asArrayRef(), printer);
  printer << "]";
}

#include "ir/dialect/td_dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/dialect/td_attrs.cpp.inc"
#define GET_OP_CLASSES
#include "ir/dialect/td_ops.cpp.inc"

namespace tandem::td {

void TDDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/dialect/td_attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/dialect/td_ops.cpp.inc"
      >();
}

mlir::Attribute OpAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  std::string name;
  if (parser.parseLess()) return {};
  auto where = parser.getCurrentLocation();
  if (parser.parseKeywordOrString(&name) || parser.parseGreater()) return {};
  std::optional<OpCode> code = findOp(name);
  if (!code) {
    parser.emitError(where) << "no operation is called `" << name << "`";
    return {};
  }
  return OpAttr::get(parser.getContext(), *code);
}

void OpAttr::print(mlir::AsmPrinter& printer) const { printer << "<" << llvm::StringRef(facts(getCode()).name) << ">"; }

mlir::Type elementType(mlir::MLIRContext* context, DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return mlir::IntegerType::get(context, 1);
  case DType::UInt8:
    return mlir::IntegerType::get(context, 8, mlir::IntegerType::Unsigned);
  case DType::Int8:
    return mlir::IntegerType::get(context, 8);
  case DType::Int16:
    return mlir::IntegerType::get(context, 16);
  case DType::Int32:
    return mlir::IntegerType::get(context, 32);
  case DType::Int64:
    return mlir::IntegerType::get(context, 64);
  case DType::Float16:
    return mlir::Float16Type::get(context);
  case DType::BFloat16:
    return mlir::BFloat16Type::get(context);
  case DType::Float32:
    return mlir::Float32Type::get(context);
  default:
    return mlir::Float64Type::get(context);
  }
}

namespace {

std::optional<DType> elementDType(mlir::Type t) {
  if (t.isF32()) return DType::Float32;
  if (t.isF64()) return DType::Float64;
  if (t.isF16()) return DType::Float16;
  if (t.isBF16()) return DType::BFloat16;
  if (t.isUnsignedInteger(8)) return DType::UInt8;
  if (!t.isSignlessInteger()) return {};
  switch (t.getIntOrFloatBitWidth()) {
  case 1:
    return DType::Bool;
  case 8:
    return DType::Int8;
  case 16:
    return DType::Int16;
  case 32:
    return DType::Int32;
  case 64:
    return DType::Int64;
  default:
    return {};
  }
}

}  // namespace

DType dtypeOf(mlir::Type type) {
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) type = tensor.getElementType();
  return *elementDType(type);
}

bool isTensorType(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && elementDType(tensor.getElementType());
}

mlir::RankedTensorType tensorType(mlir::MLIRContext* context, const TensorMeta& meta) {
  return mlir::RankedTensorType::get({meta.shape.data(), meta.shape.size()}, elementType(context, meta.dtype));
}

TensorMeta metaOf(mlir::Type type) {
  TensorMeta meta;
  if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    auto shape = tensor.getShape();
    meta.shape = Dims(shape.begin(), shape.end());
    meta.dtype = dtypeOf(type);
  } else if (mlir::isa<mlir::NoneType>(type)) {
    meta.absent = true;
  } else {
    meta.weak = true;
    meta.dtype = dtypeOf(type);
  }
  return meta;
}

}  // namespace tandem::td
