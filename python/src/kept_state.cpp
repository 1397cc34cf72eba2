#include "python/src/kept_state.h"

#include <algorithm>

#include "python/src/py_tensor.h"
#include "python/src/run_time_numbers.h"

namespace tandem::python {

void AssignedPlace::set(PyObject* value) const {
  switch (kind) {
  case Kind::Attribute:
    checked(PyObject_GenericSetAttr(owner.get(), key.get(), value));
    break;
  case Kind::Item:
    checked(value != nullptr ? PyDict_SetItem(owner.get(), key.get(), value) : PyDict_DelItem(owner.get(), key.get()));
    break;
  case Kind::ListItem:
    checked(PyList_SetItem(owner.get(), index, Py_NewRef(value)));
    break;
  case Kind::Appended:
    checked(PyList_Append(owner.get(), value));
    break;
  case Kind::Variable:
    checked(PyCell_Set(owner.get(), value));
    break;
  }
}

void AssignedPlace::putBack(PyObject* before) const {
  if (kind != Kind::Appended) return set(before);
  const Py_ssize_t size = PyList_GET_SIZE(owner.get());
  checked(PyList_SetSlice(owner.get(), size - 1, size, nullptr));
}

namespace {
constexpr int kMostDepth = 8;

bool holdsTensor(PyObject* o, int depth) {
  if (isTensor(o)) return true;
  if (depth > kMostDepth) return false;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      if (holdsTensor(PySequence_Fast_GET_ITEM(o, i), depth + 1)) return true;
  } else if (PyDict_CheckExact(o)) {
    PyObject* v = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, nullptr, &v) != 0;)
      if (holdsTensor(v, depth + 1)) return true;
  }
  return false;
}
}  // namespace

bool isState(PyObject* value) { return value != nullptr && holdsTensor(value, 0); }

const StateArguments::Taken* StateArguments::find(const ValuePlace& place) const {
  auto it = std::ranges::find_if(places_, [&](const Taken& t) { return t.place.sameAs(place); });
  return it != places_.end() ? &*it : nullptr;
}

void StateArguments::take(const ValuePlace& place, PyObject* value, CallSignature& call,
                          std::vector<PyObject*>& described) {
  places_.push_back({place, PyRef::borrow(value)});
  const std::size_t before = call.key.size();
  call.described = &described;
  readMore(value, call);
  call.described = nullptr;
  key_.append(call.key, before);
  call.key.resize(before);
}

void StateArguments::forgetValues() {
  for (Taken& t : places_) t.value = {};
}

bool StateArguments::readInto(CallSignature& call) const {
  const std::size_t key = call.key.size();
  const std::size_t tensors = call.tensors.size();
  const std::size_t identities = call.identities.size();
  const bool special = call.special;
  bool alike = true;
  for (const Taken& t : places_) {
    PyObject* now = t.place.read();
    alike = now != nullptr && !call.special;
    if (!alike) break;
    readMore(now, call);
  }
  alike = alike && !call.special && call.key.compare(key, std::string::npos, key_) == 0;
  if (!alike && !call.special) call.found.reset(new CallSignature::FoundState{call.key.substr(key), this, nullptr});
  call.key.resize(key);
  call.identities.resize(identities);
  call.special = special;
  if (!alike) call.tensors.resize(tensors);
  return alike;
}

bool StateArguments::wereUnlike(const CallSignature& call) const {
  if (call.found == nullptr || places_.empty() || call.found->key == key_) return false;
  return std::ranges::equal(places_, static_cast<const StateArguments*>(call.found->places)->places_,
                            [](const Taken& a, const Taken& b) { return a.place.sameAs(b.place); });
}

bool takeState(const ValuePlace& place, PyObject* value) {
  if (watchedRecording == nullptr || activeObserver != watchedRecording->observer) return false;
  WatchedRecording& w = *watchedRecording;
  Observer& observer = *w.observer;
  if (const StateArguments::Taken* known = w.states.find(place)) {
    if (known->value.get() != value) observer.refuse("what is kept from call to call is another thing meanwhile");
    return true;
  }
  std::vector<PyObject*> described;
  const std::size_t before = w.call->tensors.size();
  w.states.take(place, value, *w.call, described);
  for (PyObject* o : described) {
    if (observer.guards().names(o) || (observer.covered(o) && !isTensor(o)))
      observer.refuse("what is kept from call to call is reached by another way, too");
    observer.cover(o);
  }
  if (w.call->special) observer.refuse("what is kept from call to call has hooks, or overlaps itself");
  if (!observer.proved()) return true;
  try {
    for (std::size_t i = before; i < w.call->tensors.size(); ++i)
      w.tracer->addArgument(w.call->tensors[i], w.call->terms->whole.contains(i));
  } catch (const lazy::RestartTrace&) {
    observer.refuse("what is kept from call to call shares memory with another tensor");
  }
  return true;
}

}  // namespace tandem::python
