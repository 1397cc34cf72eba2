#include "python/src/call_signature.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "autograd/saved_hooks.h"
#include "eager/compute_flags.h"
#include "python/src/autocast.h"
#include "python/src/cuda_bindings.h"
#include "python/src/py_tensor.h"

namespace tandem::python {
namespace {

/// Do two elements share memory? Not so where a dim has the stride 0, which is not written to.
bool overlapsItself(const TensorImpl& t) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t d = 0; d < t.shape.size(); ++d)
    if (t.shape[d] > 1 && t.strides[d] != 0) dims.emplace_back(std::abs(t.strides[d]), t.shape[d]);
  std::sort(dims.begin(), dims.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

/// Of a contiguous tensor: are strides of dims of size 1, or of an empty tensor, others than those of a new one?
bool hasOtherStrides(const TensorImpl& t) {
  std::int64_t step = 1;
  for (std::size_t d = t.shape.size(); d-- > 0;) {
    if (t.strides[d] != step) return true;
    step *= std::max<std::int64_t>(t.shape[d], 1);
  }
  return false;
}

struct Reader {
  CallSignature& out;

  void put(char c) const { out.key.push_back(c); }
  void describe(PyObject* o) const {
    if (out.described != nullptr) out.described->push_back(o);
  }
  void putWord(std::int64_t v) const { out.key.append(reinterpret_cast<const char*>(&v), sizeof v); }

  /// Nothing for the CPU: no flags that follow are this character.
  void device(Device d) {
    if (d.isCpu()) return;
    put('@');
    putWord(deviceNumber(d));
  }

  void tensor(PyObject* o) {
    const Tensor& t = tensorOf(o);
    const TensorImpl* i = t.impl();
    put(static_cast<char>(kTensor | static_cast<int>(t.dtype())));
    put(static_cast<char>(t.dim()));
    device(t.device());
    bool leaf = !i->requiresGrad || autograd::isLeaf(t);
    const bool strided = !i->contiguous || hasOtherStrides(*i);
    put(static_cast<char>((i->contiguous ? 1 : 0) | (strided ? 128 : 0) | (i->requiresGrad ? 2 : 0) | (leaf ? 4 : 0) |
                          (i->viewBase ? 8 : 0) | (i->writes ? 16 : 0) | (i->inference ? 32 : 0) |
                          (hasAttributes(o) ? 64 : 0)));
    if (Py_TYPE(o) != tensorType) {
      put('c');
      putWord(reinterpret_cast<std::int64_t>(Py_TYPE(o)));
    }
    out.special |= !i->contiguous && overlapsItself(*i);
    const AutogradMeta* meta = metaOf(i);
    out.special |= i->batch || (meta != nullptr && (meta->hooks || meta->afterAccumulate || meta->retainsGrad));
    describe(o);
    for (auto s : i->shape) putWord(s);
    if (strided)
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
    if (const auto& whole = out.terms->whole; !whole.empty() && whole.contains(out.tensors.size())) {
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

  // No letter: with the dtype in it the key of a call with one tensor of one dim needs no memory.
  static constexpr int kTensor = 128;
  // Deeper containers than anyone writes hold themselves, and one that does so twice has no end.
  static constexpr int kMostDepth = 50;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 24;

  void text(PyObject* o) const {
    Py_ssize_t n = 0;
    if (const char* bytes = PyUnicode_AsUTF8AndSize(o, &n)) {
      put('s');
      putWord(n);
      out.key.append(bytes, static_cast<std::size_t>(n));
      return;
    }
    PyErr_Clear();  // it holds surrogates
    put('u');
    putWord(PyUnicode_KIND(o));
    putWord(PyUnicode_GET_LENGTH(o));
    out.key.append(static_cast<const char*>(PyUnicode_DATA(o)),
                   static_cast<std::size_t>(PyUnicode_GET_LENGTH(o)) * PyUnicode_KIND(o));
  }

  void argument(PyObject* o, std::size_t place) {
    if (isTensor(o)) return tensor(o);
    if (!out.terms->isNumber(o, place)) return read(o, 0);
    if (PyFloat_CheckExact(o)) {
      put('f');
      out.scalars.emplace_back(PyFloat_AS_DOUBLE(o));
    } else {
      put('k');
      out.scalars.emplace_back(std::int64_t{PyLong_AsLongLong(o)});
    }
  }
  void read(PyObject* o, int depth) {
    if (isTensor(o)) return tensor(o);
    if (PyFloat_CheckExact(o)) {
      const double v = PyFloat_AS_DOUBLE(o);
      put('d');
      out.key.append(reinterpret_cast<const char*>(&v), sizeof v);
      return;
    }
    if (depth > kMostDepth) return identity(o);
    if (PySlice_Check(o)) {
      auto* s = reinterpret_cast<PySliceObject*>(o);
      put(':');
      read(s->start, depth + 1);
      read(s->stop, depth + 1);
      read(s->step, depth + 1);
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
    if (PyUnicode_CheckExact(o)) return text(o);
    if (out.key.size() > kMostBytes) {
      out.special = true;
      return;
    }
    if (PyTuple_Check(o) || PyList_CheckExact(o)) {
      bool tuple = PyTuple_Check(o) != 0;
      describe(o);
      put(tuple ? '(' : '[');
      if (tuple && !PyTuple_CheckExact(o)) putWord(reinterpret_cast<std::int64_t>(Py_TYPE(o)));
      Py_ssize_t n = tuple ? PyTuple_GET_SIZE(o) : PyList_GET_SIZE(o);
      putWord(n);
      for (Py_ssize_t i = 0; i < n; ++i) read(tuple ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i), depth + 1);
      if (tuple && Py_TYPE(o)->tp_dictoffset != 0) {
        PyObject** dict = _PyObject_GetDictPtr(o);
        read(dict != nullptr && *dict != nullptr ? *dict : Py_None, depth + 1);
      }
      return;
    }
    if (PyDict_CheckExact(o)) {
      put('{');
      describe(o);
      putWord(PyDict_GET_SIZE(o));
      PyObject* k = nullptr;
      PyObject* v = nullptr;
      Py_ssize_t at = 0;
      while (PyDict_Next(o, &at, &k, &v) != 0) {
        read(k, depth + 1);
        read(v, depth + 1);
      }
      return;
    }
    identity(o);
  }
};

}  // namespace

bool ArgumentTerms::learn(PyObject* const* args, std::size_t n) {
  bool learnt = false;
  for (std::size_t i = 0; i < n; ++i) {
    if (!PyLong_CheckExact(args[i]) || ints_.contains(i) || !isNumberPlace(args[i])) continue;
    Seen& seen = seen_[i];
    if (seen.last && !Held(seen.last.get()).is(args[i])) ++seen.changes;
    seen.last = PyRef::borrow(args[i]);
    if (!seen.fixed && seen.changes >= 2) learnt = ints_.insert(i).second;
  }
  return learnt;
}

bool ArgumentTerms::fix(PyObject* const* args, std::size_t n, const std::set<std::size_t>& numbers) {
  std::size_t number = 0;
  std::vector<std::size_t> fixed;
  for (std::size_t i = 0; i < n; ++i)
    if (isNumber(args[i], i) && numbers.contains(number++) && !PyFloat_CheckExact(args[i])) fixed.push_back(i);
  for (const std::size_t i : fixed) {
    seen_[i].fixed = true;
    ints_.erase(i);
  }
  return !fixed.empty();
}

void CallSignature::clear() {
  key.clear();
  tensors.clear();
  scalars.clear();
  numbers.clear();
  terms = nullptr;
  described = nullptr;
  identities.clear();
  found.reset();
  special = false;
}

void readSignature(PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords, const ArgumentTerms& terms,
                   CallSignature& out) {
  out.terms = &terms;
  Reader r{out};
  const AutocastState& casts = autocastState();
  r.put(static_cast<char>((gradEnabled() ? 1 : 0) | (inferenceMode() ? 2 : 0) | (casts.cache ? 4 : 0) |
                          (casts.cpu.enabled ? 8 : 0) | (casts.gpu.enabled ? 16 : 0)));
  if (otherDevices) [[unlikely]] {
    r.device(currentDevice);
    if (currentGpu != 0) {
      r.put('#');  // no dtype's number
      r.putWord(currentGpu);
    }
  }
  static_assert(kNumDTypes <= 15);
  r.put(static_cast<char>(static_cast<int>(defaultDType()) | bitsOf(computeFlags()) << 4));
  // What a scope that names no dtype begins with counts where nothing is cast, too.
  r.put(static_cast<char>(static_cast<int>(casts.cpu.dtype) | static_cast<int>(casts.gpu.dtype) << 4));
  r.put(static_cast<char>(std::min<Py_ssize_t>(numArgs, 255)));
  if (numArgs >= 255) r.putWord(numArgs);
  for (Py_ssize_t i = 0; i < numArgs; ++i) r.argument(args[i], static_cast<std::size_t>(i));
  if (keywords == nullptr) return;
  Py_ssize_t n = PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < n; ++i) {
    r.read(PyTuple_GET_ITEM(keywords, i), 0);
    r.argument(args[numArgs + i], static_cast<std::size_t>(numArgs + i));
  }
}

void readMore(PyObject* value, CallSignature& out) { Reader{out}.read(value, 1); }

}  // namespace tandem::python
