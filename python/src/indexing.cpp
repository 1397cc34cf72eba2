// Reading and writing by index, as Python and NumPy index: integers, slices, None, Ellipsis, masks, integer tensors.
//
// An index is resolved from left to right into a view (select, slice, unsqueeze) and, where tensors take part, at most
// one tensor a dim of that view. Reading is then the view or one `index_get`; writing is a write through the view or
// one `index_put`. A mask becomes the columns of its nonzero places, except where a single value is written under it,
// which is a `where` and needs no look at the data.
#include "python/src/indexing.h"

#include <optional>
#include <utility>

#include "eager/advanced_indexing.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "eager/overlap.h"
#include "eager/placement.h"
#include "python/src/convert.h"
#include "python/src/py_tensor.h"
#include "python/src/torch_function.h"
#include "runtime/base/warn.h"

namespace tandem::python {

// ---- advanced -----------------------------------------------------------------------------------------------------

std::vector<Tensor> nonzeroColumns(const Tensor& t) { return ops::unbind(ops::nonzero(t), 1); }

Tensor selectByMask(const Tensor& x, const Tensor& mask) {
  Dims shape{mask.numel()};
  shape.append(x.shape().begin() + mask.dim(), x.shape().end());
  return indexByTensors(ops::reshape(x, shape), nonzeroColumns(ops::reshape(mask, Dims{-1})));
}

// ---- resolving an index
// -----------------------------------------------------------------------------------------------

namespace {

/// A list with an index in it that is no number: it means x[tuple(list)].
bool standsForTuple(PyObject* list) {
  if (PyList_GET_SIZE(list) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* o = PyList_GET_ITEM(list, i);
    if (PyList_Check(o) || PyTuple_Check(o) || isTensor(o) || PySlice_Check(o) || o == Py_Ellipsis || o == Py_None)
      return true;
  }
  return false;
}

class Resolver {
 public:
  explicit Resolver(const Tensor& t) : view_(t) {}

  void resolve(PyObject* index) {
    if (PyList_Check(index) && standsForTuple(index)) {
      warnOnce("Using a non-tuple sequence for multidimensional indexing is deprecated: use x[tuple(seq)] instead "
               "of x[seq], or x[tandem.tensor(seq)] for one index tensor.");
      PyRef tuple(checked(PyList_AsTuple(index)));
      items_.push_back(std::move(tuple));
      index = items_.back().get();
    }
    if (!PyTuple_Check(index)) {
      checkCount(dimsTaken(index));
      take(index);
      return;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(index);
    std::int64_t taken = 0;
    for (Py_ssize_t i = 0; i < n; ++i) taken += dimsTaken(PyTuple_GET_ITEM(index, i));
    checkCount(taken);
    bool ellipsis = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PyTuple_GET_ITEM(index, i);
      if (item == Py_Ellipsis) {
        std::int64_t rest = 0;
        for (Py_ssize_t j = i + 1; j < n; ++j) rest += dimsTaken(PyTuple_GET_ITEM(index, j));
        if (std::exchange(ellipsis, true) && rest > 0)
          fail<IndexError>("an index can only have a single ellipsis ('...')");
        dim_ = view_.dim() - rest;
      } else {
        take(item);
      }
    }
  }

  [[nodiscard]] bool anyTensor() const { return numTensors_ > 0; }
  void needBool(const char* op) const {
    if (warned_) fail(op, " only supports boolean masks, but got mask with dtype unsigned char");
  }
  [[nodiscard]] const Tensor& view() const { return view_; }
  [[nodiscard]] bool onlyMask() const { return mask_.defined() && numTensors_ == 1; }

  [[nodiscard]] Tensor read() {
    if (onlyMask() && maskDim_ == 0 && mask_.dim() > 1 && view_.isContiguous()) return selectByMask(view_, mask_);
    return indexByTensors(view_, expandedIndices());
  }
  void write(const Tensor& values) { assignByTensors(view_, expandedIndices(), values, false); }
  /// The one mask, as a mask of the view.
  [[nodiscard]] Tensor maskOfView() const {
    Tensor m = mask_.device().isCpu() ? toDevice(mask_, view_.device()) : mask_;
    for (std::int64_t d = maskDim_ + mask_.dim(); d < view_.dim(); ++d) m = ops::unsqueeze(m, -1);
    return m;
  }

