// Methods of tensors that no record makes: about the object and its memory, conversions, writes, autograd.
#include <algorithm>
#include <cstring>

#include "autograd/autograd.h"
#include "eager/advanced_indexing.h"
#include "eager/batch.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/host.h"
#include "eager/in_place_form.h"
#include "eager/memory_format.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "eager/overlap.h"
#include "eager/placement.h"
#include "python/src/arg_parser.h"
#include "python/src/autograd_bindings.h"
#include "python/src/convert.h"
#include "python/src/cuda_bindings.h"
#include "python/src/device_object.h"
#include "python/src/docs.h"
#include "python/src/elements.h"
#include "python/src/indexing.h"
#include "python/src/py_tensor.h"
#include "python/src/size_methods.h"
#include "python/src/torch_function.h"
#include "python/src/tracked_numbers.h"
#include "runtime/device/executor.h"

namespace tandem::python {

namespace {

using P = ParamType;
constexpr ParamSpec kSelf = {"input", P::Tensor, false, false};

// ---- sizes and memory ----

constexpr ParamSpec sizeParams[] = {kSelf, {"dim", P::OptionalInt, true, false}};
constexpr Signature sizeSigs[] = {{"size", sizeParams, [](ParsedArgs& a) -> PyObject* {
                                     const Tensor& t = a.tensor(0);
                                     if (!a.has(1)) return sizeObject(sized(t).shape());
                                     std::int64_t d = existingDim(a.integer(1), t.dim());
                                     return wrap(sized(t, d).shape()[static_cast<std::size_t>(d)]);
                                   }}};
constexpr Signature strideSigs[] = {{"stride", sizeParams, [](ParsedArgs& a) -> PyObject* {
                                       const Tensor& t = a.tensor(0);
                                       if (a.has(1)) {
                                         return wrap(
                                             t.strides()[static_cast<std::size_t>(existingDim(a.integer(1), t.dim()))]);
                                       }
                                       PyRef all(checked(PyTuple_New(t.dim())));
                                       for (Py_ssize_t d = 0; d < t.dim(); ++d)
                                         PyTuple_SET_ITEM(all.get(), d, wrap(t.strides()[d]));
                                       return all.release();
                                     }}};

template <class F>
PyObject* plain(PyObject* self, F&& value) {
  return guarded([&]() -> PyObject* { return value(tensorOf(self)); });
}
PyObject* dim(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensorOf(self).dim()); }
PyObject* numel(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(sized(tensorOf(self)).numel()); });
}
PyObject* storageOffset(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensorOf(self).impl()->offset); }
PyObject* storageBytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(tensorOf(self).impl()->storage->bytes()); }
PyObject* elementSize(PyObject* self, PyObject*) { return PyLong_FromSize_t(itemSize(tensorOf(self).dtype())); }
bool hasMemory(const Tensor& t) { return t.numel() != 0 && !isMeta(t.device()); }
PyObject* dataPtr(PyObject* self, PyObject*) {
  return plain(self, [](const Tensor& t) { return PyLong_FromVoidPtr(hasMemory(t) ? lentAddressOf(t) : nullptr); });
}
PyObject* isFloatingPoint(PyObject* self, PyObject*) { return wrap(isFloating(tensorOf(self).dtype())); }
PyObject* isComplex(PyObject*, PyObject*) { Py_RETURN_FALSE; }
PyObject* isSignedMethod(PyObject* self, PyObject*) { return wrap(isSigned(tensorOf(self).dtype())); }
PyObject* isInference(PyObject* self, PyObject*) { return wrap(tensorOf(self).impl()->inference); }
PyObject* getDevice(PyObject* self, PyObject*) {
  const Device d = tensorOf(self).device();
  return PyLong_FromLong(d.isCpu() || isMeta(d) ? -1 : d.index);
}
PyObject* onCpu(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    return t.device().isCpu() ? Py_NewRef(self) : wrap(copyIn(t, MemoryFormat::Preserve, t.dtype(), Device{}, "cpu"));
  });
}
PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* shareMemory(PyObject* self, PyObject*) {
  return guarded([&] { return warnOfOwnMemory(tensorOf(self)), Py_NewRef(self); });
}
PyObject* no(PyObject*, PyObject*) { Py_RETURN_FALSE; }

