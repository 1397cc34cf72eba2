#include "python/src/guards.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "python/src/py_tensor.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python {
namespace {

/// Changes whenever the dict does, and differs between dicts; 0 where the interpreter does not count.
std::uint64_t versionOf(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#elif PY_VERSION_HEX < 0x030E0000
  // The lowest bits say who watches the dict. Up to 3.13 the others count its changes, though nothing promises that.
  constexpr int kWatchers = PY_VERSION_HEX >= 0x030D0000 ? 12 : 8;
  auto* d = reinterpret_cast<PyDictObject*>(dict);
  // From 3.13 on an object may share its attributes' places with its dict, and sets them without a count, or an event.
  if (PY_VERSION_HEX >= 0x030D0000 && d->ma_values != nullptr) return 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return d->ma_version_tag >> kWatchers;
#pragma GCC diagnostic pop
#else
  (void)dict;
  return 0;
#endif
}

PyObject* pointerAt(PyObject* owner, Py_ssize_t offset) {
  PyObject* p = nullptr;
  std::memcpy(static_cast<void*>(&p), reinterpret_cast<char*>(owner) + offset, sizeof(PyObject*));
  return p;
}

Py_ssize_t sizeOf(PyObject* container) {
  if (PyDict_Check(container)) return PyDict_GET_SIZE(container);
  if (PyAnySet_Check(container)) return PySet_GET_SIZE(container);
  return PySequence_Fast_GET_SIZE(container);
}

/// Keys and values in turn, in the order of iteration: that of an OrderedDict is its own.
std::vector<Held> entriesOf(PyObject* dict) {
  std::vector<Held> entries;
  PyObject* k = nullptr;
  PyObject* v = nullptr;
  if (!PyODict_Check(dict)) {
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &k, &v) != 0;) {
      entries.emplace_back(k);
      entries.emplace_back(v);
    }
    return entries;
  }
  PyRef iterator(PyObject_GetIter(dict));
  while (PyRef key{iterator ? PyIter_Next(iterator.get()) : nullptr}) {
    entries.emplace_back(key.get());
    entries.emplace_back(PyDict_GetItemWithError(dict, key.get()));
  }
  PyErr_Clear();
  return entries;
}

/// In the order of iteration, which runs no code.
std::vector<Held> itemsOfSet(PyObject* set) {
  std::vector<Held> items;
  PyRef iterator(PyObject_GetIter(set));
  while (PyRef item{iterator ? PyIter_Next(iterator.get()) : nullptr}) items.emplace_back(item.get());
  PyErr_Clear();
  return items;
}

}  // namespace

Held GuardSet::held(PyObject* o) {
  if (o != nullptr && !isPlain(o)) values_.emplace(o, true);
  return Held(o);
}

GuardSet::Expected GuardSet::expected(PyObject* o, Accepts accepts) {
  return {accepts == Accepts::Same ? held(o) : Held(), o != nullptr, accepts, false};
}

// ---- making --------------------------------------------------------------------------------------------------------

bool GuardSet::isNew(Kind kind, const void* object, const void* key) {
  auto& known = seen_[reinterpret_cast<std::uint64_t>(object) * 8 + static_cast<std::uint64_t>(kind)];
  if (std::find(known.begin(), known.end(), key) != known.end()) return false;
  known.push_back(key);
  return true;
}

void GuardSet::item(PyObject* owner, PyObject* dict, PyObject* key, PyObject* value, Accepts accepts) {
  auto [it, fresh] = dictOf_.try_emplace(holderOf(owner, dict), static_cast<std::uint32_t>(dicts_.size()));
  if (fresh) {
    DictGuard g;
    g.owned = owner != nullptr;
    if (g.owned) {
      g.owner = held(owner);
      g.type = Py_TYPE(owner);
      forgetClassOf(owner);
    }
    g.dict = dict;
    if (!g.owned) g.keeper = keeperOf(dict);
    order_.emplace_back(Kind::Dict, it->second);
    dicts_.push_back(std::move(g));
  }
  DictGuard& g = dicts_[it->second];
  for (Item& known : g.items) {
    if (!known.isOf(key)) continue;
    // Read by two ways, of which one wants its value.
    const bool number = known.value.accepts == Accepts::Float || known.value.accepts == Accepts::Int;
    if (number && accepts == Accepts::Same) known.value = expected(value);
    return;
  }
  g.items.push_back({PyRef::borrow(key), expected(value, accepts)});
}

