// Watches a function's body while it runs and proves, if it can, that a plan may stand for it: that everything it read
// is known (guards.h), that it changed nothing but tensors, gradients, what it made itself and places that each call
// can assign again, and that nothing it did is unknown.
//
//   The interpreter reports each instruction before it runs it, with its operands on the frame's stack. For each there
//   is a rule (observer_instructions.cpp, observer_rules.cpp, observer_calls.cpp, observer_writes.cpp): reading an
//   attribute of an object that was there before becomes a guard, assigning one is noted for later calls, changing it
//   in another way is a refusal, calling a C function is allowed where a table says what it does (understood.cpp). What
//   has no rule is a refusal: proof is by what is understood. After the first refusal nothing is watched any more; the
//   body runs on.
//
//   An object is *fresh* when the body made it: its content follows from what was read before, so it needs no guard and
//   may be changed. Only instructions and functions that are known to make new objects make fresh ones.
//
//   A float argument, or a number in a place that changes, is one whose value each call brings (a slot of the trace).
//   The body sees an object of its own; arithmetic on it is repeated on slots, a comparison is a condition of the
//   trace, and whatever else asks for its value guards the trace by it. What `tensor.item()` gives is such a number,
//   too: later calls read it from what their plan computed, as long as it is only handed on, returned, or made a part
//   of such a number by arithmetic that cannot fail. Whoever asks for its value reads data, and the body runs on every
//   call.
#pragma once

#include <Python.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lazy/session.h"
#include "python/src/code_map.h"
#include "python/src/guards.h"
#include "python/src/kept_state.h"

namespace tandem::python {

using lazy::ScalarCondition;

/// The cyclic collector waits until `end`: what it runs (finalizers, `gc.callbacks`) is no part of a body, and is
/// neither to be recorded nor watched.
class CollectorWaits {
 public:
  CollectorWaits();
  ~CollectorWaits() { end(); }
  CollectorWaits(const CollectorWaits&) = delete;
  CollectorWaits& operator=(const CollectorWaits&) = delete;
  void end();

 private:
  bool waits_;
};

class Observer {
 public:
  /// `changing`: places whose values are to be read anew at every call; the body may show that there are more.
  /// `collector` waits until `stop`, or until something is refused.
  Observer(lazy::Session& session, ChangingPlaces& changing, CollectorWaits& collector);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Can this interpreter's frames be read, and does no one else watch this thread?
  static bool possible();

  /// A tuple, list, dict or tensor among the arguments: what it holds is the signature's business.
  void cover(PyObject* argument);
  /// An argument that is another tensor now than before, with other dims or another history; empty if none is.
  std::string changedArgument() { return arguments_.broken(); }
  /// `number`, a float object that nobody else has, stands for a slot, and for the object `original`, if there is one.
  void track(PyObject* number, const Scalar& slot, PyObject* original = nullptr);
  /// Watches from here to `stop`, beginning with the call of `callable`.
  void start(PyObject* callable, PyObject* const* args, Py_ssize_t n);
  void stop();

