// Launching on the CPU. Decides how a kernel's range is cut, whether long rows or columns are split (split.h), whether
// inputs are transposed on the way (across.h), rows reduced as columns or columns as rows (columns.h), and whether
// vectors lie across short rows; bits do not depend on it.
#pragma once

#include <cstdint>

#include "runtime/base/counters.h"
#include "runtime/device/cpu/cpu_kernel.h"

namespace tandem::cpu {

using Args = SmallVector<std::int64_t, 64>;

/// Tiles of the pool are at least this long.
inline constexpr std::int64_t kTileElements = 16 * 1024;

void launchLarge(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space);

/// Runs a kernel over a space. Counts one launch, two where it is split.
inline void launch(const Kernel& loaded, const std::int64_t* args, const LaunchSpace& space) {
  const auto& kernel = static_cast<const CpuKernel&>(loaded);
  bump(counters().kernelLaunches);
  const KernelFn fn = kernel.ready();
  // Neither factor alone may be so large that the product overflows; no units are none at once.
  const std::int64_t most = kernel.atOnce;
  if (fn != nullptr && static_cast<std::uint64_t>(space.units - 1) < static_cast<std::uint64_t>(most) &&
      space.elementsPerUnit < most && space.units * space.elementsPerUnit < most)
    return fn(args, 0, space.units);
  launchLarge(kernel, args, space);
}

/// In tiles of the pool where there are enough elements, as it is.
void launchTiles(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space);
/// The kernel itself, or those of its parts where it is split.
SmallVector<const CpuKernel*, 2> asItIs(const CpuKernel& kernel, const LaunchSpace& space);
/// The kernels whose code `launch` will need.
SmallVector<const CpuKernel*, 2> neededBy(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space);

}  // namespace tandem::cpu
