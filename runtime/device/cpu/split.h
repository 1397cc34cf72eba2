// Few long rows, or few long columns: one a thread would leave threads idle, so their blocks become the units of work
// and a second kernel combines the blocks' results. The bits are those of the whole kernel, which walks the same blocks
// itself.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/device/cpu/cpu_kernel.h"

namespace tandem::cpu {

/// Blocks of a row of n elements.
inline std::int64_t rowBlocks(std::int64_t n) { return (n + kTrailingBlock - 1) / kTrailingBlock; }

/// Possible: every output of a Row or Column kernel is the result of a reduction that no other step uses.
bool canSplit(const KernelSignature& whole);
/// The two kernels of one that can be split.
///   Row:    a Partial kernel, and a Row kernel whose input k, contiguous [outer..., blocks], is output k of the first
///   Column: the same kernel over blocks of rows, and a Column kernel over [outer..., blocks, n]
/// Partial results have their accumulator's dtype. Outputs of the second are the whole kernel's.
std::pair<KernelSignature, KernelSignature> splitSignature(const KernelSignature& whole);
/// Worth it for a kernel of so many units, of so many elements each?
bool isWorthSplitting(const CpuKernel& whole, const LaunchSpace& space);
/// Runs a kernel in its parts. Partial results lie in memory of the allocator for the time of the call. Counts one
/// launch, for the second part.
void launchSplit(const CpuKernel& whole, const std::int64_t* args, const LaunchSpace& space);

}  // namespace tandem::cpu
