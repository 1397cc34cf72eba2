// The numbers of a call, ahead of its plan. Python's arithmetic on float arguments, and on numbers that a function
// finds in attributes, is recorded as slots of the trace:
//
//   self.steps += 1                       one slot, an argument plus 1, which the call leaves in the attribute
//   if self.steps % 10 == 0: ...          two slots more, and a condition that the trace holds for
//   x = x / (1 - 0.9**self.steps)         three more, of which the last one is read by a kernel
//
// A call computes those that conditions, bounds and results need before it runs anything, as a trace may turn out to be
// of other calls. The plan computes all of them once more, for its kernels.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace tandem::lazy {

/// How two numbers compare, which decided what was recorded.
struct ScalarCondition {
  enum class Is : std::uint8_t { Less, LessEqual, Equal, NotEqual, Greater, GreaterEqual };  // as Py_LT ... Py_GE
  Is is = Is::Equal;
  std::int32_t left = -1;  // slots
  std::int32_t right = -1;
  bool holds = false;  // while tracing

  /// As Python compares them. ValueError for an int of more than 53 bits beside a float.
  static bool compare(Is is, const Scalar& left, const Scalar& right);
};

class CallNumbers {
 public:
  /// Slots that a dtype had to hold, and the largest number that it holds.
  using Bounds = std::vector<std::pair<std::int32_t, double>>;

  CallNumbers() = default;
  /// Of the slots of a trace; `results` are those that a call returns or leaves somewhere.
  CallNumbers(std::span<const ScalarSlot> slots, Bounds bounds, std::vector<ScalarCondition> conditions,
              std::vector<std::int32_t> results);

  [[nodiscard]] bool empty() const { return slots_.empty(); }
  /// Does the trace stand for a call with these run-time scalars? If so, `results` become its results.
  [[nodiscard]] bool compute(std::span<const Scalar> arguments, std::vector<Scalar>& results) const;

 private:
  std::vector<ScalarSlot> slots_;  // those that are needed, and what they are computed from
  Bounds bounds_;
  std::vector<ScalarCondition> conditions_;
  std::vector<std::int32_t> results_;
};

}  // namespace tandem::lazy
