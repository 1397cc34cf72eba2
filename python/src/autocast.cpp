#include "python/src/autocast.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>
#include <utility>

#include "eager/helpers.h"
#include "eager/recorder.h"
#include "eager/tape_hook.h"
#include "python/src/arg_parser.h"
#include "python/src/convert.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

namespace {

struct Cached {
  Tensor source;  // kept, so that its address stays its own
  Tensor cast;    // its elements, without history
  std::uint32_t version;
};
std::unordered_map<TensorImpl*, Cached>& cache() {
  thread_local std::unordered_map<TensorImpl*, Cached> entries;
  return entries;
}

/// A parameter of a model: worth keeping converted, and the same until it is written.
bool isCacheable(const Tensor& t, DType to) {
  const TensorImpl* impl = t.impl();
  // While recording equal conversions are one value anyway, which belongs to that recording. Each has a node of the
  // tape in every mode, so that gradients are added up alike.
  return autocastState().cache && activeRecorder == nullptr && gradEnabled() && isHalf(to) &&
         impl->dtype == DType::Float32 && impl->requiresGrad && !impl->viewBase && !impl->batch;
}

Tensor converted(const Tensor& t, DType to, const Tensor& elements) {
  Tensor result = ops::detached(elements);
  const Operand operands[] = {t};
  const std::int64_t attrs[] = {static_cast<std::int64_t>(to)};
  tapeHook->record(OpCode::to, operands, attrs, {&result, 1});
  return result;
}

bool isEligible(const Tensor& t) { return t.defined() && isFloating(t.dtype()) && t.dtype() != DType::Float64; }

}  // namespace

AutocastState& autocastState() {
  thread_local AutocastState state;
  return state;
}

Tensor autocasted(const Tensor& t, DType to) {
  if (!isEligible(t) || t.dtype() == to) return t;
  if (!isCacheable(t, to)) return ops::toDType(t, to);
  auto it = cache().find(t.impl());
  if (it != cache().end() && it->second.version == t.impl()->version() && it->second.cast.dtype() == to)
    return converted(t, to, it->second.cast);
  Tensor cast = ops::toDType(t, to);
  cache()[t.impl()] = {t, ops::detached(cast), t.impl()->version()};
  return cast;
}

namespace {

/// Has the equation of an `einsum` a letter of two operands that the result lacks? Without an equation, of an inner
/// product: is one of the operands more than a vector?
bool sumsProducts(const ParsedArgs& a, ParamType first) {
  if (first != ParamType::Str)
    return a.tensor(0).dim() > 0 && a.tensor(1).dim() > 0 && std::max(a.tensor(0).dim(), a.tensor(1).dim()) > 1;
  const std::string text = a.str(0);
  const std::string_view equation = text;
  const std::size_t arrow = equation.find("->");
  const std::string_view result = arrow == std::string_view::npos ? "" : equation.substr(arrow + 2);
  std::string seen, ofThisOne;
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      seen += std::exchange(ofThisOne, "");
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      if (seen.find(c) != std::string::npos && result.find(c) == std::string_view::npos) return true;
      ofThisOne += c;
    }
  }
  return false;
}

}  // namespace