  /// The first thing that could not be proved, or nothing.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool proved() const { return !refused_; }
  /// Was it inside a custom operation that something could not be proved?
  [[nodiscard]] bool refusedInOpaque() const { return refusedInOpaque_; }
  void refuse(const std::string& why);
  /// The body makes state that later calls find: this call is not one to keep, which says nothing of those.
  void makesState() {
    refuse("it makes state that later calls find");
    madeState_ = true;
  }
  [[nodiscard]] bool madeState() const { return madeState_; }
  GuardSet& guards() { return guards_; }
  [[nodiscard]] bool fresh(PyObject* o) const { return fresh_.contains(o); }
  [[nodiscard]] bool covered(PyObject* o) const { return covered_.contains(o); }
  /// The slot that a float or an int stands for; null for others.
  [[nodiscard]] const Scalar* slotOf(PyObject* number) const;
  /// Do calls compute numbers of their own ahead of the plan, to compare them and to leave them somewhere? Those of
  /// saved programs do not.
  [[nodiscard]] bool keepsNumbers() const { return mayAssign_ && !dry_; }
  /// The trace holds for this value of a tracked number only; for none where the body read it from a tensor.
  void guardNumber(PyObject* o);
  /// The tensor whose element the body read as this number; null for others.
  [[nodiscard]] const Tensor* readOf(PyObject* number) const;
  /// The next value on the stack is what Python computes of numbers, one of which stands for a slot; false: it is not.
  bool computes(ScalarSlot::Source source, PyObject* a, PyObject* b);
  /// Numbers, one of which stands for a slot, are compared: what comes of it is what the trace holds for; else false.
  bool compares(ScalarCondition::Is is, PyObject* a, PyObject* b);
  /// An operand of arithmetic on tensors: a number stays one of the call's own.
  void factor(PyObject* o);
  /// Guards a number that the body read, or made of such.
  void guardRead(PyObject* o) {
    if (readOf(o) != nullptr || lateOf(o) != nullptr) guardNumber(o);
  }
  /// What a number is that the body made of numbers which it read, and which calls make of theirs when their plan ran:
  /// `total += loss.item()`.
  struct LateNumber {
    ScalarSlot::Source source = ScalarSlot::Source::Add;  // or Sub, Mul, Div
    PyRef left, right;
    int depth = 1;  // of numbers of numbers
  };
  /// Null for others.
  [[nodiscard]] const LateNumber* lateOf(PyObject* number) const;
  /// The element of `t` as it is in this call, as a number that later calls read anew; null where that cannot be had.
  PyObject* readNumber(const Tensor& t);
  /// `float(o)` or `int(o)` gives a tracked number as it is, and the element of a tensor as `readNumber` does.
  bool converts(PyTypeObject* to, PyObject* o);
  PyObject* convertedNumber(PyObject* tensor, PyTypeObject* to);
  /// What the body read and nobody returns need not be computed by later calls.
  void forgetReads();
  /// Nothing runs before the plan does: numbers that the body reads have no values, and to ask for one is an error.
  void runsNothing() { dry_ = true; }

  // ---- rules about one object, for the tables (understood.cpp)