constexpr ParamSpec formatParams[] = {kSelf, {"memory_format", P::Any, true, true}};
MemoryFormat format(const ParsedArgs& a, std::size_t i, MemoryFormat dflt) {
  return a.has(i) ? memoryFormatOf(a.object(i), a.op()) : dflt;
}
/// Is it in the format that is asked for? Preserve asks for what a tensor has by default.
bool inFormat(const ParsedArgs& a) {
  const MemoryFormat f = format(a, 1, MemoryFormat::Contiguous);
  return isContiguousIn(a.tensor(0), f == MemoryFormat::Preserve ? MemoryFormat::Contiguous : f);
}
constexpr Signature isContiguousSigs[] = {
    {"is_contiguous", formatParams, [](ParsedArgs& a) -> PyObject* { return wrap(inFormat(a)); }}};
constexpr Signature contiguousSigs[] = {{"contiguous", formatParams, [](ParsedArgs& a) -> PyObject* {
                                           if (inFormat(a)) return a.self();
                                           const MemoryFormat f = format(a, 1, MemoryFormat::Contiguous);
                                           if (f == MemoryFormat::Preserve)
                                             fail("contiguous: preserve memory format is unsupported");
                                           return wrap(copyIn(a.tensor(0), f, a.tensor(0).dtype(), a.op()));
                                         }}};
constexpr Signature cloneSigs[] = {
    {"clone", formatParams, [](ParsedArgs& a) -> PyObject* {
       return wrap(copyIn(a.tensor(0), format(a, 1, MemoryFormat::Preserve), a.tensor(0).dtype(), "clone"));
     }}};

// ---- reading ----

