// Kernels of rows over inputs that lie otherwise than their arguments say: pieces of whole rows, or blocks of rows, are
// copied to the cache one after the other, so that the bits are those of the kernel over contiguous copies.
#pragma once

#include <span>

#include "runtime/device/cpu/cpu_kernel.h"
#include "runtime/lib/library.h"

namespace tandem::cpu {

/// As Executor::launchStrided.
void launchStrided(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space,
                   std::span<const ArrayView> inputs);

}  // namespace tandem::cpu
