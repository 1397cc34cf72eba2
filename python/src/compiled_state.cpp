#include "python/src/compiled_state.h"

namespace tandem::python {

bool Entry::fits(CallSignature& call) {
  for (const Held& h : identities)
    if (h.dead()) return false;
  if (!states.empty() && states.wereUnlike(call)) return false;
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

bool Entry::valuesFit(CallSignature& call) const {
  for (const auto& g : zeros) {
    std::optional<Scalar> number = g.number.read();
    if (!number || (number->asDouble() == 0) != g.zero) return false;
  }
  return std::ranges::all_of(trace->guardedScalars,
                             [&](const auto& g) { return call.scalars[g.first].bits() == g.second.bits(); }) &&
         (trace->numbers.empty() || trace->numbers.compute(call.scalars, call.numbers));
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
void Entry::warn() const {
  for (const std::string& text : warnings) checked(PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1));
}
std::vector<PyRef> Entry::owners() const {
  std::vector<PyRef> all;
  for (const AssignedPlace& place : assigned) all.push_back(PyRef::borrow(place.owner.get()));
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

std::shared_ptr<Entry> entryFor(const std::vector<std::shared_ptr<Entry>>& known, CallSignature& call,
                                const std::vector<std::int64_t>& sizes, const ArgumentLeaves* leaves) {
  call.found = nullptr;
  auto fits = [&](const std::shared_ptr<Entry>& entry) {
    const std::vector<std::int64_t>& expected = entry->trace->sizes;
    bool same = expected.size() >= sizes.size() && std::equal(sizes.begin(), sizes.end(), expected.begin());
    if (!same || (leaves != nullptr && !leaves->allIn(entry->leaves))) return false;
    if (entry->fits(call)) return true;
    if (call.found != nullptr && call.found->places == &entry->states) call.found->keeper = entry;
    return false;
  };
  for (const auto& entry : known) {
    if (entry->guards.runCode()) [[unlikely]] {
      // That code may call the function, which then gets other entries.
      const std::vector<std::shared_ptr<Entry>> kept = known;
      auto it = std::ranges::find_if(kept, fits);
      return it != kept.end() ? *it : nullptr;
    }
    if (fits(entry)) return entry;
  }
  return nullptr;
}

std::shared_ptr<Entry> knownEntry(Function& f, CallSignature& call, PyObject* const* args, Py_ssize_t numArgs,
                                  PyObject* keywords) {
  if (auto it = f.entries.find(call.key); it != f.entries.end())
    if (auto entry = entryFor(it->second, call, {}, nullptr)) return entry;
  ArgumentLeaves leaves(f.leaves, call.tensors);
  if (!leaves.any()) return nullptr;
  leaves.turnOn();
  CallSignature then;
  readSignature(args, numArgs, keywords, f.terms, then);
  auto it = f.entries.find(then.key);
  auto entry = it == f.entries.end() ? nullptr : entryFor(it->second, then, {}, &leaves);
  if (entry != nullptr) call = std::move(then);
  return entry;
}

void forget(Function& f, const std::string& key) {
  auto it = f.entries.find(key);
  if (it == f.entries.end()) return;
  f.numEntries -= std::erase_if(it->second, [](const auto& entry) { return entry->dead(); });
  if (it->second.empty()) f.entries.erase(it);
}

bool keep(Function& f, const std::string& key, std::shared_ptr<Entry> entry) {
  entry->lastUse = entry->made = ++f.clock;
  auto& known = f.entries[key];
  auto once = [](const auto& e) { return e->heldOnce(); };
  if (once(entry) && std::ranges::count_if(known, once) >= static_cast<std::ptrdiff_t>(kMostHeldOnce)) {
    f.numEntries -= std::erase_if(known, once);
    return false;
  }
  known.insert(known.begin(), std::move(entry));
  ++f.numEntries;
  if (known.size() > kMostEntries) {
    known.pop_back();
    --f.numEntries;
  }
  if (f.numEntries <= kMostOfAll) return true;
  auto lastUse = [](const auto& ofSignature) {
    std::uint64_t last = 0;
    for (const auto& e : ofSignature.second) last = std::max(last, e->lastUse);
    return last;
  };
  auto oldest = std::ranges::min_element(f.entries, {}, lastUse);
  f.numEntries -= oldest->second.size();
  f.entries.erase(oldest);
  return true;
}

bool fixes(Function& f, const Entry& entry, PyObject* const* args, std::size_t n) {
  std::set<std::size_t> numbers;
  for (const auto& [number, value] : entry.trace->guardedScalars) numbers.insert(number);
  return !numbers.empty() && f.terms.fix(args, n, numbers);
}

}  // namespace tandem::python