 private:
  static bool isMask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

  // Dims of the tensor that an item uses up.
  std::int64_t dimsTaken(PyObject* item) {
    if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
    if (PySlice_Check(item) || PyLong_Check(item)) return 1;
    Tensor t = tensorItem(item);
    return t.defined() && isMask(t) ? t.dim() : 1;
  }
  void checkCount(std::int64_t taken) const {
    if (taken <= view_.dim()) return;
    if (view_.dim() == 0 && taken == 1) {
      fail<IndexError>("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                       "convert a 0-dim tensor to a number");
    }
    fail<IndexError>("too many indices for tensor of dimension ", view_.dim());
  }

  // A tensor, list or array as an index tensor; undefined for single integers of other kinds.
  Tensor tensorItem(PyObject* item) {
    if (isTensor(item)) {
      const Tensor& t = tensorOf(item);
      if (t.dtype() == DType::UInt8 && !std::exchange(warned_, true))
        warn("indexing with dtype uint8 is deprecated, please use a dtype bool instead.");
      return t;
    }
    if (isNumber(item)) {
      if (PyIndex_Check(item)) return {};
      fail<IndexError>(
          "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
          "(got ",
          Py_TYPE(item)->tp_name, ")");
    }
    // Converted once: the item is looked at twice.
    for (auto& [object, tensor] : converted_) {
      if (object == item) return tensor;
    }
    Tensor t = makeTensor(item, std::nullopt);
    if (t.numel() == 0 && isFloating(t.dtype())) t = ops::to(t, DType::Int64);
    converted_.emplace_back(item, t);
    return t;
  }

  void take(PyObject* item) {
    if (item == Py_None) {
      insertDim();
    } else if (item == Py_Ellipsis) {
      dim_ = view_.dim();
    } else if (PyBool_Check(item)) {
      takeBool(item == Py_True);
    } else if (PySlice_Check(item)) {
      takeSlice(item);
    } else if (PyLong_Check(item)) {
      takeInt(indexOf(item));
    } else {
      Tensor t = tensorItem(item);
      if (!t.defined()) {
        takeInt(indexOf(item));
      } else {
        takeTensor(t, item);
      }
    }
  }

  void takeInt(std::int64_t i) {
    std::int64_t n = view_.shape()[static_cast<std::size_t>(dim_)];
    if (i < -n || i >= n) {
      fail<IndexError>("index ", i, " is out of bounds for dimension ", place_, " with size ", n);
    }
    view_ = ops::select(view_, dim_, i);
    ++place_;
  }
  void takeSlice(PyObject* slice) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw PythonError();
    if (step <= 0) fail<ValueError>("step must be greater than zero");
    std::int64_t n = view_.shape()[static_cast<std::size_t>(dim_)];
    PySlice_AdjustIndices(n, &start, &stop, step);
    if (start != 0 || stop != n || step != 1) {
      view_ = ops::slice(view_, dim_, start, std::max(start, stop), step);
    }
    ++dim_;
    ++place_;
  }
  void insertDim() {
    view_ = ops::unsqueeze(view_, dim_);
    indicesAt(dim_);
    ++dim_;
  }
  // True keeps everything along a new dim of size 1, False nothing.
  void takeBool(bool on) {
    view_ = ops::unsqueeze(view_, dim_);
    put(ops::zeros(Dims{on ? 1 : 0}, DType::Int64));
  }
  void takeTensor(const Tensor& t, PyObject* item) {
    if (isMask(t)) {
      if (t.dim() == 0) return takeBool(truth(item));
      takeMask(t.dtype() == DType::Bool ? t : ops::ne(t, Scalar(0)));
      return;
    }
    if (isFloating(t.dtype())) {
      fail<IndexError>("tensors used as indices must be long, int, byte or bool tensors");
    }
    if (t.dim() == 0 && !t.impl()->batch) {
      // A view, as for an integer. While a function is traced, or mapped over indices, the element is not known: then
      // it is an index tensor.
      try {
        return takeInt(itemOf(t).asInt());
      } catch (const DataReadError&) {
      }
    }
    put(t);
    ++place_;
  }
  static bool truth(PyObject* item) { return checked(PyObject_IsTrue(item)) != 0; }
  void takeMask(const Tensor& mask) {
    for (std::int64_t k = 0; k < mask.dim(); ++k) {
      if (mask.shape()[static_cast<std::size_t>(k)] != view_.shape()[static_cast<std::size_t>(dim_ + k)]) {
        fail<IndexError>("The shape of the mask ", shapeText(mask.shape()), " at index ", k,
                         " does not match the shape of the indexed tensor ", shapeText(view_.shape()), " at index ",
                         dim_ + k);
      }
    }
    mask_ = mask;
    maskDim_ = dim_;
    masks_.push_back({mask, static_cast<std::size_t>(dim_)});
    indicesAt(dim_ + mask.dim() - 1);
    for (std::int64_t k = 0; k < mask.dim(); ++k) ++place_;
    dim_ += mask.dim();
    ++numTensors_;
  }