void castArguments(ParsedArgs& a, AutocastPolicy policies, std::vector<PyRef>& owned) {
  const Device device = otherDevices ? a.device() : Device{};
  const AutocastState::Place& state = autocastState().at(device);
  Autocast policy = device.isCpu() ? policies.cpu : policies.gpu;
  if (!state.enabled || policy == Autocast::None) return;
  if (policy == Autocast::LowerSums) {
    if (!sumsProducts(a, a.signature_->params[0].type)) return;
    policy = Autocast::Lower;
  }
  DType to = policy == Autocast::Lower ? state.dtype : DType::Float32;
  auto eachTensor = [&](auto&& visit) {
    for (std::size_t i = 0; i < a.signature_->params.size(); ++i) {
      PyObject*& value = a.values_[i];
      if (value == nullptr) continue;
      ParamType type = a.signature_->params[i].type;
      if (type == ParamType::TensorList || type == ParamType::TensorArguments) {
        PyRef list;
        if (i == a.varargsAt_) {
          list = PyRef(checked(PyList_New(static_cast<Py_ssize_t>(a.numVarargs_))));
          for (std::size_t k = 0; k < a.numVarargs_; ++k)
            PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(k), Py_NewRef(a.varargs_[k]));
          a.varargsAt_ = ParsedArgs::kMaxParams;  // from here on as if one list had been given
        } else {
          list = PyRef(checked(PySequence_List(value)));
        }
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list.get()); ++k) {
          PyObject* item = PyList_GET_ITEM(list.get(), k);
          if (!isTensor(item)) continue;
          if (PyObject* now = visit(item)) checked(PyList_SetItem(list.get(), k, now));
        }
        value = owned.emplace_back(std::move(list)).get();
      } else if ((type == ParamType::Tensor || type == ParamType::OptionalTensor || type == ParamType::Operand) &&
                 isTensor(value)) {
        if (PyObject* now = visit(value)) value = owned.emplace_back(now).get();
      }
    }
  };
  if (policy == Autocast::Promote) {
    to = state.dtype;
    eachTensor([&](PyObject* o) -> PyObject* {
      if (isEligible(tensorOf(o)) && tensorOf(o).dtype() == DType::Float32) to = DType::Float32;
      return nullptr;
    });
  }
  eachTensor([&](PyObject* o) -> PyObject* {
    const Tensor& t = tensorOf(o);
    return isEligible(t) && t.dtype() != to ? checked(wrap(autocasted(t, to))) : nullptr;
  });
}

namespace {

PyObject* get(PyObject*, PyObject*) {
  return guarded([] {
    const AutocastState& s = autocastState();
    return Py_BuildValue("(NONNO)", PyBool_FromLong(s.cpu.enabled ? 1 : 0), dtypeObject(s.cpu.dtype),
                         PyBool_FromLong(s.cache ? 1 : 0), PyBool_FromLong(s.gpu.enabled ? 1 : 0),
                         dtypeObject(s.gpu.dtype));
  });
}
PyObject* set(PyObject*, PyObject* args) {
  int onCpu, onGpu, keep;
  PyObject *cpuType, *gpuType;
  if (PyArg_ParseTuple(args, "pOppO", &onCpu, &cpuType, &keep, &onGpu, &gpuType) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    AutocastState& s = autocastState();
    s.cpu = {onCpu != 0, asDType(cpuType).value_or(DType::BFloat16)};
    s.gpu = {onGpu != 0, asDType(gpuType).value_or(DType::Float16)};
    s.cache = keep != 0;
    Py_RETURN_NONE;
  });
}
PyObject* enter(PyObject*, PyObject*) { return PyLong_FromLong(++autocastState().depth); }
PyObject* leave(PyObject*, PyObject*) {
  int depth = --autocastState().depth;
  if (depth <= 0) cache().clear();
  return PyLong_FromLong(depth);
}
PyObject* clear(PyObject*, PyObject*) {
  cache().clear();
  Py_RETURN_NONE;
}

}  // namespace

void initAutocast(PyObject* module) {
  static PyMethodDef functions[] = {
      {"_autocast_get", get, METH_NOARGS, "(enabled, dtype, cache, enabled on GPUs, their dtype) of this thread."},
      {"_autocast_set", set, METH_VARARGS, "(enabled, dtype, cache, enabled on GPUs, their dtype): sets them."},
      {"_autocast_enter", enter, METH_NOARGS, "Begins a scope; how many there are."},
      {"_autocast_exit", leave, METH_NOARGS, "Ends a scope; how many are left."},
      {"_autocast_clear", clear, METH_NOARGS, "Forgets converted parameters."},
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace tandem::python
