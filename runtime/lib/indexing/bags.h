// Bags of rows: the parts of a list that begin at offsets.
#pragma once

#include <cstdint>

#include "runtime/lib/library.h"

namespace tandem::lib {

/// Do the integers `offsets` [B] begin with 0, not decrease and stay at most `length`?
bool areOffsets(const ArrayView& offsets, std::int64_t length);

}  // namespace tandem::lib
