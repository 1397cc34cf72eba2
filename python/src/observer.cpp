#include "python/src/observer.h"

#include <opcode.h>
#include <utility>

#include "autograd/node.h"
#include "python/src/observer_frame.h"
#include "python/src/py_tensor.h"
#include "python/src/run_time_numbers.h"

namespace tandem::python {

thread_local constinit Observer* activeObserver = nullptr;

namespace {
/// Does the instruction leave one value on the stack, that of a name or an item?
bool loadsValue(int op, int arg) {
  switch (op) {
  case LOAD_DEREF:
  case BINARY_SUBSCR:
    return true;
  case LOAD_GLOBAL:
    return PY_VERSION_HEX < 0x030B0000 || (arg & 1) == 0;  // else null beside it, for a call
  case LOAD_ATTR:
    return PY_VERSION_HEX < 0x030C0000 || (arg & 1) == 0;
  default:
    return false;
  }
}

/// Runs what the interpreter has put off. 3.12 puts collections off to the next call of a Python function, and then
/// runs the one that is due although the collector waits by now; other versions do not.
void runWhatIsDue() {
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
  static PyObject* nothing = nullptr;
  if (nothing == nullptr) {
    PyRef names(checked(PyDict_New()));
    nothing = checked(PyRun_String("lambda: None", Py_eval_input, names.get(), names.get()));
  }
  PyRef done(checked(PyObject_CallNoArgs(nothing)));
#endif
}
}  // namespace

// ---- the watch -----------------------------------------------------------------------------------------------------

CollectorWaits::CollectorWaits() : waits_(PyGC_Disable() != 0) {
  try {
    runWhatIsDue();
  } catch (...) {
    end();
    throw;
  }
}
void CollectorWaits::end() {
  if (std::exchange(waits_, false)) PyGC_Enable();
}

Observer::Observer(lazy::Session& session, ChangingPlaces& changing, CollectorWaits& collector)
    : session_(session), changing_(changing), collector_(collector) {}
Observer::~Observer() { stop(); }

bool Observer::possible() { return framesAreReadable() && !threadIsWatched(); }

void Observer::cover(PyObject* argument) {
  covered_.insert(argument);
  if (isTensor(argument)) arguments_.tensor(argument);
}

void Observer::start(PyObject* callable, PyObject* const* args, Py_ssize_t n) {
  running_ = true;
  firstSequence_ = Node::takeSequence();
  activeObserver = this;
  PyRef self(PyCapsule_New(this, nullptr, nullptr));
  if (!self) throw PythonError();
  call(callable, args, n);
  allowInstructionReports();
  PyEval_SetTrace(trace, self.get());
}

void Observer::stop() {
  if (!running_) return;
  running_ = false;
  activeObserver = nullptr;
  revealNumbers();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyEval_SetTrace(nullptr, nullptr);
  collector_.end();
  PyErr_Restore(type, value, traceback);
}

void Observer::refuse(const std::string& why) {
  if (!refused_) refuseFor(atLine(why));
}
void Observer::refuseFor(const std::string& reason) {
  if (refused_) return;
  refused_ = true;
  refusedInOpaque_ = running_ && insideOpaque();
  collector_.end();
  reason_ = reason;
  revealNumbers();
  forgetReads();
  session_.giveUp("");
}

std::string Observer::atLine(const std::string& why) const {
  // After the body there is no line to blame.
  const std::string line = running_ ? userLineOutside() : std::string();
  const std::string inner = running_ ? userLine() : std::string();
  const std::string text = line.empty() ? why : line + ": " + why;
  return inner.empty() || inner == line ? text : text + " (in " + inner + ")";
}

int Observer::trace(PyObject* self, PyFrameObject* frame, int what, PyObject*) {
  auto* o = static_cast<Observer*>(PyCapsule_GetPointer(self, nullptr));
  if (o == nullptr) return -1;
  if (!o->proved()) {
    reportInstructions(frame, false);
    return 0;
  }
  // What happens here must neither raise nor lose the exception that is under way.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    if (what == PyTrace_CALL) o->enter(frame);
    if (what == PyTrace_RETURN && frame == o->asleep_) o->asleep_ = nullptr;
    if (what == PyTrace_OPCODE) o->step(frame);
    if (what == PyTrace_EXCEPTION || what == PyTrace_RETURN) o->checkReported(frame, what == PyTrace_RETURN);
  } catch (const DataReadError&) {
    // What reads data is an error of the body, at this line.
    for (PyObject* p : {type, value, traceback}) Py_XDECREF(p);
    setPythonError();
    return -1;
  } catch (const std::exception& e) {
    o->refuse(std::string("an instruction could not be followed: ") + e.what());
  }
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return 0;
}

const Observer::Code& Observer::codeOf(PyCodeObject* code) {
  auto it = codes_.find(code);
  if (it != codes_.end()) return it->second;
  PyRef bytes(checked(bytesOf(code)));
  Code c{bytes, reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get())), PyBytes_GET_SIZE(bytes.get()),
         CodeMap(code)};
  return codes_.emplace(code, std::move(c)).first->second;
}

