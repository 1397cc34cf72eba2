// The upper levels of a reduction over a row of more than one block (kernel_signature.h, the trailing class): what
// generated code calls with the partial result of each block. One of the few imports of kernel objects; out of line
// because a block is 4096 elements, and every kernel that reduces would carry it otherwise.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

/// Takes in the partial result of block number `block` of `blocks`, in order. `levels` is an array of kLevelsLength
/// accumulators that the caller keeps from the first block to the last and does not touch; the partial lies in
/// element kLevelsValue, and so does the result after the last block.
using LevelsFn = void (*)(void* levels, std::int64_t block, std::int64_t blocks);
inline constexpr std::int64_t kLevelsLength = 65;
inline constexpr std::int64_t kLevelsValue = 64;

/// By name, `tandem_levels_sum_float32`; null where there is none.
LevelsFn findLevels(std::string_view name);

}  // namespace tandem
