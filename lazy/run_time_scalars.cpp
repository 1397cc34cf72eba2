// Run-time scalars: numbers that a call brings, and what is computed from them. A trace holds for any values of theirs
// but of those that the program asked for.
#include "lazy/session.h"
#include "runtime/plan/scalar_slots.h"

namespace tandem::lazy {

double Session::guardScalar(const Scalar& s) {
  if (!tracing_ || s.slot < 0 || s.recording != number_) return s.recorded();
  // Which arguments the slot was computed from, and its value now.
  std::vector<std::int32_t> open{s.slot};
  while (!open.empty()) {
    const ScalarSlot& slot = trace_.slots[open.back()];
    open.pop_back();
    if (slot.source == ScalarSlot::Source::Argument) {
      guardedScalars_.insert(static_cast<std::uint32_t>(slot.a));
    } else if (slot.source >= ScalarSlot::Source::Add) {
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

Scalar Session::addScalarArgument(std::uint32_t number, double value) {
  scalarArguments_.emplace_back(value);
  ScalarSlot slot;
  slot.source = ScalarSlot::Source::Argument;
  slot.a = static_cast<std::int32_t>(number);
  slot.value = Scalar(value);
  Scalar s(value);
  s.slot = trace_.addSlot(slot);
  s.recording = number_;
  return s;
}

Scalar Session::arithmetic(char op, Scalar left, Scalar right) {
  using Source = ScalarSlot::Source;
  const double a = left.recorded();
  const double b = right.recorded();
  ScalarSlot slot;
  double value = 0;
  switch (op) {
  case '+':
    slot.source = Source::Add;
    value = a + b;
    break;
  case '-':
    slot.source = Source::Sub;
    value = a - b;
    break;
  case '*':
    slot.source = Source::Mul;
    value = a * b;
    break;
  case '/':
    slot.source = Source::Div;
    value = a / b;
    break;
  default:
    fail<InternalError>("no scalar operation ", op);
  }
  slot.a = slotOf(left);
  slot.b = slotOf(right);
  slot.value = Scalar(0.0);
  Scalar s(value);
  s.slot = trace_.addSlot(slot);
  s.recording = number_;
  return s;
}

Scalar Session::negated(const Scalar& s) {
  ScalarSlot slot;
  slot.source = ScalarSlot::Source::Neg;
  slot.a = slotOf(s);
  slot.value = Scalar(0.0);
  Scalar negative(-s.recorded());
  negative.slot = trace_.addSlot(slot);
  negative.recording = number_;
  return negative;
}

}  // namespace tandem::lazy
