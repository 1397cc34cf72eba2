// Guards: what a compiled function's body read that no argument says, and whether it is all as it was.
//
//   a place      a name in a dict (of globals, of an object, an item), a closure cell, a slot, an item of a list, the
//                class of an object, what a function is made of
//   its value    plain values (numbers, strings, None) are compared by value, all others by identity
//
// A guard keeps nothing alive that a program could miss: objects that can be referred to weakly are, and one that died
// ends the guard for ever. Dicts, lists and tuples, which cannot, are looked at only after the place that leads to them
// was found to hold what it did, so that they are alive; for that reason guards are checked in the order in which they
// were made.
#pragma once

#include <Python.h>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/node.h"
#include "eager/tensor.h"
#include "python/src/errors.h"
#include "python/src/places.h"

namespace tandem::python {

/// What a later call may find in a place.
enum class Accepts : std::uint8_t {
  Same,      // what was there
  Float,     // any float
  Int,       // any int
  Argument,  // what is looked at as an argument is, by its signature
  Anything   // as the body assigned it before it read it
};

class GuardSet {
 public:
  /// `dict[key]`; `value` null: there is none. `owner`: the object whose `__dict__` it is, whose class is guarded, too,
  /// or null.
  void item(PyObject* owner, PyObject* dict, PyObject* key, PyObject* value, Accepts accepts = Accepts::Same);
  /// Is how many items a list has, or one of them, among those?
  [[nodiscard]] bool reads(PyObject* list) const {
    return std::ranges::any_of(lists_, [&](const ListGuard& g) { return g.list == list; });
  }
  /// How many items a dict, list, tuple or set has.
  void size(PyObject* container);
  /// All keys and values of a dict, in order. `accepts` of a key and a value.
  void wholeDict(PyObject* dict, const std::function<Accepts(PyObject*, PyObject*)>& accepts);
  /// All items of a list or tuple. `accepts` of a number and an item.
  void sequence(PyObject* sequence, const std::function<Accepts(Py_ssize_t, PyObject*)>& accepts);
  /// All items of a set.
  void set(PyObject* set);
  void cell(PyObject* cell, Accepts accepts = Accepts::Same);
  /// Is the value in the place one of those? `dict`: that holds it, where one does.
  [[nodiscard]] bool has(const ValuePlace& place, PyObject* dict);
  /// The place has another value from here on: that it had this one is what is guarded, and `broken` does not look at
  /// it before `settle`.
  void assigned(const ValuePlace& place, PyObject* dict);
  void settle();
  /// The class of an object, where it can be assigned.
  void classOf(PyObject* object);
  /// The attributes of a class and of its bases.
  void type(PyTypeObject* type);
  /// Code, defaults and closure of a function.
  void function(PyObject* function);
  /// The pointer at `offset` of `owner`: a slot.
  void slot(PyObject* owner, Py_ssize_t offset);

  /// What a call gives, as of a function whose results are cached; `names` of keywords, or null.
  void call(PyObject* function, PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject* result);
  /// May Python's code run where they are looked at, as that of a cached function whose result is gone?
  [[nodiscard]] bool runCode() const { return !calls_.empty(); }

  /// What abstract classes say of other classes, which one that is registered may change.
  void abstractClasses();

  /// What a tensor is, and what it is a view of: window, memory, dtype, hooks and flags, not elements. As it is now.
  void tensor(PyObject* tensor);
  /// A guarded tensor is to require grad from here on.
  void expectLeaf(PyObject* tensor);

  /// Is everything as it was?
  [[nodiscard]] bool hold() { return firstBroken() == kNone; }
  /// Which place changed, in words; empty if none did.
  [[nodiscard]] std::string broken() { return broken(nullptr); }
  /// And if it is a number that is another one now, adds where it is to `changing`.
  [[nodiscard]] std::string broken(ChangingPlaces* changing);
  /// Something that was read is gone: they will never hold again.
  [[nodiscard]] bool dead() const;
  /// Is `o` among the values that the guards compare by identity?
  [[nodiscard]] bool names(PyObject* o) const { return values_.contains(o); }
  /// Is `t` one of the guarded tensors, or what one of them is a view of?
  [[nodiscard]] bool names(const TensorImpl* t) const;
  /// Is the memory that of a guarded tensor?
  [[nodiscard]] bool names(const Storage* memory) const;
  /// `t`, if it is one of those, or one of the same memory and dtype; null if there is none.
  [[nodiscard]] TensorImpl* alike(TensorImpl* t) const;
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  int traverse(visitproc visit, void* arg) const;

