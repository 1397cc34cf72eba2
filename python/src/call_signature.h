// The signature of a call to a compiled function: what of its arguments a trace depends on, as bytes, and what it does
// not (the tensors and the floats), as lists. Containers (tuple, list, dict) are walked; other objects count by
// identity. Floats inside containers count by value.
#pragma once

#include <Python.h>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "eager/tensor.h"
#include "python/src/errors.h"

namespace tandem::python {

struct CallSignature {
  std::string key;
  std::vector<Tensor> tensors;
  std::vector<Scalar> scalars;  // float arguments, not those inside containers
  std::vector<Scalar> numbers;  // what an entry that fits computes of them (lazy/call_numbers.h)
  /// Places of tensors whose storages are taken whole, so that offset and size count.
  const std::set<std::size_t>* whole = nullptr;
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
};

/// `whole`: as the signature keeps it; it outlives that.
void readSignature(PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords, const std::set<std::size_t>& whole,
                   CallSignature& out);
/// Adds a value that a call reads elsewhere, and whose floats count.
void readMore(PyObject* value, CallSignature& out);

}  // namespace tandem::python
