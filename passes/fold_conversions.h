// Which conversions fold, for those who recognise folded operations in a trace (trace_values.h).
#pragma once

#include "runtime/base/dtype.h"

namespace tandem::passes {

/// Is a value of the half type `from` what it was after it has been converted to `between` and to `to`? Of a value that
/// an operation computed: others may be signalling NaNs.
bool comesBack(DType from, DType between, DType to);

}  // namespace tandem::passes
