// Kernels whose code is made at once by several threads, which is what plans ask of their executors.
#pragma once

#include <cstddef>

#include "runtime/base/function_ref.h"

namespace tandem {

/// Calls `make(k)` for k in [0, count), each exactly once, on up to `most` threads, the caller among them. When all
/// have ended the first exception is rethrown.
void makeInParallel(std::size_t count, std::size_t most, FunctionRef<void(std::size_t)> make);

}  // namespace tandem
