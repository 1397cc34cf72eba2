// What legal `td` is. Shapes are checked by the rules that eager uses.
#include "ir/dialect/td.h"
#include "runtime/base/error.h"

namespace tandem::td {

namespace {

template <class TableOp>
mlir::LogicalResult verifyTableOp(TableOp op, bool (*holds)(OpKind)) {
  const OpFacts& f = facts(op.getOp().getCode());
  if (!holds(f.kind))
    return op.emitOpError("cannot hold the operation `") << llvm::StringRef(f.name) << "`, which is of another kind";
  if (op.getNumResults() != f.numResults)
    return op.emitOpError() << "`" << llvm::StringRef(f.name) << "` has " << int{f.numResults} << " results";
  if (f.metaRule == nullptr) return mlir::success();
  std::vector<TensorMeta> operands;
  for (mlir::Type t : op->getOperandTypes()) operands.push_back(metaOf(t));
  std::vector<TensorMeta> results(f.numResults);
  try {
    f.metaRule(f, operands, op.getAttrs(), results);
  } catch (const Error& e) {
    return op.emitOpError(e.what());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    mlir::ArrayRef<std::int64_t> shape = mlir::cast<mlir::RankedTensorType>(op->getResult(i).getType()).getShape();
    if (!std::equal(shape.begin(), shape.end(), results[i].shape.begin(), results[i].shape.end()))
      return op.emitOpError() << "result " << i << " should have the shape " << shapeText(results[i].shape) << ", not "
                              << shapeText(DimsRef(shape));
  }
  return mlir::success();
}

// Every element of a window lies in the value of `base`'s type.
mlir::LogicalResult verifyWindow(mlir::Operation* op, mlir::Type base, mlir::Type window,
                                 mlir::ArrayRef<std::int64_t> strides, std::int64_t offset) {
  auto from = mlir::cast<mlir::RankedTensorType>(base);
  auto to = mlir::cast<mlir::RankedTensorType>(window);
  if (from.getElementType() != to.getElementType()) return op->emitOpError("changes the element type");
  if (strides.size() != static_cast<std::size_t>(to.getRank())) return op->emitOpError("needs one stride a dim");
  std::int64_t first = offset;
  std::int64_t last = offset;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (to.getDimSize(d) == 0) return mlir::success();
    (strides[d] < 0 ? first : last) += strides[d] * (to.getDimSize(d) - 1);
  }
  if (first < 0 || last >= from.getNumElements())
    return op->emitOpError() << "reaches elements " << first << " to " << last << " of " << from.getNumElements();
  return mlir::success();
}

}  // namespace

mlir::LogicalResult PointwiseOp::verify() {
  return verifyTableOp(*this, [](OpKind k) { return k == OpKind::Pointwise || k == OpKind::Creation; });
}
mlir::LogicalResult ReduceOp::verify() {
  return verifyTableOp(*this, [](OpKind k) { return k == OpKind::Reduction; });
}
mlir::LogicalResult RandomOp::verify() {
  return verifyTableOp(*this, [](OpKind k) { return k == OpKind::Random; });
}
mlir::LogicalResult LibraryOp::verify() { return verifyTableOp(*this, isLibrary); }

mlir::LogicalResult WindowOp::verify() {
  return verifyWindow(*this, getSource().getType(), getType(), getStrides(), getOffset());
}
mlir::LogicalResult WriteOp::verify() {
  return verifyWindow(*this, getBase().getType(), getValue().getType(), getStrides(), getOffset());
}

mlir::LogicalResult FrameOp::verify() {
  std::int64_t count = numelOf(shapeOf(getValue()));
  if (static_cast<std::int64_t>(getBegin()) + count > numelOf(shapeOf(getResult())))
    return emitOpError() << "puts " << count << " elements at " << getBegin() << " of "
                         << numelOf(shapeOf(getResult()));
  if (numelOf(shapeOf(getFill())) != 1) return emitOpError("fills with one element");
  DType type = dtypeOf(getType());
  if (dtypeOf(getValue().getType()) != type || dtypeOf(getFill().getType()) != type)
    return emitOpError("has operands of another dtype");
  return mlir::success();
}

mlir::LogicalResult RegionOp::verify() {
  mlir::Block& block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes()) return emitOpError("block arguments differ from the inputs");
  auto yield = mlir::dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes()) return emitOpError("yields other types than it has");
  if (getKind() != "pointwise" && getKind() != "row" && getKind() != "column")
    return emitOpError() << "knows no kind `" << getKind() << "`";
  auto rank = static_cast<std::int64_t>(getSpace().size());
  std::int64_t begin = getBegin();
  std::int64_t end = getEnd();
  if (begin < 0 || begin > end || end > rank) return emitOpError("reduces dims outside its space");
  if (getMaps().size() != getInputs().size() + getNumResults()) return emitOpError("needs one map an input and result");
  return mlir::success();
}

mlir::LogicalResult ReturnOp::verify() {
  if (getInto().size() != getValues().size()) return emitOpError("needs one `into` a value");
  auto function = mlir::cast<mlir::func::FuncOp>((*this)->getParentOp());
  llvm::SmallVector<bool> named(function.getNumArguments());
  for (auto [value, into] : llvm::zip(getValues(), getInto())) {
    if (into < 0) continue;
    if (into >= static_cast<std::int64_t>(named.size()) || named[into])
      return emitOpError() << "names argument " << into << " twice, or there is none";
    named[into] = true;
    if (value.getType() != function.getArgument(into).getType())
      return emitOpError() << "value of another type than argument " << into;
  }
  return mlir::success();
}

}  // namespace tandem::td
