// Functions of the module that no record makes.
#include <limits>

#include "autograd/autograd.h"
#include "eager/compute_flags.h"
#include "eager/helpers.h"
#include "eager/host.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "ir/schema/op_table.h"
#include "python/src/arg_parser.h"
#include "python/src/bindings.h"
#include "python/src/convert.h"
#include "python/src/docs.h"
#include "python/src/py_tensor.h"
#include "runtime/base/counters.h"
#include "runtime/base/warn.h"
#include "runtime/device/thread_pool.h"
#include "runtime/memory/allocator.h"

namespace tandem::python {

namespace {

using P = ParamType;

// ---- tensors from data
// --------------------------------------------------------------------------------------------------

constexpr ParamSpec tensorParams[] = {{"data", P::Any, false, false},
                                      {"dtype", P::OptionalDType, true, true},
                                      {"device", P::Device, true, true},
                                      {"requires_grad", P::Bool, true, true},
                                      {"pin_memory", P::Any, true, true}};
constexpr Signature tensorSigs[] = {{"tensor", tensorParams, [](ParsedArgs& a) -> PyObject* {
                                       if (isTensor(a.object(0))) warnOfCopy("tensor(source)");
                                       return wrapLeaf(a, makeTensor(a.object(0), a.dtype(1)), a.boolean(3));
                                     }}};

// Shares memory where it can.
constexpr ParamSpec asTensorParams[] = {{"data", P::Any, false, false},
                                        {"dtype", P::OptionalDType, true, false},
                                        {"device", P::Device, true, false},
                                        {"copy", P::Bool, true, true},
                                        {"requires_grad", P::Bool, true, true}};
PyObject* asTensor(ParsedArgs& a) {
  PyObject* data = a.object(0);
  std::optional<DType> dtype = a.dtype(1);
  if (a.boolean(3)) return wrapLeaf(a, makeTensor(data, dtype), a.boolean(4));
  const bool mayCopy = !a.has(3);
  auto placed = [&](const Tensor& t) {
    Tensor there = toDevice(t, currentDevice, dtype.value_or(t.dtype()));
    if (!mayCopy && there.impl()->storage != t.impl()->storage)
      fail<ValueError>(a.op(), "(): ", dtypeName(t.dtype()), " on ", deviceName(t.device()), " is not ",
                       dtypeName(there.dtype()), " on ", deviceName(there.device()), " without a copy");
    return there;
  };
  if (isTensor(data)) {
    const Tensor t = placed(tensorOf(data));
    if (a.has(4) && a.boolean(4) != t.requiresGrad()) return wrapLeaf(a, autograd::detach(t), a.boolean(4));
    return t == tensorOf(data) ? Py_NewRef(data) : wrap(t);
  }
  if (PyList_Check(data) && PyList_GET_SIZE(data) > 0 &&
      std::string_view(Py_TYPE(PyList_GET_ITEM(data, 0))->tp_name) == "numpy.ndarray") {
    warnOnce("Creating a tensor from a list of numpy.ndarrays is extremely slow. Convert the list to a single "
             "numpy.ndarray with numpy.array() before converting to a tensor.");
  }
  const bool plain = PyList_Check(data) || PyTuple_Check(data) || isNumber(data);
  if (plain && !mayCopy && std::string_view(Py_TYPE(data)->tp_name).starts_with("numpy."))
    fail(a.op(), "(): can't alias NumPy scalars: leave out copy=False, or make an array of it");
  if (plain && !mayCopy)
    fail<ValueError>(a.op(), "(): ", Py_TYPE(data)->tp_name, " has no memory that a tensor could share without a copy");
  if (!plain && PyObject_CheckBuffer(data) != 0) {
    return wrapLeaf(a, placed(fromBuffer(data)), a.boolean(4));
  }
  if (const Tensor shared = plain ? Tensor() : fromOtherLibrary(data); shared.defined()) {
    // What is on a GPU stays there, where no device is named.
    const bool stays = !a.has(2) && !shared.device().isCpu();
    return wrapLeaf(a, stays ? ops::toDType(shared, dtype.value_or(shared.dtype())) : placed(shared), a.boolean(4));
  }
  return wrapLeaf(a, makeTensor(data, dtype), a.boolean(4));
}
constexpr Signature asTensorSigs[] = {{"as_tensor", asTensorParams, asTensor}};
constexpr Signature asArraySigs[] = {{"asarray", asTensorParams, asTensor}};

PyObject* fromNumpy(PyObject*, PyObject* array) {
  return guarded([&] {
    PyRef type(PyObject_Type(array));
    if (isTensor(array) || PyList_Check(array) || isNumber(array)) {
      fail<TypeError>("expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
    }
    return wrap(fromBuffer(array));
  });
}

constexpr ParamSpec fromBufferParams[] = {{"buffer", P::Any, false, false},
                                          {"dtype", P::OptionalDType, false, true},
                                          {"count", P::Int, true, true},
                                          {"offset", P::Int, true, true},
                                          {"requires_grad", P::Bool, true, true}};
constexpr Signature fromBufferSigs[] = {
    {"frombuffer", fromBufferParams, [](ParsedArgs& a) -> PyObject* {
       if (PyObject_CheckBuffer(a.object(0)) == 0)
         fail<ValueError>("frombuffer(): ", Py_TYPE(a.object(0))->tp_name,
                          " object does not implement Python buffer protocol.");
       Tensor bytes = ops::reshape(fromBuffer(a.object(0)), Dims{-1});
       DType t = a.dtype(1).value();
       auto size = static_cast<std::int64_t>(itemSize(t));
       std::int64_t offset = a.integer(3);
       std::int64_t length = bytes.numel() * static_cast<std::int64_t>(itemSize(bytes.dtype()));
       std::int64_t have = length - offset;
       std::int64_t count = a.integer(2, -1);
       if (length == 0 || count == 0)
         fail<ValueError>("frombuffer(): both buffer length (", length, ") and count (", count, ") must not be 0");
       if (count < 0 && have % size != 0)
         fail<ValueError>("frombuffer(): buffer length (", length, " bytes) after offset (", offset,
                          " bytes) must be a multiple of element size (", size, ")");
       if (count < 0) count = have / size;
       if (offset < 0 || have <= 0 || count > have / size || offset % size != 0) {
         fail<ValueError>("frombuffer(): ", count, " elements of ", dtypeName(t), " at byte ", offset,
                          " do not fit a buffer of ", have + offset, " bytes");
       }
       Ref<Storage> storage = bytes.impl()->storage;
       Tensor made(new TensorImpl(storage, t, Dims{count}, Dims{1}, offset / size));
       if (a.boolean(4)) autograd::setRequiresGrad(made, true);
       return wrap(made);
     }}};

// The elements of a contiguous tensor as bytes, for pickling.
PyObject* bytesOf(PyObject*, PyObject* o) {
  return guarded([&] {
    if (!isTensor(o)) fail<TypeError>("expected a Tensor, not ", Py_TYPE(o)->tp_name);
    const Tensor t = readHost(ops::contiguous(tensorOf(o)));
    auto bytes = static_cast<Py_ssize_t>(t.numel()) * static_cast<Py_ssize_t>(itemSize(t.dtype()));
    return PyBytes_FromStringAndSize(bytes == 0 ? "" : t.dataAs<const char>(), bytes);
  });
}

// Each of two objects gets the tensor, the class and the attributes of the other.
PyObject* swapTensors(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* one = nullptr;
    PyObject* other = nullptr;
    if (PyArg_ParseTuple(args, "OO:swap_tensors", &one, &other) == 0) throw PythonError();
    for (PyObject* o : {one, other})
      if (!isTensor(o)) fail<TypeError>("swap_tensors: expected a Tensor, not ", Py_TYPE(o)->tp_name);
    auto* a = reinterpret_cast<PyTensor*>(one);
    auto* b = reinterpret_cast<PyTensor*>(other);
    if (a->weakrefs != nullptr || b->weakrefs != nullptr)
      fail("Cannot swap ", a->weakrefs != nullptr ? "t1" : "t2", " because it has weakref associated with it");
    if (Py_TYPE(one)->tp_basicsize != Py_TYPE(other)->tp_basicsize)
      fail("Cannot swap t1 and t2 if they have different slots");
    if (one == other) return Py_NewRef(Py_None);
    std::swap(a->tensor, b->tensor);
    std::swap(a->dict, b->dict);
    a->tensor.impl()->pyObject = one;
    b->tensor.impl()->pyObject = other;
    // Each class is held as often as before.
    PyTypeObject* type = Py_TYPE(one);
    Py_SET_TYPE(one, Py_TYPE(other));
    Py_SET_TYPE(other, type);
    return Py_NewRef(Py_None);
  });
}

// ---- dtypes
// ---------------------------------------------------------------------------------------------------------------

DType dtypeArgument(PyObject* o, const char* op) {
  auto t = asDType(o);
  if (!t) fail<TypeError>(op, "(): expected a tandem.dtype, not ", Py_TYPE(o)->tp_name);
  return *t;
}
PyObject* promote(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (PyArg_ParseTuple(args, "OO:promote_types", &a, &b) == 0) return nullptr;
  return guarded(
      [&] { return wrap(promoteTypes(dtypeArgument(a, "promote_types"), dtypeArgument(b, "promote_types"))); });
}
PyObject* canCast(PyObject*, PyObject* args) {
  PyObject *from, *to;
  if (PyArg_ParseTuple(args, "OO:can_cast", &from, &to) == 0) return nullptr;
  return guarded([&] {
    DType f = dtypeArgument(from, "can_cast");
    DType t = dtypeArgument(to, "can_cast");
    bool sign = isInteger(f) && isSigned(f) && t == DType::UInt8;
    return wrap(category(f) <= category(t) && !sign);
  });
}
constexpr ParamSpec twoOperands[] = {{"tensor1", P::Operand, false, false}, {"tensor2", P::Operand, false, false}};
TensorMeta metaFor(const Operand& o) {
  TensorMeta m;
  if (o.isTensor()) {
    m.shape = o.tensor().shape();
    m.dtype = o.tensor().dtype();
  } else {
    m.weak = true;
    m.dtype = o.scalar().kind == Scalar::Kind::Bool  ? DType::Bool
              : o.scalar().kind == Scalar::Kind::Int ? DType::Int64
                                                     : DType::Float64;
  }
  return m;
}
constexpr Signature resultTypeSigs[] = {{"result_type", twoOperands, [](ParsedArgs& a) -> PyObject* {
                                           TensorMeta metas[] = {metaFor(a.operand(0)), metaFor(a.operand(1))};
                                           return wrap(resultType(metas));
                                         }}};
PyObject* setDefaultDTypeFn(PyObject*, PyObject* t) {
  return guarded([&]() -> PyObject* {
    // Python's types stand for no dtype here.
    if (!isDType(t) || !isFloating(*asDType(t)))
      fail<TypeError>("invalid dtype object: only floating-point types are supported as the default type");
    setDefaultDType(*asDType(t));
    Py_RETURN_NONE;
  });
}
PyObject* getDefaultDType(PyObject*, PyObject*) { return wrap(defaultDType()); }
PyObject* elementBytes(PyObject*, PyObject* t) {
  return guarded([&] { return PyLong_FromSize_t(itemSize(dtypeArgument(t, "_element_size"))); });
}

// ---- modes
// ----------------------------------------------------------------------------------------------------------------

PyObject* isGradEnabled(PyObject*, PyObject*) { return wrap(gradEnabled()); }
PyObject* setGrad(PyObject*, PyObject* on) {
  int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  setGradEnabled(value != 0);
  Py_RETURN_NONE;
}
PyObject* isInferenceMode(PyObject*, PyObject*) { return wrap(inferenceMode()); }
PyObject* setInference(PyObject*, PyObject* on) {
  int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  setInferenceMode(value != 0);
  Py_RETURN_NONE;
}

PyObject* getComputeFlags(PyObject*, PyObject*) {
  const ComputeFlags f = computeFlags();
  return Py_BuildValue("(NNN)", PyBool_FromLong(f.matmulTf32 ? 1 : 0), PyBool_FromLong(f.convolutionTf32 ? 1 : 0),
                       PyBool_FromLong(f.cudnn ? 1 : 0));
}
PyObject* setComputeFlagsFn(PyObject*, PyObject* args) {
  int matmulTf32, convolutionTf32, cudnn;
  if (PyArg_ParseTuple(args, "ppp", &matmulTf32, &convolutionTf32, &cudnn) == 0) return nullptr;
  setComputeFlags({matmulTf32 != 0, convolutionTf32 != 0, cudnn != 0});
  Py_RETURN_NONE;
}

// ---- threads, counters, memory
// ----------------------------------------------------------------------------------------------

PyObject* getThreads(PyObject*, PyObject*) { return PyLong_FromLong(numThreads()); }
PyObject* setThreads(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    if (!PyLong_Check(n) || PyBool_Check(n)) {
      fail<TypeError>("set_num_threads expects an int, but got ", Py_TYPE(n)->tp_name);
    }
    std::int64_t v = indexOf(n);
    if (v < 1) fail("set_num_threads expects a positive integer");
    if (v > std::numeric_limits<std::int32_t>::max())
      fail<ValueError>("set_num_threads: ", v, " is more than a number of threads can be");
    setNumThreads(static_cast<int>(std::min<std::int64_t>(v, 1024)));
    Py_RETURN_NONE;
  });
}
PyObject* countersFn(PyObject*, PyObject*) {
  const Counters& c = counters();
  const AllocatorStats memory = allocatorStats();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "kernel_compiles", c.kernelCompiles.load(),
                       "kernel_cache_hits", c.kernelCacheHits.load(), "kernel_launches", c.kernelLaunches.load(),
                       "graph_launches", c.graphLaunches.load(), "graph_traces", c.graphTraces.load(), "plan_builds",
                       c.planBuilds.load(), "plan_sizings", c.planSizings.load(), "plan_reads", c.planReads.load(),
                       "plans_kept", c.plansKept.load(), "bytes_allocated", static_cast<long long>(memory.bytesInUse),
                       "peak_bytes", static_cast<long long>(memory.peakBytes));
}
PyObject* memoryStats(PyObject*, PyObject*) {
  AllocatorStats s = allocatorStats();
  return Py_BuildValue("{s:L,s:L,s:L,s:L}", "bytes_in_use", s.bytesInUse, "peak_bytes", s.peakBytes, "bytes_cached",
                       s.bytesCached, "allocations", s.allocations);
}
PyObject* emptyCacheFn(PyObject*, PyObject*) {
  emptyCache();
  Py_RETURN_NONE;
}
PyObject* failAllocationFn(PyObject*, PyObject* n) {
  return guarded([&] { return PyBool_FromLong(failAllocation(PyLong_AsLongLong(n))); });
}

