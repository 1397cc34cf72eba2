// Few long rows: one row a thread would leave threads idle, so the blocks of a row become the unit of work and a second
// kernel combines their partial results. The bits are those of the Row kernel, which walks the same blocks itself.
#pragma once

#include <cstdint>

#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// A Row kernel as a Partial kernel over blocks and a Row kernel over their results.
struct SplitRows {
  /// As the Row kernel, but every output is [rows, blocks] in its accumulator's dtype.
  KernelSignature partial;
  /// outerRank 1; input k, contiguous [rows, blocks], is output k of `partial`; its outputs are the Row kernel's.
  KernelSignature finish;
};

/// Blocks of a row of n elements.
inline std::int64_t rowBlocks(std::int64_t n) { return (n + kTrailingBlock - 1) / kTrailingBlock; }
/// Worth it for rows of n elements.
bool splitsRows(std::int64_t rows, std::int64_t n);
/// Worth it for a few long columns, and their blocks are few enough to be one block of the columns of their results.
bool splitsColumns(std::int64_t columns, std::int64_t rows, bool trailing);
/// Worth it, and possible: every output of `row` is the result of a reduction that no other step uses.
bool shouldSplitRows(const KernelSignature& row, std::int64_t rows, std::int64_t n);
SplitRows splitRows(const KernelSignature& row);

}  // namespace tandem
