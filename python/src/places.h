// Where a value is found (an item of a dict, an attribute, a variable of an outer function), and what was found there.
#pragma once

#include <Python.h>
#include <set>
#include <string>
#include <utility>

#include "python/src/errors.h"

namespace tandem::python {

/// May a place in which it is met hold another one later: a float, or an int that 64 bits hold?
bool isNumberPlace(PyObject* value);

/// An object that was met in a place.
class Held {
 public:
  Held() = default;
  explicit Held(PyObject* o);
  /// Is `now` this object, or an equal plain value?
  [[nodiscard]] bool is(PyObject* now) const {
    return now != object_ ? equalPlain(now) : weak_ ? !dead() : keeper_ || Py_TYPE(now) == container_;
  }
  [[nodiscard]] bool dead() const;
  /// Borrowed; for a container valid only while its place holds it.
  [[nodiscard]] PyObject* get() const { return object_; }
  /// Of an object that may be gone, too.
  [[nodiscard]] bool isNumber() const { return !weak_ && keeper_ && isNumberPlace(object_); }
  int traverse(visitproc visit, void* arg) const;

 private:
  [[nodiscard]] bool equalPlain(PyObject* now) const;
  PyObject* object_ = nullptr;
  PyRef keeper_;  // the object itself, or a weak reference to it; null for containers
  bool weak_ = false;
  // The type of a container: where one died another may lie, whose content is guarded as far as it was read.
  PyTypeObject* container_ = nullptr;
};

/// Changes whenever an attribute of the class or of a base does; 0 where the interpreter does not count.
unsigned versionOf(PyTypeObject* type);

/// Numbers, strings, None and their like: immutable, and told apart by value.
bool isPlain(PyObject* o);

/// Where a value is found: `holder[name]` of a dict, an attribute of an object (`owned`), `holder[index]` of a list, or
/// a variable of an outer function, which has no name.
struct ValuePlace {
  PyObject* holder = nullptr;  // borrowed
  PyRef name;
  bool owned = false;
  Py_ssize_t index = -1;
  /// The value, borrowed; null where there is none.
  [[nodiscard]] PyObject* read() const;
  [[nodiscard]] bool sameAs(const ValuePlace& other) const;
};

/// Places whose numbers, or tensors, are others at later calls, so that it does not pay to make a trace for each.
class ChangingPlaces {
 public:
  void add(const ValuePlace& place) { known_.emplace(place.holder, textOf(place)); }
  [[nodiscard]] bool contains(const ValuePlace& place) const {
    return !known_.empty() && known_.contains({place.holder, textOf(place)});
  }

 private:
  static std::string textOf(const ValuePlace& place);
  std::set<std::pair<const void*, std::string>> known_;
};

/// The dict of an object's own attributes, borrowed; null where it has none.
PyObject* attributesOf(PyObject* owner);

}  // namespace tandem::python
