// Run-time scalars: numbers that a call brings, and what is computed from them. A trace holds for any values of theirs
// but of those that the program asked for.
#include "lazy/session.h"
#include "runtime/plan/scalar_slots.h"

namespace tandem::lazy {

namespace {
/// What a slot is while tracing, as a constant.
Scalar asConstant(Scalar s) {
  s.slot = -1;
  return s;
}
}  // namespace

double Session::guardScalar(const Scalar& s) {
  if (!tracing_ || s.slot < 0 || s.recording != number_) return s.recorded();
  // Which arguments the slot was computed from, and its value now.
  std::vector<std::int32_t> open{s.slot};
  while (!open.empty()) {
    const ScalarSlot& slot = trace_.slots[open.back()];
    open.pop_back();
    if (slot.source == ScalarSlot::Source::Argument) {
      guardedScalars_.insert(static_cast<std::uint32_t>(slot.a));
    } else if (slot.isComputed()) {
      open.push_back(slot.a);
      if (slot.b >= 0) open.push_back(slot.b);
    }
  }
  std::vector<Scalar> values(trace_.slots.size());
  PlanRun run{};
  run.arguments = scalarArguments_;
  evaluateSlots(trace_.slots, run, values);
  return values[s.slot].recorded();
}

void Session::boundScalar(const Scalar& s, double most) {
  if (tracing_ && s.recording == number_) boundedScalars_.emplace(s.slot, most);
}

Scalar Session::addSlot(ScalarSlot slot, Scalar now) {
  slot.value = now;
  now.slot = trace_.addSlot(slot);
  now.recording = number_;
  return now;
}

Scalar Session::addScalarArgument(std::uint32_t number, Scalar value) {
  scalarArguments_.push_back(value);
  return addSlot({ScalarSlot::Source::Argument, {}, static_cast<std::int32_t>(number), -1}, value);
}

std::optional<Scalar> Session::arithmetic(ScalarSlot::Source source, Scalar left, Scalar right) {
  try {
    const Scalar now = computeSlot(source, asConstant(left), asConstant(right));
    return addSlot({source, {}, slotOf(left), slotOf(right)}, now);
  } catch (const ValueError&) {
    return std::nullopt;
  }
}

bool Session::compare(ScalarCondition::Is is, const Scalar& left, const Scalar& right) {
  try {
    const bool holds = ScalarCondition::compare(is, asConstant(left), asConstant(right));
    conditions_.push_back({is, slotOf(left), slotOf(right), holds});
    return true;
  } catch (const ValueError&) {
    return false;
  }
}

}  // namespace tandem::lazy
