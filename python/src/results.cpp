// Results of operations as Python objects: wrapping, named tuples, `out=`.
#include <Python.h>
#include <algorithm>
#include <structmember.h>
#include <structseq.h>
#include <unordered_map>
#include <unordered_set>

#include "autograd/autograd.h"
#include "eager/batch.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/overlap.h"
#include "eager/tape_hook.h"
#include "python/src/arg_parser.h"
#include "python/src/convert.h"
#include "python/src/cuda_bindings.h"
#include "python/src/py_tensor.h"
#include "python/src/words.h"
#include "runtime/base/attrs.h"

namespace tandem::python {

bool ParsedArgs::reach(const Tensor& t) const {
  const auto inMemory = [&](PyObject* o) {
    return o != nullptr && isTensor(o) && tensorOf(o).impl()->storage == t.impl()->storage;
  };
  for (PyObject* o : std::span(values_, numParams())) {
    if (inMemory(o)) return true;
    if (o == nullptr || !(PyList_Check(o) || PyTuple_Check(o))) continue;
    if (std::ranges::any_of(std::span(PySequence_Fast_ITEMS(o), PySequence_Fast_GET_SIZE(o)), inMemory)) return true;
  }
  return std::any_of(varargs_, varargs_ + numVarargs_, inMemory);
}

PyObject* wrap(bool v) { return PyBool_FromLong(v ? 1 : 0); }
PyObject* wrap(std::int64_t v) { return PyLong_FromLongLong(v); }
PyObject* wrap(double v) { return PyFloat_FromDouble(v); }
PyObject* wrap(DType v) { return Py_NewRef(dtypeObject(v)); }
PyObject* wrap(const Scalar& v) {
  if (v.slot >= 0) fail<InternalError>("a number of a trace has no value yet");
  switch (v.kind) {
  case Scalar::Kind::Bool:
    return wrap(v.asInt() != 0);
  case Scalar::Kind::Int:
    return wrap(v.asInt());
  default:
    return wrap(v.asDouble());
  }
}

PyObject* wrapAlone(Tensor t) {
  TensorImpl* impl = t.impl();
  if (impl->viewBase && gradEnabled()) tapeHook->refreshView(impl);
  impl->viewBase = nullptr;
  impl->origin = ViewOrigin::Plain;
  return wrap(std::move(t));
}

PyObject* wrap(std::span<const Tensor> tensors) {
  PyRef tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size()))));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(tensors[i])));
  }
  return tuple.release();
}

