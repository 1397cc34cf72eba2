// Memory shared with NumPy and others through the buffer protocol (PEP 3118), both ways, without NumPy's headers.
#include <cstring>
#include <memory>

#include "autograd/autograd.h"
#include "eager/host.h"
#include "eager/ops.h"
#include "python/src/convert.h"
#include "python/src/elements.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

namespace {

std::optional<DType> dtypeOfFormat(const char* format, Py_ssize_t size) {
  if (format == nullptr) return DType::UInt8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  switch (*format) {
  case '?':
    return DType::Bool;
  case 'B':
    return DType::UInt8;
  case 'b':
    return DType::Int8;
  case 'h':
    return DType::Int16;
  case 'e':
    return DType::Float16;
  case 'f':
    return DType::Float32;
  case 'd':
    return DType::Float64;
  case 'i':
  case 'l':
  case 'q':
    return size == 8 ? DType::Int64 : DType::Int32;
  default:
    return std::nullopt;
  }
}
const char* formatOf(DType t) {
  // NumPy knows int64 by the name of the C type that it is: "l" where that has 8 bytes, and "q" is another type there.
  constexpr const char* kInt64 = sizeof(long) == 8 ? "l" : "q";
  constexpr const char* formats[kNumDTypes] = {"?", "B", "b", "h", "i", kInt64, "e", nullptr, "f", "d"};
  return formats[static_cast<int>(t)];
}

void releaseBuffer(void* context) {
  auto* view = static_cast<Py_buffer*>(context);
  // At interpreter exit the exporter goes with the process.
  if (Py_IsInitialized() != 0) {
    WithGil gil;
    PyBuffer_Release(view);
  }
  delete view;
}

[[noreturn]] void refuseType(PyObject* array, const char* format) {
  if (format != nullptr && (*format == '>' || *format == '!'))
    fail<ValueError>("given numpy array has byte order different from the native byte order. Conversion between byte "
                     "orders is currently not supported.");
  PyRef dtype(PyObject_GetAttrString(array, "dtype"));
  PyRef name(dtype ? PyObject_GetAttrString(dtype.get(), "type") : nullptr);
  PyRef text(name ? PyObject_GetAttrString(name.get(), "__name__") : nullptr);
  const char* shown = text ? PyUnicode_AsUTF8(text.get()) : format;
  PyErr_Clear();
  fail<TypeError>(
      "can't convert np.ndarray of type numpy.", shown != nullptr ? shown : "?",
      ". The only supported types are: float64, float32, float16, int64, int32, int16, int8, uint8, and bool.");
}

}  // namespace

std::optional<DType> bufferDType(PyObject* o) {
  Py_buffer view;
  if (PyObject_CheckBuffer(o) == 0 || PyObject_GetBuffer(o, &view, PyBUF_RECORDS_RO) < 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  std::optional<DType> t = dtypeOfFormat(view.format, view.itemsize);
  PyBuffer_Release(&view);
  return t;
}

Tensor fromBuffer(PyObject* array, bool readOnly) {
  if (PyObject_CheckBuffer(array) == 0) fail<TypeError>("expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(array, view.get(), PyBUF_RECORDS_RO) < 0) {
    PyErr_Clear();
    refuseType(array, "object");
  }
  struct Guard {
    Py_buffer* view;
    ~Guard() {
      if (view != nullptr) PyBuffer_Release(view);
    }
  } guard{view.get()};
  std::optional<DType> t = dtypeOfFormat(view->format, view->itemsize);
  if (!t || static_cast<std::size_t>(view->itemsize) != itemSize(*t)) refuseType(array, view->format);
  Dims shape;
  Dims strides;
  std::int64_t bytes = view->itemsize;
  for (int d = 0; d < view->ndim; ++d) {
    std::int64_t n = view->shape[d];
    std::int64_t s = view->strides != nullptr ? view->strides[d] : view->itemsize;
    if (s < 0 && n > 1) {
      fail<ValueError>(
          "At least one stride in the given numpy array is negative, and tensors with negative strides are "
          "not currently supported. (You can probably work around this by making a copy of your array with "
          "array.copy().)");
    }
    if (s % view->itemsize != 0) {
      fail<ValueError>("given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                       "reallocate the memory.");
    }
    shape.push_back(n);
    strides.push_back(s < 0 ? 1 : s / view->itemsize);
    bytes = n == 0 ? 0 : bytes + (n - 1) * s;
  }
  std::int64_t numel = numelOf(shape);
  if (view->readonly != 0 && !readOnly && numel != 0) {
    const bool numpy = std::string_view(Py_TYPE(array)->tp_name) == "numpy.ndarray";
    const std::string text = strcat("The given ", numpy ? "NumPy array" : "buffer",
                                    " is not writable, and no tensor is non-writable: writing to this one would write "
                                    "to it all the same. Copy it to protect it or to make it writable.");
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
  }
  if (numel == 0) {
    return makeEmpty(shape, *t, Device{});
  }
  guard.view = nullptr;
  void* data = view->buf;
  Ref<Storage> storage(new Storage(data, static_cast<std::size_t>(bytes), releaseBuffer, view.release()));
  return Tensor(new TensorImpl(std::move(storage), *t, shape, strides, 0));
}

// ---- the way out
// --------------------------------------------------------------------------------------------------------

namespace {

/// Exports a tensor's memory; NumPy's array keeps it, and it keeps the storage.
struct Exporter {
  PyObject_HEAD Tensor tensor;
  void* data;
  Py_ssize_t shape[64];
  Py_ssize_t strides[64];
};
PyTypeObject* exporterType;

int getBuffer(PyObject* object, Py_buffer* view, int) {
  auto* self = reinterpret_cast<Exporter*>(object);
  const Tensor& t = self->tensor;
  view->obj = Py_NewRef(object);
  view->buf = self->data;
  view->itemsize = static_cast<Py_ssize_t>(itemSize(t.dtype()));
  view->len = view->itemsize * t.numel();
  view->readonly = 0;
  view->ndim = static_cast<int>(t.dim());
  view->format = const_cast<char*>(formatOf(t.dtype()));
  view->shape = self->shape;
  view->strides = self->strides;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}
void exporterDealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Tensor& tensor = reinterpret_cast<Exporter*>(object)->tensor;
  --tensor.impl()->storage->lent;
  tensor.~Tensor();
  type->tp_free(object);
  Py_DECREF(type);
}

void makeExporterType() {
  PyType_Slot slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(getBuffer)},
      {Py_tp_dealloc, reinterpret_cast<void*>(exporterDealloc)},
      {0, nullptr},
  };
  PyType_Spec spec = {"tandem.TensorMemory", sizeof(Exporter), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
  exporterType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
}

}  // namespace

