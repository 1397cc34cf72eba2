// The way of ir/trace to the compiler's shared object: what that registered as its graph compiler.
#pragma once

namespace tandem {

/// A GraphCompiler*, of which the runtime knows nothing; opens the shared object if need be. InternalError where that
/// is missing or registers none.
void* openGraphCompiler();

}  // namespace tandem
