// What plan_memory finds out, beside the places that it writes down: which values share a memory, and when it lives.
#pragma once

#include <vector>

#include <llvm/ADT/DenseMap.h>

#include "ir/dialect/td.h"
#include "passes/arena.h"

namespace tandem::passes {

struct MemoryPlan {
  std::vector<MemoryLife> memories;  // in the order in which they are made
  llvm::DenseMap<mlir::Value, int> memoryOf;
  std::int64_t arenaBytes = 0;
};

/// Does an operation of a placed program read and write memory? Others are windows and numbers.
bool takesMemory(mlir::Operation* op);
/// Of a block that make_in_place left.
MemoryPlan planMemory(mlir::Block& block, bool improve);

}  // namespace tandem::passes