bool GuardSet::Item::isOf(PyObject* other) const {
  return key.get() == other ||
         (PyUnicode_CheckExact(other) && PyUnicode_CheckExact(key.get()) && PyUnicode_Compare(key.get(), other) == 0);
}

void GuardSet::wholeDict(PyObject* dict, const std::function<Accepts(PyObject*, PyObject*)>& accepts) {
  if (!isNew(Kind::WholeDict, dict, nullptr)) return;
  ListGuard g{dict, keeperOf(dict), versionOf(dict), 0, {}};
  const std::vector<Held> entries = entriesOf(dict);
  for (std::size_t i = 0; i < entries.size(); i += 2) {
    g.items.push_back(expected(entries[i].get()));
    g.items.push_back(expected(entries[i + 1].get(), accepts(entries[i].get(), entries[i + 1].get())));
  }
  order_.emplace_back(Kind::WholeDict, static_cast<std::uint32_t>(lists_.size()));
  lists_.push_back(std::move(g));
}

void GuardSet::sequence(PyObject* sequence, const std::function<Accepts(Py_ssize_t, PyObject*)>& accepts) {
  if (!isNew(Kind::Sequence, sequence, nullptr)) return;
  ListGuard g{sequence, keeperOf(sequence), 0, 0, {}};
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence, i);
    g.items.push_back(expected(item, accepts(i, item)));
  }
  order_.emplace_back(Kind::Sequence, static_cast<std::uint32_t>(lists_.size()));
  lists_.push_back(std::move(g));
}

void GuardSet::size(PyObject* container) {
  if (!isNew(Kind::Size, container, nullptr)) return;
  order_.emplace_back(Kind::Size, static_cast<std::uint32_t>(lists_.size()));
  lists_.push_back({container, keeperOf(container), 0, sizeOf(container), {}});
}

void GuardSet::set(PyObject* set) {
  if (!isNew(Kind::Set, set, nullptr)) return;
  ListGuard g{set, keeperOf(set), 0, 0, {}};
  for (const Held& item : itemsOfSet(set)) g.items.push_back(expected(item.get()));
  order_.emplace_back(Kind::Set, static_cast<std::uint32_t>(lists_.size()));
  lists_.push_back(std::move(g));
}

void GuardSet::cell(PyObject* cell, Accepts accepts) {
  if (!isNew(Kind::Cell, cell, nullptr)) return;
  PlaceGuard g{Held(cell), static_cast<Py_ssize_t>(offsetof(PyCellObject, ob_ref)),
               expected(PyCell_GET(cell), accepts)};
  order_.emplace_back(Kind::Cell, static_cast<std::uint32_t>(places_.size()));
  places_.push_back(std::move(g));
}

void GuardSet::slot(PyObject* owner, Py_ssize_t offset) {
  if (!isNew(Kind::Slot, owner, reinterpret_cast<const void*>(offset))) return;
  order_.emplace_back(Kind::Slot, static_cast<std::uint32_t>(places_.size()));
  places_.push_back({held(owner), offset, expected(pointerAt(owner, offset))});
}

void GuardSet::classOf(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == tensorType) return;  // of a tensor that stays, its own guard
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0) return;
  if (dictOf_.contains(holderOf(object, nullptr)) || !isNew(Kind::Class, object, nullptr)) return;
  order_.emplace_back(Kind::Class, static_cast<std::uint32_t>(places_.size()));
  places_.push_back({held(object), static_cast<Py_ssize_t>(offsetof(PyObject, ob_type)),
                     expected(reinterpret_cast<PyObject*>(type))});
}

void GuardSet::forgetClassOf(PyObject* object) {
  if (isNew(Kind::Class, object, nullptr)) return;
  auto last = std::find_if(order_.rbegin(), order_.rend(), [&](const auto& guard) {
    return guard.first == Kind::Class && places_[guard.second].owner.get() == object;
  });
  if (last != order_.rend()) order_.erase(std::next(last).base());
}

