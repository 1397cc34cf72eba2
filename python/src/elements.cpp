// Single elements between memory and Python, and tensors from nested sequences.
#include "python/src/elements.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/autograd.h"
#include "eager/host.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "python/src/convert.h"
#include "python/src/py_tensor.h"
#include "python/src/tracked_numbers.h"
#include "runtime/base/warn.h"

namespace tandem::python {

namespace {

float fromBFloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// Rounds to nearest, ties to even. A double goes through float rounded to odd, so that it is rounded once.
std::uint16_t toBFloat16(double v) {
  float f = static_cast<float>(v);
  if (f != f) return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(f) >> 16 | 0x40);  // as kernels do
  if (static_cast<double>(f) != v && std::isfinite(f)) {
    bool tooBig = std::abs(static_cast<double>(f)) > std::abs(v);
    auto bits = std::bit_cast<std::uint32_t>(f);
    if (tooBig) --bits;  // towards zero
    f = std::bit_cast<float>(bits | 1U);
  }
  auto bits = std::bit_cast<std::uint32_t>(f);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
T load(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
template <class T>
void put(void* p, T v) {
  std::memcpy(p, &v, sizeof(T));
}

template <class T>
void putInteger(void* p, const Scalar& s, DType t) {
  if (!holdsNumber(t, s))
    fail("value ", s.isFloat() ? strcat(s.asDouble()) : strcat(s.asInt()), " cannot be converted to ", dtypeName(t),
         " without overflow");
  put<T>(p, static_cast<T>(s.asInt()));
}

}  // namespace

Scalar loadElement(DType t, const void* p) {
  switch (t) {
  case DType::Bool:
    return {load<std::uint8_t>(p) != 0};
  case DType::UInt8:
    return {static_cast<std::int64_t>(load<std::uint8_t>(p))};
  case DType::Int8:
    return {static_cast<std::int64_t>(load<std::int8_t>(p))};
  case DType::Int16:
    return {static_cast<std::int64_t>(load<std::int16_t>(p))};
  case DType::Int32:
    return {static_cast<std::int64_t>(load<std::int32_t>(p))};
  case DType::Int64:
    return {load<std::int64_t>(p)};
  case DType::Float16:
    return {static_cast<double>(load<_Float16>(p))};
  case DType::BFloat16:
    return {static_cast<double>(fromBFloat16(load<std::uint16_t>(p)))};
  case DType::Float32:
    return {static_cast<double>(load<float>(p))};
  case DType::Float64:
    return {load<double>(p)};
  }
  return {};
}

void storeElement(DType t, void* p, const Scalar& s) {
  switch (t) {
  case DType::Bool:
    return put<std::uint8_t>(p, s.asDouble() != 0.0 ? 1 : 0);
  case DType::UInt8:
    return putInteger<std::uint8_t>(p, s, t);
  case DType::Int8:
    return putInteger<std::int8_t>(p, s, t);
  case DType::Int16:
    return putInteger<std::int16_t>(p, s, t);
  case DType::Int32:
    return putInteger<std::int32_t>(p, s, t);
  case DType::Int64:
    return putInteger<std::int64_t>(p, s, t);
  case DType::Float16:
    return put<_Float16>(p, static_cast<_Float16>(s.asDouble()));
  case DType::BFloat16:
    return put<std::uint16_t>(p, toBFloat16(s.asDouble()));
  case DType::Float32:
    return put<float>(p, static_cast<float>(s.asDouble()));
  case DType::Float64:
    return put<double>(p, s.asDouble());
  }
}

PyObject* elementObject(DType t, const void* p) {
  if (t == DType::Float32) return PyFloat_FromDouble(static_cast<double>(load<float>(p)));
  return wrap(loadElement(t, p));
}

Scalar itemOf(const Tensor& t) {
  if (t.numel() != 1) fail("a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  return loadElement(t.dtype(), readHost(t).data());
}

namespace {
PyObject* listOf(const Tensor& t, std::size_t dim, const char* p) {
  if (dim == t.shape().size()) return elementObject(t.dtype(), p);
  std::int64_t n = t.shape()[dim];
  const std::int64_t step = strideTimes(t.strides()[dim], static_cast<std::int64_t>(itemSize(t.dtype())));
  PyRef list(checked(PyList_New(n)));
  for (std::int64_t i = 0; i < n; ++i) PyList_SET_ITEM(list.get(), i, checked(listOf(t, dim + 1, p + i * step)));
  return list.release();
}
}  // namespace

PyObject* toList(const Tensor& t) {
  const Tensor host = readHost(t);
  return listOf(host, 0, static_cast<const char*>(host.data()));
}

// ---- nested sequences
// ---------------------------------------------------------------------------------------------------

namespace {

bool isLeaf(PyObject* o) { return isNumber(o) || (isTensor(o) && tensorOf(o).numel() == 1) || isNumpyNumber(o); }
bool isNested(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o)) return true;
  return !PyUnicode_Check(o) && !PyBytes_Check(o) && !PyDict_Check(o) && !isLeaf(o) && PySequence_Check(o) != 0;
}

DType leafType(PyObject* o) {
  if (isTensor(o)) return tensorOf(o).dtype();
  if (isFloat(o)) return defaultDType();
  if (PyBool_Check(o)) return DType::Bool;
  if (PyLong_CheckExact(o)) return DType::Int64;
  if (auto t = bufferDType(o)) return *t;  // NumPy's scalars
  return PyFloat_Check(o) ? defaultDType() : DType::Int64;
}

/// The memory of an array of NumPy's, of a dtype that tensors have and row by row; none of anything else.
class ArrayElements {
 public:
  explicit ArrayElements(PyObject* o) {
    if (std::strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") != 0) return;
    const auto type = bufferDType(o);
    if (!type) return;
    dtype_ = *type;
    held_ = PyObject_GetBuffer(o, &view_, PyBUF_ND) == 0;
    if (!held_) PyErr_Clear();
  }
  ~ArrayElements() {
    if (held_) PyBuffer_Release(&view_);
  }
  ArrayElements(const ArrayElements&) = delete;
  ArrayElements& operator=(const ArrayElements&) = delete;

  [[nodiscard]] bool have(std::span<const std::int64_t> shape) const {
    return held_ && view_.ndim == static_cast<int>(shape.size()) && std::equal(shape.begin(), shape.end(), view_.shape);
  }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const char* data() const { return static_cast<const char*>(view_.buf); }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(view_.len / view_.itemsize); }

