// `TANDEM_CHECK_COMPILED=1`: every call that ran a plan is made once more by the body, run eagerly from the same state,
// and all bits of results and state are compared.
#pragma once

#include <Python.h>
#include <functional>
#include <string>
#include <vector>

#include "eager/generator.h"
#include "lazy/compiled.h"
#include "python/src/errors.h"
#include "python/src/result_tree.h"

namespace tandem::python {

/// Is the check asked for?
bool checksCompiled();

class CompiledCheck {
 public:
  /// Keeps the state before the call: the memory that the trace reads, `.grad` attributes, the default generator.
  CompiledCheck(const lazy::CompiledTrace& trace, std::span<const Tensor> arguments);
  /// After the plan ran and `tree` was built: notes what they left, puts the state back, runs `body`, and compares. Its
  /// result; InternalError naming the first value that differs.
  PyObject* compare(PyObject* results, const ResultTree& tree, const std::function<PyObject*()>& body);

 private:
  struct Picture;
  class Walk;
  struct Memory {
    Ref<Storage> storage;
    std::string bytes;
    std::uint32_t version;
  };
  [[nodiscard]] std::vector<Picture> pictures(PyObject* results, const ResultTree& tree) const;
  static Picture pictureOf(std::string name, const Tensor& t);

  std::vector<Memory> memory_;
  std::vector<std::pair<Tensor, Tensor>> grads_;  // owner, what was in its slot
  Generator generator_;
};

}  // namespace tandem::python