void GuardSet::type(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0) return;
  if (!isNew(Kind::Type, type, nullptr)) return;
  static PyObject* any = interned("__doc__");
  (void)_PyType_Lookup(type, any);  // gives it a version if it has none
  order_.emplace_back(Kind::Type, static_cast<std::uint32_t>(types_.size()));
  types_.push_back({held(reinterpret_cast<PyObject*>(type)), versionOf(type)});
}

/// The number of classes that were ever registered with abstract ones.
static PyRef registeredClasses() {
  static PyObject* const token =
      checked(PyObject_GetAttrString(checked(PyImport_ImportModule("abc")), "get_cache_token"));
  return PyRef(checked(PyObject_CallNoArgs(token)));
}
void GuardSet::abstractClasses() {
  if (!isNew(Kind::Abstract, nullptr, nullptr)) return;
  order_.emplace_back(Kind::Abstract, 0);
  registered_ = registeredClasses();
}

void GuardSet::function(PyObject* function) {
  if (!isNew(Kind::Function, function, nullptr)) return;
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  order_.emplace_back(Kind::Function, static_cast<std::uint32_t>(functions_.size()));
  functions_.push_back({held(function), PyRef::borrow(f->func_code), PyRef::borrow(f->func_defaults),
                        PyRef::borrow(f->func_kwdefaults), f->func_closure});
}

void GuardSet::call(PyObject* function, PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject* result) {
  order_.emplace_back(Kind::Call, static_cast<std::uint32_t>(calls_.size()));
  calls_.push_back({PyRef::borrow(function), PyRef::borrow(names), PyRef::borrow(held(result).get()), {}});
  for (Py_ssize_t i = 0; i < n; ++i) calls_.back().args.push_back(PyRef::borrow(args[i]));
}
/// As the body would, it is called: what is kept is given, and what is not is made again.
bool GuardSet::CallGuard::holds() const {
  std::vector<PyObject*> all;
  for (const PyRef& arg : args) all.push_back(arg.get());
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names.get()) : 0;
  PyRef now(
      PyObject_Vectorcall(function.get(), all.data(), all.size() - static_cast<std::size_t>(keywords), names.get()));
  PyErr_Clear();
  return now && Held(result.get()).is(now.get());
}

// ---- checking ------------------------------------------------------------------------------------------------------

bool GuardSet::Expected::holds(PyObject* now) const {
  if (assigned) return true;
  switch (accepts) {
  case Accepts::Float:
    return now != nullptr && PyFloat_CheckExact(now);
  case Accepts::Int:
    return now != nullptr && PyLong_CheckExact(now);
  case Accepts::Argument:
  case Accepts::Anything:
    return now != nullptr;
  case Accepts::Same:
    break;
  }
  return now == nullptr ? !present : present && value.is(now);
}

bool GuardSet::PlaceGuard::holds() const { return !owner.dead() && value.holds(pointerAt(owner.get(), offset)); }

template <class F>
void GuardSet::visitAt(const ValuePlace& place, PyObject* dict, F&& visit) {
  for (ListGuard& g : lists_) {
    if (g.items.empty() || g.list != (place.index >= 0 ? place.holder : dict)) continue;
    if (PyDict_Check(g.list)) {
      for (std::size_t i = 0; place.name && i < g.items.size(); i += 2)
        if (g.items[i].value.is(place.name.get())) visit(g.items[i + 1]);
    } else if (place.index >= 0 && static_cast<std::size_t>(place.index) < g.items.size()) {
      visit(g.items[static_cast<std::size_t>(place.index)]);
    }
  }
  if (place.index >= 0) return;
  if (!place.name) {
    for (PlaceGuard& g : places_)
      if (g.owner.get() == place.holder && PyCell_Check(place.holder)) visit(g.value);
    return;
  }
  auto it = dictOf_.find(holderOf(place.owned ? place.holder : nullptr, dict));
  if (it == dictOf_.end()) return;
  for (Item& known : dicts_[it->second].items)
    if (known.isOf(place.name.get())) visit(known.value);
}

bool GuardSet::has(const ValuePlace& place, PyObject* dict) {
  bool found = false;
  visitAt(place, dict, [&](const Expected&) { found = true; });
  return found;
}

void GuardSet::assigned(const ValuePlace& place, PyObject* dict) {
  visitAt(place, dict, [](Expected& expected) { expected.assigned = true; });
}

