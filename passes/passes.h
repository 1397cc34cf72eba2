// The passes. What each does is said in its file; their order, and all that surrounds a run, in pipeline.cpp.
#pragma once

#include <memory>
#include <string>

#include <mlir/Pass/Pass.h>

#include "ir/dialect/td.h"
#include "runtime/plan/plan.h"

namespace tandem::passes {

using FunctionPass = mlir::OperationPass<mlir::func::FuncOp>;

std::unique_ptr<mlir::Pass> createCanonicalize();
std::unique_ptr<mlir::Pass> createCse();
/// `merge` false: every operation becomes a region of its own.
std::unique_ptr<mlir::Pass> createFuse(bool merge = true);
std::unique_ptr<mlir::Pass> createMakeInPlace();
std::unique_ptr<mlir::Pass> createPlanMemory();
/// Fills `plan`, whose slots are given. Null: prints the plan to standard output, for tests.
std::unique_ptr<mlir::Pass> createLowerToPlan(Plan* plan = nullptr);

}  // namespace tandem::passes