  void makeFresh(PyObject* o) {
    fresh_.insert(o);
    makers_.erase(o);  // where one lay
  }
  /// The call, or the subscript, that is looked at gives a new object, an iterator of such, a list or tuple of such.
  enum class Gives : std::uint8_t { NothingNew, New, Maker, NewItems };
  void gives(Gives what) { gives_ = what; }
  /// Is it an iterator each of whose items is a new object?
  [[nodiscard]] bool isMaker(PyObject* iterator) const { return makers_.contains(iterator); }
  /// Did the body make it, or does a guard or the signature lead to it? A container of which that is not known is one
  /// that a C function made, or found where nobody saw it look: later calls have another one.
  [[nodiscard]] bool isKnown(PyObject* container) const {
    return fresh(container) || covered(container) || led_.contains(container) || guards_.names(container) ||
           ownerOf_.contains(container);
  }
  /// C code compares what this function, or this generator, gives it.
  void weighsWhatGives(PyObject* code) { weighed_.push_back(PyRef::borrow(code)); }
  /// Names of the last arguments of the call that is looked at; null: they have none.
  [[nodiscard]] PyObject* keywords() const { return keywords_.get(); }
  /// `len(o)` is asked.
  /// Is it a dict, or one of a class whose special methods of these names are a dict's?
  bool readsAsDict(PyObject* o, std::initializer_list<const char*> names);
  bool readsAsList(PyObject* o, std::initializer_list<const char*> names);
  void length(PyObject* o);
  /// How many items it holds is read.
  void sizeOf(PyObject* o);
  /// The items of a list or tuple that was there before, such as a function's defaults or what a `partial` binds;
  /// `loaded`: the only one whose value the instruction reads.
  void items(PyObject* sequence, Py_ssize_t loaded = -1);
  /// It is gone through by `for`, `list()` and their like.
  void iterate(PyObject* o);
  void subscript(PyObject* container, PyObject* key);
  /// What `read` comes upon is what the call of the instruction gives.
  template <class F>
  void loading(F&& read) {
    loads_ = stepping_;
    read();
    loads_ = false;
  }
  /// `dict[key]`, or with `absent` whether it is there.
  void dictItem(PyObject* dict, PyObject* key, bool absent = false);
  /// `dict[key]` becomes `value` until it is given back: at the end of the body all have what they had.
  void lend(PyObject* dict, PyObject* key, PyObject* value);
  [[nodiscard]] bool lends() const { return !lent_.empty(); }
  /// Does the place hold what the body put there?
  [[nodiscard]] bool isLent(PyObject* dict, PyObject* key) const;
  [[nodiscard]] bool isLent(PyObject* list, Py_ssize_t index) const;
  void attribute(PyObject* o, PyObject* name);
  void storeAttribute(PyObject* o, PyObject* name, PyObject* value);
  /// An attribute, or an item of a dict, of an object that was there before becomes `value`: later calls set it again.
  /// `owner`: the object, or null where the dict is no object's. `what`: for messages.
  void assign(PyObject* owner, PyObject* dict, PyObject* key, PyObject* value, const std::string& what);
  /// Likewise a variable of an outer function, and an item of a list.
  void assignVariable(PyObject* cell);
  void assignListItem(PyObject* list, PyObject* key);
  /// `list.append(value)`: later calls add theirs to a list of before that nobody reads.
  void append(PyObject* list);
  /// The places that the body assigned, in the order of the first assignments, which is that of new keys.
  [[nodiscard]] std::vector<AssignedPlace> assigned() const;
  /// It changes what it reads: refuses that, with the line of the assignment where it was one. Where that is state, it
  /// is to be looked at as an argument by the next body that is watched.
  void refuseChange(const std::string& what);
  /// `ContextVar.set`: at the end of the body it must have the value that it had.
  void setVariable(PyObject* variable);
  [[nodiscard]] bool hasSet(PyObject* variable) const { return variables_.contains(variable); }
  /// Refuses what the body changed for a while, where it is not as it was.
  void checkRestored();
  /// Refuses assignments: nobody sets the places again.
  void assignsNothing() { mayAssign_ = false; }
  /// Is what is assigned what is there `now`? That is no change.
  [[nodiscard]] bool isThere(PyObject* now, PyObject* value) const;
  void truth(PyObject* o);
  void binary(PyObject* a, PyObject* b);
  void contains(PyObject* container, PyObject* item);
  /// Something other than its dims and dtype is asked of what is among the arguments of the body: whether they require
  /// grad counts from here on.
  void use(PyObject* o, int depth = 0);
  /// `tensor.requires_grad_()`. An argument of which nothing was asked before may as well have required grad already.
  void makeLeaf(PyObject* tensor);
  /// A hook of the tensor, or whether it keeps its gradient, changes. That of what the body computed is no concern of
  /// others, unless it is returned with its history, which no plan repeats then (lazy/tracer.h).
  void changeHooks(PyObject* tensor);
  /// `tensor.detach_()`: the history of what the body computed, and none of others, may be cut off.
  void cutHistory(PyObject* tensor);
  /// The call of a Function ends, of which this is the context.
  void keepContext(PyObject* context) { contexts_.push_back(PyRef::borrow(context)); }
  /// May later calls have a context each like those that the body left in histories? Of what one holds beside saved
  /// tensors each is given the same, and the trace holds for these numbers only.
  bool contextsRepeat();
  /// Is `t` an argument that the body makes require grad before it asks anything of it?
  [[nodiscard]] bool makesLeafOf(const TensorImpl* t) const { return leaves_.contains(t); }
  /// A call is about to be made; true: its result will be a new object.
  bool call(PyObject* callable, PyObject* const* args, Py_ssize_t n);
  /// A function is called whose results `functools.lru_cache` keeps: what is kept of the call becomes a guard.
  void cachedCall(PyObject* function, PyObject* const* args, Py_ssize_t n);
  /// A warning is shown, as it is by later calls.
  void noteWarning(const std::string& text) { warnings_.push_back(text); }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// A function of C is called that runs no code and only says what is somewhere: later calls ask it again.
  /// Is it `inspect.signature` of a function in Python? All of what that reads is guarded, and its code not watched.
  bool asksSignature(PyObject* callable, PyObject* const* args, Py_ssize_t n);
  void repeats(PyObject* function, PyObject* const* args, Py_ssize_t n, PyObject* names = nullptr);
  /// An argument of an operation of ours: tensors, plain values, lists of them.
  void operand(PyObject* o, int depth = 0);
  /// The method `name` of the class of `o` is about to be run by the interpreter: Python's code, or what is understood.
  bool special(PyObject* o, const char* name);
  void mutate(PyObject* o, const char* what);
  /// Is it asked whether `a` is `b`?
  void identity(PyObject* a, PyObject* b);
  /// It is made a key, or looked up as one.
  void hashes(PyObject* o);
  /// Tensors among the keys of a dict, or the items of another container, or what comes first in those, are keys.
  void hashesTensors(PyObject* container, bool pairs = false);
  /// Its hash itself is asked for.
  void hashOf(PyObject* o);
  /// It stands for a place in a list or text, or is a slice of them.
  void index(PyObject* key);
  /// The items of a container, which was read, are compared with one that may be among them.
  void searched(PyObject* container, PyObject* item);
  void readType(PyObject* o);
  /// Guards the functions that C enters as special methods of a class: a function may get other code, as those of a
  /// module do that is reloaded.
  void specialMethods(PyTypeObject* type);
  /// A class, or a tuple of them, is asked whether something belongs to it.
  void askedClass(PyObject* o);
  /// `o.name` is read through what was found in its class.
  void through(PyObject* found, PyObject* o, PyObject* name);