namespace {

void checkStores(const char* op, DType result, DType out) {
  if (category(result) > category(out)) {
    fail(op, "(): result type ", dtypeClassName(result), " can't be cast to the desired output type ",
         dtypeClassName(out));
  }
}

/// Operations that write results as they are, and so into their own dtype only, as PyTorch's.
bool writesOwnDType(const ParsedArgs& a) {
  static const auto list =
      wordsOf("mm bmm addmm baddbmm addbmm mv addmv matmul dot index_select gather take tril triu diag "
              "masked_select nonzero argmax argmin amax amin isposinf isneginf take_along_dim cross logcumsumexp "
              "renorm abs absolute ceil floor frac neg negative round sign sgn trunc fix bitwise_not signbit norm "
              "nan_to_num msort histc quantile where clamp clip softmax log_softmax index_add index_copy scatter "
              "scatter_add scatter_reduce multinomial searchsorted bucketize isin gelu inv inverse vector_norm "
              "argsort multi_dot nonzero_static avg_pool2d avg_pool3d linear solve cholesky index_reduce "
              "slice_scatter select_scatter diagonal_scatter heaviside lerp tensordot vecdot det matrix_power inner "
              "vdot narrow_copy solve_triangular eigvalsh svdvals matrix_norm ldl_solve lu_solve chain_matmul "
              "nanquantile clamp_min clamp_max float_power");
  static const std::unordered_set<std::string_view> names(list.begin(), list.end());
  const std::string_view op = a.op();
  if (!names.contains(op)) return false;
  // PyTorch's kernels of bounds that are tensors convert, those of weights that are numbers too.
  const auto isTensorAt = [&](std::size_t i) {
    return i < a.numParams() && a.object(i) != nullptr && isTensor(a.object(i));
  };
  if (op.starts_with("clamp") || op == "clip") return !isTensorAt(1) && !isTensorAt(2);
  return op != "lerp" || isTensorAt(2);
}
/// Whether something holds: bools, or bytes for callers from before there were bools.
void checkFlags(const char* op, DType out) {
  if (out != DType::Bool && out != DType::UInt8)
    fail(op, " only supports bool tensor for result, got: ", dtypeClassName(out));
}
void checkOwnDType(const char* op, DType result, DType out) {
  if (result != out)
    fail(op, "(): Expected out tensor to have dtype ", dtypeName(result), ", but got ", dtypeName(out), " instead");
}
/// Which parameter says the dtype of the result.
std::optional<std::size_t> dtypePlace(const ParsedArgs& a) {
  for (std::size_t i = 0; i < a.numParams(); ++i)
    if (a.param(i).name == std::string_view("dtype")) return i;
  return {};
}
/// A dtype that a call asks for is that of what it writes, also where another one could hold the result.
void checkAskedDType(const ParsedArgs& a, DType out) {
  const std::optional<std::size_t> place = dtypePlace(a);
  const std::optional<DType> asked = place ? a.dtype(*place) : std::nullopt;
  if (asked) checkOwnDType(a.op(), *asked, out);
}

/// Of what requires grad, summed or multiplied up in a dtype that has no gradient?
bool dropsGradient(const ParsedArgs& a, DType result) {
  if (isFloating(result) || !dtypePlace(a)) return false;
  for (std::size_t i = 0; i < a.numParams(); ++i)
    if (a.object(i) != nullptr && isTensor(a.object(i)) && tensorOf(a.object(i)).requiresGrad()) return true;
  return false;
}

/// What the arguments of a composite may share with the tensor that it writes.
enum class Sharing : std::uint8_t {
  Any,        // what is read is read before
  SamePlace,  // an element is read where it is written: the same window or other memory
  Base,       // of argument 0 elements at other places are changed; the other arguments share nothing
  Places,     // of argument 0 elements are changed whose places are read on the way: the arguments that say which
              // share nothing, but the last, the value
  None,       // elements are read and written at different places
};
Sharing sharingOf(const char* op) {
  static const std::unordered_map<std::string_view, Sharing> known = [] {
    std::unordered_map<std::string_view, Sharing> table;
    for (auto name : {"masked_fill",
                      "masked_scatter",
                      "masked_scatter_",
                      "index_fill",
                      "bernoulli",
                      "bernoulli_",
                      "mv",
                      "mm",
                      "bmm",
                      "matmul",
                      "dot",
                      "addmv",
                      "addmv_",
                      "addmm",
                      "addmm_",
                      "softmax",
                      "log_softmax",
                      "threshold",
                      "ldexp_",
                      "tril",
                      "tril_",
                      "triu",
                      "triu_"})
      table.emplace(name, Sharing::Any);
    for (auto name : {"cat", "concat", "concatenate", "stack", "index_select", "gather", "take", "diff",
                      "take_along_dim", "kthvalue", "masked_select", "nonzero", "topk", "mode", "aminmax"})
      table.emplace(name, Sharing::None);
    for (auto name : {"index_copy", "index_copy_", "index_add", "index_add_", "index_put", "index_put_", "scatter",
                      "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "put", "put_"})
      table.emplace(name, Sharing::Base);
    for (auto name : {"masked_fill_", "index_fill_"}) table.emplace(name, Sharing::Places);
    return table;
  }();
  auto found = known.find(op);
  return found == known.end() ? Sharing::SamePlace : found->second;
}

bool requiresGradient(const Operand& o) { return o.isTensor() && o.tensor().defined() && o.tensor().requiresGrad(); }

/// `result` into `target`, resized where it is of another shape, for which there is a warning unless `expected`.
void store(const ParsedArgs& a, PyObject* target, const Tensor& result, bool expected = false) {
  const char* op = a.op();
  if (!isTensor(target)) {
    fail<TypeError>(op, "(): argument 'out' must be Tensor, not ", Py_TYPE(target)->tp_name);
  }
  const Tensor& out = tensorOf(target);
  if (gradEnabled() && (result.requiresGrad() || out.requiresGrad() || dropsGradient(a, result.dtype()))) {
    fail(op, "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
             "requires grad.");
  }
  if (isBatched(result) || isBatched(out))
    fail("vmap: ", op,
         "(): out= is not supported for Tensors that differ between the examples; please use the result, "
         "or copy it by Tensor.copy_");
  if (out.device() != result.device())
    fail(op, "(): Expected out tensor to have device ", deviceName(result.device()), ", but got ",
         deviceName(out.device()), " instead");
  const bool flags = op == std::string_view("any") || op == std::string_view("all");
  if (flags)
    checkFlags(op, out.dtype());
  else if (op != std::string_view("bernoulli"))  // zeros and ones, which every dtype has
    checkStores(op, result.dtype(), out.dtype());
  if (writesOwnDType(a)) checkOwnDType(op, result.dtype(), out.dtype());
  checkAskedDType(a, out.dtype());
  if (!(out.shape() == result.shape())) {
    if (out.numel() != 0 && !expected) {
      std::string text =
          strcat("An output with one or more elements was resized since it had shape ", shapeText(out.shape()),
                 ", which does not match the required output shape ", shapeText(result.shape()), " (", op,
                 "). Resize it to zero elements first: out.resize_(0).");
      if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw PythonError();
    }
    autograd::resize(out, result.shape());
  }
  ops::assign(out, result);
}

// "tandem.return_types.sort(" (or torch's), then a line for each part.
PyObject* namedTupleRepr(PyObject* self) {
  return guarded([&] {
    const std::string_view type = Py_TYPE(self)->tp_name;
    std::string text = strcat(packageName(), type.substr(type.find('.')), "(");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      PyRef part(checked(PyObject_Repr(PyTuple_GET_ITEM(self, i))));
      text += strcat(i == 0 ? "\n" : ",\n", Py_TYPE(self)->tp_members[i].name, "=", PyUnicode_AsUTF8(part.get()));
    }
    return PyUnicode_FromString((text + ")").c_str());
  });
}

// The class of a result with named parts, made when first used.
PyTypeObject* namedTuple(const char* name, std::span<const char* const> fields) {
  static std::unordered_map<std::string, PyTypeObject*> known;
  PyTypeObject*& type = known[name];
  if (type == nullptr) {
    std::vector<PyStructSequence_Field> parts;
    for (const char* f : fields) parts.push_back({(new std::string(f))->c_str(), nullptr});
    parts.push_back({nullptr, nullptr});
    // The type keeps pointing at its name and those of its parts.
    auto* full = new std::string(strcat("tandem.return_types.", name));
    PyStructSequence_Desc desc = {full->c_str(), nullptr, parts.data(), static_cast<int>(fields.size())};
    type = PyStructSequence_NewType(&desc);
    if (type == nullptr) throw PythonError();
    type->tp_repr = namedTupleRepr;
    // Pickles hold the names of the parts: the class may not be made yet where they are read.
    PyRef support(checked(PyImport_ImportModule("tandem._support")));
    PyRef reduce(checked(PyObject_GetAttrString(support.get(), "named_result_reduce")));
    checked(PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__reduce__", reduce.get()));
  }
  return type;
}

}  // namespace

PyObject* namedResult(PyObject*, PyObject* args) {
  const char* name;
  PyObject *fields, *values;
  if (PyArg_ParseTuple(args, "sO!O!", &name, &PyTuple_Type, &fields, &PyTuple_Type, &values) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<const char*> names;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); ++i) {
      names.push_back(PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields, i)));
      if (names.back() == nullptr) throw PythonError();
    }
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(namedTuple(name, names)), values);
  });
}

