// What the observer makes of each of the interpreter's instructions. They differ by version: what all have in common,
// or two versions, is one rule, and an instruction that has no rule is a refusal.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <opcode.h>

#include "python/src/observer_frame.h"
#include "python/src/py_tensor.h"
#include "python/src/run_time_numbers.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python {
#ifndef NB_ADD
namespace {
/// The operators, which 3.10 has instructions of their own for, as they are numbered from 3.11 on.
enum Operator {
  NB_ADD,
  NB_AND,
  NB_FLOOR_DIVIDE,
  NB_LSHIFT,
  NB_MATRIX_MULTIPLY,
  NB_MULTIPLY,
  NB_REMAINDER,
  NB_OR,
  NB_POWER,
  NB_RSHIFT,
  NB_SUBTRACT,
  NB_TRUE_DIVIDE,
  NB_XOR,
  NB_INPLACE_ADD,
  NB_INPLACE_AND,
  NB_INPLACE_FLOOR_DIVIDE,
  NB_INPLACE_LSHIFT,
  NB_INPLACE_MATRIX_MULTIPLY,
  NB_INPLACE_MULTIPLY,
  NB_INPLACE_REMAINDER,
  NB_INPLACE_OR,
  NB_INPLACE_POWER,
  NB_INPLACE_RSHIFT,
  NB_INPLACE_SUBTRACT,
  NB_INPLACE_TRUE_DIVIDE,
  NB_INPLACE_XOR,
};
}  // namespace
#endif

bool makesTuples(PyObject* iterator) {
  static PyTypeObject* const types[] = {&PyZip_Type,
                                        &PyEnum_Type,
                                        &PyDictIterItem_Type,
                                        typeNamed("itertools", "product"),
                                        typeNamed("itertools", "combinations"),
                                        typeNamed("itertools", "permutations"),
                                        typeNamed("itertools", "zip_longest"),
                                        typeNamed("itertools", "pairwise")};
  return std::ranges::find(types, Py_TYPE(iterator)) != std::end(types);
}

namespace {
std::string nameOfInstruction(int op) {
  const PyRef module(PyImport_ImportModule("opcode"));
  const PyRef names(module ? PyObject_GetAttrString(module.get(), "opname") : nullptr);
  const PyRef name(names ? PySequence_GetItem(names.get(), op) : nullptr);
  PyErr_Clear();
  return name ? nameText(name.get()) : std::to_string(op);
}
/// What C that calls such a method makes of a number that it returns, and not of the object.
bool givesNumber(PyCodeObject* code) {
  const char* name = PyUnicode_AsUTF8(code->co_name);
  return name != nullptr && (std::strcmp(name, "__float__") == 0 || std::strcmp(name, "__int__") == 0 ||
                             std::strcmp(name, "__index__") == 0);
}
}  // namespace

void Observer::freshAfter(Frame& f, int popped) {
  pending_[f.object] = {Pending::Do::Fresh, f.next, f.depth - popped + 1, 0, {}, {}, {}};
}

void Observer::numberAfter(Frame& f, int popped) {
  if (!number_) return;
  pending_[f.object] = {Pending::Do::Number, f.next, f.depth - popped + 1, 0, {}, std::move(*number_), {}};
  number_.reset();
}

Accepts Observer::accepted(const ValuePlace& place, PyObject* value) {
  if (value == nullptr || !changing_.contains(place)) return Accepts::Same;
  if (isState(value)) return takeState(place, value) ? Accepts::Argument : Accepts::Same;
  // Any other way to reach a number than to load it wants its value.
  if (!loads_ || number_ || !isNumberPlace(value) || (isInt(value) && !keepsNumbers())) return Accepts::Same;
  number_ = place;
  return PyFloat_CheckExact(value) ? Accepts::Float : Accepts::Int;
}

// ---- instructions --------------------------------------------------------------------------------------------------

