// Sizes that depend on data. Whoever asks for one computes it as a 0-d tensor and learns its value (eager/recorder.h);
// what a plan does with the data holds for that size only, and the plan checks it when it runs.
#pragma once

#include "runtime/lib/library.h"

namespace tandem::lib {

/// The 0-d int64 input as it is; SizeChanged, naming `number`, where it is not `size`.
void expect_size(const LibraryCall& call);
/// Where a bool tensor is true, in row-major order: [size, rank] int64. `size` is their number, which the second
/// operand holds.
void nonzero_rows(const LibraryCall& call);

}  // namespace tandem::lib
