// From a region to kernels: the signature of its body, and the argument block that walks its operands.
#pragma once

#include <vector>

#include "ir/dialect/td.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem::passes {

/// A kernel launch but for where its operands lie.
struct Launch {
  KernelSignature signature;
  std::vector<std::int64_t> args;  // pointers and scalars 0
  std::int64_t units = 0;
  std::int64_t elementsPerUnit = 0;
  std::int64_t rows = 0;  // of Row kernels
  std::int64_t n = 0;
};

/// The kernel of a region. Its inputs are the region's tensor inputs in order, its scalars the others.
Launch regionLaunch(td::RegionOp region);
/// Copies elements of one dtype between two strided places of a shape. `signature.outerRank` may be larger than kernels
/// can have; then only a library copy will do.
Launch copyLaunch(DType dtype, const Dims& shape, const Dims& from, const Dims& to);
/// The two kernels of a region whose rows are cut into blocks; the first writes to scratch memory, for each output
/// `rows * rowBlocks(n)` partial results.
std::pair<Launch, Launch> splitLaunch(const Launch& whole);

}  // namespace tandem::passes
