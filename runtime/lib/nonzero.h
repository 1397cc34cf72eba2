// Where a tensor is not zero: its output's size depends on the data, so callers count first.
#pragma once

#include <cstdint>

#include "runtime/lib/library.h"

namespace tandem::lib {

/// How many elements are not zero (NaN is not).
std::int64_t nonzeroCount(const ArrayView& x);
/// Their indices in row-major order: [nonzeroCount(x), rank] int64.
void nonzero(const LibraryCall& call);

}  // namespace tandem::lib
