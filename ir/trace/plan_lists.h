// Which instructions of a plan a device may do as a list (Executor::launchList).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace tandem {

/// Of each instruction how many from it on are kernels of one signature over contiguous memory that no other of them
/// writes, as the updates of an optimizer are; 1 within such a list, and for all else. Empty for the CPU.
std::vector<std::uint32_t> listsOf(const Plan& plan);

}  // namespace tandem