 private:
  Py_buffer view_{};
  DType dtype_ = DType::Float32;
  bool held_ = false;
};

/// Nested sequences read twice: for shape and dtype, then for the elements.
class Nest {
 public:
  explicit Nest(PyObject* data) {
    PyRef at = PyRef::borrow(data);
    while (isNested(at.get())) {
      if (shape_.size() == 64) fail<ValueError>("too many dimensions in nested sequences (self-reference?)");
      Py_ssize_t n = PySequence_Size(at.get());
      if (n < 0) throw PythonError();
      shape_.push_back(n);
      if (n == 0) break;
      at = PyRef(checked(PySequence_GetItem(at.get(), 0)));
    }
    auto meet = [&](DType t) {
      type_ = any_ ? promoteTypes(type_, t) : t;
      any_ = true;
    };
    auto ofArray = [&](const ArrayElements& elements) { meet(elements.dtype()); };
    auto ofLeaf = [&](PyObject* leaf) {
      if (!isLeaf(leaf)) {
        if (isTensor(leaf)) fail<ValueError>("only one element tensors can be converted to Python scalars");
        const char* type = Py_TYPE(leaf)->tp_name;
        if (PyUnicode_Check(leaf) != 0 || PyBytes_Check(leaf) != 0)
          fail<TypeError>("tensor(): cannot make an element of '", type, "'");
        if (PyList_Check(leaf) || PyTuple_Check(leaf))
          fail<TypeError>("tensor(): expected a number at dim ", shape_.size(), ", not '", type, "'");
        fail("tensor(): Could not infer dtype of ", type, ": cannot make an element of it");
      }
      meet(leafType(leaf));
    };
    visit(data, 0, ofLeaf, ofArray);
  }
  [[nodiscard]] const Dims& shape() const { return shape_; }
  [[nodiscard]] DType dtype() const { return any_ ? type_ : defaultDType(); }

  /// Calls `leaf` for each element, and `array` for arrays that are all of the dims that are left.
  template <class Leaf, class Array>
  void visit(PyObject* o, std::size_t dim, const Leaf& leaf, const Array& array) const {
    if (dim == shape_.size()) {
      leaf(o);
      return;
    }
    if (const ArrayElements elements(o); elements.have(std::span(shape_).subspan(dim))) {
      array(elements);
      return;
    }
    PyRef items(isNested(o) ? PySequence_Fast(o, "tensor(): expected a sequence") : nullptr);
    if (!items) {
      if (PyErr_Occurred() != nullptr) throw PythonError();
      fail<TypeError>("tensor(): expected a sequence of length ", shape_[dim], " at dim ", dim, ", not '",
                      Py_TYPE(o)->tp_name, "'");
    }
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
    if (n != shape_[dim]) {
      fail<ValueError>("expected sequence of length ", shape_[dim], " at dim ", dim, " (got ", n, ")");
    }
    for (Py_ssize_t i = 0; i < n; ++i) visit(PySequence_Fast_GET_ITEM(items.get(), i), dim + 1, leaf, array);
  }

