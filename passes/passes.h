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
/// Of an operation, if asked for: along which dims of the region's space each operation of its body runs.
inline constexpr const char* kAlignments = "td.alignments";
/// What is worth fusing on that device. `keepsAlignments`: regions have them, for who reads them afterwards.
std::unique_ptr<mlir::Pass> createFuse(bool improve = true, Device device = {}, bool keepsAlignments = false);
std::unique_ptr<mlir::Pass> createMakeInPlace(bool improve = true);
std::unique_ptr<mlir::Pass> createPlanMemory(bool improve = true);
/// Fills `plan`, whose slots are given. Null: prints the plan to standard output, for tests.
std::unique_ptr<mlir::Pass> createLowerToPlan(Plan* plan = nullptr);

}  // namespace tandem::passes
