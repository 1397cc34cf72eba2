// The order of random keys: what randperm is made of.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/base/function_ref.h"

namespace tandem::lib {

/// Bits that the numbers 0 .. n-1 take.
inline int indexBits(std::int64_t n) {
  return n < 2 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

/// Leading bits of a key of 64 bits with the number that it is the key of behind them; not negative if signed.
inline std::int64_t packKey(std::uint64_t key, std::int64_t number, int bits) {
  return static_cast<std::int64_t>(key >> 1 >> bits << bits) | number;
}

/// Writes the numbers 0 .. n-1 to `out` in the order of their keys, and of themselves where keys are equal. `packed`
/// has packKey of each with indexBits(n) in any order, as likely with any leading bits as with others, and is
/// overwritten. `keyOf` is asked for whole keys of which the leading bits are equal. The threads of the pool share the
/// work.
void orderByKeys(std::int64_t* packed, std::int64_t n, FunctionRef<std::uint64_t(std::int64_t)> keyOf,
                 std::int64_t* out);

}  // namespace tandem::lib
