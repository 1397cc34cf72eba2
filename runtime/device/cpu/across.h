// Inputs that lie across: dense over the rows of a kernel (down the rows that a Column kernel reduces) and far apart
// along them, as a transposed matrix is. Element by element, each of their lines would be fetched for one element, and
// lines a power of two apart drive each other out of the cache. Where that matters, a kernel that takes them as
// contiguous runs over blocks of the space, for which they are transposed one after the other, or with rows and columns
// in each other's place, and the blocks that it makes are transposed.
#pragma once

#include <cstdint>

#include "runtime/device/cpu/cpu_kernel.h"

namespace tandem::cpu {

/// From so many elements on a matrix does not stay in the first cache, and it matters in which order it is read.
inline constexpr std::int64_t kAcrossElements = 16 * 1024;
/// Fewer rows may be split along their length, where rows must keep their order.
inline constexpr std::int64_t kLeastRows = 16;
inline constexpr std::int64_t kLine = 64;  // bytes

/// How far apart operand k's elements are along the inner dim.
inline std::int64_t innerStride(const std::int64_t* args, const ArgLayout& layout, std::size_t k, Access access) {
  return access == Access::Unit ? 1 : access == Access::Zero ? 0 : args[layout.innerStride(k)];
}
/// Rows of the last outer dim, of a Column kernel those that it reduces.
inline std::int64_t rowsOf(const std::int64_t* args, const ArgLayout& layout) {
  return layout.column ? args[layout.reducedSize()] : args[layout.outerSize(layout.outerRank - 1)];
}
/// How many matrices the first outer dims make.
inline std::int64_t matricesOf(const std::int64_t* args, const ArgLayout& layout, int outerDims) {
  std::int64_t matrices = 1;
  for (int d = 0; d < outerDims; ++d) matrices *= args[layout.outerSize(d)];
  return matrices;
}
/// Where operand k begins in one of them, in elements.
std::int64_t matrixOffset(const std::int64_t* args, const ArgLayout& layout, std::size_t k, int outerDims,
                          std::int64_t matrix);

/// Which inputs lie across, bits as in CpuKernel::strided.
std::uint64_t inputsAcross(const CpuKernel& kernel, const std::int64_t* args);
/// Does an operand lie nearly across: a few bytes apart over the rows? Blocks of some rows and columns then use every
/// line that they fetch.
bool liesNearlyAcross(const CpuKernel& kernel, const std::int64_t* args);

/// The way a kernel runs in blocks.
struct Blocking {
  const CpuKernel* kernel = nullptr;  // that runs over a block; null: there is no need of any
  std::uint64_t transposed = 0;       // inputs
  /// Rows and columns change places: the kernel reads inputs that lie across where they are, and what it writes is
  /// transposed, which is less where there are several of them.
  bool turned = false;
};
Blocking blockingOf(const CpuKernel& kernel, const std::int64_t* args);
/// Runs a kernel in blocks: of some rows and columns, or where it reduces of some whole rows (of a Column kernel,
/// columns).
void launchInBlocks(const CpuKernel& kernel, const std::int64_t* args, const Blocking& how);

}  // namespace tandem::cpu
