#include "runtime/program/call_check.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/base/error.h"
#include "runtime/plan/scalar_slots.h"
#include "runtime/program/check.h"

namespace tandem::program {
namespace {

void checkNumber(const std::string& entry, const NumberData& n, const Scalar& value) {
  const double now = value.asDouble(), saved = n.value.asDouble();
  const bool same = now == saved || (std::isnan(now) && std::isnan(saved));
  const bool fits = n.freedom == NumberData::Freedom::Any || same ||
                    (n.freedom == NumberData::Freedom::SameZero && now != 0 && saved != 0);
  if (!fits)
    fail<TypeError>(entry, ": ", n.name, " was ", saved, " when the program was saved, and cannot be ", now,
                    n.freedom == NumberData::Freedom::Fixed ? ": the program depends on its value"
                                                            : ": the program depends on whether it is zero");
}

}  // namespace

void checkCall(const EntryData& e, std::size_t arguments, std::span<const Scalar> numbers, std::size_t results) {
  for (std::size_t k = 0; k < std::min(numbers.size(), e.numbers.size()); ++k)
    checkNumber(e.name, e.numbers[k], numbers[k]);
  if (arguments != e.arguments.size() || numbers.size() != e.numbers.size() || results != e.results.size())
    fail<TypeError>(e.name, " takes ", e.arguments.size(), " tensors and ", e.numbers.size(), " numbers and gives ",
                    e.results.size(), " tensors, not ", arguments, ", ", numbers.size(), " and ", results);
}

void checkGiven(const EntryData& e, const std::string& name, const void* memory, std::uint64_t bytes) {
  if (memory == nullptr && bytes > 0) fail<TypeError>(e.name, ": the memory of ", name, " is a null pointer");
}

void checkApart(const EntryData& e, std::span<const MemoryData> memories, std::span<char* const> places,
                std::span<const Bytes> arguments) {
  auto overlap = [](Bytes a, Bytes b) {
    return !a.empty() && !b.empty() && std::less()(a.data(), b.data() + b.size()) &&
           std::less()(b.data(), a.data() + a.size());
  };
  auto writes = [&](std::size_t memory) {
    const std::vector<bool> written = writtenBuffers(e.plan);
    for (std::size_t k = 0; k < written.size(); ++k) {
      const PlanBuffer& b = e.plan.buffers[k];
      if (!written[k] || b.kind != PlanBuffer::Kind::Input) continue;
      const PlaceData& p = e.inputs[b.index];
      if (p.origin == PlaceData::Origin::Memory && p.index == memory) return true;
    }
    return false;
  };
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const ArgumentData& a = e.arguments[k];
    for (std::size_t j = 0; a.changes && j < arguments.size(); ++j)
      if (j != k && overlap(arguments[k], arguments[j]))
        fail<TypeError>(e.name, ": ", e.arguments[j].name, " shares memory with ", a.name,
                        ", which the entry writes to: pass a copy");
    for (std::size_t m = 0; m < memories.size(); ++m)
      if (memories[m].changes && overlap(arguments[k], {places[m], memories[m].bytes}) && (a.changes || writes(m)))
        fail<TypeError>(e.name, ": ", a.name, " shares memory with `", memories[m].name,
                        "` of the state, and the entry writes to it: pass a copy");
  }
}

void checkBounds(const EntryData& e, const PlanRun& run, std::vector<Scalar>& values) {
  if (e.bounds.empty()) return;
  values.resize(e.plan.slots.size());
  evaluateSlots(e.plan.slots, run, values);
  for (const BoundData& b : e.bounds) {
    const double v = values[b.slot].recorded();
    if (!std::isfinite(v) || std::abs(v) <= b.most) continue;
    const ScalarSlot& slot = e.plan.slots[b.slot];
    const bool given = slot.source == ScalarSlot::Source::Argument;
    fail(e.name, ": ", given ? e.numbers[static_cast<std::size_t>(slot.a)].name : "what is computed from the numbers",
         " is ", v, ", and the dtype that it is used as holds numbers up to ", b.most);
  }
}

}  // namespace tandem::program