void GuardSet::settle() {
  for (PlaceGuard& g : places_) g.value.assigned = false;
  for (DictGuard& g : dicts_)
    for (Item& known : g.items)
      if (std::exchange(known.value.assigned, false)) g.version = 0;
  for (ListGuard& g : lists_)
    for (Expected& item : g.items)
      if (std::exchange(item.assigned, false)) g.version = 0;
}

PyObject* GuardSet::DictGuard::current() const {
  if (!owned) return dict;
  return owner.dead() || Py_TYPE(owner.get()) != type ? nullptr : attributesOf(owner.get());
}

bool GuardSet::DictGuard::holds() {
  PyObject* now = current();
  if (now == nullptr) return false;
  std::uint64_t v = versionOf(now);
  if (v != 0 && v == version) return true;
  if (broken(now) != nullptr) return false;
  version = v;
  return true;
}

const GuardSet::Item* GuardSet::DictGuard::broken(PyObject* now) const {
  for (const Item& i : items) {
    PyObject* value = PyDict_GetItemWithError(now, i.key.get());
    if (value == nullptr) PyErr_Clear();
    if (!i.value.holds(value)) return &i;
  }
  return nullptr;
}

bool GuardSet::ListGuard::sequenceHolds() const {
  if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(list)) != items.size()) return false;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (!items[i].holds(PySequence_Fast_GET_ITEM(list, static_cast<Py_ssize_t>(i)))) return false;
  return true;
}

bool GuardSet::ListGuard::setHolds() const {
  // A set that was not changed is gone through in the same order.
  std::vector<Held> now = itemsOfSet(list);
  if (now.size() != items.size()) return false;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (!items[i].holds(now[i].get())) return false;
  return true;
}

bool GuardSet::ListGuard::dictHolds() {
  if (PyODict_Check(list)) {
    // Its order may change without its version.
    const std::vector<Held> now = entriesOf(list);
    return std::equal(items.begin(), items.end(), now.begin(), now.end(),
                      [](const Expected& a, const Held& b) { return a.holds(b.get()); });
  }
  std::uint64_t v = versionOf(list);
  if (v != 0 && v == version) return true;
  if (static_cast<std::size_t>(PyDict_GET_SIZE(list)) * 2 != items.size()) return false;
  PyObject* k = nullptr;
  PyObject* value = nullptr;
  std::size_t i = 0;
  for (Py_ssize_t at = 0; PyDict_Next(list, &at, &k, &value) != 0; i += 2)
    if (!items[i].holds(k) || !items[i + 1].holds(value)) return false;
  version = v;
  return true;
}

bool GuardSet::FunctionGuard::holds() const {
  if (function.dead()) return false;
  auto* f = reinterpret_cast<PyFunctionObject*>(function.get());
  return f->func_code == code.get() && f->func_defaults == defaults.get() &&
         f->func_kwdefaults == keywordDefaults.get() && f->func_closure == closure;
}

std::size_t GuardSet::firstBroken() {
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const auto [kind, number] = order_[k];
    bool holds = false;
    switch (kind) {
    case Kind::Dict:
      holds = dicts_[number].holds();
      break;
    case Kind::WholeDict:
      holds = lists_[number].dictHolds();
      break;
    case Kind::Sequence:
      holds = lists_[number].sequenceHolds();
      break;
    case Kind::Size:
      holds = sizeOf(lists_[number].list) == lists_[number].size;
      break;
    case Kind::Set:
      holds = lists_[number].setHolds();
      break;
    case Kind::Cell:
    case Kind::Slot:
    case Kind::Class:
      holds = places_[number].holds();
      break;
    case Kind::Type: {
      const TypeGuard& g = types_[number];
      holds = !g.type.dead() && g.version != 0 && versionOf(reinterpret_cast<PyTypeObject*>(g.type.get())) == g.version;
      break;
    }
    case Kind::Tensor:
      holds = tensors_[number].holds();
      break;
    case Kind::Function:
      holds = functions_[number].holds();
      break;
    case Kind::Abstract:
      holds = PyObject_RichCompareBool(registered_.get(), registeredClasses().get(), Py_EQ) == 1;
      break;
    case Kind::Call:
      holds = calls_[number].holds();
      break;
    }
    if (!holds) return k;
  }
  return kNone;
}

