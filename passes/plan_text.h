// Plans and regions for humans: explain(), TANDEM_LOG=plans, tests.
#pragma once

#include <map>
#include <string>

#include "ir/dialect/td.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

namespace tandem::passes {

/// A line an instruction: `kernel row1(f32:unit) {...} t0 -> o0`, buffers as i0, o0, t64 (an offset in the arena).
std::string planText(const Plan& plan);
/// What of a region does not follow from sizes.
struct RegionText {
  std::string kind;
  std::map<std::string, int> operations;
};
RegionText textOf(td::RegionOp region);
/// A region in two lines: its kind, space, operations, bytes moved and operations on elements, and its kernel.
std::string regionText(const RegionText& region, DimsRef space, std::int64_t bytes, double flops,
                       const std::string& kernel);
std::string regionText(td::RegionOp region, const std::string& kernel);

}  // namespace tandem::passes
