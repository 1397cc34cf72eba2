// Cse: equal operations on equal operands become one. The trace is hash-consed already; this catches what became equal
// in canonical form. It is here and not MLIR's because every operation of td is pure and a function is one block, so
// one walk with a hash table is all there is to do. Locations do not count, random operations differ by their offset
// slots.
#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/OperationSupport.h>

#include "passes/passes.h"

namespace tandem::passes {

namespace {

struct SameOperation : llvm::DenseMapInfo<mlir::Operation*> {
  static unsigned getHashValue(const mlir::Operation* op) {
    return static_cast<unsigned>(mlir::OperationEquivalence::computeHash(
        const_cast<mlir::Operation*>(op), mlir::OperationEquivalence::directHashValue,
        mlir::OperationEquivalence::ignoreHashValue, mlir::OperationEquivalence::IgnoreLocations));
  }
  static bool isEqual(const mlir::Operation* a, const mlir::Operation* b) {
    if (a == b) return true;
    if (a == getTombstoneKey() || a == getEmptyKey() || b == getTombstoneKey() || b == getEmptyKey()) return false;
    return mlir::OperationEquivalence::isEquivalentTo(const_cast<mlir::Operation*>(a), const_cast<mlir::Operation*>(b),
                                                      mlir::OperationEquivalence::IgnoreLocations);
  }
};

class Cse : public mlir::PassWrapper<Cse, FunctionPass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Cse)
  llvm::StringRef getArgument() const override { return "td-cse"; }
  llvm::StringRef getName() const override { return "cse"; }
  llvm::StringRef getDescription() const override { return "Equal operations become one"; }

  void runOnOperation() override {
    llvm::DenseSet<mlir::Operation*, SameOperation> seen;
    for (mlir::Operation& op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      // Copies are asked for because two memories are wanted.
      if (op.hasTrait<mlir::OpTrait::IsTerminator>() || mlir::isa<td::CopyOp>(op)) continue;
      auto [known, fresh] = seen.insert(&op);
      if (fresh) continue;
      op.replaceAllUsesWith((*known)->getResults());
      op.erase();
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createCse() { return std::make_unique<Cse>(); }

}  // namespace tandem::passes
