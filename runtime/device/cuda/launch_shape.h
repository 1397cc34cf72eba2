// Grid and block of a launch: what codegen/cuda writes kernels for. Kernels stride by the grid, so that how many blocks
// there are changes no bit.
//
//   elementwise, rows without reductions   256 threads along x; fewer blocks where each first computes something dear
//   rows with reductions, Partial          x: a warp a block of 4096 elements of a row, up to 16 warps a row, and more
//                                          than blocks where rows are kept (kept_rows.h); y: rows. Of rows that stay in
//                                          registers x is a warp, y kBriefRows rows
//   Column                                 x: 32 columns; y: the lanes of the order
//   Short                                  x: 32 rows, or of kernels without reductions 32 elements of these; y: eight
//                                          threads of a row, four of its lanes each
#pragma once

#include <algorithm>

#include "runtime/device/cuda/queue.h"
#include "runtime/device/gpu_control.h"
#include "runtime/device/target.h"
#include "runtime/kernel/kernel.h"

namespace tandem::cuda {

class CudaKernel;

/// Rows of a thread block that takes several, at most.
inline constexpr unsigned kMostRows = 8;
/// Warps of one row, at most.
inline constexpr unsigned kMostWarps = 16;

/// Threads of a block of kernels that take elements.
inline constexpr unsigned kElementThreads = 256;

inline bool reduces(const KernelSignature& s) {
  return std::ranges::any_of(s.steps, [](const KernelStep& step) { return step.kind == KernelStep::Kind::Reduce; });
}
/// Do warps take rows: does the kernel reduce them, or store one element of each?
inline bool isByRows(const KernelSignature& s) {
  if (reduces(s)) return true;
  for (const KernelOutput& output : s.outputs)
    if (output.operand.access == Access::Zero && s.outerRank > 0) return true;
  return false;
}
/// Threads of a row of a Short kernel.
inline constexpr unsigned kShortThreads = 8;

/// Of a Column or Short kernel: threads that share a column or a row.
inline unsigned lanesAcross(const KernelSignature& s) {
  if (s.kind == KernelKind::Short) return kShortThreads;
  return static_cast<unsigned>(s.trailing ? kTrailingLanes : kLeadingLanes);
}
/// Threads of a block, at most.
inline unsigned mostThreads(const KernelSignature& s) {
  if (s.kind == KernelKind::Column || s.kind == KernelKind::Short) return 32 * lanesAcross(s);
  return isByRows(s) ? 32 * kMostWarps : kElementThreads;
}

/// What passes and launches ask of a device.
Target targetOf(const GpuProperties& properties);
/// How many blocks keep the device busy; kernels stride over the rest. Where blocks prepare, as many as are active at
/// once, so that each does that once for much.
std::int64_t mostBlocks(const CudaKernel& kernel, unsigned threads);
/// The shape of a launch over a space that is not empty.
Grid launchShape(const CudaKernel& kernel, const std::int64_t* args, const LaunchSpace& space);

}  // namespace tandem::cuda
