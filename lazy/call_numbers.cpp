#include "lazy/call_numbers.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/scalar_slots.h"

namespace tandem::lazy {

bool ScalarCondition::compare(Is is, const Scalar& left, const Scalar& right) {
  auto answer = [is](auto a, auto b) {
    switch (is) {
    case Is::Less:
      return a < b;
    case Is::LessEqual:
      return a <= b;
    case Is::Equal:
      return a == b;
    case Is::NotEqual:
      return a != b;
    case Is::Greater:
      return a > b;
    default:
      return a >= b;
    }
  };
  if (!left.isFloat() && !right.isFloat()) return answer(left.asInt(), right.asInt());
  // Python compares an int with a float exactly.
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  for (const Scalar& s : {left, right})
    if (!s.isFloat() && (s.asInt() > kMost || s.asInt() < -kMost))
      fail<ValueError>("an int of more than 53 bits is compared with a float");
  return answer(left.asDouble(), right.asDouble());
}

CallNumbers::CallNumbers(std::span<const ScalarSlot> slots, Bounds bounds, std::vector<ScalarCondition> conditions,
                         std::vector<std::int32_t> results)
    : bounds_(std::move(bounds)), conditions_(std::move(conditions)), results_(std::move(results)) {
  std::vector<std::int32_t> at(slots.size(), -1);
  auto take = [&](auto& self, std::int32_t& slot) -> void {
    std::int32_t& place = at[static_cast<std::size_t>(slot)];
    if (place < 0) {
      ScalarSlot own = slots[static_cast<std::size_t>(slot)];
      if (own.isComputed()) {
        self(self, own.a);
        if (own.b >= 0) self(self, own.b);
      }
      place = static_cast<std::int32_t>(slots_.size());
      slots_.push_back(own);
    }
    slot = place;
  };
  for (auto& [slot, most] : bounds_) take(take, slot);
  for (ScalarCondition& c : conditions_) {
    take(take, c.left);
    take(take, c.right);
  }
  for (std::int32_t& slot : results_) take(take, slot);
}

bool CallNumbers::compute(std::span<const Scalar> arguments, std::vector<Scalar>& results) const {
  thread_local std::vector<Scalar> values;
  values.resize(slots_.size());
  auto at = [&](std::int32_t slot) -> const Scalar& { return values[static_cast<std::size_t>(slot)]; };
  try {
    PlanRun run{};
    run.arguments = arguments;
    evaluateSlots(slots_, run, values);
    const bool bounded = std::ranges::all_of(bounds_, [&](const auto& bound) {
      const double v = std::abs(at(bound.first).recorded());
      return !std::isfinite(v) || v <= bound.second;
    });
    if (!bounded || !std::ranges::all_of(conditions_, [&](const ScalarCondition& c) {
          return ScalarCondition::compare(c.is, at(c.left), at(c.right)) == c.holds;
        }))
      return false;
  } catch (const ValueError&) {
    return false;  // the body says what is wrong
  }
  results.clear();
  for (const std::int32_t slot : results_) results.push_back(at(slot));
  return true;
}

}  // namespace tandem::lazy
