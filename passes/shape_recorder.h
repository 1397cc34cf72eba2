// Reads a shape program off what the passes have made of a trace.
#pragma once

#include <memory>

#include "ir/dialect/td.h"
#include "passes/shape_program.h"

namespace tandem::passes {

/// Of a function that all passes have run on, with alignments kept, and of the plan they made. Null where the program
/// has operations that its trace has not: parts and frames of values, reductions in several stages.
std::unique_ptr<ShapeProgram> recordShapeProgram(mlir::func::FuncOp function, const Trace& trace,
                                                 const std::vector<TraceOutput>& outputs, const Plan& plan);

}  // namespace tandem::passes
