// Philox4x32-10 for library operations, the text that GPUs compile as well; the code generator has its own
// (codegen/math/random.h).
#pragma once

#include <array>
#include <cstdint>

namespace tandem::lib {

using uint32 = std::uint32_t;
using uint64 = unsigned long long;

#define FORMULA inline
#include "runtime/lib/formulas/philox.inl"
#undef FORMULA

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::uint64_t seed) {
  philoxRounds(c.data(), seed);
  return c;
}

}  // namespace tandem::lib