PyObject* itemObject(const Tensor& t) {
  if (t.numel() != 1) fail("a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  if (PyObject* read = readNumber(t)) return read;
  return elementObject(t.dtype(), readHost(t).data());
}
PyObject* item(PyObject* self, PyObject*) {
  return plain(self, [](const Tensor& t) { return itemObject(t); });
}
PyObject* tolist(PyObject* self, PyObject*) {
  return plain(self, [](const Tensor& t) { return toList(t); });
}
PyObject* numpyOf(const Tensor& t, bool force) {
  if (autograd::requiresGrad(t) && gradEnabled() && !force)
    fail("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
  return toNumpy(t);
}
constexpr ParamSpec numpyParams[] = {kSelf, {"force", P::Bool, true, true}};
constexpr Signature numpySigs[] = {
    {"numpy", numpyParams, [](ParsedArgs& a) -> PyObject* { return numpyOf(a.tensor(0), a.boolean(1)); }}};
constexpr ParamSpec arrayParams[] = {kSelf, {"dtype", P::Any, true, false}, {"copy", P::Any, true, false}};
constexpr Signature arraySigs[] = {{"__array__", arrayParams, [](ParsedArgs& a) -> PyObject* {
                                      PyRef array(checked(numpyOf(a.tensor(0), false)));
                                      if (!a.has(1)) return array.release();
                                      return PyObject_CallMethod(array.get(), "astype", "O", a.object(1));
                                    }}};

constexpr ParamSpec arrayWrapParams[] = {
    kSelf, {"array", P::Any, false, false}, {"context", P::Any, true, false}, {"return_scalar", P::Any, true, false}};
constexpr Signature arrayWrapSigs[] = {{"__array_wrap__", arrayWrapParams, [](ParsedArgs& a) -> PyObject* {
                                          PyRef array(Py_NewRef(a.object(1)));
                                          // What NumPy compares is uint8, as in PyTorch.
                                          if (bufferDType(array.get()) == DType::Bool)
                                            array = PyRef(
                                                checked(PyObject_CallMethod(array.get(), "astype", "s", "uint8")));
                                          return wrap(fromBuffer(array.get(), false));
                                        }}};

// ---- conversion ----

Tensor converted(const Tensor& t, DType dtype, bool copy, MemoryFormat f = MemoryFormat::Preserve) {
  return t.dtype() == dtype && (f == MemoryFormat::Preserve || formatOf(t) == f) && !copy ? t
                                                                                          : copyIn(t, f, dtype, "to");
}
/// On `device` too. What moves is a copy already.
Tensor moved(const Tensor& t, Device device, DType dtype, bool copy, MemoryFormat f, bool late) {
  if (t.device() == device) return converted(t, dtype, copy, f);
  const LateCopies copies(late);
  return copyIn(t, f, dtype, device, "to");
}
Tensor moved(const Tensor& t, Device device, bool late) {
  return moved(t, device, t.dtype(), false, MemoryFormat::Preserve, late);
}

// to(dtype), to(device), to(other), with the rest by keyword.
constexpr ParamSpec toDTypeParams[] = {kSelf,
                                       {"dtype", P::OptionalDType, false, false},
                                       {"non_blocking", P::Bool, true, false},
                                       {"copy", P::Bool, true, false},
                                       {"memory_format", P::Any, true, true}};
constexpr ParamSpec toDeviceParams[] = {kSelf,
                                        {"device", P::Device, true, false},
                                        {"dtype", P::OptionalDType, true, false},
                                        {"non_blocking", P::Bool, true, false},
                                        {"copy", P::Bool, true, false},
                                        {"memory_format", P::Any, true, true}};
constexpr ParamSpec toOtherParams[] = {kSelf,
                                       {"other", P::Tensor, false, false},
                                       {"non_blocking", P::Bool, true, false},
                                       {"copy", P::Bool, true, false},
                                       {"memory_format", P::Any, true, true}};
constexpr Signature toSigs[] = {
    {"to", toDTypeParams,
     [](ParsedArgs& a) -> PyObject* {
       return wrap(
           converted(a.tensor(0), a.dtype(1, a.tensor(0).dtype()), a.boolean(3), format(a, 4, MemoryFormat::Preserve)));
     }},
    {"to", toDeviceParams,
     [](ParsedArgs& a) -> PyObject* {
       const Tensor& t = a.tensor(0);
       return wrap(moved(t, a.has(1) ? deviceFrom(a.object(1)) : t.device(), a.dtype(2, t.dtype()), a.boolean(4),
                         format(a, 5, MemoryFormat::Preserve), a.boolean(3)));
     }},
    {"to", toOtherParams,
     [](ParsedArgs& a) -> PyObject* {
       return wrap(moved(a.tensor(0), a.tensor(1).device(), a.tensor(1).dtype(), a.boolean(3),
                         format(a, 4, MemoryFormat::Preserve), a.boolean(2)));
     }},
};
template <Name name, DType t>
constexpr Signature convertSigs[] = {{name.text, formatParams, [](ParsedArgs& a) -> PyObject* {
                                        return wrap(
                                            converted(a.tensor(0), t, false, format(a, 1, MemoryFormat::Preserve)));
                                      }}};
constexpr ParamSpec otherParams[] = {kSelf, {"other", P::Tensor, false, false}};
constexpr Signature typeAsSigs[] = {
    {"type_as", otherParams, [](ParsedArgs& a) -> PyObject* {
       const Tensor& like = a.tensor(1);
       return wrap(moved(a.tensor(0), like.device(), like.dtype(), false, MemoryFormat::Preserve, false));
     }}};

/// The GPU that `t` is on, else the current one.
Device gpuFor(const Tensor& t) {
  const DeviceKind cuda = cudaKind();
  if (countDevices(cuda) == 0) fail("Tensor.type(): Tandem computes on the CPU only here, as ", whyNoDevice(cuda));
  return t.device().kind == cuda ? t.device() : Device{cuda, static_cast<std::int8_t>(currentGpu)};
}
constexpr const char* kTypeNames[kNumDTypes] = {"Bool", "Byte", "Char",     "Short", "Int",
                                                "Long", "Half", "BFloat16", "Float", "Double"};
constexpr ParamSpec typeParams[] = {kSelf, {"dtype", P::Any, true, false}, {"non_blocking", P::Bool, true, false}};
constexpr Signature typeSigs[] = {
    {"type", typeParams, [](ParsedArgs& a) -> PyObject* {
       const Tensor& t = a.tensor(0);
       if (!a.has(1)) {
         const char* name = kTypeNames[static_cast<int>(t.dtype())];
         if (t.device().isCpu()) return PyUnicode_FromFormat("%s.%sTensor", packageName(), name);
         return PyUnicode_FromFormat("%s.%s.%sTensor", packageName(), kindName(t.device().kind).c_str(), name);
       }
       // Python's types stand for no dtype here.
       if (isDType(a.object(1))) return wrap(converted(t, *asDType(a.object(1)), false));
       // `FloatTensor` and its like, or a name of one: a dtype, and the CPU or the current GPU.
       PyRef text(PyUnicode_Check(a.object(1)) != 0 ? Py_NewRef(a.object(1))
                  : PyType_Check(a.object(1)) != 0  ? checked(PyObject_Str(a.object(1)))
                                                    : nullptr);
       if (text) {
         const std::string whole = PyUnicode_AsUTF8(text.get());
         const std::string name = whole.substr(whole.rfind('.') + 1);
         // The class itself stands for the default dtype.
         if (a.object(1) == reinterpret_cast<PyObject*>(tensorType)) return wrap(converted(t, defaultDType(), false));
         for (int i = 0; i < kNumDTypes; ++i) {
           if (name != std::string(kTypeNames[i]) + "Tensor") continue;
           const Device device = whole.find(".cuda.") == std::string::npos ? Device{} : gpuFor(t);
           return wrap(moved(t, device, static_cast<DType>(i), false, MemoryFormat::Preserve, a.boolean(2)));
         }
         const auto* type = reinterpret_cast<PyTypeObject*>(a.object(1));
         fail<ValueError>("invalid type: '", PyType_Check(a.object(1)) != 0 ? type->tp_name : whole, "'");
       }
       fail<TypeError>("dtype must be a type, str, or dtype object, not ", Py_TYPE(a.object(1))->tp_name);
     }}};

constexpr ParamSpec cudaParams[] = {kSelf, {"device", P::Any, true, false}, {"non_blocking", P::Bool, true, false}};
constexpr Signature cudaSigs[] = {
    {"cuda", cudaParams, [](ParsedArgs& a) -> PyObject* {
       const DeviceKind cuda = cudaKind();
       if (countDevices(cuda) == 0) fail("Tensor.cuda(): Tandem computes on the CPU only here, as ", whyNoDevice(cuda));
       const bool number = a.has(1) && PyLong_Check(a.object(1));
       const Device device = number     ? Device{cuda, static_cast<std::int8_t>(PyLong_AsLong(a.object(1)))}
                             : a.has(1) ? deviceFrom(a.object(1))
                                        : Device{cuda, static_cast<std::int8_t>(currentGpu)};
       if (device.kind != cuda) fail("Invalid device, must be cuda device");
       return wrap(moved(a.tensor(0), device, a.boolean(2)));
     }}};

constexpr ParamSpec pinParams[] = {kSelf, {"device", P::Any, true, false}};
constexpr Signature isPinnedSigs[] = {
    {"is_pinned", pinParams, [](ParsedArgs& a) -> PyObject* { return wrap(isPinned(a.tensor(0))); }}};
constexpr Signature pinMemorySigs[] = {{"pin_memory", pinParams, [](ParsedArgs& a) -> PyObject* {
                                          Tensor t = pinMemory(a.tensor(0));
                                          return t == a.tensor(0) ? a.self() : wrap(std::move(t));
                                        }}};

// ---- new tensors of the same kind -----------------------------------------------------------------------------------

#define TANDEM_NEW_KEYWORDS                                                                                            \
  {"dtype", P::OptionalDType, true, true}, {"device", P::Device, true, true}, {"requires_grad", P::Bool, true, true},  \
      {"layout", P::Layout, true, true}, {                                                                             \
    "pin_memory", P::Any, true, true                                                                                   \
  }
constexpr ParamSpec newSizeParams[] = {kSelf, {"size", P::IntList, false, false}, TANDEM_NEW_KEYWORDS};
constexpr ParamSpec newFullParams[] = {
    kSelf, {"size", P::IntList, false, false}, {"fill_value", P::Scalar, false, false}, TANDEM_NEW_KEYWORDS};
constexpr ParamSpec newTensorParams[] = {kSelf, {"data", P::Any, false, false}, TANDEM_NEW_KEYWORDS};
#undef TANDEM_NEW_KEYWORDS
constexpr Signature newEmptySigs[] = {
    {"new_empty", newSizeParams, [](ParsedArgs& a) -> PyObject* {
       return wrapLeaf(a, oneEach(ops::empty(a.ints(1), a.dtype(2, a.tensor(0).dtype())), a.tensor(0)), a.boolean(4));
     }}};
constexpr Signature newZerosSigs[] = {
    {"new_zeros", newSizeParams, [](ParsedArgs& a) -> PyObject* {
       return wrapLeaf(a, oneEach(ops::zeros(a.ints(1), a.dtype(2, a.tensor(0).dtype())), a.tensor(0)), a.boolean(4));
     }}};
constexpr Signature newOnesSigs[] = {
    {"new_ones", newSizeParams, [](ParsedArgs& a) -> PyObject* {
       return wrapLeaf(a, oneEach(ops::ones(a.ints(1), a.dtype(2, a.tensor(0).dtype())), a.tensor(0)), a.boolean(4));
     }}};
constexpr Signature newFullSigs[] = {
    {"new_full", newFullParams, [](ParsedArgs& a) -> PyObject* {
       return wrapLeaf(a, oneEach(ops::full(a.ints(1), a.scalar(2), a.dtype(3, a.tensor(0).dtype())), a.tensor(0)),
                       a.boolean(5));
     }}};
constexpr Signature newTensorSigs[] = {{"new_tensor", newTensorParams, [](ParsedArgs& a) -> PyObject* {
                                          if (isTensor(a.object(1))) warnOfCopy("tensor.new_tensor(source)");
                                          return wrapLeaf(a, makeTensor(a.object(1), a.dtype(2, a.tensor(0).dtype())),
                                                          a.boolean(4));
                                        }}};

// ---- writes ----
constexpr ParamSpec copyParams[] = {kSelf, {"src", P::Operand, false, false}, {"non_blocking", P::Bool, true, false}};
constexpr Signature copySigs[] = {{"copy_", copyParams, [](ParsedArgs& a) -> PyObject* {
                                     Operand src = a.operand(1);
                                     if (src.isTensor()) {
                                       refusePartialOverlap("copy_", a.tensor(0), {src});
                                       const LateCopies copies(a.boolean(2));
                                       ops::replace(a.tensor(0), src.tensor());
                                     } else {
                                       ops::fillInto(a.tensor(0), src);
                                     }
                                     return a.self();
                                   }}};
/// `t`, in which each element that an expanded dim repeats is there once: one value fills them all.
Tensor oneOfEach(Tensor t) {
  for (std::int64_t d = 0; d < t.dim(); ++d)
    if (t.strides()[d] == 0 && t.size(d) > 1) t = ops::narrow(t, d, 0, 1);
  return t;
}

constexpr ParamSpec fillParams[] = {kSelf, {"value", P::Operand, false, false}};
constexpr Signature fillSigs[] = {{"fill_", fillParams, [](ParsedArgs& a) -> PyObject* {
                                     Operand value = a.operand(1);
                                     if (value.isTensor() && value.tensor().dim() != 0) {
                                       fail("fill_ only supports 0-dimension value tensor but got tensor with ",
                                            value.tensor().dim(), " dimensions.");
                                     }
                                     if (!value.isTensor())
                                       needHeldByAll("fill_", a.tensor(0).dtype(), a.tensor(0).numel(), value.scalar());
                                     ops::fillInto(value.isTensor() ? a.tensor(0) : oneOfEach(a.tensor(0)), value);
                                     return a.self();
                                   }}};
PyObject* zeroInPlace(PyObject* self, PyObject*) {
  return plain(self, [&](const Tensor& t) {
    ops::fillInto(oneOfEach(t), Scalar(0));
    return Py_NewRef(self);
  });
}

// ---- places of elements ---------------------------------------------------------------------------------------------

constexpr ParamSpec maskedSelectParams[] = {kSelf, {"mask", P::Tensor, false, false}};
Tensor maskedSelect(const Tensor& t, const Tensor& mask) {
  Dims shape = broadcastShapes("masked_select", t.shape(), mask.shape());
  Tensor m = mask.shape() == shape ? mask : ops::expand(mask, shape);
  Tensor x = t.shape() == shape ? t : ops::expand(t, shape);
  if (m.dtype() != DType::Bool) fail("masked_select: expected BoolTensor for mask");
  return selectByMask(x, m);
}
constexpr Signature maskedSelectSigs[] = {
    {"masked_select", maskedSelectParams,
     [](ParsedArgs& a) -> PyObject* { return wrap(a, maskedSelect(a.tensor(0), a.tensor(1))); }, true}};
constexpr ParamSpec viewParams[] = {kSelf, {"size", P::IntList, false, false}};
constexpr ParamSpec viewAsParams[] = {kSelf, {"dtype", P::OptionalDType, false, false}};
constexpr Signature viewSigs[] = {
    {"view", viewParams, [](ParsedArgs& a) -> PyObject* { return wrap(ops::view(a.tensor(0), a.ints(1))); }},
    {"view", viewAsParams,
     [](ParsedArgs& a) -> PyObject* { return wrap(viewAs(a.tensor(0), a.dtype(1, a.tensor(0).dtype()))); }},
};
constexpr ParamSpec nonzeroParams[] = {kSelf, {"as_tuple", P::Bool, true, true}};
constexpr Signature nonzeroSigs[] = {{"nonzero", nonzeroParams,
                                      [](ParsedArgs& a) -> PyObject* {
                                        const Tensor& t = a.tensor(0);
                                        if (!a.boolean(1)) return wrap(a, ops::nonzero(t));
                                        if (a.out() != nullptr)
                                          fail("nonzero does not support the out kwarg when as_tuple is True");
                                        return wrap(nonzeroColumns(t.dim() == 0 ? ops::unsqueeze(t, 0) : t));
                                      },
                                      true}};

constexpr ParamSpec powerParams[] = {kSelf, {"exponent", P::Operand, false, false}};
constexpr Signature floatPowerSigs[] = {
    {"float_power_", powerParams, [](ParsedArgs& a) -> PyObject* {
       const Tensor& t = a.tensor(0);
       if (t.dtype() != DType::Float64)
         fail("the base given to float_power_ has dtype ", dtypeClassName(t.dtype()),
              " but the operation's result requires dtype Double");
       ops::assignResult("float_power", t, [&] { return ops::float_power(t, a.operand(1)); });
       return a.self();
     }}};
constexpr Signature equalSigs[] = {
    {"equal", otherParams, [](ParsedArgs& a) -> PyObject* { return wrap(sameElements(a.tensor(0), a.tensor(1))); }}};

// ---- autograd ----

constexpr ParamSpec requiresGradParams[] = {kSelf, {"requires_grad", P::Bool, true, false}};
constexpr Signature requiresGradSigs[] = {{"requires_grad_", requiresGradParams, [](ParsedArgs& a) -> PyObject* {
                                             autograd::setRequiresGrad(a.tensor(0), a.boolean(1, true));
                                             return a.self();
                                           }}};
PyObject* detach(PyObject* self, PyObject*) {
  return plain(self, [&](const Tensor& t) {
    if (overridesMayAct())
      if (auto answer = askClasses("detach", self, nullptr)) return *answer;
    return wrap(autograd::detach(t));
  });
}
PyObject* detachInPlace(PyObject* self, PyObject*) {
  return plain(self, [&](const Tensor& t) {
    autograd::detachInPlace(t);
    return Py_NewRef(self);
  });
}
PyObject* retainGrad(PyObject* self, PyObject*) {
  return plain(self, [](const Tensor& t) -> PyObject* {
    autograd::retainGrad(t);
    Py_RETURN_NONE;
  });
}

constexpr ParamSpec subclassParams[] = {
    {"cls", P::Any, false, false}, {"data", P::Tensor, false, false}, {"requires_grad", P::Bool, true, false}};
PyTypeObject* classOf(PyObject* cls) {
  if (cls == nullptr || !PyType_Check(cls) || PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensorType) == 0) {
    fail<TypeError>("cls must be a subclass of tandem.Tensor");
  }
  return reinterpret_cast<PyTypeObject*>(cls);
}
constexpr Signature subclassSigs[] = {{"_make_subclass", subclassParams, [](ParsedArgs& a) -> PyObject* {
                                         Tensor t = autograd::detach(a.tensor(1));
                                         if (a.boolean(2)) autograd::setRequiresGrad(t, true);
                                         return wrapAs(classOf(a.object(0)), std::move(t));
                                       }}};
// The same values as another class: an alias in the graph.
constexpr ParamSpec asSubclassParams[] = {kSelf, {"cls", P::Any, false, false}};
constexpr Signature asSubclassSigs[] = {{"as_subclass", asSubclassParams, [](ParsedArgs& a) -> PyObject* {
                                           return wrapAs(classOf(a.object(1)), ops::alias(a.tensor(0)));
                                         }}};

// ---- methods written in Python (tandem/_support.py) ----

template <Name name, Name method>
PyObject* support(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  if (overridesMayAct()) [[unlikely]] {
    std::optional<PyObject*> answer;
    if (guardedInt([&] { return answer = askReader(method.text, Call{self, args, n, keywords}), 0; }) < 0)
      return nullptr;
    if (answer) return *answer;
  }
  static PyObject* function = nullptr;
  if (function == nullptr) {
    PyRef module(PyImport_ImportModule("tandem._support"));
    if (module) function = PyObject_GetAttrString(module.get(), name.text);
    if (function == nullptr) return nullptr;
  }
  Py_ssize_t total = n + (keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0);
  std::vector<PyObject*> all;
  all.reserve(static_cast<std::size_t>(total) + 1);
  all.push_back(self);
  all.insert(all.end(), args, args + total);
  return PyObject_Vectorcall(function, all.data(), static_cast<std::size_t>(n) + 1, keywords);
}
template <Name name, Name method = name>
PyMethodDef inPython(const char* doc) {
  return {method.text, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&support<name, method>)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

/// The method of a kind of devices that is written in Python as `to_` and its name.
template <Name name>
PyMethodDef toDevices(const char* doc) {
  return inPython<name, name.template from<3>()>(doc);
}

}  // namespace

std::vector<PyMethodDef> tensorMethodDefs() {
  std::vector<PyMethodDef> all = randomMethodDefs();
  std::vector<PyMethodDef> own = {
      method<sizeSigs>("size", doc::method_size),
      method<strideSigs>("stride", doc::method_stride),
      reader<"dim", dim>(doc::method_dim),
      reader<"ndimension", dim>(doc::method_ndimension),
      reader<"numel", numel>(doc::method_numel),
      reader<"nelement", numel>(doc::method_nelement),
      reader<"storage_offset", storageOffset>(doc::method_storage_offset),
      reader<"element_size", elementSize>(doc::method_element_size),
      reader<"data_ptr", dataPtr>(doc::method_data_ptr),
      reader<"is_floating_point", isFloatingPoint>(doc::method_is_floating_point),
      reader<"is_complex", isComplex>(doc::method_is_complex),
      reader<"is_signed", isSignedMethod>(doc::method_is_signed),
      reader<"is_inference", isInference>(doc::method_is_inference),
      inPython<"is_view", "_is_view">("Is it a view of another tensor, its `_base`?"),
      method<isPinnedSigs>("is_pinned", doc::method_is_pinned),
      reader<"is_shared", no>(doc::method_is_shared),
      reader<"get_device", getDevice>(doc::method_get_device),
      method<pinMemorySigs>("pin_memory", doc::method_pin_memory),
      inPython<"record_stream">(doc::method_record_stream),
      reader<"resolve_conj", itself>(doc::method_resolve_conj),
      reader<"resolve_neg", itself>(doc::method_resolve_neg),
      reader<"conj", itself>(doc::method_conj),
      reader<"conj_physical", itself>(doc::method_conj_physical),
      reader<"conj_physical_", itself>(doc::method_conj_physical_),
      method<isContiguousSigs>("is_contiguous", doc::method_is_contiguous),
      method<contiguousSigs>("contiguous", doc::method_contiguous),
      method<cloneSigs>("clone", doc::method_clone),
      reader<"item", item>(doc::method_item),
      reader<"tolist", tolist>(doc::method_tolist),
      method<numpySigs>("numpy", doc::method_numpy),
      method<arraySigs>("__array__", "For numpy.asarray."),
      method<arrayWrapSigs>("__array_wrap__", "The result of a function of NumPy, as a tensor."),
      method<toSigs>("to", doc::method_to),
      method<convertSigs<"float", DType::Float32>>("float", doc::method_float),
      method<convertSigs<"double", DType::Float64>>("double", doc::method_double),
      method<convertSigs<"half", DType::Float16>>("half", doc::method_half),
      method<convertSigs<"bfloat16", DType::BFloat16>>("bfloat16", doc::method_bfloat16),
      method<convertSigs<"int", DType::Int32>>("int", doc::method_int),
      method<convertSigs<"long", DType::Int64>>("long", doc::method_long),
      method<convertSigs<"short", DType::Int16>>("short", doc::method_short),
      method<convertSigs<"char", DType::Int8>>("char", doc::method_char),
      method<convertSigs<"byte", DType::UInt8>>("byte", doc::method_byte),
      method<convertSigs<"bool", DType::Bool>>("bool", doc::method_bool),
      method<typeAsSigs>("type_as", doc::method_type_as),
      method<typeSigs>("type", doc::method_type),
      reader<"cpu", onCpu>(doc::method_cpu),
      method<cudaSigs>("cuda", doc::method_cuda),
      method<newEmptySigs>("new_empty", doc::method_new_empty),
      method<newZerosSigs>("new_zeros", doc::method_new_zeros),
      method<newOnesSigs>("new_ones", doc::method_new_ones),
      method<newFullSigs>("new_full", doc::method_new_full),
      method<newTensorSigs>("new_tensor", doc::method_new_tensor),
      method<copySigs>("copy_", doc::method_copy_),
      method<fillSigs>("fill_", doc::method_fill_),
      reader<"zero_", zeroInPlace>(doc::method_zero_),
      method<maskedSelectSigs>("masked_select", doc::method_masked_select),
      method<nonzeroSigs>("nonzero", doc::method_nonzero),
      method<viewSigs>("view", doc::method_view),
      method<floatPowerSigs>("float_power_", doc::method_float_power_),
      reader<"is_conj", no>(doc::method_is_conj),
      reader<"is_neg", no>(doc::method_is_neg),
      reader<"share_memory_", shareMemory>(doc::method_share_memory_),
      inPython<"is_nonzero">(doc::method_is_nonzero),
      inPython<"tensor_new", "new">(doc::method_new),
      {"_storage_bytes", storageBytes, METH_NOARGS, nullptr},
      inPython<"tensor_storage", "storage">(doc::method_storage),
      inPython<"untyped_storage">(doc::method_untyped_storage),
      inPython<"tensor_set", "set_">(doc::method_set_),
      inPython<"lu">(doc::method_lu),
      inPython<"lu_solve">(doc::method_lu_solve),
      inPython<"ormqr">(doc::method_ormqr),
      inPython<"triangular_solve">(doc::method_triangular_solve),
      inPython<"tensor_apply", "apply_">(doc::method_apply_),
      inPython<"tensor_map", "map_">(doc::method_map_),
      inPython<"tensor_map2", "map2_">(doc::method_map2_),
      inPython<"is_set_to">(doc::method_is_set_to),
      inPython<"module_load">(doc::method_module_load),
      inPython<"dim_order">(doc::method_dim_order),
      inPython<"new_empty_strided">(doc::method_new_empty_strided),
      toDevices<"to_xpu">(doc::method_xpu),
      toDevices<"to_ipu">(doc::method_ipu),
      toDevices<"to_mtia">(doc::method_mtia),
      inPython<"tensor_histogram", "histogram">(doc::method_histogram),
      inPython<"tensor_to_dense", "to_dense">(doc::method_to_dense),
      method<requiresGradSigs>("requires_grad_", doc::method_requires_grad_),
      {"detach", detach, METH_NOARGS, doc::method_detach},
      reader<"detach_", detachInPlace>(doc::method_detach_),
      reader<"retain_grad", retainGrad>(doc::method_retain_grad),
      backwardMethod(),
      inPython<"register_hook">(doc::method_register_hook),
      inPython<"register_post_accumulate_grad_hook">(doc::method_register_post_accumulate_grad_hook),
      method<equalSigs>("equal", doc::method_equal),
      inPython<"allclose">(doc::method_allclose),
      inPython<"tensor_copy", "__copy__">(nullptr),
      inPython<"tensor_deepcopy", "__deepcopy__">(nullptr),
      inPython<"tensor_reduce", "__reduce_ex__">(nullptr),
      inPython<"tensor_format", "__format__">(nullptr),
      inPython<"tensor_reversed", "__reversed__">(nullptr),
      inPython<"to_dlpack", "__dlpack__">(nullptr),
      inPython<"dlpack_device", "__dlpack_device__">(nullptr),
      {"_make_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&functionEntry<subclassSigs>)),
       METH_FASTCALL | METH_KEYWORDS | METH_STATIC, "_make_subclass(cls, data, requires_grad=False)"},
      method<asSubclassSigs>("as_subclass", doc::method_as_subclass),
  };
  all.insert(all.end(), own.begin(), own.end());
  const std::vector<PyMethodDef> ofSizes = sizeMethodDefs();
  all.insert(all.end(), ofSizes.begin(), ofSizes.end());
  return all;
}

}  // namespace tandem::python
