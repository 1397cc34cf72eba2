// DLPack (https://dmlc.github.io/dlpack, versions 0.8 and 1.0): capsules of a tensor's memory on the CPU or on a GPU,
// both ways, and memory that an address alone tells of (`__cuda_array_interface__`). Streams, copies and devices that
// are asked for are python/tandem/_dlpack.py's.
#include "python/src/dlpack.h"

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "eager/host.h"
#include "python/src/convert.h"
#include "python/src/cuda_bindings.h"
#include "python/src/py_tensor.h"
#include "runtime/device/executor.h"
#include "runtime/device/gpu_control.h"

namespace tandem::python {
namespace {

/// Throws Python's BufferError.
template <class... T>
[[noreturn]] void refuse(const T&... why) {
  PyErr_SetString(PyExc_BufferError, strcat(why...).c_str());
  throw PythonError();
}

// ---- the structures of DLPack's ABI

struct DlDevice {
  std::int32_t kind;
  std::int32_t index;
};
struct DlType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t dims;
  DlType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: contiguous
  std::uint64_t byteOffset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};
struct DlVersion {
  std::uint32_t major;
  std::uint32_t minor;
};
struct DlVersioned {
  DlVersion version;
  void* context;
  void (*deleter)(DlVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};
static_assert(sizeof(DlTensor) == 48 && sizeof(DlManaged) == 64 && sizeof(DlVersioned) == 80);

enum DlKind : std::int32_t { kDlCpu = 1, kDlCuda = 2, kDlCudaHost = 3 };
constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kCopied = 2;

// Names of capsules, and of those that were taken.
template <class T>
constexpr const char* kName = nullptr;
template <>
constexpr const char* kName<DlManaged> = "dltensor";
template <>
constexpr const char* kName<DlVersioned> = "dltensor_versioned";
template <class T>
constexpr const char* kTaken = nullptr;
template <>
constexpr const char* kTaken<DlManaged> = "used_dltensor";
template <>
constexpr const char* kTaken<DlVersioned> = "used_dltensor_versioned";

enum DlCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };

DlType typeOf(DType t) {
  DlCode code = isInteger(t) ? (t == DType::UInt8 ? kUInt : kInt) : kFloat;
  if (t == DType::Bool) code = kBool;
  if (t == DType::BFloat16) code = kBFloat;
  return {code, static_cast<std::uint8_t>(itemSize(t) * 8), 1};
}

DType dtypeOf(const DlType& type) {
  for (int k = 0; k < kNumDTypes; ++k) {
    const auto t = static_cast<DType>(k);
    const DlType known = typeOf(t);
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return t;
  }
  constexpr std::array<const char*, 7> names = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  refuse("from_dlpack: Tandem has no dtype for DLPack's ", type.code < names.size() ? names[type.code] : "",
         static_cast<int>(type.bits), " (code ", static_cast<int>(type.code), ") of ", type.lanes, " lanes");
}

// ---- the way out

/// A capsule's own memory: the tensor, which it keeps, and the arrays that the structure points to.
template <class T>
struct Lent {
  T managed{};
  Tensor tensor;
  Dims shape;
  Dims strides;
};

/// Called by whoever took the capsule, on any thread.
template <class T>
void giveBack(T* managed) {
  auto* lent = static_cast<Lent<T>*>(managed->context);
  if (Py_IsInitialized() == 0) return;  // the memory goes with the process
  const WithGil gil;
  --lent->tensor.impl()->storage->lent;
  delete lent;
}

template <class T>
void dropCapsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kName<T>) == 0) return;  // it was taken
  auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, kName<T>));
  managed->deleter(managed);
}

template <class T>
PyObject* lend(const Tensor& t, bool copied) {
  auto lent = std::make_unique<Lent<T>>();
  lent->tensor = t;
  lent->shape = t.shape();
  lent->strides = t.strides();
  T& managed = lent->managed;
  managed.context = lent.get();
  managed.deleter = giveBack<T>;
  if constexpr (std::is_same_v<T, DlVersioned>) {
    managed.version = {1, 0};
    managed.flags = copied ? kCopied : 0;
  }
  const Device device = t.device();
  managed.tensor = {t.numel() != 0 ? lentAddressOf(t) : nullptr,
                    {device.isCpu() ? kDlCpu : kDlCuda, device.index},
                    static_cast<std::int32_t>(t.dim()),
                    typeOf(t.dtype()),
                    lent->shape.data(),
                    lent->strides.data(),
                    0};
  PyRef capsule(checked(PyCapsule_New(&managed, kName<T>, dropCapsule<T>)));
  ++t.impl()->storage->lent;
  static_cast<void>(lent.release());
  return capsule.release();
}

/// _to_dlpack(tensor, versioned, copied): a capsule of the tensor's memory, which is taken once.
PyObject* toDlpack(PyObject*, PyObject* args) {
  PyObject* tensor = nullptr;
  int versioned = 0, copied = 0;
  if (PyArg_ParseTuple(args, "Opp", &tensor, &versioned, &copied) == 0) return nullptr;
  return guarded([&] {
    const Tensor t = tensorOf(tensor);
    if (!t.device().isCpu() && t.device().kind != cudaKind())
      refuse("Can't export a tensor on ", deviceName(t.device()), ": DLPack knows no such device");
    return versioned != 0 ? lend<DlVersioned>(t, copied != 0) : lend<DlManaged>(t, copied != 0);
  });
}

// ---- the way in

