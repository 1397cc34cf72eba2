// Where each instruction of a code object stands: what comes behind it, where it jumps, and how many operands are on
// the stack before it. Interpreters from 3.12 on keep the depth in a register while a trace function is called, but it
// follows from the code alone: the compiler gives each instruction one depth, whichever way leads to it.
#pragma once

#include <Python.h>
#include <vector>

#include "python/src/errors.h"

namespace tandem::python {

class CodeMap {
 public:
  /// Does this interpreter not say how deep the stack is?
  static constexpr bool kNeeded = PY_VERSION_HEX >= 0x030C0000;

  /// Empty if the code could not be gone through.
  explicit CodeMap(PyCodeObject* code);

  /// Operands before the instruction at `offset`; -1: nothing leads there.
  [[nodiscard]] int depthAt(int offset) const { return at(offset) != nullptr ? at(offset)->depth : -1; }
  /// Can the one at `to` be run right behind the one at `from`, or handle its exception?
  [[nodiscard]] bool follows(int from, int to) const;
  /// Does the instruction at `offset` leave its frame? RERAISE may, and puts the frame where the exception was raised.
  [[nodiscard]] bool leaves(int offset) const { return at(offset) != nullptr && at(offset)->leaves; }
  /// Is `lasti` within the instruction at `offset`?
  [[nodiscard]] bool within(int offset, int lasti) const {
    return at(offset) != nullptr && lasti >= offset && lasti < at(offset)->next;
  }

 private:
  struct Instruction {
    int depth = -1;
    int next = 0;   // the offset behind it
    int jump = -1;  // where it may jump
    bool leaves = false;
    bool falls = true;  // can the next one follow?
  };
  struct Handler {
    int start, end, target, depth;
  };
  [[nodiscard]] const Instruction* at(int offset) const {
    const auto i = static_cast<std::size_t>(offset) / 2;
    return offset >= 0 && i < instructions_.size() && instructions_[i].depth >= 0 ? &instructions_[i] : nullptr;
  }
  void readHandlers(PyObject* table);
  bool walk(const unsigned char* data, int size, int stackSize);

  std::vector<Instruction> instructions_;  // by code unit
  std::vector<Handler> handlers_;
};

}  // namespace tandem::python