 private:
  struct Pending {
    enum class Do : std::uint8_t {
      Fresh,
      FreshLocal,
      FreshMany,
      FreshItems,
      Maker,
      Slot,
      Number,
      Late
    } what = Do::Fresh;
    int offset = 0;  // of the instruction before which it is done
    int depth = 0;   // of the stack then
    int local = 0;   // for Fresh: how far below the top; for FreshMany: how many are there
    Scalar slot;
    ValuePlace place;  // for Number
    LateNumber late;
  };
  struct Code {
    PyRef bytes;
    const unsigned char* data;
    Py_ssize_t size;
    CodeMap map;
  };
  struct Frame;
  /// Does the history of `t` begin in this call?
  [[nodiscard]] bool isComputed(const Tensor& t) const;
  static int trace(PyObject* self, PyFrameObject* frame, int what, PyObject* arg);
  /// `why`, with the line that is run.
  /// Refuses for a reason that has its line.
  void refuseFor(const std::string& reason);
  [[nodiscard]] std::string atLine(const std::string& why) const;
  void enter(PyFrameObject* frame);
  void step(PyFrameObject* frame);
  void checkReported(PyFrameObject* frame, bool left);
  /// A number that an instruction may look at, as what that does is known; `wake` is called when it is done.
  void rest(PyObject* number);
  void wake();
  /// Numbers are like others from here on.
  void revealNumbers();
  /// A number that stands for another is an object of its own: is it asked which one it is?
  [[nodiscard]] bool asksNumber(PyObject* a, PyObject* b) const;
  /// The identity of a number is asked: from here on the body has the objects that it was given.
  void giveBack(Frame& f);
  void instruction(Frame& f, int op, int arg);
  void unary(Frame& f, int op);
  void arithmetic(Frame& f, int how);
  /// The operands of an operator.
  void meet(PyObject* a, PyObject* b);
  /// `compares` for COMPARE_OP.
  bool comparison(Frame& f, int arg);
  /// The next value on the stack is made of a number that the body read, by what cannot fail; false: it is not.
  bool computesLate(Frame& f, ScalarSlot::Source source, PyObject* a, PyObject* b);
  /// What is known of the result of a call, for when it is there.
  void called(Frame& f, int popped, bool makesFresh);
  /// `result`, on the stack, stands for a slot from here on.
  void standFor(PyObject*& result, const Scalar& slot);
  void standFor(PyObject*& result, const LateNumber& late);
  void intrinsic(Frame& f, int which);
  void asText(PyObject* o);
  void storeItem(PyObject* container, PyObject* key, PyObject* value);
  void loadGlobal(Frame& f, PyObject* name);
  void importName(Frame& f, PyObject* name, long level);
  void freshAfter(Frame& f, int popped);
  void makeMoreFresh(const Frame& f, const Pending& p);
  /// What the next instruction finds on top, where `loads` came upon one of the changing numbers.
  void numberAfter(Frame& f, int popped);
  /// What later calls may find where this one found `value`. Any number: only what an instruction loads can be that.
  Accepts accepted(const ValuePlace& place, PyObject* value);
  /// Can later calls assign a value again that is assigned to a place of before?
  [[nodiscard]] bool assignable(PyObject* holder) const;
  /// A place is assigned for the first time. `dict`: that holds it, where one does.
  void assigns(const AssignedPlace& place, PyObject* dict, const std::string& what);
  void value(PyObject* v);
  void compared(PyObject* o, int depth = 0);
  /// Is it a tensor that was there before, and no argument?
  [[nodiscard]] bool wasThere(PyObject* tensor) const;
  void typeAttribute(PyTypeObject* type, PyObject* name);
  void moduleAttribute(PyObject* module, PyObject* name);
  /// A place in an object of a C type that is read under this name becomes a guard; false: it has none.
  bool field(PyObject* o, PyObject* name);
  void understoodAttribute(PyObject* o, PyObject* name);
  void tensorAttribute(PyObject* o, PyObject* name);
  void callEx(Frame& f, int keywords);
  void handToC(const Frame& f, PyObject* o);
  void matchesKind(PyObject* subject);
  void matchesKeys(PyObject* subject, PyObject* keys);
  void matchesClass(PyObject* subject, PyObject* of, PyObject* names, int count);
  bool callType(PyTypeObject* type, PyObject* const* args, Py_ssize_t n);
  /// The dict that a proxy shows, which is known as that is; any other object itself.
  PyObject* shownBy(PyObject* o);
  /// Refuses to read a container that is not known.
  bool refusesUnknown(PyObject* container);
  /// A dict of the body's own is asked for a key: a defaultdict calls its factory for one that it has not.
  void ownItem(PyObject* dict, PyObject* key);
  const Code& codeOf(PyCodeObject* code);

