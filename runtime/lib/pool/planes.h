// Results of pools whose channels come last, for what makes planes.
#pragma once

#include "runtime/lib/library.h"

namespace tandem::lib {

/// Calls `make` with contiguous results of one or two operands whose channels are the second dim, and copies them to
/// those of the call, where they are the last one.
void inPlanes(const LibraryCall& call, LibraryFn make);

}  // namespace tandem::lib
