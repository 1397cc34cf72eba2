// Few long rows, or few long columns: one a thread would leave a processor idle, so their blocks become the units of
// work and a second kernel combines the blocks' results. The bits are those of the whole kernel, which walks the same
// blocks itself. What of this does not depend on the device: the signatures, and where results lie.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "runtime/base/small_vector.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// Blocks of a row of n elements.
inline std::int64_t rowBlocks(std::int64_t n) { return (n + kTrailingBlock - 1) / kTrailingBlock; }
/// How many rows a block of a Column kernel's columns has.
constexpr std::int64_t columnBlock(bool trailing) { return trailing ? kTrailingBlock : kLeadingBlock; }

/// Possible: every output of a Row or Column kernel is the result of a reduction that no other step uses.
bool canSplit(const KernelSignature& whole);
/// The two kernels of one that can be split.
///   Row:    a Partial kernel, and a Row kernel whose input k, contiguous [outer..., blocks], is output k of the first
///   Column: the same kernel over blocks of rows, and a Column kernel over [outer..., blocks, n]
/// Partial results have their accumulator's dtype. Outputs of the second are the whole kernel's.
std::pair<KernelSignature, KernelSignature> splitSignature(const KernelSignature& whole);

/// The same as GPUs launch it, where the blocks of columns are one more outer dim of the first kernel, the innermost.
/// That needs room for a dim and a single reduced dim.
bool canSplitAsDim(const KernelSignature& whole);
std::pair<KernelSignature, KernelSignature> splitSignatureAsDim(const KernelSignature& whole);

/// Where partial results of a first kernel lie in one piece of memory: `each` elements an output.
struct PartialPlaces {
  PartialPlaces(const KernelSignature& partial, std::int64_t each);
  SmallVector<std::int64_t, 8> offsets;  // in bytes, an output each
  std::int64_t bytes = 0;
};

using SplitArgs = SmallVector<std::int64_t, 64>;
/// The argument block of the first kernel of rows: that of the whole one but for its outputs, which lie at `memory`.
SplitArgs partialRowArgs(const KernelSignature& whole, const std::int64_t* args, const PartialPlaces& places,
                         std::int64_t memory);
/// The argument block of the second kernel, which reduces `blocks` results of each row or column at `memory`.
SplitArgs finishArgs(const KernelSignature& whole, const KernelSignature& finish, const std::int64_t* args,
                     const PartialPlaces& places, std::int64_t memory, std::int64_t blocks);

}  // namespace tandem
