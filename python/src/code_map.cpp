#include "python/src/code_map.h"

#if PY_VERSION_HEX >= 0x030C0000

#include <algorithm>
#include <opcode.h>
#include <utility>

namespace tandem::python {
namespace {

/// How far and which way an instruction may jump, in bytes from the one behind it; 0: it does not jump.
int jumpOf(int op, int arg) {
  switch (op) {
  case JUMP_FORWARD:
  case POP_JUMP_IF_FALSE:
  case POP_JUMP_IF_TRUE:
  case POP_JUMP_IF_NONE:
  case POP_JUMP_IF_NOT_NONE:
  case FOR_ITER:
  case SEND:
    return 2 * arg;
  case JUMP_BACKWARD:
  case JUMP_BACKWARD_NO_INTERRUPT:
    return -2 * arg;
  default:
    return 0;
  }
}

bool isJump(int op) { return jumpOf(op, 1) != 0; }

/// Such that nothing is run behind it, unless by a jump or in a handler.
bool isLast(int op) {
  switch (op) {
  case RETURN_VALUE:
  case RETURN_CONST:
  case RAISE_VARARGS:
  case RERAISE:
  case JUMP_FORWARD:
  case JUMP_BACKWARD:
  case JUMP_BACKWARD_NO_INTERRUPT:
    return true;
  default:
    return false;
  }
}

int effectOf(int op, int arg, bool jumps) {
  // What a generator is sent is an operand of the instruction behind the one that makes the generator.
  if (op == RETURN_GENERATOR) return 1;
  return PyCompile_OpcodeStackEffectWithJump(op, arg, jumps ? 1 : 0);
}

/// A loop that ends goes on behind these, which take what a generator left: END_FOR, and from 3.13 on POP_TOP.
constexpr int kLoopEnd = PY_VERSION_HEX >= 0x030D0000 ? 4 : 2;

}  // namespace

CodeMap::CodeMap(PyCodeObject* code) {
  PyRef bytes(checked(PyCode_GetCode(code)));
  const auto size = static_cast<int>(PyBytes_GET_SIZE(bytes.get()));
  instructions_.resize(static_cast<std::size_t>(size) / 2);
  readHandlers(code->co_exceptiontable);
  if (!walk(reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get())), size, code->co_stacksize))
    instructions_.clear();
}

void CodeMap::readHandlers(PyObject* table) {
  // Four numbers an entry, of six bits a byte, the first byte of an entry marked.
  if (table == nullptr || !PyBytes_Check(table)) return;
  const auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(table));
  const auto* end = at + PyBytes_GET_SIZE(table);
  auto number = [&] {
    int n = 0;
    while (at < end) {
      n = n << 6 | (*at & 63);
      if ((*at++ & 64) == 0) break;
    }
    return n;
  };
  while (at < end) {
    const int start = 2 * number();
    const int length = 2 * number();
    const int target = 2 * number();
    const int depth = number();
    // The exception, and where it was raised if that is asked for, are on the stack.
    handlers_.push_back({start, start + length, target, (depth >> 1) + (depth & 1) + 1});
  }
}

bool CodeMap::walk(const unsigned char* data, int size, int stackSize) {
  std::vector<std::pair<int, int>> open{{0, 0}};
  while (!open.empty()) {
    const auto [offset, depth] = open.back();
    open.pop_back();
    if (offset < 0 || offset + 1 >= size || depth < 0 || depth > stackSize) return false;
    Instruction& i = instructions_[static_cast<std::size_t>(offset) / 2];
    if (i.depth >= 0) {
      if (i.depth != depth) return false;
      continue;
    }
    i.depth = depth;
    for (const Handler& h : handlers_)
      if (h.start <= offset && offset < h.end) open.emplace_back(h.target, h.depth);
    int op = 0;
    int arg = 0;
    int behind = offset;
    do {
      if (behind + 1 >= size) return false;
      op = data[behind];
      arg = arg << 8 | data[behind + 1];
      behind += 2;
    } while (op == EXTENDED_ARG);
    while (behind < size && data[behind] == CACHE) behind += 2;
    i.next = behind;
    i.falls = !isLast(op);
    i.leaves = op == RETURN_VALUE || op == RETURN_CONST || op == YIELD_VALUE || op == RERAISE;
    if (isJump(op)) {
      i.jump = behind + jumpOf(op, arg);
      const int effect = effectOf(op, arg, true);
      if (effect == PY_INVALID_STACK_EFFECT) return false;
      open.emplace_back(i.jump, depth + effect);
      if (op == FOR_ITER) i.jump += kLoopEnd;
    }
    if (i.falls) {
      const int effect = effectOf(op, arg, false);
      if (effect == PY_INVALID_STACK_EFFECT) return false;
      open.emplace_back(i.next, depth + effect);
    }
  }
  return true;
}

bool CodeMap::follows(int from, int to) const {
  const Instruction* i = at(from);
  if (i == nullptr || at(to) == nullptr) return false;
  if ((i->falls && to == i->next) || (i->jump >= 0 && to == i->jump)) return true;
  return std::ranges::any_of(handlers_,
                             [&](const Handler& h) { return h.target == to && h.start <= from && from < h.end; });
}

}  // namespace tandem::python

#else

namespace tandem::python {
CodeMap::CodeMap(PyCodeObject*) {}
bool CodeMap::follows(int, int) const { return true; }
}  // namespace tandem::python

#endif
