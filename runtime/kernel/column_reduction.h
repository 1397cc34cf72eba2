// A reduction of strided memory as a Column kernel in the order of its class, whose lanes follow the dim along which
// the memory is dense. Any device may walk it so: the bits are those of the kernel that walks the logical order.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/kernel/launch_builder.h"
#include "runtime/kernel/strided_reduction.h"

namespace tandem {

/// Rows of a Column kernel in the order of the trailing class, at most: kernels of columns have two levels of blocks,
/// those of rows three.
inline constexpr std::int64_t kMostTrailingRows = kTrailingBlock * kTrailingBlock;

struct ColumnReduction {
  ReductionKernel kernel;
  SmallVector<std::int64_t, 64> args;
  LaunchSpace space;
};
/// Nothing where no kept dim is dense, or dims are left that do not merge.
std::optional<ColumnReduction> columnsOf(const StridedReduction& reduction);

}  // namespace tandem