constexpr ParamSpec cloneParams[] = {{"input", P::Tensor, false, false}, {"memory_format", P::Any, true, true}};
constexpr Signature cloneSigs[] = {{"clone", cloneParams, [](ParsedArgs& a) -> PyObject* {
                                      const MemoryFormat format =
                                          a.has(1) ? memoryFormatOf(a.object(1), "clone") : MemoryFormat::Preserve;
                                      return wrap(copyIn(a.tensor(0), format, a.tensor(0).dtype(), "clone"));
                                    }}};

PyMethodDef plainFunctions[] = {
    {"from_numpy", fromNumpy, METH_O, doc::function_from_numpy},
    {"promote_types", promote, METH_VARARGS, doc::function_promote_types},
    {"can_cast", canCast, METH_VARARGS, doc::function_can_cast},
    {"set_default_dtype", setDefaultDTypeFn, METH_O, doc::function_set_default_dtype},
    {"get_default_dtype", getDefaultDType, METH_NOARGS, doc::function_get_default_dtype},
    {"_element_size", elementBytes, METH_O, "Bytes of one element of a dtype."},
    {"is_grad_enabled", isGradEnabled, METH_NOARGS, doc::function_is_grad_enabled},
    {"_set_grad_enabled", setGrad, METH_O, "Turns grad mode on or off for this thread."},
    {"is_inference_mode_enabled", isInferenceMode, METH_NOARGS, doc::function_is_inference_mode_enabled},
    {"_named_result", namedResult, METH_VARARGS, "The named tuple of several results."},
    {"_package_name", [](PyObject*, PyObject*) { return PyUnicode_FromString(packageName()); }, METH_NOARGS,
     "The name that dtypes, sizes and their like show as the package's."},
    {"_set_package_name", setPackageName, METH_O, "Sets the name that dtypes, sizes and their like show."},
    {"_set_inference_mode", setInference, METH_O, "Turns inference mode on or off for this thread."},
    {"_compute_flags", getComputeFlags, METH_NOARGS, "(TF32 in products, TF32 in convolutions, cuDNN) of the process."},
    {"_set_compute_flags", setComputeFlagsFn, METH_VARARGS,
     "(TF32 in products, TF32 in convolutions, cuDNN): sets them."},
    {"get_num_threads", getThreads, METH_NOARGS, doc::function_get_num_threads},
    {"set_num_threads", setThreads, METH_O, doc::function_set_num_threads},
    {"counters", countersFn, METH_NOARGS, doc::function_counters},
    {"_memory_stats", memoryStats, METH_NOARGS, "Statistics of the allocator."},
    {"_empty_cache", emptyCacheFn, METH_NOARGS, "Returns cached memory to the system."},
    {"_fail_allocation", failAllocationFn, METH_O, "For tests: allocation n from now on fails; whether the last did."},
    {"_bytes_of", bytesOf, METH_O, "The elements of a tensor as bytes."},
    {"_swap_tensors", swapTensors, METH_VARARGS, "Swaps what two objects are."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void initModuleFunctions(PyObject* module) {
  static PyMethodDef parsedFunctions[] = {
      function<tensorSigs>("tensor", doc::function_tensor),
      function<asTensorSigs>("as_tensor", doc::function_as_tensor),
      function<asArraySigs>("asarray", doc::function_asarray),
      function<cloneSigs>("clone", doc::function_clone),
      function<fromBufferSigs>("frombuffer", doc::function_frombuffer),
      function<resultTypeSigs>("result_type", doc::function_result_type),
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, parsedFunctions));
  checked(PyModule_AddFunctions(module, plainFunctions));
}

}  // namespace tandem::python
