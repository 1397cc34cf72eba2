// What code is made for, and what passes and launches ask about it instead of knowing it. A policy may change what is
// fused or how work is cut, never a bit of a result.
#pragma once

#include <cstdint>
#include <string>

namespace tandem {

/// A kind of processor with its caches. Two processors of one architecture with other caches are two targets. The
/// numbers given here are those of a CPU of a few cores.
struct Target {
  /// `x86-64-v4`, `sm_90`: what a kernel compiler makes code for. Part of the keys of kernel caches and of disk names.
  std::string architecture;

  /// From so many elements on recording a composite's operations and finding their plan, which costs about a
  /// microsecond, is less than running them one by one.
  std::int64_t fuseFrom = 8 * 1024;
  /// Operations and inputs of a fused kernel, at most: its compile time grows with its steps, and registers run out.
  std::int64_t mostOperations = 64;
  std::int64_t mostInputs = 32;
  /// A value of fewer bytes is read twice rather than that one more kind of kernel is compiled to share it.
  std::int64_t leastSharedBytes = 4096;
  /// A value of fewer bytes is still in a cache when it is read again; others are computed again where that moves
  /// fewer bytes, by so many operations at most.
  std::int64_t cachedBytes = 1 << 16;
  std::int64_t mostRecomputed = 4;
  /// From so many bytes on a value is computed again even by operations of many instructions, as exponentials.
  std::int64_t leastDear = 1 << 20;
  /// Operands that lie across rows shorter than this are copied to the order of the result first, if they have so many
  /// elements at least (fewer stay in the first cache) and at most (the copy stays in the second).
  std::int64_t shortRow = 64;
  std::int64_t leastTurned = 4096;
  std::int64_t mostTurned = 256 * 1024;
  /// So few rows do not occupy the processor, and where they are at least this long, launches cut them into blocks.
  std::int64_t fewRows = 15;
  std::int64_t longRow = 65536;

  /// Do kernels of rows take inputs whose rows do not merge into one dim, through contiguous memory that is made while
  /// they run (Executor::launchStrided)? Else what reads such an input is a kernel of its own.
  bool takesStridedRows = true;

  /// Do the device's products of half types add a bias before they round, so that a layer is one call? What is added
  /// then decides in which order they sum, so that composites ask, for all modes alike, and no pass does.
  bool productsAddBias = false;

  /// Are rows of n elements cut into blocks? Only kernels can be that do nothing with a finished row but store it, so
  /// that fusing what follows a reduction would leave the processor idle.
  [[nodiscard]] bool splitsRows(std::int64_t rows, std::int64_t n) const { return rows <= fewRows && n >= longRow; }
};

}  // namespace tandem
