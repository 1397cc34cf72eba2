// Which numbers an element of a dtype can hold, and a list of tensors can have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "runtime/base/dtype.h"
#include "runtime/base/scalar.h"

namespace tandem {

/// The least and the largest integer of an integer dtype or of bool.
std::pair<std::int64_t, std::int64_t> integerRange(DType t);
/// Can an element of `dtype` hold `value`: of an integer dtype, truncated towards zero; of a floating one, is it
/// infinite, NaN or between the largest numbers? An unsigned one wraps negative integers of a magnitude in its range,
/// as in PyTorch. Bools hold all. Of a run-time number and an integer dtype this is a reading.
bool holdsNumber(DType dtype, const Scalar& value);
/// Is told that a run-time number of at most this magnitude was held: what is recorded is for such, infinities and NaN.
/// Set by what records (lazy/session.h).
inline void (*onHeld)(const Scalar& value, double most) = nullptr;
/// Error naming `op`, the number and the dtype where it cannot.
void needHeld(std::string_view op, DType dtype, const Scalar& value);
/// The same of a factor, which takes part in half types as float32.
inline void needHeldFactor(std::string_view op, DType dtype, const Scalar& value) {
  needHeld(op, computeType(dtype), value);
}
/// The same of a number that all `count` elements become: a single one of a half type takes any, as in PyTorch.
void needHeldByAll(std::string_view op, DType dtype, std::int64_t count, const Scalar& value);

/// `count` as the length of a list of tensors; OutOfMemoryError naming `op` where it is beyond all memory.
std::size_t pieceCount(const char* op, std::int64_t count);

}  // namespace tandem
