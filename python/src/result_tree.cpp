#include "python/src/result_tree.h"

#include <algorithm>
#include <unordered_map>

#include "eager/host.h"
#include "python/src/convert.h"
#include "python/src/device_object.h"
#include "python/src/elements.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

void visitSlots(PyObject* o, const std::function<void(const PyMemberDef&, PyObject*)>& visit) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(Py_TYPE(o)->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(Py_TYPE(o)->tp_mro, i));
    PyObject *k = nullptr, *v = nullptr;
    if ((base->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) continue;
    for (Py_ssize_t at = 0; PyDict_Next(base->tp_dict, &at, &k, &v) != 0;) {
      if (Py_TYPE(v) != &PyMemberDescr_Type) continue;
      const PyMemberDef& slot = *reinterpret_cast<PyMemberDescrObject*>(v)->d_member;
      if (slot.type != T_OBJECT_EX)
        visit(slot, nullptr);
      else if (auto* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + slot.offset))
        visit(slot, value);
    }
  }
}

namespace {
PyObject* computed(ScalarSlot::Source source, PyObject* a, PyObject* b) {
  switch (source) {
  case ScalarSlot::Source::Add:
    return PyNumber_Add(a, b);
  case ScalarSlot::Source::Sub:
    return PyNumber_Subtract(a, b);
  case ScalarSlot::Source::Mul:
    return PyNumber_Multiply(a, b);
  default:
    return PyNumber_TrueDivide(a, b);
  }
}
}  // namespace

bool isUnchanging(PyObject* o) { return isPlain(o) || isSize(o) || isDType(o) || isDevice(o) || PyRange_Check(o); }

class ResultTree::Reader {
 public:
  Reader(ResultTree& tree, std::vector<Tensor>& tensors, std::vector<Scalar>& numbers, Observer& observer)
      : tree_(tree), tensors_(tensors), numbers_(numbers), observer_(observer) {}

