// What a recording leaves for the next one at its site, which is likely to be the same: its trace, its plan, and the
// values that were computed by themselves to be looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/trace/trace.h"
#include "runtime/base/small_vector.h"

namespace tandem::lazy {

/// Of so few nodes a value is computed by itself to be looked at.
inline constexpr std::size_t kMostSlight = 12;

/// A value that was computed by itself to be looked at: from which inputs and slots of the trace, by what plan. The
/// slots that a slot is computed of are slots of the look, too: `a` and `b` are their numbers there.
struct Look {
  struct Slot {
    std::int32_t number;  // of the trace
    std::int32_t a;
    std::int32_t b;
  };
  ValueRef value;
  SmallVector<std::uint32_t, kMostSlight> inputs;
  SmallVector<Slot, kMostSlight> slots;
  std::shared_ptr<Plan> plan;
};

/// What one run was, to be followed by the next: its trace, what left it, the plan for that, and what was looked at.
struct Followed {
  Trace trace;
  std::vector<TraceOutput> outputs;
  std::shared_ptr<Plan> plan;
  std::vector<Look> looks;
};

}  // namespace tandem::lazy
