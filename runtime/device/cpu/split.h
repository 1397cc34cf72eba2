// Few long rows, or few long columns, on the CPU (runtime/kernel/split.h).
#pragma once

#include "runtime/base/function_ref.h"
#include "runtime/device/cpu/cpu_kernel.h"
#include "runtime/kernel/split.h"

namespace tandem::cpu {

/// Worth it for a kernel of so many units, of so many elements each?
bool isWorthSplitting(const CpuKernel& whole, const LaunchSpace& space);
/// Of a kernel of rows that is worth splitting: calls `run` with the kernel of blocks and its arguments, whose units
/// are the blocks of all rows, and combines their results.
void launchBlocks(const CpuKernel& whole, const std::int64_t* args, const LaunchSpace& space,
                  FunctionRef<void(const CpuKernel&, const std::int64_t*)> run);
/// Runs a kernel in its parts. Partial results lie in memory of the allocator for the time of the call. Counts one
/// launch, for the second part.
void launchSplit(const CpuKernel& whole, const std::int64_t* args, const LaunchSpace& space);

}  // namespace tandem::cpu