  std::uint32_t read(PyObject* o, int depth = 0) {
    if (auto known = known_.find(o); known != known_.end()) return known->second;
    Node n;
    if (depth > 50) {
      observer_.refuse("a result holds itself");
    } else if (isTensor(o)) {
      tensor(n, o);
    } else if (isTuple(o) && !isSize(o)) {
      n.kind = Kind::Tuple;
      observer_.iterate(o);  // another one may lie where it lay
      if (!PyTuple_CheckExact(o)) n.constant = Held(reinterpret_cast<PyObject*>(Py_TYPE(o)));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
        n.children.push_back(read(PyTuple_GET_ITEM(o, i), depth + 1));
      if (Py_TYPE(o)->tp_dictoffset != 0) {
        if (!observer_.fresh(o)) observer_.refuse("a result is a tuple with attributes");
        attributes(n, o, depth);
      }
    } else if (PyList_CheckExact(o) && observer_.fresh(o)) {
      n.kind = Kind::List;
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) n.children.push_back(read(PyList_GET_ITEM(o, i), depth + 1));
    } else if ((PyDict_CheckExact(o) || PyODict_CheckExact(o)) && observer_.fresh(o)) {
      n.kind = PyDict_CheckExact(o) ? Kind::Dict : Kind::OrderedDict;
      items(n, o, depth);
    } else if (PyDict_Check(o) && isDerivedValue(o) && observer_.fresh(o)) {
      derivedDict(n, o, depth);
    } else if (observer_.fresh(o) && isPythonClass(Py_TYPE(o)) && !observer_.covered(o)) {
      object(n, o, depth);
    } else {
      constant(n, o);
    }
    // Plain values may be one object by chance.
    const bool isOne = !isPlain(o) || n.kind != Kind::Constant;
    tree_.nodes_.push_back(std::move(n));
    const auto number = static_cast<std::uint32_t>(tree_.nodes_.size() - 1);
    if (isOne) known_.emplace(o, number);
    return number;
  }

 private:
  /// In the order of iteration, which is an OrderedDict's own, whatever a derived class makes of it.
  void items(Node& n, PyObject* dict, int depth) {
    PyRef iterator(checked((PyODict_Check(dict) ? PyODict_Type : PyDict_Type).tp_iter(dict)));
    PyRef keys(checked(PySequence_List(iterator.get())));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
      PyObject* k = PyList_GET_ITEM(keys.get(), i);
      if (!isPlain(k)) observer_.refuse("a result is a dict with keys of type " + std::string(Py_TYPE(k)->tp_name));
      n.keys.push_back(PyRef::borrow(k));
      n.children.push_back(read(PyDict_GetItemWithError(dict, k), depth + 1));
    }
  }

  void attributes(Node& n, PyObject* o, int depth) {
    PyRef dict(PyObject_GenericGetDict(o, nullptr));
    if (!dict) throw PythonError();
    items(n, dict.get(), depth);
  }

  /// A dict of a class written in Python: its items, whatever its methods say of them, and its attributes behind those.
  void derivedDict(Node& n, PyObject* o, int depth) {
    n.kind = Kind::DerivedDict;
    n.constant = Held(reinterpret_cast<PyObject*>(Py_TYPE(o)));
    observer_.guards().type(Py_TYPE(o));
    items(n, o, depth);
    n.items = static_cast<std::uint32_t>(n.keys.size());
    if (Py_TYPE(o)->tp_dictoffset != 0) attributes(n, o, depth);
    visitSlots(o, [&](const PyMemberDef&, PyObject*) { observer_.refuse("a result is a dict with slots"); });
  }

  /// What an object of a class written in Python is, however it was made: attributes and slots.
  void object(Node& n, PyObject* o, int depth) {
    PyTypeObject* type = Py_TYPE(o);
    n.kind = Kind::Object;
    n.constant = Held(reinterpret_cast<PyObject*>(type));
    observer_.guards().type(type);
    if (type->tp_dictoffset != 0) attributes(n, o, depth);
    visitSlots(o, [&](const PyMemberDef& slot, PyObject* value) {
      if (value == nullptr) return observer_.refuse("a result is an object with slots of another kind");
      if (std::ranges::find(n.slots, slot.offset) != n.slots.end()) return;
      n.slots.push_back(slot.offset);
      n.children.push_back(read(value, depth + 1));
    });
  }

  void tensor(Node& n, PyObject* o) {
    n.kind = Kind::Tensor;
    n.tensor = static_cast<std::uint32_t>(tensors_.size());
    tensors_.push_back(tensorOf(o));
    if (observer_.covered(o) || observer_.guards().names(o)) return;
    if (Py_TYPE(o) != tensorType)
      observer_.refuse("a result is a new tensor of class " + std::string(Py_TYPE(o)->tp_name));
    if (hasAttributes(o)) observer_.refuse("a result is a tensor with attributes");
  }

  void constant(Node& n, PyObject* o) {
    if (const Tensor* read = observer_.readOf(o)) {
      n.kind = Kind::Number;
      n.tensor = static_cast<std::uint32_t>(tensors_.size());
      tensors_.push_back(*read);
      return;
    }
    if (const Scalar* slot = observer_.slotOf(o); slot != nullptr && observer_.keepsNumbers()) {
      n.kind = Kind::Computed;
      n.tensor = static_cast<std::uint32_t>(numbers_.size());
      numbers_.push_back(*slot);
      return;
    }
    if (const Observer::LateNumber* late = observer_.lateOf(o)) {
      n.kind = Kind::Arithmetic;
      n.tensor = static_cast<std::uint32_t>(late->source);
      for (PyObject* part : {late->left.get(), late->right.get()}) n.children.push_back(read(part));
      return;
    }
    observer_.guardNumber(o);
    n.constant = Held(o);
    if (isUnchanging(o)) return;
    if (observer_.covered(o)) return observer_.refuse("a result is an argument's container");
    if (observer_.fresh(o) || !observer_.guards().names(o))
      observer_.refuse("a result is an object of type " + std::string(Py_TYPE(o)->tp_name));
  }

  ResultTree& tree_;
  std::vector<Tensor>& tensors_;
  std::vector<Scalar>& numbers_;
  Observer& observer_;
  std::unordered_map<PyObject*, std::uint32_t> known_;
};

ResultTree ResultTree::of(PyObject* o, std::vector<Tensor>& tensors, std::vector<Scalar>& numbers, Observer& observer) {
  ResultTree tree;
  Reader(tree, tensors, numbers, observer).read(o);
  return tree;
}

