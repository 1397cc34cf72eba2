// The signature of a call to a compiled function: what of its arguments a trace depends on, as bytes, and what it does
// not (the tensors and the floats), as lists. Containers (tuple, list, dict) are walked; other objects count by
// identity.
#pragma once

#include <Python.h>
#include <set>
#include <string>
#include <vector>

#include "eager/tensor.h"
#include "python/src/errors.h"

namespace tandem::python {

struct CallSignature {
  std::string key;
  std::vector<Tensor> tensors;
  std::vector<Scalar> scalars;
  /// Objects that the key names by address: kept alive by the trace that is found by it.
  std::vector<PyObject*> identities;
};

/// `whole`: places of tensors whose storages are taken whole, so that offset and size count.
void readSignature(PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords, const std::set<std::size_t>& whole,
                   CallSignature& out);

/// The arguments once more, floats replaced by what `proxies` holds, in the same order. New references.
PyObject* withProxies(PyObject* o, const std::vector<PyObject*>& proxies, std::size_t& next);

/// What a function returned: containers and constants as they were, tensors by number.
class ResultTree {
 public:
  /// Collects the tensors of `o` into `tensors`.
  static ResultTree of(PyObject* o, std::vector<Tensor>& tensors);
  /// Numbers computed by the function are among the results: they are read from tensors at every call.
  [[nodiscard]] bool readsValues() const;
  /// A new reference to the same structure around other tensors.
  [[nodiscard]] PyObject* build(const std::vector<Tensor>& tensors) const {
    std::size_t next = 0;
    return build(tensors, next);
  }

 private:
  enum class Kind { Tensor, Value, Tuple, List, Dict, Constant };
  [[nodiscard]] PyObject* build(const std::vector<Tensor>& tensors, std::size_t& next) const;

  Kind kind_ = Kind::Constant;
  PyRef object_;  // a constant, or the type of a named tuple
  std::vector<ResultTree> children_;
  std::vector<PyRef> keys_;
};

}  // namespace tandem::python
