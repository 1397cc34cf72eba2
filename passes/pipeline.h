// The compiler's steps, in order, with what surrounds each: logs, dumps, times, switches.
#pragma once

#include <mlir/Pass/PassManager.h>

#include "passes/passes.h"

namespace tandem::passes {

/// Is the pass not left out by TANDEM_DISABLE?
bool isEnabled(llvm::StringRef pass);
/// Adds the passes to a manager of functions. `plan` as createLowerToPlan has it.
void addPasses(mlir::OpPassManager& manager, Plan* plan, bool keepsAlignments = false);
/// Runs all of them on a function. InternalError naming the pass that failed.
void runPipeline(mlir::func::FuncOp function, Plan& plan, bool keepsAlignments = false);
/// For td-opt: `--td-fuse` and the like, and `--td-pipeline`, all of them.
void registerPasses();

}  // namespace tandem::passes