namespace {
void refuseShared(const ParsedArgs& a, const Tensor& into, Sharing sharing) {
  if (sharing == Sharing::Any) return;
  const bool isOut = a.out() != nullptr;
  auto check = [&](PyObject* object) {
    if (object == nullptr || !isTensor(object)) return;
    const Tensor& t = tensorOf(object);
    if (sharing != Sharing::SamePlace)
      refuseOverlap(a.op(), into, t);
    else if (!(t == into) && (!isOut || t.numel() == into.numel()))
      refusePartialOverlap(a.op(), into, {Operand(t)});
  };
  const std::size_t end = a.numParams() - (sharing == Sharing::Places ? 1 : 0);
  for (std::size_t i = isOut && sharing != Sharing::Base ? 0 : 1; i < end; ++i) {
    PyObject* object = a.object(i);
    if (object != nullptr && (PyList_Check(object) || PyTuple_Check(object)))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k) check(PySequence_Fast_GET_ITEM(object, k));
    else
      check(object);
  }
}
/// The object of a result of the call. A window on memory that the call made itself is no view, unless other results
/// lie there.
PyObject* wrapResult(const ParsedArgs& a, Tensor result, std::span<const Tensor> results) {
  const auto beside = [&](const Tensor& r) { return r.defined() && r.impl()->storage == result.impl()->storage; };
  const bool window = result.defined() && result.impl()->viewBase;
  const bool alone = window && !a.reach(result) && std::ranges::count_if(results, beside) < 2;
  return alone ? wrapAlone(std::move(result)) : wrap(std::move(result));
}
/// Of an element and where it is, along a dim.
Sharing sharingOfPair(const char* op) {
  static const std::unordered_set<std::string_view> found = {"max", "min", "median", "nanmedian"};
  return found.contains(op) ? Sharing::None : sharingOf(op);
}
/// An `out` of another shape becomes of that of the result, as memory of its own, unless PyTorch looks at memory first.
void refuseSharedOut(const ParsedArgs& a, const Tensor& out, DimsRef shape, Sharing sharing) {
  static const std::unordered_set<std::string_view> resizes = {"topk", "mode",   "aminmax",  "max",
                                                               "min",  "median", "nanmedian"};
  if (out.shape() == shape || (sharing == Sharing::None && !resizes.contains(a.op()))) refuseShared(a, out, sharing);
}
}  // namespace

