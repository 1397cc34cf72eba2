// How the graph compiler, which lives in the same shared object but in a higher folder, gets registered with the rest:
// `passes` calls offerGraphCompiler from a static initialiser, before the runtime asks.
#pragma once

namespace tandem::codegen {

/// A tandem::GraphCompiler*, handed to the runtime as it is.
void offerGraphCompiler(void* compiler);

}  // namespace tandem::codegen