void Observer::enter(PyFrameObject* frame) {
  pending_.erase(frame);
  PyRef held(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  auto* c = reinterpret_cast<PyCodeObject*>(held.get());
  if (c == std::exchange(unwatched_, nullptr)) asleep_ = frame;
  if (asleep_ != nullptr) return reportInstructions(frame, false);
  if ((c->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)) != 0)
    return refuse("a coroutine is entered");
  // The import system, asked for a module that is there: what it finds is guarded where it is asked (importName).
  const char* file = PyUnicode_AsUTF8(c->co_filename);
  if (file != nullptr && std::string_view(file).starts_with("<frozen importlib")) {
    reportInstructions(frame, false);
    return;
  }
  if (codes_.contains(c) && !reportsInstructions(c)) return refuse("its instructions are not reported any more");
  reportInstructions(frame, true);
  const FrameView v = viewOf(frame);
  [[maybe_unused]] const Code& code = codeOf(c);
  const int at = offsetIn(frame);
  if constexpr (CodeMap::kNeeded) reported_[frame] = at;
#ifdef RESUME
  const bool begins = at >= 0 && at + 1 < code.size && code.data[at] == RESUME && code.data[at + 1] == 0;
#else
  const bool begins = at < 0;
#endif
  // Not when a generator goes on.
  if (begins)
    visitMadeOnEntry(v, [](void* self, PyObject* made) { static_cast<Observer*>(self)->makeFresh(made); }, this);
  if (beingMade_ != nullptr) {
    // An object whose class was called comes first in its `__init__`.
    static PyObject* init = interned("__init__");
    PyObject* made = v.locals != nullptr && c->co_argcount > 0 ? v.locals[0] : nullptr;
    if (made != nullptr && Py_TYPE(made) == beingMade_ && PyUnicode_Compare(c->co_name, init) == 0) {
      makeFresh(made);
      beingMade_ = nullptr;
    }
  }
}

void Observer::step(PyFrameObject* frame) {
  Frame f;
  static_cast<FrameView&>(f) = viewOf(frame);
  f.object = frame;
  f.offset = offsetIn(frame);
  if (!resting_.empty()) wake();
  converted_ = nullptr;
  computed_.reset();
  gives_ = Gives::NothingNew;
  const Code& code = codeOf(f.code);
  if constexpr (CodeMap::kNeeded) {
    auto last = reported_.find(frame);
    // What EXTENDED_ARG stands before is reported once more.
    if (last != reported_.end() && f.offset != last->second && code.map.within(last->second, f.offset)) return;
    if (last == reported_.end() || !code.map.follows(last->second, f.offset))
      return refuse("an instruction was not reported");
    last->second = f.offset;
    f.depth = code.map.depthAt(f.offset);
    f.top = f.base + f.depth;
  }
  auto it = pending_.find(frame);
  if (it != pending_.end()) {
    const Pending p = it->second;
    pending_.erase(it);
    const bool stands = p.offset == f.offset && p.depth == f.depth;
    if (p.what == Pending::Do::Number && !(stands && standIn(f.top[-1], p.place)))
      return refuse("a number that changes was not found");
    if (stands) {
      if (p.what == Pending::Do::FreshLocal)
        makeFresh(f.locals[p.local]);
      else if (p.what == Pending::Do::Fresh && !isTensor(f.peek(1 + p.local)))
        makeFresh(f.peek(1 + p.local));
      else if (p.what == Pending::Do::FreshMany || p.what == Pending::Do::FreshItems || p.what == Pending::Do::Maker)
        makeMoreFresh(f, p);
      else if (p.what == Pending::Do::Slot)
        standFor(f.top[-1], p.slot);
      else if (p.what == Pending::Do::Late)
        standFor(f.top[-1], p.late);
    }
  }
  int at = f.offset;
  if (at < 0 || at + 1 >= code.size) return refuse("an instruction could not be read");
  int arg = 0;
  int op = 0;
  do {
    op = code.data[at];
    arg = arg << 8 | code.data[at + 1];
    at += 2;
  } while (op == EXTENDED_ARG);
#ifdef CACHE
  while (at < code.size && code.data[at] == CACHE) at += 2;
#endif
  f.next = at;
  loads_ = loadsValue(op, arg);
  number_.reset();
  stepping_ = true;
  instruction(f, op, arg);
  stepping_ = false;
  if (number_) refuse("a number that changes was not found");
}

void Observer::makeMoreFresh(const Frame& f, const Pending& p) {
  if (p.what == Pending::Do::FreshMany) {
    for (int i = 1; i <= p.local; ++i) makeFresh(f.peek(i));
    return;
  }
  PyObject* o = f.peek(1);
  makeFresh(o);
  if (p.what == Pending::Do::Maker) makers_.insert(o);
  if (p.what == Pending::Do::FreshItems)
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) makeFresh(PySequence_Fast_GET_ITEM(o, i));
}

/// Did the instruction that was reported last raise an exception, or leave its frame?
void Observer::checkReported(PyFrameObject* frame, bool left) {
  auto last = reported_.find(frame);
  if (last == reported_.end()) return;  // a frame whose instructions are of no interest
  const CodeMap& map = codeOf(viewOf(frame).code).map;
  if (!map.leaves(last->second) && !map.within(last->second, offsetIn(frame)))
    refuse("an instruction was not reported");
  if (left) reported_.erase(last);
}

}  // namespace tandem::python
