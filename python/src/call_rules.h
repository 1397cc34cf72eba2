// Kinds of rules for calls of C functions: what each makes of its arguments, the first of which is a method's object.
#pragma once

#include <Python.h>

#include "python/src/observer.h"

namespace tandem::python::rules {

using Args = PyObject* const*;

/// What a call does to its arguments.
struct Rule {
  void (*apply)(Observer& o, Args args, Py_ssize_t n) = nullptr;
  bool makesFresh = false;
  bool handsOn = false;  // numbers among them are not looked at
};

void pure(Observer& o, Args args, Py_ssize_t n);
void asksClass(Observer& o, Args args, Py_ssize_t n);
/// Is asked of what the class of its argument is.
void asksType(Observer& o, Args args, Py_ssize_t n);
void asksAbstract(Observer& o, Args args, Py_ssize_t n);
void handsItemsOn(Observer& o, Args args, Py_ssize_t n);
void iteratesNumbers(Observer& o, Args args, Py_ssize_t n);
void iterates(Observer& o, Args args, Py_ssize_t n);
/// The function of a `map`; null: it cannot be told.
PyRef functionOfMap(PyObject* map);
void weighs(Observer& o, Args args, Py_ssize_t n);
/// Several numbers of which `min` or `max` gives one; false: they are others.
bool choosesNumber(Observer& o, Args args, Py_ssize_t n, ScalarCondition::Is better);
/// `min` and `max`.
void leastOf(Observer& o, Args args, Py_ssize_t n);
void greatestOf(Observer& o, Args args, Py_ssize_t n);
/// Arithmetic of one number, and of two.
template <ScalarSlot::Source source>
void ofNumber(Observer& o, Args args, Py_ssize_t n) {
  if (n != 1 || !o.computes(source, args[0], args[0])) pure(o, args, n);
}
template <ScalarSlot::Source source>
void ofNumbers(Observer& o, Args args, Py_ssize_t n) {
  if (n != 2 || !o.computes(source, args[0], args[1])) pure(o, args, n);
}
void scales(Observer& o, Args args, Py_ssize_t n);
/// `weighs` by C code that reads floats itself.
void weighsFloats(Observer& o, Args args, Py_ssize_t n);
void asksEach(Observer& o, Args args, Py_ssize_t n);
void firstIterates(Observer& o, Args args, Py_ssize_t n);
void mutates(Observer& o, Args args, Py_ssize_t n);
/// `mutates` what comes second is the key, or the place, of.
void mutatesKey(Observer& o, Args args, Py_ssize_t n);
void setsDefault(Observer& o, Args args, Py_ssize_t n);
void mutatesAt(Observer& o, Args args, Py_ssize_t n);
/// `list.remove`.
void removes(Observer& o, Args args, Py_ssize_t n);
/// Its items are compared with one.
void searches(Observer& o, Args args, Py_ssize_t n);
/// `iterates` what becomes keys of a set or a dict, or pairs of keys and values.
void iteratesKeys(Observer& o, Args args, Py_ssize_t n);
void iteratesPairs(Observer& o, Args args, Py_ssize_t n);
/// What a set is asked whether it has.
void asksKey(Observer& o, Args args, Py_ssize_t n);
void hashed(Observer& o, Args args, Py_ssize_t n);
/// `a is b`.
void asksIdentity(Observer& o, Args args, Py_ssize_t n);
/// `list.append`.
void appends(Observer& o, Args args, Py_ssize_t n);
void extends(Observer& o, Args args, Py_ssize_t n);
void updates(Observer& o, Args args, Py_ssize_t n);
void getsItem(Observer& o, Args args, Py_ssize_t n);
void getsItemOrNone(Observer& o, Args args, Py_ssize_t n);
/// Likewise, and that is what the call gives.
void givesItemOrNone(Observer& o, Args args, Py_ssize_t n);
void subscripts(Observer& o, Args args, Py_ssize_t n);
void operation(Observer& o, Args args, Py_ssize_t n);
/// `requires_grad_`.
void makesLeaf(Observer& o, Args args, Py_ssize_t n);
/// The end of a Function's call.
void endsFunction(Observer& o, Args args, Py_ssize_t n);
/// `register_hook`, its handle's `remove`, `retain_grad`.
void hooks(Observer& o, Args args, Py_ssize_t n);
/// `detach_`.
void detaches(Observer& o, Args args, Py_ssize_t n);
/// `view`, whose other form looks at memory.
void views(Observer& o, Args args, Py_ssize_t n);
void nothing(Observer& o, Args args, Py_ssize_t n);
void length(Observer& o, Args args, Py_ssize_t n);
void advances(Observer& o, Args args, Py_ssize_t n);
void getsAttribute(Observer& o, Args args, Py_ssize_t n);
void reducesToState(Observer& o, Args args, Py_ssize_t n);
/// Likewise, and that is what the call gives.
void givesAttribute(Observer& o, Args args, Py_ssize_t n);
void setsAttribute(Observer& o, Args args, Py_ssize_t n);
void objectSetsAttribute(Observer& o, Args args, Py_ssize_t n);
void lends(Observer& o, Args args, Py_ssize_t n);
void identity(Observer& o, Args args, Py_ssize_t n);
void asText(Observer& o, Args args, Py_ssize_t n);
void formats(Observer& o, Args args, Py_ssize_t n);
void maps(Observer& o, Args args, Py_ssize_t n);
void filters(Observer& o, Args args, Py_ssize_t n);
void sorts(Observer& o, Args args, Py_ssize_t n);
void sortsInPlace(Observer& o, Args args, Py_ssize_t n);
/// `itertools.chain.from_iterable`.
void chains(Observer& o, Args args, Py_ssize_t n);
/// Arguments by name alone, which become attributes.
void named(Observer& o, Args args, Py_ssize_t n);
void takesWhile(Observer& o, Args args, Py_ssize_t n);
void reduces(Observer& o, Args args, Py_ssize_t n);
/// `itertools.accumulate` and `itertools.starmap`.
void accumulates(Observer& o, Args args, Py_ssize_t n);
void starmaps(Observer& o, Args args, Py_ssize_t n);
/// `sum`.
void sums(Observer& o, Args args, Py_ssize_t n);
/// `set` and `reset` of a context variable.
void setsVariable(Observer& o, Args args, Py_ssize_t n);
/// `get` of one.
void asksVariable(Observer& o, Args args, Py_ssize_t n);
void makesSuper(Observer& o, Args args, Py_ssize_t n);
void arithmetic(Observer& o, Args args, Py_ssize_t n);
/// `arithmetic` that makes a new container of containers.
void joins(Observer& o, Args args, Py_ssize_t n);
/// `arithmetic` that changes its first operand.
void changesFirst(Observer& o, Args args, Py_ssize_t n);
void asksContains(Observer& o, Args args, Py_ssize_t n);
void asksTruth(Observer& o, Args args, Py_ssize_t n);

/// Is it a C function of the tables that gives a bool or a number?
bool givesPlain(PyObject* f);

}  // namespace tandem::python::rules