void refuseShared(const ParsedArgs& a, const Tensor& into) { refuseShared(a, into, sharingOf(a.op())); }

void needOne(const ParsedArgs& a) {
  PyObject* first = a.object(0);
  if (!isTensor(first) && !isTensor(a.object(1)))
    fail<TypeError>(a.op(), "(): argument '", a.param(0).name, "' (position 1) must be Tensor, not ",
                    Py_TYPE(first)->tp_name);
}

PyObject* wrap(ParsedArgs& a, Tensor result) {
  if (a.out() == nullptr) return wrapResult(a, std::move(result), {});
  if (isTensor(a.out())) refuseSharedOut(a, tensorOf(a.out()), result.shape(), sharingOf(a.op()));
  store(a, a.out(), result);
  return Py_NewRef(a.out());
}

PyObject* applyOut(ParsedArgs& a, OpCode op, std::initializer_list<Operand> operands,
                   std::span<const std::int64_t> attrs) {
  if (isTensor(a.out())) {
    const Tensor& out = tensorOf(a.out());
    const bool batched = isBatched(out) || anyBatched({operands.begin(), operands.size()});
    const bool graded = out.requiresGrad() || std::ranges::any_of(operands, requiresGradient);
    const bool plain = !batched && !(gradEnabled() && graded);
    std::vector<TensorMeta> metas;
    for (const Operand& o : operands) metas.push_back(metaOf(o));
    TensorMeta made;
    facts(op).metaRule(facts(op), metas, attrs, {&made, 1});
    const bool reads =
        std::ranges::any_of(operands, [&](const Operand& o) { return o.isTensor() && o.tensor() == out; });
    if (facts(op).kind == OpKind::Pointwise && reads && !(made.shape == out.shape()))
      fail("output with shape ", shapeText(out.shape()), " doesn't match the broadcast shape ", shapeText(made.shape));
    if (plain && made.shape == out.shape()) {
      checkStores(a.op(), made.dtype, out.dtype());
      if (writesOwnDType(a)) checkOwnDType(a.op(), made.dtype, out.dtype());
      if (facts(op).kind == OpKind::Pointwise)
        refusePartialOverlap(a.op(), out, operands);
      else
        refuseShared(a, out);
      applyInto(out, op, operands, attrs);
      return Py_NewRef(a.out());
    }
  }
  return wrap(a, apply(op, operands, attrs));
}

PyObject* gatherOut(ParsedArgs& a, OpCode op, std::initializer_list<Operand> inputDimIndex) {
  const auto* given = inputDimIndex.begin();
  AttrWriter dim;
  dim.integer(wrapDim(given[1].scalar().asInt(), given[0].tensor().dim()));
  return applyOut(a, op, {given[0], given[2]}, dim.span());
}

