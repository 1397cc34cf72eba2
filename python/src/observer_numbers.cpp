// Numbers whose values may be others at a later call (tracked_numbers.h), as a watched body meets them.
#include <Python.h>
#include <cmath>
#include <frameobject.h>

#include "python/src/elements.h"
#include "python/src/observer_frame.h"
#include "python/src/py_tensor.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python {

void Observer::track(PyObject* number, const Scalar& slot, PyObject* original) {
  tracked_.insert_or_assign(number, Number{PyRef::borrow(number), slot, {}, PyRef::borrow(original), false, {}});
  disguise(number);
}

const Scalar* Observer::slotOf(PyObject* number) const {
  if (!proved()) return nullptr;
  auto it = tracked_.find(number);
  return it == tracked_.end() || !it->second.slot ? nullptr : &*it->second.slot;
}

const Tensor* Observer::readOf(PyObject* number) const {
  if (!proved()) return nullptr;
  auto it = tracked_.find(number);
  return it == tracked_.end() || !it->second.read.defined() ? nullptr : &it->second.read;
}

const Observer::LateNumber* Observer::lateOf(PyObject* number) const {
  if (!proved()) return nullptr;
  auto it = tracked_.find(number);
  return it == tracked_.end() || !it->second.late ? nullptr : &*it->second.late;
}

void Observer::guardNumber(PyObject* o) {
  auto it = proved() ? tracked_.find(o) : tracked_.end();
  if (it == tracked_.end()) return;
  it->second.asked = true;
  reveal(o);
  if (it->second.slot)
    (void)session_.guardScalar(*it->second.slot);
  else
    session_.giveUp(lazy::Session::kValueRead);
}

PyObject* Observer::readNumber(const Tensor& t) {
  if (!proved() || !running_) return nullptr;
  std::optional<lazy::Session::Read> read = session_.readAhead(t, !dry_);
  if (!read) return nullptr;
  PyRef number(checked(elementObject(t.dtype(), read->now.data())));
  if (PyLong_Check(number.get())) number = PyRef(ownNumber(number.get()));
  tracked_.insert_or_assign(number.get(), Number{number, {}, read->each, {}, false, {}});
  disguise(number.get());
  return number.release();
}

bool Observer::converts(PyTypeObject* to, PyObject* o) {
  if (to == &PyFloat_Type && isInt(o) && slotOf(o) != nullptr) {
    static PyObject* one = checked(PyFloat_FromDouble(1));
    return computes(ScalarSlot::Source::Mul, o, one);
  }
  if (to == &PyFloat_Type ? isFloat(o) : isInt(o)) {
    // Which is the same object, as long as it is no object of a derived class.
    rest(o);
    return true;
  }
  if (!isTensor(o)) return false;
  operand(o);
  converted_ = o;
  return true;
}

PyObject* Observer::convertedNumber(PyObject* tensor, PyTypeObject* to) {
  if (converted_ != tensor || isFloating(tensorOf(tensor).dtype()) != (to == &PyFloat_Type)) return nullptr;
  PyObject* number = readNumber(tensorOf(tensor));
  if (number != nullptr) rest(number);
  return number;
}

bool Observer::asksNumber(PyObject* a, PyObject* b) const {
  auto number = [](PyObject* o) { return isFloat(o) || isInt(o); };
  return (tracked_.contains(a) && number(b)) || (tracked_.contains(b) && number(a));
}

void Observer::giveBack(Frame& f) {
  refuse("the identity of a number is asked");
  auto original = [&](PyObject*& o) {
    auto it = o != nullptr ? tracked_.find(o) : tracked_.end();
    if (it != tracked_.end() && it->second.original) Py_SETREF(o, Py_NewRef(it->second.original.get()));
  };
  for (int k = 1; k <= f.depth; ++k) original(f.top[-k]);
  for (auto frame = PyRef::borrow(reinterpret_cast<PyObject*>(f.object)); frame;) {
    auto* object = reinterpret_cast<PyFrameObject*>(frame.get());
    const FrameView view = viewOf(object);
    // Locals, and cells of its own and of outer functions.
    for (PyObject** at = view.locals; at < view.base; ++at) {
      original(*at);
      if (*at != nullptr && PyCell_Check(*at)) original(reinterpret_cast<PyCellObject*>(*at)->ob_ref);
    }
    frame = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(object)));
  }
}

void Observer::forgetReads() {
  for (auto& [o, number] : tracked_) number.read = {};
}

