// Stretches of half types as float32 and back, in vectors, on this thread.
#pragma once

#include <cstdint>

#include "runtime/lib/half.h"

namespace tandem::lib {

void widen(const Half* from, float* to, std::int64_t n);
void widen(const BFloat16* from, float* to, std::int64_t n);
/// Rounded to nearest even.
void narrow(const float* from, Half* to, std::int64_t n);
void narrow(const float* from, BFloat16* to, std::int64_t n);

}  // namespace tandem::lib