Device deviceOf(const DlDevice& d) {
  if (d.kind == kDlCpu || d.kind == kDlCudaHost) return {};
  if (d.kind != kDlCuda)
    refuse("from_dlpack: the memory is on a device of DLPack's kind ", d.kind, ": expected 1, the CPU, or 2, CUDA");
  const Device device{cudaKind(), static_cast<std::int8_t>(d.index)};
  if (d.index < 0 || d.index >= countDevices(device.kind))
    refuse("from_dlpack: the memory is on cuda:", d.index, ", of which there are ", countDevices(device.kind));
  return device;
}

/// A tensor on memory that `deleter(context)` gives back; `of`: the storage that it is, if it is one of ours.
Tensor onMemory(void* data, Device device, DType t, Dims shape, Dims strides, Storage::Deleter deleter, void* context,
                Storage* of = nullptr) {
  const auto bytes = static_cast<std::size_t>(numelOf(shape) == 0 ? 0 : reach(shape, strides)) * itemSize(t);
  Ref<Storage> storage(new Storage(data, bytes, deleter, context, of, device));
  return Tensor(new TensorImpl(std::move(storage), t, shape, strides, 0));
}

/// Takes what a capsule has.
template <class T>
Tensor take(PyObject* capsule) {
  auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, kName<T>));
  if constexpr (std::is_same_v<T, DlVersioned>)
    if (managed->version.major > 1)
      refuse("from_dlpack: the capsule is of DLPack ", managed->version.major, ".", managed->version.minor,
             ": expected 1.x, or 0.x without a version");
  const DlTensor& d = managed->tensor;
  const DType dtype = dtypeOf(d.type);
  const Device device = deviceOf(d.device);
  Dims shape(d.shape, d.shape + d.dims);
  Dims strides = d.strides != nullptr ? Dims(d.strides, d.strides + d.dims) : contiguousStrides(shape);
  const bool empty = numelOf(shape) == 0;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] < 0) refuse("from_dlpack: dim ", k, " has size ", shape[k]);
    if (shape[k] == 1 || empty) strides[k] = std::max<std::int64_t>(strides[k], 1);
    if (strides[k] < 0)
      fail<ValueError>("from_dlpack: dim ", k, " has stride ", strides[k],
                       ": tensors with negative strides are not supported; make a copy of the array before");
  }
  char* data = static_cast<char*>(d.data) + (d.data != nullptr ? d.byteOffset : 0);
  if (std::bit_cast<std::uintptr_t>(data) % itemSize(dtype) != 0)
    refuse("from_dlpack: the memory begins at no multiple of ", itemSize(dtype), ", the size of its ", dtypeName(dtype),
           " elements");
  if constexpr (std::is_same_v<T, DlVersioned>)
    if ((managed->flags & kReadOnly) != 0 && !empty &&
        PyErr_WarnEx(PyExc_UserWarning,
                     "from_dlpack: the memory is not writable: writing to the tensor would write to it all the same. "
                     "Copy the array to protect it or to make it writable.",
                     1) < 0)
      throw PythonError();
  checked(PyCapsule_SetName(capsule, kTaken<T>));
  auto deleter = [](void* context) {
    auto* taken = static_cast<T*>(context);
    // At interpreter exit the exporter goes with the process.
    if (taken->deleter == nullptr || Py_IsInitialized() == 0) return;
    const WithGil gil;
    taken->deleter(taken);
  };
  Storage* const of =
      managed->deleter == giveBack<T> ? static_cast<Lent<T>*>(managed->context)->tensor.impl()->storage.get() : nullptr;
  return onMemory(data, device, dtype, std::move(shape), std::move(strides), deleter, managed, of);
}

PyObject* fromDlpack(PyObject*, PyObject* capsule) {
  return guarded([&] {
    if (PyCapsule_IsValid(capsule, kName<DlVersioned>) != 0) return wrap(take<DlVersioned>(capsule));
    if (PyCapsule_IsValid(capsule, kName<DlManaged>) != 0) return wrap(take<DlManaged>(capsule));
    fail("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
         "have already constructed a tensor from it once.");
  });
}

/// _from_address(address, dtype, shape, strides, owner): a tensor on memory of a GPU that `owner` keeps.
PyObject* fromAddress(PyObject*, PyObject* args) {
  unsigned long long address = 0;
  PyObject *dtype, *shape, *strides, *owner;
  if (PyArg_ParseTuple(args, "KOOOO", &address, &dtype, &shape, &strides, &owner) == 0) return nullptr;
  return guarded([&] {
    void* const memory = std::bit_cast<void*>(static_cast<std::uintptr_t>(address));
    const DeviceKind cuda = cudaKind();
    if (countDevices(cuda) == 0) fail("__cuda_array_interface__: there is no GPU: ", whyNoDevice(cuda));
    GpuControl* const gpu = executor(Device{cuda, 0}).gpu();
    const int index = gpu != nullptr ? gpu->indexOf(memory) : -1;
    if (index < 0) fail<ValueError>("__cuda_array_interface__: the address ", address, " is in no GPU's memory");
    auto drop = [](void* kept) {
      if (Py_IsInitialized() == 0) return;
      const WithGil gil;
      Py_DECREF(static_cast<PyObject*>(kept));
    };
    return wrap(onMemory(memory, Device{cuda, static_cast<std::int8_t>(index)}, asDType(dtype).value(),
                         dimsOf(shape, "as_tensor"), dimsOf(strides, "as_tensor"), drop, Py_NewRef(owner)));
  });
}

PyMethodDef functions[] = {
    {"_to_dlpack", toDlpack, METH_VARARGS, "(tensor, versioned, copied): a DLPack capsule of the tensor's memory."},
    {"_from_dlpack", fromDlpack, METH_O, "(capsule): a tensor on its memory; the capsule is used then."},
    {"_from_address", fromAddress, METH_VARARGS,
     "(address, dtype, shape, strides, owner): a tensor on memory that the owner keeps."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void initDlpack(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace tandem::python