namespace {
/// A number of Python's as what is computed with; nothing of an int beyond 64 bits.
std::optional<Scalar> constantOf(PyObject* o) {
  if (isFloat(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (!isInt(o) && !PyBool_Check(o)) return std::nullopt;
  int beyond = 0;
  const std::int64_t v = PyLong_AsLongLongAndOverflow(o, &beyond);
  return beyond == 0 ? std::optional(Scalar(v)) : std::nullopt;
}
}  // namespace

bool Observer::computes(ScalarSlot::Source source, PyObject* a, PyObject* b) {
  const Scalar* left = slotOf(a);
  const Scalar* right = slotOf(b);
  if (left == nullptr && right == nullptr) return false;
  guardRead(a);
  guardRead(b);
  if (!proved()) return false;
  const std::optional<Scalar> x = left != nullptr ? *left : constantOf(a);
  const std::optional<Scalar> y = right != nullptr ? *right : constantOf(b);
  // Elsewhere what a function gives goes to C code.
  if (x && y && stepping_) computed_ = session_.arithmetic(source, *x, *y);
  if (computed_) {
    rest(a);
    rest(b);
  } else {
    guardNumber(a);
    guardNumber(b);
  }
  return true;
}

bool Observer::computesLate(Frame& f, ScalarSlot::Source source, PyObject* a, PyObject* b) {
  using Source = ScalarSlot::Source;
  constexpr int kMostDepth = 200;
  auto late = [&](PyObject* o) { return readOf(o) != nullptr || lateOf(o) != nullptr; };
  if ((!late(a) && !late(b)) || !keepsNumbers()) return false;
  if (source == Source::Div) {
    // By nothing that may be zero, as an error would come after the plan.
    const std::optional<Scalar> divisor = late(b) ? std::nullopt : constantOf(b);
    if (!divisor || divisor->recorded() == 0) return false;
    static PyObject* zero = checked(PyLong_FromLong(0));
    if (slotOf(b) != nullptr && !compares(ScalarCondition::Is::NotEqual, b, zero)) return false;
  } else if (source != Source::Add && source != Source::Sub && source != Source::Mul) {
    return false;
  }
  LateNumber number{source, PyRef::borrow(a), PyRef::borrow(b)};
  for (PyObject* o : {a, b})
    if (const LateNumber* of = lateOf(o)) number.depth = std::max(number.depth, of->depth + 1);
  if (number.depth > kMostDepth) return false;
  rest(a);
  rest(b);
  pending_[f.object] = {Pending::Do::Late, f.next, f.depth - 1, 0, {}, {}, std::move(number)};
  return true;
}

bool Observer::compares(ScalarCondition::Is is, PyObject* a, PyObject* b) {
  const Scalar* left = slotOf(a);
  const Scalar* right = slotOf(b);
  if ((left == nullptr && right == nullptr) || !keepsNumbers()) return false;
  guardRead(a);
  guardRead(b);
  if (!proved()) return false;
  const std::optional<Scalar> x = left != nullptr ? *left : constantOf(a);
  const std::optional<Scalar> y = right != nullptr ? *right : constantOf(b);
  if (!x || !y || !session_.compare(is, *x, *y)) return false;
  rest(a);
  rest(b);
  return true;
}

void Observer::factor(PyObject* o) {
  if (slotOf(o) != nullptr)
    rest(o);
  else
    operand(o);
}

void Observer::standFor(PyObject*& result, const Scalar& slot) {
  const std::optional<Scalar> value = constantOf(result);
  auto isNaN = [](const Scalar& s) { return s.isFloat() && std::isnan(s.recorded()); };
  Scalar expected = slot;
  expected.slot = -1;
  if (!value || PyBool_Check(result) || value->kind != expected.kind ||
      (value->bits() != expected.bits() && !(isNaN(*value) && isNaN(expected))))
    return refuse("arithmetic on a number that changes gives another one than expected");
  // An object that nobody else has.
  Py_SETREF(result, ownNumber(result));
  track(result, slot);
}

void Observer::standFor(PyObject*& result, const LateNumber& late) {
  if (!isFloat(result) && !isInt(result)) return refuse("arithmetic on a number that was read gives something else");
  Py_SETREF(result, ownNumber(result));
  tracked_.insert_or_assign(result, Number{PyRef::borrow(result), {}, {}, {}, false, late});
  disguise(result);
}

void Observer::rest(PyObject* number) {
  if (!isTracked(number)) return;
  reveal(number);
  resting_.push_back(number);
}

void Observer::wake() {
  for (PyObject* o : std::exchange(resting_, {}))
    if (auto it = tracked_.find(o); it != tracked_.end() && proved() && !it->second.asked) disguise(o);
}

void Observer::revealNumbers() {
  for (const auto& [o, number] : tracked_) reveal(o);
}

}  // namespace tandem::python
