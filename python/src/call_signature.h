// The signature of a call to a compiled function: what of its arguments a trace depends on, as bytes, and what it does
// not (the tensors and the floats), as lists. Containers (tuple, list, dict) are walked; other objects count by
// identity. Floats inside containers count by value, and so do ints, until one was another one at each call.
#pragma once

#include <Python.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "eager/tensor.h"
#include "python/src/errors.h"
#include "python/src/places.h"

namespace tandem::python {

/// How a function's arguments are looked at, as its calls showed.
class ArgumentTerms {
 public:
  /// Tensors, by number, whose storages are taken whole, so that offset and size count.
  std::set<std::size_t> whole;

  /// Is it a number that each call brings: a float, or such an int? `place`: among the arguments, keywords behind.
  [[nodiscard]] bool isNumber(PyObject* o, std::size_t place) const {
    return PyFloat_CheckExact(o) ||
           (!ints_.empty() && PyLong_CheckExact(o) && ints_.contains(place) && isNumberPlace(o));
  }
  /// No trace was there for a call. Is there an int now that each call brings, as it was another one at each of them?
  bool learn(PyObject* const* args, std::size_t n);
  /// A trace holds for one value of these numbers, counted as `isNumber` says, alone: true if there is an int among
  /// them, which counts by value for ever.
  bool fix(PyObject* const* args, std::size_t n, const std::set<std::size_t>& numbers);

 private:
  struct Seen {
    PyRef last;
    int changes = 0;
    bool fixed = false;
  };
  std::set<std::size_t> ints_;
  std::map<std::size_t, Seen> seen_;
};

struct CallSignature {
  std::string key;
  std::vector<Tensor> tensors;
  std::vector<Scalar> scalars;  // numbers that each call brings, not those inside containers
  std::vector<Scalar> numbers;  // what an entry that fits computes of them (lazy/call_numbers.h)
  const ArgumentTerms* terms = nullptr;
  /// Tuples, lists, dicts and tensors that the key describes; where they are asked for.
  std::vector<PyObject*>* described = nullptr;
  /// Objects that the key names by address.
  std::vector<PyObject*> identities;
  /// What was found in places of state, which are those of an entry that it did not fit (StateArguments::readInto).
  struct FoundState {
    std::string key;
    const void* places;
    std::shared_ptr<const void> keeper;
  };
  std::unique_ptr<FoundState> found;
  /// An argument whose history or dims are another's business (hooks, vmap): the call is not to be recorded for others.
  bool special = false;

  /// As a new one, in the memory that it has.
  void clear();
};

/// `terms`: as the signature keeps them; they outlive that.
void readSignature(PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords, const ArgumentTerms& terms,
                   CallSignature& out);
/// Adds a value that a call reads elsewhere, and whose floats count.
void readMore(PyObject* value, CallSignature& out);

}  // namespace tandem::python
