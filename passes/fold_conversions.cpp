// FoldConversions: a conversion of a value that was itself converted, to a dtype that holds every value of the first,
// is a conversion of the first: `mask.long().float()` reads the mask. It is here and not in canonicalize because which
// conversions lose nothing is a table of its own, with cases that only look exact.
//
// Bits decide what is left out: half types as the result, which are rounded through float32 from some dtypes and not
// from others; integers of floating-point numbers, whose out-of-range values depend on the width of the float; a
// float's own dtype, as a conversion makes signalling NaNs quiet. A half type that was made wider and comes back is
// what it was where it was computed here, as what is computed has no such NaNs: gradients of layers in mixed precision
// are widened for the sum of a bias and rounded for products.
#include "passes/fold_conversions.h"

#include "passes/passes.h"

namespace tandem::passes {

namespace {

/// Bits of the magnitude that an integer dtype can hold.
int magnitudeBits(DType t) {
  const int bits = 8 * static_cast<int>(itemSize(t));
  return t == DType::Bool ? 1 : isSigned(t) ? bits - 1 : bits;
}

/// Does `to` hold every value of `from`, as itself?
bool holdsAll(DType to, DType from) {
  if (to == from) return true;
  if (isFloating(from)) return to == DType::Float64 || (to == DType::Float32 && isHalf(from));
  if (to == DType::Float32) return magnitudeBits(from) <= 24;
  if (to == DType::Float64) return magnitudeBits(from) <= 53;
  if (isFloating(to) || to == DType::Bool) return false;
  return magnitudeBits(from) <= magnitudeBits(to) && (isSigned(to) || !isSigned(from));
}

/// Is `from` to `between` to `to` one conversion, bit by bit?
bool isOneConversion(DType from, DType between, DType to) {
  if (!holdsAll(between, from) || isHalf(to) || (to == from && isFloating(from))) return false;
  if (isInteger(to)) return !isFloating(between);
  return true;
}

}  // namespace

bool comesBack(DType from, DType between, DType to) { return to == from && isHalf(from) && holdsAll(between, from); }

namespace {

class FoldConversions : public mlir::PassWrapper<FoldConversions, FunctionPass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldConversions)
  llvm::StringRef getArgument() const override { return "td-fold-conversions"; }
  llvm::StringRef getName() const override { return "fold_conversions"; }
  llvm::StringRef getDescription() const override { return "A conversion of an exact conversion is one conversion"; }

  void runOnOperation() override {
    for (mlir::Operation& op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      td::PointwiseOp outer = conversion(&op);
      td::PointwiseOp inner = outer ? conversion(outer.getInputs()[0].getDefiningOp()) : td::PointwiseOp();
      if (!inner) continue;
      const mlir::Value first = inner.getInputs()[0];
      const DType to = td::dtypeOf(outer.getType(0));
      if (!folds(first, td::dtypeOf(inner.getType(0)), to)) continue;
      if (first.getType() == outer.getType(0)) {
        outer.getResult(0).replaceAllUsesWith(first);
        outer.erase();
      } else {
        outer.getInputsMutable().assign(first);
      }
      if (inner.use_empty()) inner.erase();
    }
  }

 private:
  /// May what converts `first` to `between`, and that to `to`, read `first` itself?
  static bool folds(mlir::Value first, DType between, DType to) {
    const DType from = td::dtypeOf(first.getType());
    const bool computed = first.getDefiningOp<td::PointwiseOp>() || first.getDefiningOp<td::ReduceOp>();
    return isOneConversion(from, between, to) || (computed && comesBack(from, between, to));
  }
  /// The operation, if it converts a tensor of its own shape.
  static td::PointwiseOp conversion(mlir::Operation* op) {
    auto pointwise = mlir::dyn_cast_or_null<td::PointwiseOp>(op);
    if (!pointwise || facts(pointwise.getOp().getCode()).role != OpRole::Convert) return {};
    return td::isTensorType(pointwise.getInputs()[0].getType()) ? pointwise : td::PointwiseOp();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createFoldConversions() { return std::make_unique<FoldConversions>(); }

}  // namespace tandem::passes
