#include "python/src/compiled_state.h"

namespace tandem::python {

bool Entry::fits(CallSignature& call) {
  for (const Held& h : identities)
    if (h.dead()) return false;
  if (!guards.hold()) return false;
  const std::size_t own = call.scalars.size();
  const std::size_t ownTensors = call.tensors.size();
  if (!states.empty() && !states.readInto(call)) return false;
  for (const NumberSource& source : sources) {
    std::optional<Scalar> number = source.read();
    if (!number) break;
    call.scalars.push_back(*number);
  }
  if (call.scalars.size() == own + sources.size() && valuesFit(call) && trace->fits(call.tensors)) return true;
  call.scalars.resize(own);
  call.tensors.resize(ownTensors);
  return false;
}

bool Entry::valuesFit(const CallSignature& call) const {
  for (const auto& g : zeros) {
    std::optional<Scalar> number = g.number.read();
    if (!number || (number->asDouble() == 0) != g.zero) return false;
  }
  return std::ranges::all_of(trace->guardedScalars,
                             [&](const auto& g) { return call.scalars[g.first].bits() == g.second.bits(); }) &&
         (trace->boundedScalars.empty() || trace->holds(call.scalars));
}

PyObject* Entry::assign(const PyRef& built) const {
  for (std::size_t i = 0; i < assigned.size(); ++i)
    assigned[i].set(PyTuple_GET_ITEM(built.get(), static_cast<Py_ssize_t>(i) + 1));
  return Py_NewRef(PyTuple_GET_ITEM(built.get(), 0));
}

PyRef Entry::withAssigned(const PyRef& result) const {
  if (assigned.empty()) return result;
  PyRef all(checked(PyTuple_New(static_cast<Py_ssize_t>(assigned.size()) + 1)));
  Py_ssize_t i = 0;
  PyTuple_SET_ITEM(all.get(), i++, Py_NewRef(result.get()));
  for (const PyRef& value : assignedNow()) PyTuple_SET_ITEM(all.get(), i++, Py_NewRef(value ? value.get() : Py_None));
  return all;
}
std::vector<PyRef> Entry::assignedNow() const {
  std::vector<PyRef> now;
  for (const AssignedPlace& place : assigned) now.push_back(PyRef::borrow(place.get()));
  return now;
}
void Entry::putBack(const std::vector<PyRef>& before) const {
  for (std::size_t i = 0; i < assigned.size(); ++i) assigned[i].putBack(before[i].get());
}

}  // namespace tandem::python
