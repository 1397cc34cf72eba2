#include "python/src/call_signature.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "python/src/autocast.h"
#include "python/src/float_proxy.h"
#include "python/src/py_tensor.h"

namespace tandem::python {
namespace {

struct Reader {
  const std::set<std::size_t>& whole;
  CallSignature& out;

  void put(char c) { out.key.push_back(c); }
  void putWord(std::int64_t v) { out.key.append(reinterpret_cast<const char*>(&v), sizeof v); }

  void tensor(PyObject* o) {
    const Tensor& t = tensorOf(o);
    const TensorImpl* i = t.impl();
    put('T');
    put(static_cast<char>(t.dtype()));
    put(static_cast<char>(t.dim()));
    bool leaf = !i->requiresGrad || autograd::isLeaf(t);
    put(static_cast<char>((i->contiguous ? 1 : 0) | (i->requiresGrad ? 2 : 0) | (leaf ? 4 : 0) |
                          (i->viewBase ? 8 : 0)));
    for (auto s : i->shape) putWord(s);
    if (!i->contiguous)
      for (auto s : i->strides) putWord(s);
    // Which earlier tensor it is, or shares memory with.
    for (std::size_t k = 0; k < out.tensors.size(); ++k) {
      const TensorImpl* other = out.tensors[k].impl();
      if (other == i) {
        put('=');
        putWord(static_cast<std::int64_t>(k));
        break;
      }
      if (other->storage == i->storage) {
        put('~');
        putWord(static_cast<std::int64_t>(k));
        putWord(i->offset - other->offset);
        break;
      }
    }
    if (!whole.empty() && whole.contains(out.tensors.size())) {
      put('w');
      putWord(i->offset);
      putWord(static_cast<std::int64_t>(i->storage->bytes()));
    }
    out.tensors.push_back(t);
  }

  void identity(PyObject* o) {
    put('o');
    putWord(reinterpret_cast<std::int64_t>(o));
    out.identities.push_back(o);
  }

  void read(PyObject* o) {
    if (isTensor(o)) return tensor(o);
    if (PyFloat_CheckExact(o)) {
      put('f');
      out.scalars.emplace_back(PyFloat_AS_DOUBLE(o));
      return;
    }
    if (o == Py_None || o == Py_True || o == Py_False) {
      put(o == Py_None ? 'n' : o == Py_True ? 't' : 'F');
      return;
    }
    if (PyLong_CheckExact(o)) {
      int overflow = 0;
      long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow != 0) return identity(o);
      put('i');
      return putWord(v);
    }
    if (PyUnicode_CheckExact(o)) {
      Py_ssize_t n = 0;
      const char* text = PyUnicode_AsUTF8AndSize(o, &n);
      if (text == nullptr) throw PythonError();
      put('s');
      putWord(n);
      out.key.append(text, static_cast<std::size_t>(n));
      return;
    }
    if (PyTuple_Check(o) || PyList_CheckExact(o)) {
      bool tuple = PyTuple_Check(o) != 0;
      put(tuple ? '(' : '[');
      if (tuple && !PyTuple_CheckExact(o)) putWord(reinterpret_cast<std::int64_t>(Py_TYPE(o)));
      Py_ssize_t n = tuple ? PyTuple_GET_SIZE(o) : PyList_GET_SIZE(o);
      putWord(n);
      for (Py_ssize_t i = 0; i < n; ++i) read(tuple ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i));
      return;
    }
    if (PyDict_CheckExact(o)) {
      put('{');
      putWord(PyDict_GET_SIZE(o));
      PyObject* k = nullptr;
      PyObject* v = nullptr;
      Py_ssize_t at = 0;
      while (PyDict_Next(o, &at, &k, &v) != 0) {
        if (PyFloat_CheckExact(k))
          identity(k);
        else
          read(k);
        read(v);
      }
      return;
    }
    identity(o);
  }
};

}  // namespace

void readSignature(PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords, const std::set<std::size_t>& whole,
                   CallSignature& out) {
  Reader r{whole, out};
  r.put(static_cast<char>((gradEnabled() ? 1 : 0) | (inferenceMode() ? 2 : 0)));
  r.put(static_cast<char>(defaultDType()));
  r.put(autocastState().enabled ? static_cast<char>(autocastState().dtype) : '\xff');
  r.putWord(numArgs);
  for (Py_ssize_t i = 0; i < numArgs; ++i) r.read(args[i]);
  if (keywords == nullptr) return;
  Py_ssize_t n = PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < n; ++i) {
    r.read(PyTuple_GET_ITEM(keywords, i));
    r.read(args[numArgs + i]);
  }
}

