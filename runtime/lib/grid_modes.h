// What the attributes of grid_sample say: to who writes them (eager/composites/resample.cpp) and who reads them.
#pragma once

#include <cstdint>

namespace tandem {

enum class GridMode : std::int64_t { Linear, Nearest, Cubic };
/// runtime/lib/formulas/grid.inl knows their numbers.
enum class GridPadding : std::int64_t { Zeros, Border, Reflection };

/// Taps along a dim.
inline int reachOf(GridMode mode) { return mode == GridMode::Linear ? 2 : mode == GridMode::Nearest ? 1 : 4; }

}  // namespace tandem
