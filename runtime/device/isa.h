// Which instruction set the code that comes in several versions runs with: generated kernels, products, attention.
#pragma once

#include <string>

namespace tandem {

/// `x86-64-v3` or `x86-64-v4`: the better one that this processor has; TANDEM_ISA=x86-64-v3 takes the lesser one, which
/// gives the same bits. Throws Error where the processor has neither.
const std::string& hostIsa();

/// Is it `x86-64-v4`, with AVX-512? Does that have products of bfloat16 pairs?
bool hasAvx512();
bool hasAvx512BFloat16();
/// And tiles of bfloat16 (AMX), which the system lets this process use?
bool hasTiles();

}  // namespace tandem