 private:
  Dims shape_;
  DType type_ = DType::Float32;
  bool any_ = false;
};

/// An element of `dtype`. Floats and bools are made of integers of any size.
Scalar leafScalar(PyObject* o, DType dtype) {
  if (isTensor(o)) return itemOf(tensorOf(o));
  if (isNumpyNumber(o)) return scalarOf(PyRef(checked(PyObject_CallMethod(o, "item", nullptr))).get());
  if (!PyLong_CheckExact(o)) return scalarOf(o);
  int beyond = 0;
  const std::int64_t v = PyLong_AsLongLongAndOverflow(o, &beyond);
  if (beyond == 0) return v;
  if (isInteger(dtype)) fail<ValueError>("tensor(): an element is an integer that int64 cannot hold: Overflow");
  if (dtype == DType::Bool) return true;
  const double wide = PyLong_AsDouble(o);
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return wide;
}

}  // namespace

void warnOfCopy(const char* call) {
  warn(strcat("To copy construct from a tensor, it is recommended to use source.detach().clone() or "
              "source.detach().clone().requires_grad_(True), rather than ",
              call, "."));
}

namespace {

/// Where tensors are made, of the dtype if there is one.
Tensor makeCopy(const Tensor& source, std::optional<DType> dtype) {
  const Tensor copy = source.device() == currentDevice ? ops::clone(source) : toDevice(source, currentDevice);
  return dtype && *dtype != copy.dtype() ? ops::to(copy, *dtype) : copy;
}

}  // namespace

Tensor fromOtherLibrary(PyObject* object) {
  auto has = [&](const char* name) { return PyObject_HasAttrString(object, name) != 0; };
  const char* way = PyCapsule_CheckExact(object) || has("__dlpack__") ? "from_dlpack"
                    : has("__cuda_array_interface__")                 ? "from_cuda_array"
                                                                      : nullptr;
  if (way == nullptr) return {};
  const PyRef shared(checked(callSupport(way, {object})));
  return tensorOf(shared.get());
}

Tensor makeTensor(PyObject* data, std::optional<DType> dtype) {
  if (isTensor(data)) return makeCopy(autograd::detach(tensorOf(data)), dtype);
  if (const Scalar* slot = trackedSlot(data)) {
    // What a floating dtype cannot hold is infinite, as for other elements; `full` refuses it.
    const DType of = dtype.value_or(slot->isFloat() ? defaultDType() : DType::Int64);
    const bool held = isFloating(of) || (of == DType::Int64 && !slot->isFloat());
    return held ? ops::full_plain(*slot, Dims{}, of) : ops::full(Dims{}, *slot, of);
  }
  if (!PyList_Check(data) && !PyTuple_Check(data) && PyObject_CheckBuffer(data) != 0 && !PyBytes_Check(data)) {
    Tensor shared = fromBuffer(data, /*readOnly=*/true);
    std::optional<AtOnce> now;  // the array may change before a recording runs
    if (activeRecorder != nullptr && activeRecorder->mayRead()) now.emplace();
    return toDevice(dtype && *dtype != shared.dtype() ? ops::to(shared, *dtype) : ops::clone(shared), currentDevice);
  }
  if (data == Py_None) fail("Could not infer dtype of NoneType");
  if (!PyList_Check(data) && !PyTuple_Check(data) && !isLeaf(data) &&
      PyObject_HasAttrString(data, "_is_storage") != 0) {
    const PyRef of(Py_NewRef(dtype ? dtypeObject(*dtype) : Py_None)),
        made(checked(callSupport("tensor_of_storage", {data, of.get()})));
    return makeCopy(tensorOf(made.get()), std::nullopt);
  }
  if (!isNested(data) && !isLeaf(data))
    if (const Tensor shared = fromOtherLibrary(data); shared.defined()) return makeCopy(shared, dtype);
  if (!isNested(data) && !isLeaf(data)) {
    if (PyUnicode_Check(data) == 0 && data != Py_None) fail("Could not infer dtype of ", Py_TYPE(data)->tp_name);
    fail<TypeError>("tensor(): invalid data type '", Py_TYPE(data)->tp_name, "'");
  }
  Nest nest(data);
  Tensor result = makeEmpty(nest.shape(), dtype.value_or(nest.dtype()), Device{});
  DType t = result.dtype();
  char* p = result.dataAs<char>();
  std::size_t step = itemSize(t);
  auto ofLeaf = [&](PyObject* leaf) {
    if (t == DType::Float32 && isFloat(leaf)) {
      useTracked(leaf);
      put<float>(p, static_cast<float>(PyFloat_AS_DOUBLE(leaf)));
    } else {
      storeElement(t, p, leafScalar(leaf, t));
    }
    p += step;
  };
  auto ofArray = [&](const ArrayElements& elements) {
    const char* from = elements.data();
    const std::size_t width = itemSize(elements.dtype());
    const std::size_t count = elements.count();
    if (elements.dtype() == t && t != DType::Bool) {
      if (count != 0) std::memcpy(p, from, count * width);
      p += count * step;
      return;
    }
    for (std::size_t i = 0; i < count; ++i, from += width, p += step)
      storeElement(t, p, loadElement(elements.dtype(), from));
  };
  nest.visit(data, 0, ofLeaf, ofArray);
  return copyTo(result, currentDevice);
}

void warnOfOwnMemory(const Tensor& t) {
  if (t.device().isCpu())
    warn(
        "share_memory_: memory is not shared between processes: others get copies of what they are sent, and what they "
        "write is not seen here");
}

}  // namespace tandem::python
