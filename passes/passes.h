// The passes. What each does is said in its file; their order, and all that surrounds a run, in pipeline.cpp.
#pragma once

#include <memory>
#include <string>

#include <mlir/Pass/Pass.h>

#include "ir/dialect/td.h"
#include "runtime/plan/plan.h"

namespace tandem::passes {

using FunctionPass = mlir::OperationPass<mlir::func::FuncOp>;

// `improve` false: only what later passes rely on. What TANDEM_DISABLE asks for.
std::unique_ptr<mlir::Pass> createCanonicalize(bool improve = true);
std::unique_ptr<mlir::Pass> createFoldConversions();
std::unique_ptr<mlir::Pass> createCse();
std::unique_ptr<mlir::Pass> createFuse(bool improve = true, Device device = {});  // what is worth it on that device
std::unique_ptr<mlir::Pass> createMakeInPlace(bool improve = true);
std::unique_ptr<mlir::Pass> createPlanMemory(bool improve = true);
/// Fills `plan`, whose slots are given. Null: prints the plan to standard output, for tests.
std::unique_ptr<mlir::Pass> createLowerToPlan(Plan* plan = nullptr);

}  // namespace tandem::passes
