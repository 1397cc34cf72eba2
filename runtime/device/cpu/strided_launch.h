// Kernels of rows over inputs that lie otherwise than their arguments say: pieces of whole rows, or blocks of rows, are
// copied to the cache one after the other, so that the bits are those of the kernel over contiguous copies.
#pragma once

#include <span>

#include "runtime/base/function_ref.h"
#include "runtime/device/cpu/cpu_kernel.h"
#include "runtime/lib/library.h"

namespace tandem::cpu {

/// Units of up to `length` elements in pieces of about `least` elements, or smaller ones where threads share them.
void inPieces(std::int64_t units, std::int64_t length, std::int64_t least,
              FunctionRef<void(std::int64_t, std::int64_t)> piece);
/// As Executor::launchStrided.
void launchStrided(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space,
                   std::span<const ArrayView> inputs);

}  // namespace tandem::cpu