std::string GuardSet::broken(ChangingPlaces* changing) {
  const std::size_t k = firstBroken();
  if (k == kNone) return {};
  static constexpr const char* kWhat[] = {"a name",
                                          "the items of a dict",
                                          "the items of a list",
                                          "the items of a set",
                                          "the number of items of a container",
                                          "a variable of an outer function",
                                          "a slot",
                                          "the class of an object",
                                          "a class",
                                          "a function",
                                          "a tensor",
                                          "what abstract classes say of others",
                                          "what a cached function gives"};
  static_assert(std::size(kWhat) == static_cast<std::size_t>(Kind::Call) + 1);
  std::string text = kWhat[static_cast<std::size_t>(order_[k].first)];
  auto changed = [&](const Held& before, ValuePlace place) {
    PyObject* now = place.read();
    if (changing != nullptr && before.isNumber() && now != nullptr && isNumberPlace(now)) changing->add(place);
  };
  if (order_[k].first == Kind::Cell) {
    const PlaceGuard& g = places_[order_[k].second];
    if (!g.owner.dead()) changed(g.value.value, {g.owner.get(), {}, false});
  }
  if (order_[k].first != Kind::Dict) return text;
  DictGuard& g = dicts_[order_[k].second];
  PyObject* now = g.current();
  const Item* item = now != nullptr ? g.broken(now) : nullptr;
  if (item == nullptr) return "the attributes of an object";
  if (PyUnicode_CheckExact(item->key.get()))
    changed(item->value.value, {g.owned ? g.owner.get() : g.dict, item->key, g.owned});
  PyRef key(PyObject_Repr(item->key.get()));
  const char* name = key ? PyUnicode_AsUTF8(key.get()) : nullptr;
  return std::string(name != nullptr ? name : "a key") +
         (g.owned ? " of an object of type " + std::string(Py_TYPE(g.owner.get())->tp_name) : " in a dict");
}

bool GuardSet::dead() const {
  auto any = [](const auto& list, auto&& of) { return std::any_of(list.begin(), list.end(), of); };
  return any(dicts_,
             [](const DictGuard& g) {
               return g.owner.dead() ||
                      std::any_of(g.items.begin(), g.items.end(), [](const Item& i) { return i.value.value.dead(); });
             }) ||
         any(lists_,
             [](const ListGuard& g) {
               return std::any_of(g.items.begin(), g.items.end(), [](const Expected& e) { return e.value.dead(); });
             }) ||
         any(places_, [](const PlaceGuard& g) { return g.owner.dead() || g.value.value.dead(); }) ||
         any(types_,
             [](const TypeGuard& g) {
               return g.type.dead() || versionOf(reinterpret_cast<PyTypeObject*>(g.type.get())) != g.version;
             }) ||
         any(functions_, [](const FunctionGuard& g) { return g.function.dead(); });
}

int GuardSet::traverse(visitproc visit, void* arg) const {
  for (const DictGuard& g : dicts_) {
    if (int r = g.owner.traverse(visit, arg)) return r;
    Py_VISIT(g.keeper.get());
    for (const Item& i : g.items) {
      Py_VISIT(i.key.get());
      if (int r = i.value.value.traverse(visit, arg)) return r;
    }
  }
  for (const ListGuard& g : lists_) {
    Py_VISIT(g.keeper.get());
    for (const Expected& e : g.items)
      if (int r = e.value.traverse(visit, arg)) return r;
  }
  for (const PlaceGuard& g : places_) {
    if (int r = g.owner.traverse(visit, arg)) return r;
    if (int r = g.value.value.traverse(visit, arg)) return r;
  }
  for (const TypeGuard& g : types_)
    if (int r = g.type.traverse(visit, arg)) return r;
  for (const TensorGuard& g : tensors_)
    if (int r = g.tensor.traverse(visit, arg)) return r;
  for (const CallGuard& g : calls_) {
    Py_VISIT(g.function.get());
    Py_VISIT(g.result.get());
    for (const PyRef& a : g.args) Py_VISIT(a.get());
  }
  for (const FunctionGuard& g : functions_) {
    if (int r = g.function.traverse(visit, arg)) return r;
    Py_VISIT(g.code.get());
    Py_VISIT(g.defaults.get());
    Py_VISIT(g.keywordDefaults.get());
  }
  return 0;
}

}  // namespace tandem::python
