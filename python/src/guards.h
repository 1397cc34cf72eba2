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
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/node.h"
#include "eager/tensor.h"
#include "python/src/errors.h"

namespace tandem::python {

/// An object that was met in a place.
class Held {
 public:
  Held() = default;
  explicit Held(PyObject* o);
  /// Is `now` this object, or an equal plain value?
  [[nodiscard]] bool is(PyObject* now) const {
    return now != object_ ? equalPlain(now) : weak_ ? !dead() : keeper_ || Py_TYPE(now) == container_;
  }
  [[nodiscard]] bool dead() const;
  /// Borrowed; for a container valid only while its place holds it.
  [[nodiscard]] PyObject* get() const { return object_; }
  /// Of an object that may be gone, too.
  [[nodiscard]] bool isFloat() const { return !weak_ && keeper_ && PyFloat_CheckExact(object_); }
  int traverse(visitproc visit, void* arg) const;

 private:
  [[nodiscard]] bool equalPlain(PyObject* now) const;
  PyObject* object_ = nullptr;
  PyRef keeper_;  // the object itself, or a weak reference to it; null for containers
  bool weak_ = false;
  // The type of a container: where one died another may lie, whose content is guarded as far as it was read.
  PyTypeObject* container_ = nullptr;
};

/// Changes whenever an attribute of the class or of a base does; 0 where the interpreter does not count.
unsigned versionOf(PyTypeObject* type);

/// Numbers, strings, None and their like: immutable, and told apart by value.
bool isPlain(PyObject* o);

/// Where a number is found: `holder[name]` of a dict, an attribute of an object (`owned`), or a variable of an outer
/// function, which has no name.
struct NumberPlace {
  PyObject* holder = nullptr;  // borrowed
  PyRef name;
  bool owned = false;
  /// The number, borrowed; null where there is none.
  [[nodiscard]] PyObject* read() const;
};

/// Numbers that changed between calls, so that it does not pay to make a trace for each value.
class ChangingNumbers {
 public:
  void add(const NumberPlace& place) { known_.emplace(place.holder, textOf(place.name.get())); }
  [[nodiscard]] bool contains(PyObject* holder, PyObject* name) const {
    return !known_.empty() && known_.contains({holder, textOf(name)});
  }

 private:
  static std::string textOf(PyObject* name);
  std::set<std::pair<const void*, std::string>> known_;
};

class GuardSet {
 public:
  /// `dict[key]`; `value` null: there is none. `owner`: the object whose `__dict__` it is, whose class is guarded, too,
  /// or null. `any`: every float will do.
  void item(PyObject* owner, PyObject* dict, PyObject* key, PyObject* value, bool any = false);
  /// Is the item one of those?
  [[nodiscard]] bool hasItem(PyObject* owner, PyObject* dict, PyObject* key) const;
  /// How many items a dict, list, tuple or set has.
  void size(PyObject* container);
  /// All keys and values of a dict, in order.
  void wholeDict(PyObject* dict);
  /// All items of a list or tuple.
  void sequence(PyObject* sequence);
  /// All items of a set.
  void set(PyObject* set);
  void cell(PyObject* cell, bool any = false);
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
  /// And if it is a float that is another one now, adds where it is to `changing`.
  [[nodiscard]] std::string broken(ChangingNumbers* changing);
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
  struct Item {
    PyRef key;
    Held value;
    bool present = false;
    bool any = false;  // float
    [[nodiscard]] bool holds(PyObject* now) const;
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
    std::vector<Held> items;
    [[nodiscard]] bool sequenceHolds() const;
    [[nodiscard]] bool dictHolds();
    [[nodiscard]] bool setHolds() const;
  };
  struct PlaceGuard {
    Held owner;
    Py_ssize_t offset = 0;
    Held value;
    bool present = false;
    bool any = false;
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