PyObject* ResultTree::build(const std::vector<Tensor>& tensors, const std::vector<Scalar>& numbers) const {
  if (nodes_.size() == 1 && nodes_[0].kind == Kind::Tensor) return checked(wrap(tensors[0]));
  std::vector<PyRef> built;
  built.reserve(nodes_.size());
  for (const Node& n : nodes_) {
    PyRef made;
    auto child = [&](std::size_t i) { return Py_NewRef(built[n.children[i]].get()); };
    const auto count = static_cast<Py_ssize_t>(n.children.size() - n.keys.size() - n.slots.size());
    auto setAttributes = [&] {
      PyRef dict(n.keys.size() == n.items ? nullptr : checked(PyObject_GenericGetDict(made.get(), nullptr)));
      const std::uint32_t* values = n.children.data() + count;
      for (std::size_t i = n.items; i < n.keys.size(); ++i)
        checked(PyDict_SetItem(dict.get(), n.keys[i].get(), built[values[i]].get()));
    };
    switch (n.kind) {
    case Kind::Tensor:
      made = PyRef(checked(wrap(tensors[n.tensor])));
      break;
    case Kind::Number:
      made = PyRef(checked(elementObject(tensors[n.tensor].dtype(), readHost(tensors[n.tensor]).data())));
      break;
    case Kind::Computed: {
      const Scalar& s = numbers[n.tensor];
      made = PyRef(checked(s.isFloat() ? PyFloat_FromDouble(s.asDouble()) : PyLong_FromLongLong(s.asInt())));
      break;
    }
    case Kind::Arithmetic:
      made = PyRef(checked(
          computed(static_cast<ScalarSlot::Source>(n.tensor), built[n.children[0]].get(), built[n.children[1]].get())));
      break;
    case Kind::Constant:
      made = PyRef::borrow(n.constant.get());
      break;
    case Kind::Tuple: {
      made = PyRef(checked(PyTuple_New(count)));
      for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(made.get(), i, child(static_cast<std::size_t>(i)));
      auto* type = reinterpret_cast<PyTypeObject*>(n.constant.get());
      if (type == nullptr) break;
      PyRef arguments(checked(PyTuple_Pack(1, made.get())));
      // The interpreter's structure types take a sequence; named tuples are tuples with names.
      const bool structure = PyObject_HasAttrString(n.constant.get(), "n_sequence_fields") != 0;
      made = PyRef(checked((structure ? type : &PyTuple_Type)->tp_new(type, arguments.get(), nullptr)));
      setAttributes();
      break;
    }
    case Kind::List:
      made = PyRef(checked(PyList_New(count)));
      for (Py_ssize_t i = 0; i < count; ++i) PyList_SET_ITEM(made.get(), i, child(static_cast<std::size_t>(i)));
      break;
    case Kind::Dict:
    case Kind::OrderedDict:
      made = PyRef(checked(n.kind == Kind::Dict ? PyDict_New() : PyODict_New()));
      for (std::size_t i = 0; i < n.keys.size(); ++i)
        checked((n.kind == Kind::Dict ? PyDict_SetItem : PyODict_SetItem)(made.get(), n.keys[i].get(),
                                                                          built[n.children[i]].get()));
      break;
    case Kind::DerivedDict: {
      auto* type = reinterpret_cast<PyTypeObject*>(n.constant.get());
      PyRef none(checked(PyTuple_New(0)));
      made = PyRef(checked(type->tp_new(type, none.get(), nullptr)));
      const bool ordered = PyODict_Check(made.get()) != 0;
      for (std::size_t i = 0; i < n.items; ++i)
        checked((ordered ? PyODict_SetItem : PyDict_SetItem)(made.get(), n.keys[i].get(), built[n.children[i]].get()));
      setAttributes();
      break;
    }
    case Kind::Object: {
      // As `object.__new__` makes one; what `__init__` did is in the attributes.
      PyRef none(checked(PyTuple_New(0)));
      made = PyRef(
          checked(PyBaseObject_Type.tp_new(reinterpret_cast<PyTypeObject*>(n.constant.get()), none.get(), nullptr)));
      setAttributes();
      for (std::size_t i = 0; i < n.slots.size(); ++i)
        *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made.get()) + n.slots[i]) = child(n.keys.size() + i);
      break;
    }
    }
    built.push_back(std::move(made));
  }
  return built.back().release();
}

bool ResultTree::holds(PyObject* o) const {
  return std::ranges::any_of(nodes_, [&](const Node& n) { return n.kind == Kind::Constant && n.constant.get() == o; });
}

int ResultTree::traverse(visitproc visit, void* arg) const {
  for (const Node& n : nodes_) {
    if (int r = n.constant.traverse(visit, arg)) return r;
    for (const PyRef& k : n.keys) Py_VISIT(k.get());
  }
  return 0;
}

}  // namespace tandem::python