  void put(const Tensor& index) {
    indicesAt(dim_);
    indices_[static_cast<std::size_t>(dim_)] = index;
    ++dim_;
    ++numTensors_;
  }
  void indicesAt(std::int64_t dim) {
    if (indices_.size() <= static_cast<std::size_t>(dim)) indices_.resize(static_cast<std::size_t>(dim) + 1);
  }

  std::vector<Tensor> expandedIndices() {
    for (auto& [mask, dim] : masks_) {
      std::vector<Tensor> columns = nonzeroColumns(mask);
      for (std::size_t k = 0; k < columns.size(); ++k) indices_[dim + k] = columns[k];
    }
    return indices_;
  }

  Tensor view_;
  std::int64_t dim_ = 0;    // where the next item applies, in the view
  std::int64_t place_ = 0;  // and in the tensor, for messages
  std::vector<Tensor> indices_;
  std::vector<std::pair<Tensor, std::size_t>> masks_;
  std::vector<std::pair<PyObject*, Tensor>> converted_;
  bool warned_ = false;  // of uint8 masks
  std::vector<PyRef> items_;
  Tensor mask_;
  std::int64_t maskDim_ = 0;
  int numTensors_ = 0;
};

// The value as the elements of `t` can take it: a fraction written into integers is cut.
Operand numberFor(const Tensor& t, PyObject* value) {
  if (isUnsignedInteger(value)) fail<ValueError>("__setitem__: a number that int64 cannot hold: Overflow");
  Scalar s = scalarOf(value);
  // Half types take what is beyond their range as infinities, as in PyTorch.
  if (!isHalf(t.dtype())) needHeld("__setitem__", t.dtype(), s);
  if (s.isFloat() && !isFloating(t.dtype()) && t.dtype() != DType::Bool) {
    return Scalar(s.asInt());
  }
  return s;
}

void writeView(const Tensor& base, const Tensor& view, PyObject* value) {
  if (isNumber(value)) {
    ops::fillInto(view, numberFor(view, value));
    return;
  }
  Tensor v = isTensor(value) ? tensorOf(value) : makeTensor(value, view.dtype());
  // `x[i] += y` writes into x[i] and then assigns it to itself: that is done already.
  const Ref<TensorImpl>& root = base.impl()->viewBase ? base.impl()->viewBase : base.ref();
  if (v.impl()->viewBase == root && sameWindow(v, view)) return;
  while (v.dim() > view.dim() && v.shape()[0] == 1) v = ops::select(v, 0, 0);
  // A value that is repeated, as in `x[:] = x[0]`, is read before it is overwritten.
  if (v.shape() == view.shape()) refusePartialOverlap("copy_", view, {v});
  ops::replace(view, v);
}

/// What the classes of `args` say that the access is, or else `access`. Classes of objects that are no tensors are
/// asked where that fails.
template <class Access>
PyObject* askedOr(const char* name, PyObject* self, std::initializer_list<PyObject*> args, Access access) {
  const Call call{self, args.begin(), static_cast<Py_ssize_t>(args.size()), nullptr};
  auto* owner = reinterpret_cast<PyObject*>(tensorType);
  if (overridesMayAct()) [[unlikely]]
    if (auto answer = askClasses(owner, name, call)) return *answer;
  try {
    return access(tensorOf(self));
  } catch (const std::exception&) {
    if (overridesOff == 0)
      if (auto answer = askClasses(owner, name, call, true)) return *answer;
    throw;
  }
}

PyObject* getItem(const Tensor& t, PyObject* index) {
  std::optional<DeviceScope> there;
  if (otherDevices) [[unlikely]]
    there.emplace(t.device());
  if (PyLong_CheckExact(index) && t.dim() > 0) {
    std::int64_t i = indexOf(index);
    std::int64_t n = t.shape()[0];
    if (i < -n || i >= n) fail<IndexError>("index ", i, " is out of bounds for dimension 0 with size ", n);
    return wrap(ops::select(t, 0, i));
  }
  Resolver r(t);
  r.resolve(index);
  if (r.anyTensor()) return wrap(r.read());
  // `x[...]` is a tensor of its own.
  return wrap(r.view() == t ? ops::alias(t) : r.view());
}

void setItem(const Tensor& t, PyObject* index, PyObject* value) {
  std::optional<DeviceScope> there;
  if (otherDevices) [[unlikely]]
    there.emplace(t.device());
  // A bool alone is no mask: all of the tensor, or nothing.
  if (index == Py_False) return;
  if (index == Py_True) {
    writeView(t, ops::unsqueeze(t, 0), value);
    return;
  }
  Resolver r(t);
  r.resolve(index);
  if (!r.anyTensor()) {
    writeView(t, r.view(), value);
    return;
  }
  bool single = isNumber(value) || (isTensor(value) && tensorOf(value).numel() == 1);
  if (r.onlyMask() && single) {
    r.needBool("masked_fill_");
    const Tensor& view = r.view();
    Tensor mask = r.maskOfView();
    Tensor held;
    Operand filling = isTensor(value) || view.dtype() == DType::Bool ? Operand() : numberFor(view, value);
    if (isTensor(value))
      held = ops::reshape(ops::to(tensorOf(value), view.dtype()), Dims{});
    else if (view.dtype() == DType::Bool)
      held = ops::full(Dims{}, scalarOf(value), DType::Bool);
    if (held.defined()) filling = held;
    if (ops::repeatsElements(view))
      ops::assignRepeated("masked_fill", view, ops::where(mask, filling, view), Repeats::Warned);
    else
      applyInto(view, OpCode::where, {mask, filling, view});
    return;
  }
  if (isTensor(value)) {
    refuseOverlap("index_put_", t, tensorOf(value));
    if (tensorOf(value).dtype() != t.dtype())
      fail("Index put requires the source and destination dtypes match, got ", dtypeClassName(t.dtype()),
           " for the destination and ", dtypeClassName(tensorOf(value).dtype()), " for the source.");
    r.write(tensorOf(value));
  } else if (isNumber(value)) {
    r.write(ops::full(Dims{}, numberFor(t, value).scalar(), t.dtype()));
  } else {
    r.write(makeTensor(value, t.dtype()));
  }
}

}  // namespace

PyObject* tensorGetItem(PyObject* self, PyObject* index) {
  return guarded(
      [&] { return askedOr("__getitem__", self, {index}, [&](const Tensor& t) { return getItem(t, index); }); });
}

int tensorSetItem(PyObject* self, PyObject* index, PyObject* value) {
  return guardedInt([&] {
    if (value == nullptr) fail<TypeError>("Tensor does not support deleting items");
    PyRef answer(askedOr("__setitem__", self, {index, value}, [&](const Tensor& t) {
      setItem(t, index, value);
      return Py_NewRef(Py_None);
    }));
    return 0;
  });
}

}  // namespace tandem::python
