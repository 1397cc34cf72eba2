// Writes whose value a kernel stores right where it belongs. In `u[1:-1] = a * b` the region of the product has u's
// memory and the window's strides for its result, and the write itself does nothing any more.
#pragma once

#include "ir/dialect/td.h"

namespace tandem::passes {

/// The write that the result of a region is stored by; null where the result has memory of its own.
td::WriteOp directWrite(mlir::Value result);

/// Can the region that makes the write's value store it in the window, as far as the two and what the region reads in
/// `memory` are concerned? It stores each element once, reads the memory at the element's own place alone, and the
/// window lies as the operands do. `isMemory` says which values lie in the memory that is written.
bool canWriteDirectly(td::WriteOp write, llvm::function_ref<bool(mlir::Value)> isMemory);

/// From now on the region stores it. It must run where the write may.
void writeDirectly(td::WriteOp write);

/// Where the elements of a part lie, none at the place of another: dims by size and stride.
bool liesApart(const Dims& shape, const Dims& strides);

}  // namespace tandem::passes
