// The order of a block's operations under edges beside those of data, and what a region may overwrite.
#pragma once

#include <vector>

#include <llvm/ADT/DenseMap.h>

#include "ir/dialect/td.h"
#include "passes/linear_order.h"

namespace tandem::passes {

class Ordering {
 public:
  explicit Ordering(mlir::Block& block);
  /// A new operation, which `reader` has as an operand instead of one that the new one reads.
  void add(mlir::Operation* op, mlir::Operation* reader);
  /// Makes all of `before` run before `op`; false, and nothing added, where one of them depends on it. The terminator
  /// counts as depending on everything.
  bool tryBefore(llvm::ArrayRef<mlir::Operation*> before, mlir::Operation* op);
  /// Moves the operations into an order that obeys all edges and otherwise is the present one.
  void apply();

 private:
  void link(int op);
  int number(mlir::Operation* op);

  mlir::Block& block_;
  std::vector<mlir::Operation*> ops_;
  std::vector<std::vector<int>> after_;  // what must run after each
  llvm::DenseMap<mlir::Operation*, int> number_;
  LinearOrder line_;  // an order that obeys all edges
  std::vector<int> visited_;
  int searches_ = 0;
};

/// May result number `result` of a region or library call lie in the memory of its operand `input`? Kernels store an
/// element in the last pass that reads inputs, after reading what they need at the same place; so: if the region reads
/// the value elementwise at the places where it writes the result, and in no other way. A library call may if it
/// updates its first operand, which is all of the value, and reads the value in no other way.
bool mayOverwrite(mlir::Operation* op, unsigned result, mlir::Value input);

}  // namespace tandem::passes