  lazy::Session& session_;
  ChangingPlaces& changing_;
  CollectorWaits& collector_;
  std::optional<ValuePlace> number_;  // that the instruction loads
  GuardSet guards_;
  GuardSet arguments_;  // as they were at the start
  std::string reason_;
  std::vector<PyRef> contexts_;
  bool stepping_ = false;  // an instruction is looked at
  bool loads_ = false;     // it does nothing but load a value
  bool running_ = false;
  std::uint64_t firstSequence_ = 0;  // the history of what the body computes comes after it
  bool refused_ = false;
  bool madeState_ = false;
  bool refusedInOpaque_ = false;
  Gives gives_ = Gives::NothingNew;
  std::unordered_set<PyObject*> makers_;
  std::unordered_set<PyObject*> fresh_;
  std::vector<PyRef> weighed_;         // code
  std::unordered_set<PyObject*> led_;  // containers to which a guard leads
  std::unordered_set<PyObject*> covered_;
  std::unordered_set<PyObject*> used_;                // of those, and of which more was asked than dims and dtype
  std::unordered_set<const TensorImpl*> leaves_;      // `makeLeaf`
  std::unordered_set<PyTypeObject*> classes_;         // whose special methods are guarded
  std::unordered_map<PyObject*, PyObject*> ownerOf_;  // of a `__dict__` that was read
  /// What a number stands for: a slot, or the element of a tensor that the body read.
  struct Number {
    PyRef object;
    std::optional<Scalar> slot;
    Tensor read;
    PyRef original;
    bool asked = false;  // for its value
    std::optional<LateNumber> late;
  };
  std::unordered_map<PyObject*, Number> tracked_;
  std::vector<PyObject*> resting_;
  std::optional<Scalar> computed_;  // by the call that is looked at
  PyRef keywords_;                  // names of the last arguments of the call that is looked at
  PyObject* converted_ = nullptr;   // a tensor that `float()` or `int()` is about to be called with
  bool dry_ = false;
  using Place = std::pair<PyObject*, std::string>;  // a dict, and a key
  std::map<Place, PyRef> lent_;                     // what was there before
  std::vector<AssignedPlace> assigned_;
  std::vector<PyRef> owners_;                            // of those
  std::unordered_map<PyObject*, int> appended_;          // to which list how much
  std::vector<std::pair<ValuePlace, PyRef>> readState_;  // of those that held state which was read, and that
  std::set<Place> places_;  // of those (a cell has no key), and of what is assigned for a while
  struct Restored {
    Place place;
    PyRef dict, before;
    std::string why;
  };
  [[nodiscard]] bool isRestored(const Place& place) const;
  std::vector<Restored> restored_;                                    // assigned for a while
  std::unordered_map<PyObject*, std::pair<PyRef, PyRef>> variables_;  // likewise: the variable, and what it had
  std::string readBefore_;  // the first assignment of what was read before, with its line
  bool mayAssign_ = true;
  std::vector<std::string> warnings_;
  bool hashesArgument_ = false, hashesOther_ = false;  // a tensor among the arguments, or one that was there before
  std::unordered_map<PyFrameObject*, Pending> pending_;
  std::unordered_map<PyCodeObject*, Code> codes_;
  std::unordered_map<PyFrameObject*, int> reported_;  // the last instruction of each, or where it was entered
  PyTypeObject* beingMade_ = nullptr;                 // its `__init__` is about to be entered
  PyCodeObject* unwatched_ = nullptr;                 // about to be entered; what it reads is guarded already
  PyFrameObject* asleep_ = nullptr;                   // its frame: nothing is watched until that is left
};

/// The observer of this thread, if a function's body is being watched.
extern thread_local constinit Observer* activeObserver;

/// C++ is about to call what users wrote: Python's code is watched when it is entered, but not which code it is.
inline void beforeCall(PyObject* callable, PyObject* const* args, Py_ssize_t n) {
  if (activeObserver != nullptr && activeObserver->proved()) (void)activeObserver->call(callable, args, n);
}

/// For messages: the class of an object, and a name.
inline std::string typeName(PyObject* o) { return Py_TYPE(o)->tp_name; }
inline std::string nameText(PyObject* name) {
  const char* s = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  return s != nullptr ? s : "?";
}

/// A tuple, or a named one, whose items and length are the interpreter's.
bool isTuple(PyObject* o);
/// The class of this name in a module, which is imported.
PyTypeObject* typeNamed(const char* module, const char* name);
/// Dicts whose reading runs no Python code.
bool isDict(PyObject* o);
/// Is it a `types.SimpleNamespace`?
bool isNamespace(PyObject* o);
/// Is it a list of a class made by a `class` statement, whose special methods are Python's code or a list's?
bool isDerivedList(PyObject* o);
/// Is its text made of what it is alone: plain values, dtypes, devices, sizes?
bool saysItself(PyObject* o);
/// Is it a class of `enum` whose members, the same objects for ever, hash as its classes or C types do?
bool isEnumeration(PyTypeObject* type);
/// The dict that a `types.MappingProxyType` shows; any other object itself.
PyObject* behindProxy(PyObject* o);
/// Objects of C types that never change, or are only looked at by what is called with them.
bool understoodObject(PyObject* o);
/// Is it a function whose results `functools.lru_cache` keeps?
bool isCachedFunction(PyObject* o);
/// What a call of it is called in messages.
std::string nameOf(PyObject* callable);
/// An object that `next` advances, and that `iter` gives back.
bool isIterator(PyObject* o);
/// Iterators of the interpreter that give tuples made for the occasion.
bool makesTuples(PyObject* iterator);
/// Are the special methods of a class, and of its bases, Python's code or those of the interpreter's own types?
bool specialsAreWatched(PyTypeObject* type);
/// Was the class made by a `class` statement, and so all its bases, and are its special methods Python's code?
bool isPythonClass(PyTypeObject* type);
/// Was the class made by a `class` statement, whatever it is derived from, and are its special methods, as above,
/// Python's code or those of the interpreter's own types?
bool isDerivedClass(PyTypeObject* type);
/// Is it a string, a number or a dict of a class made by a `class` statement, as members of an enumeration may be,
/// whose special methods are Python's code or those of the type that it is derived from?
bool isDerivedValue(PyObject* o);
/// What a C function, or a type that is called, does; see understood.cpp. False: it is not in the tables.
bool understoodFunction(Observer& o, PyObject* callable, PyObject* const* args, Py_ssize_t n, bool& makesFresh);
bool understoodType(Observer& o, PyTypeObject* type, PyObject* const* args, Py_ssize_t n, bool& makesFresh);
/// Makes the tables, when the package's own module is complete.
void initUnderstood(PyObject* module);

}  // namespace tandem::python
