// Few long rows, or few long columns, on the CPU (runtime/kernel/split.h).
#pragma once

#include "runtime/device/cpu/cpu_kernel.h"
#include "runtime/kernel/split.h"

namespace tandem::cpu {

/// Worth it for a kernel of so many units, of so many elements each?
bool isWorthSplitting(const CpuKernel& whole, const LaunchSpace& space);
/// Runs a kernel in its parts. Partial results lie in memory of the allocator for the time of the call. Counts one
/// launch, for the second part.
void launchSplit(const CpuKernel& whole, const std::int64_t* args, const LaunchSpace& space);

}  // namespace tandem::cpu