 private:
  enum class Kind : std::uint8_t {
    Dict,
    WholeDict,
    Sequence,
    Set,
    Size,
    Cell,
    Slot,
    Class,
    Type,
    Function,
    Tensor,
    Abstract,
    Call
  };
  struct Expected {
    Held value;
    bool present = false;
    Accepts accepts = Accepts::Same;
    bool assigned = false;
    [[nodiscard]] bool holds(PyObject* now) const;
  };
  struct Item {
    PyRef key;
    Expected value;
    [[nodiscard]] bool isOf(PyObject* other) const;
  };
  struct DictGuard {
    Held owner;
    PyObject* dict = nullptr;      // where there is no owner
    PyTypeObject* type = nullptr;  // of the owner
    PyRef keeper;                  // of a dict that no guard leads to
    bool owned = false;
    std::uint64_t version = 0;
    std::vector<Item> items;
    [[nodiscard]] PyObject* current() const;
    /// The first item that changed; null: none.
    [[nodiscard]] const Item* broken(PyObject* now) const;
    [[nodiscard]] bool holds();
  };
  struct ListGuard {  // WholeDict: keys and values in turn
    PyObject* list = nullptr;
    PyRef keeper;  // of a container that no guard leads to
    std::uint64_t version = 0;
    Py_ssize_t size = 0;
    std::vector<Expected> items;
    [[nodiscard]] bool sequenceHolds() const;
    [[nodiscard]] bool dictHolds();
    [[nodiscard]] bool setHolds() const;
  };
  struct PlaceGuard {
    Held owner;
    Py_ssize_t offset = 0;
    Expected value;
    [[nodiscard]] bool holds() const;
  };
  struct TypeGuard {
    Held type;
    unsigned version = 0;
  };
  struct FunctionGuard {
    Held function;
    PyRef code, defaults, keywordDefaults;
    PyObject* closure = nullptr;
    [[nodiscard]] bool holds() const;
  };
  struct CallGuard {
    PyRef function, names, result;
    std::vector<PyRef> args;
    [[nodiscard]] bool holds() const;
  };
  struct TensorGuard {
    Held tensor;
    const TensorImpl* impl = nullptr;
    const Node* history = nullptr;    // of what a view was taken of
    std::uint32_t windowChanges = 0;  // TensorImpl's, when its window was last seen to be as it was
    std::uint32_t flags = 0;
    std::uint64_t hooks = 0;
    Dims shape, strides;
    std::int64_t offset = 0;
    DType dtype = DType::Float32;
    const Storage* storage = nullptr;
    const TensorImpl* base = nullptr;
    /// `tensor` is the object of `t`, or of a view of it.
    TensorGuard(PyObject* tensor, const TensorImpl* t, bool isBase);
    [[nodiscard]] bool holds();
    [[nodiscard]] bool sameWindow() const;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};
  [[nodiscard]] std::size_t firstBroken();
  bool isNew(Kind kind, const void* object, const void* key);
  /// Of an object that has a guard of its attributes, that guard says it.
  void forgetClassOf(PyObject* object);
  Expected expected(PyObject* o, Accepts accepts = Accepts::Same);
  /// Calls `visit` for what is expected in the place.
  template <class F>
  void visitAt(const ValuePlace& place, PyObject* dict, F&& visit);
  Held held(PyObject* o);
  [[nodiscard]] PyRef keeperOf(PyObject* container) const {
    return names(container) ? PyRef() : PyRef::borrow(container);
  }

  std::vector<std::pair<Kind, std::uint32_t>> order_;
  std::vector<DictGuard> dicts_;
  std::vector<ListGuard> lists_;
  std::vector<PlaceGuard> places_;  // cells, slots and classes
  std::vector<TypeGuard> types_;
  std::vector<FunctionGuard> functions_;
  std::vector<TensorGuard> tensors_;
  std::vector<CallGuard> calls_;
  PyRef registered_;  // what abc.get_cache_token() gives until a class is registered
  /// Of an owner's attributes or of a dict; an object may be both.
  std::unordered_map<std::uintptr_t, std::uint32_t> dictOf_;
  static std::uintptr_t holderOf(PyObject* owner, PyObject* dict) {
    return owner != nullptr ? reinterpret_cast<std::uintptr_t>(owner) | 1 : reinterpret_cast<std::uintptr_t>(dict);
  }
  std::unordered_map<PyObject*, bool> values_;  // identities that are compared
  std::unordered_map<std::uint64_t, std::vector<const void*>> seen_;
};

}  // namespace tandem::python
