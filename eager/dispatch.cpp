#include "eager/dispatch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "eager/apply_steps.h"
#include "eager/batch.h"
#include "eager/host.h"
#include "eager/in_place_form.h"
#include "eager/kernels.h"
#include "eager/memory_format.h"
#include "eager/placement.h"
#include "runtime/base/inline_array.h"
#include "runtime/kernel/call_cache.h"

namespace tandem {
namespace {

void applyAnew(const OpFacts& f, Operands operands, Attrs attrs, std::span<Tensor> results) {
  OperandMetas metas(f, operands);
  ResultMetas made(results.size());
  f.metaRule(f, metas.span(), attrs, made);
  std::array<Operand, 2> own;
  Tensor divisor;
  if (isPartial(f, made[0])) operands = checkedOperands(f, made[0], operands, own, divisor);
  if (needsBatching(f, operands)) {
    runBatched(f, operands, attrs, made, results);
  } else if (f.code == OpCode::device_copy) {
    results[0] = copyTo(operands[0].tensor(), deviceOf(attrs[0]));
  } else if (Recorder* recorder = recorderFor(operands)) {
    recorder->record(f.code, operands, attrs, made, results);
  } else {
    for (std::size_t i = 0; i < results.size(); ++i) results[i] = makeEmpty(made[i].shape, made[i].dtype);
    if (f.random)
      run(f, withGeneratorState(operands), attrs, results);
    else
      run(f, operands, attrs, results);
  }
}

void applyUntaped(const OpFacts& f, Operands operands, Attrs attrs, std::span<Tensor> results) {
  if (activeRecorder == nullptr || !activeRecorder->repeat(f, operands, attrs, results))
    applyAnew(f, operands, attrs, results);
}

/// Has the operation an operand whose dims may lie in another order than row-major, and takes its result that order?
/// Copies, conversions and moves are told theirs (eager/memory_format.h).
bool mayLieInOrder(const OpFacts& f, Operands operands) {
  if (f.kind != OpKind::Pointwise || f.usesIndex || f.code == OpCode::device_copy) return false;
  if (f.role == OpRole::Copy || f.role == OpRole::Convert || RowMajorResults::active()) return false;
  bool may = false;
  for (const Operand& o : operands) {
    if (!o.isTensor()) continue;
    const TensorImpl* t = o.tensor().impl();
    if (t == nullptr || t->batch || t->numel == 0) return false;
    may |= !t->contiguous && t->shape.size() > 1;
  }
  return may;
}

/// A window on `base`, or on what that is a window of, which the recording knows.
Tensor windowOn(const Tensor& base, DimsRef shape, DimsRef strides, std::int64_t offset) {
  if (activeRecorder != nullptr) activeRecorder->touch(base);
  Tensor view = makeAlias(base, shape, strides, offset);
  view.impl()->viewBase = base.impl()->viewBase ? base.impl()->viewBase : base.ref();
  return view;
}

/// The window of `t` broadcast to `rank` dims, those in `order`. What records sees the tensor that it is a window of.
Tensor turned(const Tensor& t, const Dims& order) {
  const std::size_t lead = order.size() - t.shape().size();
  Dims shape(order.size(), 1);
  Dims strides(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto d = static_cast<std::size_t>(order[k]);
    if (d < lead) continue;
    shape[k] = t.shape()[d - lead];
    strides[k] = t.strides()[d - lead];
  }
  return windowOn(t, shape, strides, t.impl()->offset);
}

/// A result that was made with its dims in `order`, as what has `shape`; of `like`, which lies as it does, the strides
/// that reach nothing too.
void turnBack(const Tensor& result, const Dims& shape, const Dims& order, const Tensor* like) {
  TensorImpl& t = *result.impl();
  const Dims made = t.strides;
  t.shape = shape;
  t.strides = shape;
  for (std::size_t k = 0; k < order.size(); ++k) t.strides[order[k]] = made[k];
  if (like != nullptr) t.strides = like->strides();
  t.contiguous = isContiguous(t.shape, t.strides);
}

/// An elementwise operation computed, and its results laid out, in the order in which its operands lie in memory, as in
/// PyTorch. False, having done nothing, where that is row-major.
bool applyInOrder(const OpFacts& f, Operands operands, Attrs attrs, std::span<Tensor> results) {
  TANDEM_CHECK(operands.size() <= CallKey::kMost, f.name);
  SmallVector<const Tensor*, CallKey::kMost> tensors;
  std::size_t rank = 0;
  for (const Operand& o : operands) {
    if (!o.isTensor()) continue;
    tensors.push_back(&o.tensor());
    rank = std::max(rank, o.tensor().shape().size());
  }
  Dims shape(rank, 1);
  for (const Tensor* t : tensors)
    for (std::size_t d = rank - t->shape().size(), k = 0; d < rank; ++d, ++k) {
      if (shape[d] == 1) shape[d] = t->shape()[k];
      if (t->shape()[k] != 1 && t->shape()[k] != shape[d]) return false;  // an error, which the rule of shapes knows
    }
  InlineArray<Dims, CallKey::kMost> strides(tensors.size(), [&](std::size_t k) {
    return broadcastStrides(tensors[k]->shape(), tensors[k]->strides(), shape);
  });
  const Dims order = orderOfStrides(shape, strides);
  if (std::ranges::is_sorted(order)) return false;
  const Tensor& first = *tensors[0];
  const bool alike =
      tensors.size() == operands.size() && isDense(first, order) && std::ranges::all_of(tensors, [&](const Tensor* t) {
        return t->shape() == first.shape() && t->strides() == first.strides();
      });
  SmallVector<Operand, CallKey::kMost> in;
  InlineArray<Tensor, CallKey::kMost> kept(0);
  for (const Operand& o : operands) {
    in.push_back(o);
    if (!o.isTensor() || o.tensor().dim() == 0) continue;
    kept.push_back(turned(o.tensor(), order));
    in.back() = Operand(kept[kept.size() - 1]);
  }
  applyUntaped(f, in, attrs, results);
  for (const Tensor& result : results) turnBack(result, shape, order, alike ? &first : nullptr);
  return true;
}

// Spans by reference: the last would be put on the stack in halves and read whole, which processors are slow at.
void applyGeneral(const OpFacts& f, const Operands& operands, const Attrs& attrs, const std::span<Tensor>& results) {
  const bool needsGrad = refresh(operands) && f.differentiable;
  if (!mayLieInOrder(f, operands) || !applyInOrder(f, operands, attrs, results))
    applyUntaped(f, operands, attrs, results);
  if (needsGrad) tapeHook->record(f.code, operands, attrs, results);
}

/// Pointwise operations on contiguous tensors of one device, shape and dtype, and numbers that do not change that
/// dtype: the rules reduce to "the same again".
bool applySimple(const OpFacts& f, Operands operands, Attrs attrs, Tensor& result) {
  if (f.dtypeRule > DTypeRule::Compare || activeRecorder != nullptr) return false;
  const TensorImpl* first = nullptr;
  bool needsGrad = false;
  for (const auto& o : operands) {
    if (!o.isTensor()) continue;
    const TensorImpl* t = o.tensor().impl();
    if (t == nullptr || !t->contiguous || t->storage->isPending() || t->viewBase || t->batch) return false;
    if (first == nullptr)
      first = t;
    else if (t->dtype != first->dtype || !(t->shape == first->shape) ||
             t->storage->device() != first->storage->device())
      return false;
    needsGrad |= t->requiresGrad;
  }
  // Bools have rules of their own nearly everywhere.
  if (first == nullptr || first->dtype == DType::Bool || !inDomain(f.domain, first->dtype)) return false;
  bool floating = isFloating(first->dtype);
  if (!floating && (f.dtypeRule == DTypeRule::Float || f.partial != OpPartial::None)) return false;
  for (const auto& o : operands)
    if (!o.isTensor() && (o.scalar().kind == Scalar::Kind::Bool || (!floating && o.scalar().isFloat()))) return false;
  DType dtype = f.dtypeRule == DTypeRule::Compare ? DType::Bool : first->dtype;
  const Device device = first->storage->device();
  result = makeEmpty(first->shape, dtype, device);
  runPointwise(f, operands, attrs, {&result, 1});
  if (needsGrad && f.differentiable && gradEnabled()) {
    const DeviceScope scope(device);
    tapeHook->record(f.code, operands, attrs, {&result, 1});
  }
  return true;
}

/// What is left when the shortest way does not serve.
Tensor applyFully(const OpFacts& f, Operands operands, Attrs attrs) {
  Tensor result;
  if (f.updates && operands[0].isTensor() && takeLastStep(operands[0].tensor())) {
    result = operands[0].tensor();
    applyInto(result, f.code, operands, attrs);
    return result;
  }
  applyGeneral(f, operands, attrs, {&result, 1});
  return result;
}

[[gnu::cold, gnu::noinline]] Tensor applyPlaced(const OpFacts& f, Operands operands, Attrs attrs) {
  const Placement place(f.name.data(), operands);
  return applyFully(f, place.operands(), attrs);
}

}  // namespace

Tensor apply(OpCode op, Operands operands, Attrs attrs) {
  const OpFacts& f = facts(op);
  Tensor result;
  if (f.kind == OpKind::Pointwise && op != OpCode::device_copy && applySimple(f, operands, attrs, result))
    return result;
  if (otherDevices) [[unlikely]]
    return applyPlaced(f, operands, attrs);
  return applyFully(f, operands, attrs);
}

void applyMulti(OpCode op, Operands operands, Attrs attrs, std::span<Tensor> results) {
  if (!otherDevices) [[likely]]
    return applyGeneral(facts(op), operands, attrs, results);
  const Placement place(facts(op).name.data(), operands);
  applyGeneral(facts(op), place.operands(), attrs, results);
}

void tapeWhole(OpCode op, Operands operands, Attrs attrs, std::span<Tensor> results) {
  if (refresh(operands) && facts(op).differentiable) tapeHook->record(op, operands, attrs, results);
}

Tensor applyView(OpCode op, const Tensor& base, DimsRef shape, DimsRef strides, std::int64_t offset, Attrs attrs) {
  const Operand operands[] = {base};
  if (base.impl()->viewBase) refresh(operands);
  Tensor view = windowOn(base, shape, strides, offset);
  view.impl()->countWith(*base.impl());
  ViewOrigin origin = base.impl()->origin;
  if (origin == ViewOrigin::Plain && !gradEnabled())
    origin = inferenceMode() ? ViewOrigin::Inference : ViewOrigin::NoGrad;
  view.impl()->origin = origin;
  if (gradEnabled() && base.requiresGrad()) tapeHook->record(op, operands, attrs, {&view, 1});
  return view;
}

}  // namespace tandem