Tensor viewAs(const Tensor& t, DType to) {
  const auto from = static_cast<std::int64_t>(itemSize(t.dtype()));
  const auto size = static_cast<std::int64_t>(itemSize(to));
  if (t.dtype() == to) return ops::alias(t);
  Dims shape = t.shape();
  Dims strides = t.strides();
  if (from != size) {
    auto differ = strcat(" to view ", dtypeName(t.dtype()), " as ", dtypeName(to), " (different element sizes)");
    if (t.dim() == 0) fail("view: self.dim() cannot be 0", differ);
    const std::size_t last = shape.size() - 1;
    if (strides[last] != 1) fail("view: self.stride(-1) must be 1", differ, ", but got ", strides[last]);
    const std::int64_t ratio = from > size ? from / size : size / from;
    if (from < size && shape[last] % ratio != 0)
      fail("view: self.size(-1) must be divisible by ", ratio, differ, ", but got ", shape[last]);
    shape[last] = from > size ? shape[last] * ratio : shape[last] / ratio;
    for (std::size_t d = 0; d < last; ++d) {
      if (from < size && strides[d] % ratio != 0)
        fail("view: self.stride(", d, ") must be divisible by ", ratio, differ, ", but got ", strides[d]);
      strides[d] = from > size ? strideTimes(strides[d], ratio) : strides[d] / ratio;
    }
  }
  if (t.numel() == 0) return makeEmpty(shape, to);
  void* data = lentAddressOf(t);
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(size) != 0)
    fail("view: self.storage_offset() must be divisible by ", size / from, " to view ", dtypeName(t.dtype()), " as ",
         dtypeName(to));
  std::int64_t reach = size;
  for (std::size_t d = 0; d < shape.size(); ++d) reach += (shape[d] - 1) * strides[d] * size;
  // The memory is lent as to NumPy, by the storage, which the new one keeps.
  auto* lender = new Ref<Storage>(t.impl()->storage);
  ++(*lender)->lent;
  auto giveBack = [](void* context) {
    auto* lent = static_cast<Ref<Storage>*>(context);
    if (Py_IsInitialized() != 0) {
      WithGil gil;
      --(*lent)->lent;
      delete lent;
    }
  };
  Ref<Storage> storage(new Storage(data, static_cast<std::size_t>(reach), giveBack, lender, t.impl()->storage.get()));
  return Tensor(new TensorImpl(std::move(storage), to, shape, strides, 0));
}

PyObject* toNumpy(const Tensor& t) {
  if (formatOf(t.dtype()) == nullptr) fail<TypeError>("Got unsupported ScalarType BFloat16");
  if (exporterType == nullptr) makeExporterType();
  static PyObject* asArray = nullptr;
  if (asArray == nullptr) {
    PyRef numpy(checked(PyImport_ImportModule("numpy")));
    asArray = checked(PyObject_GetAttrString(numpy.get(), "asarray"));
  }
  if (t.dim() > 64) fail<ValueError>("numpy(): arrays have at most 64 dimensions, the tensor has ", t.dim());
  if (!t.device().isCpu())
    fail<TypeError>("can't convert ", deviceName(t.device()),
                    " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
  void* data = lentAddressOf(t);
  PyRef object(checked(exporterType->tp_alloc(exporterType, 0)));
  auto* self = reinterpret_cast<Exporter*>(object.get());
  new (&self->tensor) Tensor(t);
  ++t.impl()->storage->lent;
  // The memory of an empty tensor must not be read, but NumPy wants a pointer.
  self->data = data != nullptr ? data : self;
  auto size = static_cast<std::int64_t>(itemSize(t.dtype()));
  for (std::size_t d = 0; d < t.shape().size(); ++d) {
    self->shape[d] = t.shape()[d];
    self->strides[d] = strideTimes(t.strides()[d], size);
  }
  return PyObject_CallOneArg(asArray, object.get());
}

}  // namespace tandem::python
