// The upper levels of reductions (kernel_signature.h, the trailing and the leading class): what generated code calls
// once a block. Among the few imports of kernel objects; out of line because every kernel that reduces would carry it
// otherwise, for work that is small beside that of a block.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// Takes in the partial result of block number `block` of `blocks`, in order. `levels` is an array of kLevelsLength
/// accumulators that the caller keeps from the first block to the last and does not touch; the partial lies in
/// element kLevelsValue, and so does the result after the last block.
using LevelsFn = void (*)(void* levels, std::int64_t block, std::int64_t blocks);
inline constexpr std::int64_t kLevelsLength = 65;
inline constexpr std::int64_t kLevelsValue = 64;

/// The order in which Column kernels add: that of the leading class, or that of the trailing one, whose level 3 they
/// lack. A tile of columns keeps its lanes in the first cache.
struct ColumnOrder {
  std::int64_t count;  // lanes
  std::int64_t block;
  std::int64_t tile;   // columns
  const char* import;  // the ColumnsFn

  /// Which of the lines is the result.
  [[nodiscard]] constexpr std::int64_t result() const { return 2 * count; }
};
inline constexpr ColumnOrder kLeadingColumns{kLeadingLanes, kLeadingBlock, 256, "columns"};
inline constexpr ColumnOrder kTrailingColumns{kTrailingLanes, kTrailingBlock, 128, "trailing_columns"};
constexpr ColumnOrder columnOrder(bool trailing) { return trailing ? kTrailingColumns : kLeadingColumns; }

/// The blocks of a tile of columns. `memory` is lines of `tile` accumulators: the lanes that generated code adds rows
/// to, as many of level 2, and the results. Called with block = 0, 1, ... before the rows of each block, to take in the
/// lanes of the block before and clear them, and with block = blocks at the end. `columns` of a line are in use; of few
/// rows or blocks, as many lanes as they come to.
using ColumnsFn = void (*)(void* memory, std::int64_t columns, std::int64_t block, std::int64_t blocks,
                           std::int64_t rows);

/// LevelsFn and ColumnsFn by name, `tandem_levels_sum_float32`, `tandem_columns_max_int8`, ...; null where there is
/// none.
void* findLevels(std::string_view name);

}  // namespace tandem