PyObject* wrap(ParsedArgs& a, std::span<const Tensor> results, const char* typeName,
               std::initializer_list<const char*> fields) {
  std::vector<PyRef> items;
  if (PyObject* out = a.out(); out != nullptr) {
    if (!PyTuple_Check(out) && !PyList_Check(out)) {
      fail<TypeError>(a.op(), "(): argument 'out' must be tuple of Tensors, not ", Py_TYPE(out)->tp_name);
    }
    if (PySequence_Fast_GET_SIZE(out) != static_cast<Py_ssize_t>(results.size())) {
      fail<TypeError>(a.op(), "(): argument 'out' must have ", results.size(), " tensors");
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      PyObject* target = PySequence_Fast_GET_ITEM(out, static_cast<Py_ssize_t>(i));
      if (isTensor(target)) {
        checkOwnDType(a.op(), results[i].dtype(), tensorOf(target).dtype());
        refuseSharedOut(a, tensorOf(target), results[i].shape(), sharingOfPair(a.op()));
      }
      store(a, target, results[i]);
      items.push_back(PyRef::borrow(target));
    }
  } else {
    for (const Tensor& t : results) items.emplace_back(checked(wrapResult(a, t, results)));
  }
  auto n = static_cast<Py_ssize_t>(items.size());
  if (typeName == nullptr) {
    PyRef tuple(checked(PyTuple_New(n)));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, items[static_cast<std::size_t>(i)].release());
    return tuple.release();
  }
  PyRef tuple(checked(PyStructSequence_New(namedTuple(typeName, {fields.begin(), fields.size()}))));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyStructSequence_SET_ITEM(tuple.get(), i, items[static_cast<std::size_t>(i)].release());
  }
  return tuple.release();
}

std::optional<DType> dtypeOfOut(const ParsedArgs& a, std::size_t i) {
  std::optional<DType> asked = a.dtype(i);
  if (a.out() == nullptr || !isTensor(a.out())) return asked;
  const DType own = tensorOf(a.out()).dtype();
  if (asked && *asked != own)
    fail(a.op(), "(): dtype ", dtypeClassName(*asked), " does not match dtype of out parameter (", dtypeClassName(own),
         ")");
  return own;
}
std::optional<DType> dtypeInPlace(const ParsedArgs& a, std::size_t i) {
  const std::optional<DType> asked = a.dtype(i);
  const DType own = a.tensor(0).dtype();
  if (asked && *asked != own)
    fail("Bad in-place call: input tensor dtype ", dtypeClassName(own), " and output tensor dtype ",
         dtypeClassName(*asked), " should match");
  return asked;
}
namespace {
/// Does the call say `pin_memory=True`?
bool asksForPinned(const ParsedArgs& a) {
  for (std::size_t i = a.numParams(); i-- > 0;) {
    const ParamSpec& p = a.param(i);
    if (p.type == ParamType::Any && std::string_view(p.name) == "pin_memory")
      return a.has(i) && checked(PyObject_IsTrue(a.object(i))) != 0;
  }
  return false;
}
}  // namespace

Tensor madeLike(const ParsedArgs& a, std::size_t i, const std::function<Tensor(const Tensor&)>& make) {
  const MemoryFormat format = a.has(i) ? memoryFormatOf(a.object(i), a.op()) : MemoryFormat::Preserve;
  return tandem::madeLike(a.tensor(0), format, a.op(), make);
}
Tensor madeIn(const ParsedArgs& a, std::size_t i, const std::function<Tensor(DimsRef)>& make) {
  const MemoryFormat format = a.has(i) ? memoryFormatOf(a.object(i), a.op()) : MemoryFormat::Contiguous;
  if (format == MemoryFormat::Preserve)
    fail(a.op(), "(): memory_format=", packageName(),
         ".preserve_format, but there is no tensor whose format to preserve");
  return tandem::madeIn(format, a.ints(0), a.op(), make);
}

PyObject* wrapLeaf(ParsedArgs& a, Tensor result, bool requiresGrad, bool keepsShape) {
  if (a.out() == nullptr) {
    if (asksForPinned(a)) result = pinMemory(result);
    if (requiresGrad) autograd::setRequiresGrad(result, true);
    return wrap(std::move(result));
  }
  if (keepsShape && isTensor(a.out()) && tensorOf(a.out()).numel() == result.numel())
    result = ops::reshape(result, tensorOf(a.out()).shape());
  store(a, a.out(), result, a.op() != std::string_view("arange"));
  if (requiresGrad) autograd::setRequiresGrad(tensorOf(a.out()), true);
  return Py_NewRef(a.out());
}

}  // namespace tandem::python
