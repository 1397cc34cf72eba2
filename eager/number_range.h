// Which numbers an element of an integer dtype can hold, and a list of tensors can have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/base/dtype.h"
#include "runtime/base/scalar.h"

namespace tandem {

/// The least and the largest integer of an integer dtype or of bool.
std::pair<std::int64_t, std::int64_t> integerRange(DType t);
/// Can an element of `dtype` hold `value`, truncated towards zero? An unsigned one wraps negative integers of a
/// magnitude in its range, as in PyTorch. Bools and floating dtypes hold all. Of a run-time number this is a reading.
bool holdsNumber(DType dtype, const Scalar& value);
/// Error naming `op`, the number and the dtype where it cannot.
void needHeld(const char* op, DType dtype, const Scalar& value);

/// `count` as the length of a list of tensors; OutOfMemoryError naming `op` where it is beyond all memory.
std::size_t pieceCount(const char* op, std::int64_t count);

}  // namespace tandem
