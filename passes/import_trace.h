// A recorded graph as a function in the dialect `td`.
#pragma once

#include <mlir/IR/OwningOpRef.h>

#include "ir/dialect/td.h"
#include "ir/trace/trace.h"

namespace tandem::passes {

/// The nodes that `outputs` need, as a function of the trace's inputs. Locations are the users' lines.
mlir::OwningOpRef<mlir::func::FuncOp> importTrace(mlir::MLIRContext& context, const Trace& trace,
                                                  const std::vector<TraceOutput>& outputs);

}  // namespace tandem::passes
