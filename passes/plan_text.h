// Plans and regions for humans: explain(), TANDEM_LOG=plans, tests.
#pragma once

#include <string>

#include "ir/dialect/td.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

namespace tandem::passes {

/// A line an instruction: `kernel row1(f32:unit) {...} t0 -> o0`, buffers as i0, o0, t64 (an offset in the arena).
std::string planText(const Plan& plan);
/// A region in two lines: its kind, space, operations, bytes and floating-point operations, and its kernel.
std::string regionText(td::RegionOp region, const std::string& kernel);

}  // namespace tandem::passes