void Observer::instruction(Frame& f, int op, int arg) {
  switch (op) {
  // The stack, locals that no other frame sees, jumps, constants.
  case POP_TOP:
  case NOP:
  case POP_EXCEPT:
  case RERAISE:
  case LOAD_FAST:
  case STORE_FAST:
  case DELETE_FAST:
  case LOAD_CONST:
  case LOAD_CLOSURE:
  case LOAD_ASSERTION_ERROR:
  case JUMP_FORWARD:
  case RAISE_VARARGS:
  case LIST_APPEND:
#if PY_VERSION_HEX >= 0x030B0000
  case CACHE:
  case PUSH_NULL:
  case PUSH_EXC_INFO:
  case COPY:
  case SWAP:
  case RESUME:
  case COPY_FREE_VARS:
  case RETURN_GENERATOR:
  case JUMP_BACKWARD:
  case JUMP_BACKWARD_NO_INTERRUPT:
#else
  case ROT_TWO:
  case ROT_THREE:
  case ROT_FOUR:
  case ROT_N:
  case DUP_TOP:
  case DUP_TOP_TWO:
  case GEN_START:
  case JUMP_ABSOLUTE:
  case SETUP_FINALLY:
  case POP_BLOCK:
#endif
#ifdef PRECALL
  case PRECALL:
  case POP_JUMP_FORWARD_IF_NONE:
  case POP_JUMP_BACKWARD_IF_NONE:
  case POP_JUMP_FORWARD_IF_NOT_NONE:
  case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
#if PY_VERSION_HEX >= 0x030C0000
  case POP_JUMP_IF_NONE:
  case POP_JUMP_IF_NOT_NONE:
  case RETURN_CONST:
  case LOAD_FAST_CHECK:
  case LOAD_FAST_AND_CLEAR:
  case END_FOR:
  case END_SEND:
#endif
#if PY_VERSION_HEX >= 0x030D0000
  case LOAD_FAST_LOAD_FAST:
  case STORE_FAST_LOAD_FAST:
  case STORE_FAST_STORE_FAST:
  case SET_FUNCTION_ATTRIBUTE:  // of a function that was made just now
#endif
    return;
#ifdef KW_NAMES
  case KW_NAMES:
    keywords_ = PyRef::borrow(PyTuple_GET_ITEM(f.code->co_consts, arg));
    return;
#endif
#ifdef CHECK_EXC_MATCH
  case CHECK_EXC_MATCH:
#else
  case JUMP_IF_NOT_EXC_MATCH:
#endif
    return askedClass(f.peek(1));
  case RETURN_VALUE:
  case YIELD_VALUE: {
    // C code that called may ask whether it is empty.
    PyObject* o = f.peek(1);
    if (f.calledFromC) handToC(f, o);
    if (f.calledFromC && (op == YIELD_VALUE || givesNumber(f.code))) guardNumber(o);
    return;
  }
  case SET_ADD:
    guardNumber(f.peek(1));
    return hashes(f.peek(1));
  case MAP_ADD:
    guardNumber(f.peek(2));
    return hashes(f.peek(2));
  case BUILD_TUPLE:
  case BUILD_LIST:
    return freshAfter(f, arg);
  case BUILD_SET:
    for (int i = 1; i <= arg; ++i) {
      guardNumber(f.peek(i));
      hashes(f.peek(i));
    }
    return freshAfter(f, arg);
  case BUILD_MAP:
    for (int i = 1; i <= arg; ++i) {
      guardNumber(f.peek(2 * i));
      hashes(f.peek(2 * i));
    }
    return freshAfter(f, 2 * arg);
  case BUILD_CONST_KEY_MAP:
    return freshAfter(f, arg + 1);
  case BUILD_SLICE:
    for (int i = 1; i <= arg; ++i) guardNumber(f.peek(i));
    return freshAfter(f, arg);
#ifdef LIST_TO_TUPLE
  case LIST_TO_TUPLE:
    return freshAfter(f, 1);
#endif
#ifdef CALL_INTRINSIC_1
  case CALL_INTRINSIC_1:
    return intrinsic(f, arg);
#endif
  case MAKE_FUNCTION:
#ifdef SET_FUNCTION_ATTRIBUTE
    return freshAfter(f, 1);
#else
    return freshAfter(f, (PY_VERSION_HEX >= 0x030B0000 ? 1 : 2) + ((arg & 1) != 0) + ((arg & 2) != 0) +
                             ((arg & 4) != 0) + ((arg & 8) != 0));
#endif
#ifdef MAKE_CELL
  case MAKE_CELL:
    pending_[f.object] = {Pending::Do::FreshLocal, f.next, f.depth, arg, {}, {}, {}};
    return;
#endif
  case BUILD_STRING:
    return;
#ifdef FORMAT_VALUE
  case FORMAT_VALUE:
    return asText(f.peek((arg & 4) != 0 ? 2 : 1));
#else
  case FORMAT_SIMPLE:
  case CONVERT_VALUE:
    return asText(f.peek(1));
  case FORMAT_WITH_SPEC:
    return asText(f.peek(2));
#endif
  case LIST_EXTEND:
  case SET_UPDATE:
  case DICT_UPDATE:
  case DICT_MERGE:
    return iterate(f.peek(1));
  case UNPACK_SEQUENCE:
    if (isMaker(f.peek(1))) pending_[f.object] = {Pending::Do::FreshMany, f.next, f.depth - 1 + arg, arg, {}, {}, {}};
    return iterate(f.peek(1));
  case UNPACK_EX: {
    // The first names, a list of what is between, the last names; the first is on top.
    const int first = arg & 0xFF;
    const int last = arg >> 8;
    iterate(f.peek(1));
    pending_[f.object] = {Pending::Do::Fresh, f.next, f.depth + first + last, first, {}, {}, {}};
    return;
  }
  case GET_ITER:
  case GET_YIELD_FROM_ITER:
    iterate(f.peek(1));
    return isMaker(f.peek(1)) ? void() : freshAfter(f, 1);
  case FOR_ITER:
    if (!fresh(f.peek(1))) return refuse("an iterator that was there before is advanced");
    // `zip` and its like make a tuple each time; a jump out of the loop has another depth.
    if (makesTuples(f.peek(1)) || isMaker(f.peek(1)))
      pending_[f.object] = {Pending::Do::Fresh, f.next, f.depth + 1, 0, {}, {}, {}};
    return;
#ifdef SEND
  case SEND:
#else
  case YIELD_FROM:
    if (!PyGen_CheckExact(f.peek(2))) return refuse("another iterator than a generator is delegated to");
#endif
    if (!fresh(f.peek(2))) refuse("a generator that was there before is resumed");
    return;
  case IS_OP:
    if (asksNumber(f.peek(2), f.peek(1))) return giveBack(f);
    return identity(f.peek(2), f.peek(1));
  case GET_LEN:
    return length(f.peek(1));
  case MATCH_MAPPING:
  case MATCH_SEQUENCE:
    return matchesKind(f.peek(1));
  case MATCH_KEYS:
    return matchesKeys(f.peek(2), f.peek(1));
  case MATCH_CLASS:
    return matchesClass(f.peek(3), f.peek(2), f.peek(1), arg);
#ifdef COPY_DICT_WITHOUT_KEYS
  case COPY_DICT_WITHOUT_KEYS:
    iterate(f.peek(2));
    return freshAfter(f, 1);
#endif
  case UNARY_NOT:
#ifdef JUMP_IF_FALSE_OR_POP
  case JUMP_IF_FALSE_OR_POP:
  case JUMP_IF_TRUE_OR_POP:
#endif
#ifdef POP_JUMP_IF_FALSE
  case POP_JUMP_IF_FALSE:
  case POP_JUMP_IF_TRUE:
#else
  case POP_JUMP_FORWARD_IF_FALSE:
  case POP_JUMP_FORWARD_IF_TRUE:
  case POP_JUMP_BACKWARD_IF_FALSE:
  case POP_JUMP_BACKWARD_IF_TRUE:
#endif
#ifdef TO_BOOL
  case TO_BOOL:
#endif
    return truth(f.peek(1));
#ifdef UNARY_POSITIVE
  case UNARY_POSITIVE:
#endif
  case UNARY_NEGATIVE:
  case UNARY_INVERT:
    return unary(f, op);
#ifdef BINARY_OP
  case BINARY_OP:
    return arithmetic(f, arg);
#else
#define ARITHMETIC(name)                                                                                               \
  case BINARY_##name:                                                                                                  \
    return arithmetic(f, NB_##name);                                                                                   \
  case INPLACE_##name:                                                                                                 \
    return arithmetic(f, NB_INPLACE_##name);
    ARITHMETIC(ADD)
    ARITHMETIC(AND)
    ARITHMETIC(FLOOR_DIVIDE)
    ARITHMETIC(LSHIFT)
    ARITHMETIC(MATRIX_MULTIPLY)
    ARITHMETIC(MULTIPLY)
    ARITHMETIC(OR)
    ARITHMETIC(POWER)
    ARITHMETIC(RSHIFT)
    ARITHMETIC(SUBTRACT)
    ARITHMETIC(TRUE_DIVIDE)
    ARITHMETIC(XOR)
  case BINARY_MODULO:
    return arithmetic(f, NB_REMAINDER);
  case INPLACE_MODULO:
    return arithmetic(f, NB_INPLACE_REMAINDER);
#undef ARITHMETIC
#endif
  case COMPARE_OP:
    if (comparison(f, arg)) return;
    meet(f.peek(2), f.peek(1));
#ifdef TO_BOOL
    // The truth of the result may be asked by the same instruction.
    if ((arg & 16) != 0)
      for (PyObject* o : {f.peek(1), f.peek(2)})
        if (isPythonClass(Py_TYPE(o)) && Py_TYPE(o)->tp_richcompare != PyBaseObject_Type.tp_richcompare)
          refuse("the truth of a comparison by an object of type " + std::string(Py_TYPE(o)->tp_name) + " is asked");
#endif
    return;
  case CONTAINS_OP:
    // A NaN is found by what it is alone.
    if (tracked_.contains(f.peek(2)) && isFloat(f.peek(2)) && std::isnan(PyFloat_AsDouble(f.peek(2))))
      return giveBack(f);
    return contains(f.peek(1), f.peek(2));
  case BINARY_SUBSCR:
    subscript(f.peek(2), f.peek(1));
    if (gives_ == Gives::New || (PySlice_Check(f.peek(1)) && !isTensor(f.peek(2)))) freshAfter(f, 2);
    return numberAfter(f, 2);
  case STORE_SUBSCR:
    return storeItem(f.peek(2), f.peek(1), f.peek(3));
#ifdef BINARY_SLICE
  case BINARY_SLICE:
  case STORE_SLICE: {
    guardNumber(f.peek(1));
    guardNumber(f.peek(2));
    PyRef slice(PySlice_New(f.peek(2), f.peek(1), nullptr));
    if (!slice) return refuse("a slice could not be made");
    if (op == STORE_SLICE) return storeItem(f.peek(3), slice.get(), f.peek(4));
    // From 3.12 on a slice may be a key.
    if (PyDict_Check(f.peek(3))) return refuse("a dict is asked for a slice");
    subscript(f.peek(3), slice.get());
    if (!isTensor(f.peek(3))) freshAfter(f, 3);
    return;
  }
#endif
  case DELETE_SUBSCR:
    guardNumber(f.peek(1));
    PyDict_Check(f.peek(2)) ? hashes(f.peek(1)) : index(f.peek(1));
    return mutate(f.peek(2), "an item is deleted");
#if PY_VERSION_HEX >= 0x030C0000
  case LOAD_ATTR:
    attribute(f.peek(1), f.name(arg >> 1));
    return numberAfter(f, 1);
  case LOAD_SUPER_ATTR: {
    // `super(class, object).name`, and what `super` is was read before.
    if (f.peek(3) != reinterpret_cast<PyObject*>(&PySuper_Type)) return refuse("another super than the builtin");
    PyRef proxy(PyObject_CallFunctionObjArgs(f.peek(3), f.peek(2), f.peek(1), nullptr));
    if (!proxy) return refuse("super() of other objects");
    return attribute(proxy.get(), f.name(arg >> 2));
  }
#else
  case LOAD_ATTR:
  case LOAD_METHOD:
    attribute(f.peek(1), f.name(arg));
    return numberAfter(f, 1);
#endif
  case STORE_ATTR:
    return storeAttribute(f.peek(1), f.name(arg), f.peek(2));
  case DELETE_ATTR:
    return mutate(f.peek(1), "an attribute is deleted");
  case LOAD_GLOBAL:
    loadGlobal(f, f.name(PY_VERSION_HEX >= 0x030B0000 ? arg >> 1 : arg));
    return numberAfter(f, 0);
  case LOAD_DEREF: {
    PyObject* cell = f.cells[arg];
    if (cell == nullptr || !PyCell_Check(cell)) return refuse("a variable of an outer function could not be read");
    if (fresh(cell) || places_.contains(Place(cell, ""))) return;
    const Accepts accepts = accepted({cell, {}, false}, PyCell_GET(cell));
    guards_.cell(cell, accepts);
    if (accepts == Accepts::Same) value(PyCell_GET(cell));
    return numberAfter(f, 0);
  }
  case STORE_DEREF:
    return assignVariable(f.cells[arg]);
  case DELETE_DEREF:
    if (!fresh(f.cells[arg])) refuse("a variable of an outer function is deleted");
    return;
  case STORE_GLOBAL:
    return assign(nullptr, f.globals, f.name(arg), f.peek(1), "a global variable is assigned");
  case DELETE_GLOBAL:
    return refuse("a global variable is deleted");
  case IMPORT_NAME:
    return importName(f, f.name(arg), f.peek(2) != Py_None ? PyLong_AsLong(f.peek(2)) : 0);
  case IMPORT_FROM:
    return attribute(f.peek(1), f.name(arg));
#ifdef BEFORE_WITH
  case BEFORE_WITH:
#else
  case SETUP_WITH:
#endif
    if (!special(f.peek(1), "__enter__") || !special(f.peek(1), "__exit__"))
      refuse(std::string("a context manager of type ") + Py_TYPE(f.peek(1))->tp_name + " is entered");
    return;
  case WITH_EXCEPT_START:
    (void)call(f.peek(PY_VERSION_HEX >= 0x030B0000 ? 4 : 7), nullptr, 0);
    return;
#if PY_VERSION_HEX >= 0x030D0000
  case CALL:
  case CALL_KW: {
    // A callable, its object or null, the arguments, and the names of some of them.
    const int names = op == CALL_KW ? 1 : 0;
    if (names != 0) keywords_ = PyRef::borrow(f.peek(1));
    const int method = f.peek(arg + 1 + names) != nullptr ? 1 : 0;
    called(f, arg + 2 + names, call(f.peek(arg + 2 + names), f.top - arg - names - method, arg + method));
    keywords_ = {};
    return;
  }
#else
#ifdef CALL
  case CALL: {
#else
  case CALL_FUNCTION:
  case CALL_FUNCTION_KW: {
    const int names = op == CALL_FUNCTION_KW ? 1 : 0;
    if (names != 0) keywords_ = PyRef::borrow(f.peek(1));
    called(f, arg + 1 + names, call(f.peek(arg + 1 + names), f.top - arg - names, arg));
    keywords_ = {};
    return;
  }
  case CALL_METHOD: {
#endif
    // A method and its object, or null and a callable; then the arguments.
    const int method = f.peek(arg + 2) != nullptr ? 1 : 0;
    called(f, arg + 2, call(f.peek(arg + 1 + method), f.top - arg - method, arg + method));
    keywords_ = {};
    return;
  }
#endif
  case CALL_FUNCTION_EX:
    return callEx(f, arg & 1);
  default:
    return refuse("an instruction that is not understood (" + nameOfInstruction(op) + ")");
  }
}

#ifdef CALL_INTRINSIC_1
void Observer::intrinsic(Frame& f, int which) {
  switch (which) {
  case 3:  // an exception becomes another
    return;
  case 5:  // `+x`
    return unary(f, CALL_INTRINSIC_1);
  case 6:  // a list becomes a tuple
    return freshAfter(f, 1);
  default:
    return refuse("an instruction that is not understood (intrinsic " + std::to_string(which) + ")");
  }
}
#endif

// ---- operators -----------------------------------------------------------------------------------------------------

namespace {
/// What operators do with numbers; nothing of those that a slot cannot stand for.
std::optional<ScalarSlot::Source> onNumbers(int how) {
  using Source = ScalarSlot::Source;
  static_assert(NB_INPLACE_XOR - NB_INPLACE_ADD == NB_XOR - NB_ADD);
  switch (how >= NB_INPLACE_ADD ? how - NB_INPLACE_ADD + NB_ADD : how) {
  case NB_ADD:
    return Source::Add;
  case NB_SUBTRACT:
    return Source::Sub;
  case NB_MULTIPLY:
    return Source::Mul;
  case NB_TRUE_DIVIDE:
    return Source::Div;
  case NB_FLOOR_DIVIDE:
    return Source::FloorDiv;
  case NB_REMAINDER:
    return Source::Mod;
  case NB_POWER:
    return Source::Pow;
  default:
    return std::nullopt;
  }
}
}  // namespace

void Observer::called(Frame& f, int popped, bool makesFresh) {
  if (number_) {
    numberAfter(f, popped);
  } else if (computed_) {
    pending_[f.object] = {Pending::Do::Slot, f.next, f.depth - popped + 1, 0, *std::exchange(computed_, {}), {}, {}};
  } else if (gives_ == Gives::Maker || gives_ == Gives::NewItems) {
    pending_[f.object] = {gives_ == Gives::Maker ? Pending::Do::Maker : Pending::Do::FreshItems,
                          f.next,
                          f.depth - popped + 1,
                          0,
                          {},
                          {},
                          {}};
  } else if (makesFresh || gives_ == Gives::New) {
    freshAfter(f, popped);
  }
}

void Observer::unary(Frame& f, int op) {
  PyObject* o = f.peek(1);
  if (op == UNARY_NEGATIVE && computes(ScalarSlot::Source::Neg, o, o)) return called(f, 1, false);
  if (op != UNARY_INVERT && slotOf(o) != nullptr) return rest(o);
  binary(o, o);
}

bool Observer::comparison(Frame& f, int arg) {
  constexpr int shift = PY_VERSION_HEX >= 0x030D0000 ? 5 : PY_VERSION_HEX >= 0x030C0000 ? 4 : 0;
  return compares(static_cast<ScalarCondition::Is>(arg >> shift), f.peek(2), f.peek(1));
}

void Observer::meet(PyObject* a, PyObject* b) {
  if (!isTensor(a) && !isTensor(b)) return binary(a, b);
  factor(a);
  factor(b);
}

void Observer::arithmetic(Frame& f, int how) {
  PyObject* a = f.peek(2);
  PyObject* b = f.peek(1);
  const auto source = onNumbers(how);
  const bool numbers = source.has_value() && isOperand(a) && isOperand(b);
  if (numbers && computesLate(f, *source, a, b)) return;
  guardRead(a);
  guardRead(b);
  if (numbers && computes(*source, a, b)) return called(f, 2, false);
  auto sequence = [](PyObject* o) { return PyList_CheckExact(o) || PyTuple_CheckExact(o); };
  if ((how == NB_ADD || how == NB_INPLACE_ADD) && sequence(a) && (sequence(b) || how == NB_INPLACE_ADD)) {
    // The items of both, whatever they are. A list that is added to in place must be the body's own.
    iterate(b);
    if (how == NB_INPLACE_ADD && PyList_CheckExact(a)) return mutate(a, "something is added");
    iterate(a);
    return freshAfter(f, 2);
  }
  if (how >= NB_INPLACE_ADD && (PyDict_Check(a) || PySet_Check(a) || PyList_CheckExact(a)))
    mutate(a, "something is changed");
  meet(a, b);
  if (!isTensor(a) && !isTensor(b) && (sequence(a) || sequence(b) || PyDict_Check(a) || PyAnySet_Check(a)))
    freshAfter(f, 2);
}

}  // namespace tandem::python