PyObject* withProxies(PyObject* o, const std::vector<PyObject*>& proxies, std::size_t& next) {
  if (PyFloat_CheckExact(o)) return Py_NewRef(proxies[next++]);
  if (PyTuple_Check(o)) {
    Py_ssize_t n = PyTuple_GET_SIZE(o);
    PyRef copy(checked(PyTuple_New(n)));
    bool changed = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = checked(withProxies(PyTuple_GET_ITEM(o, i), proxies, next));
      changed |= item != PyTuple_GET_ITEM(o, i);
      PyTuple_SET_ITEM(copy.get(), i, item);
    }
    if (!changed) return Py_NewRef(o);
    if (PyTuple_CheckExact(o)) return copy.release();
    return checked(PyObject_CallObject(reinterpret_cast<PyObject*>(Py_TYPE(o)), copy.get()));
  }
  if (PyList_CheckExact(o)) {
    Py_ssize_t n = PyList_GET_SIZE(o);
    PyRef copy(checked(PyList_New(n)));
    bool changed = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = checked(withProxies(PyList_GET_ITEM(o, i), proxies, next));
      changed |= item != PyList_GET_ITEM(o, i);
      PyList_SET_ITEM(copy.get(), i, item);
    }
    return changed ? copy.release() : Py_NewRef(o);
  }
  if (PyDict_CheckExact(o)) {
    PyRef copy(checked(PyDict_New()));
    bool changed = false;
    PyObject* k = nullptr;
    PyObject* v = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(o, &at, &k, &v) != 0) {
      PyRef item(checked(withProxies(v, proxies, next)));
      changed |= item.get() != v;
      checked(PyDict_SetItem(copy.get(), k, item.get()));
    }
    return changed ? copy.release() : Py_NewRef(o);
  }
  return Py_NewRef(o);
}

namespace {
/// The tensor of a `TracedBool` (tandem/_support.py); null for others.
PyRef tracedValue(PyObject* o) {
  PyRef value(PyObject_GetAttrString(o, "_traced_value"));
  if (!value) PyErr_Clear();
  return value;
}
}  // namespace

bool ResultTree::readsValues() const {
  return kind_ == Kind::Value || std::ranges::any_of(children_, [](const auto& c) { return c.readsValues(); });
}

ResultTree ResultTree::of(PyObject* o, std::vector<Tensor>& tensors) {
  ResultTree r;
  if (isFloatProxy(o))
    fail<TypeError>("compile: the function returned arithmetic on a float argument; return a tensor, or compute it "
                    "outside");
  if (isTensor(o)) {
    r.kind_ = Kind::Tensor;
    tensors.push_back(tensorOf(o));
  } else if (PyRef value = tracedValue(o)) {
    r.kind_ = Kind::Value;
    tensors.push_back(tensorOf(value.get()));
  } else if (PyTuple_Check(o) || PyList_CheckExact(o)) {
    bool tuple = PyTuple_Check(o) != 0;
    r.kind_ = tuple ? Kind::Tuple : Kind::List;
    if (tuple && !PyTuple_CheckExact(o)) r.object_ = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o)));
    Py_ssize_t n = tuple ? PyTuple_GET_SIZE(o) : PyList_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i)
      r.children_.push_back(of(tuple ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i), tensors));
  } else if (PyDict_CheckExact(o)) {
    r.kind_ = Kind::Dict;
    PyObject* k = nullptr;
    PyObject* v = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(o, &at, &k, &v) != 0) {
      r.keys_.push_back(PyRef::borrow(k));
      r.children_.push_back(of(v, tensors));
    }
  } else {
    r.object_ = PyRef::borrow(o);
  }
  return r;
}

PyObject* ResultTree::build(const std::vector<Tensor>& tensors, std::size_t& next) const {
  switch (kind_) {
  case Kind::Tensor:
    return wrap(tensors[next++]);
  case Kind::Value: {
    const Tensor& t = tensors[next++];
    return checked(elementObject(t.dtype(), t.data()));
  }
  case Kind::Constant:
    return Py_NewRef(object_.get());
  case Kind::Tuple: {
    PyRef t(checked(PyTuple_New(static_cast<Py_ssize_t>(children_.size()))));
    for (std::size_t i = 0; i < children_.size(); ++i)
      PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), checked(children_[i].build(tensors, next)));
    if (!object_) return t.release();
    // A named tuple takes its fields one by one; the structure types of the interpreter take a sequence.
    PyObject* made = PyObject_CallObject(object_.get(), t.get());
    if (made != nullptr) return made;
    PyErr_Clear();
    return checked(PyObject_CallOneArg(object_.get(), t.get()));
  }
  case Kind::List: {
    PyRef l(checked(PyList_New(static_cast<Py_ssize_t>(children_.size()))));
    for (std::size_t i = 0; i < children_.size(); ++i)
      PyList_SET_ITEM(l.get(), static_cast<Py_ssize_t>(i), checked(children_[i].build(tensors, next)));
    return l.release();
  }
  case Kind::Dict: {
    PyRef d(checked(PyDict_New()));
    for (std::size_t i = 0; i < children_.size(); ++i) {
      PyRef v(checked(children_[i].build(tensors, next)));
      checked(PyDict_SetItem(d.get(), keys_[i].get(), v.get()));
    }
    return d.release();
  }
  }
  Py_RETURN_NONE;
}

}  // namespace tandem::python
