#include "eager/dispatch.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "eager/batch.h"
#include "eager/generator.h"
#include "eager/helpers.h"
#include "eager/host.h"
#include "eager/kernels.h"
#include "eager/ops.h"
#include "eager/placement.h"
#include "eager/recorder.h"
#include "eager/tape_hook.h"
#include "runtime/base/attrs.h"
#include "runtime/base/inline_array.h"

namespace tandem {
namespace {

using Operands = std::span<const Operand>;
using Attrs = std::span<const std::int64_t>;

thread_local const Tensor* inPlaceSelf = nullptr;   // of the InPlaceForm
thread_local const TensorImpl* updating = nullptr;  // of the LastStep

void applyIntoHere(const Tensor& out, OpCode op, Operands operands, Attrs attrs);

/// Views whose base was written since they were made get their history brought up to date. True where gradients are
/// recorded and an operand requires one.
bool refresh(Operands operands) {
  if (tapeHook == nullptr || !gradEnabled()) return false;
  bool requiresGrad = false;
  for (const auto& o : operands) {
    if (!o.isTensor() || !o.tensor().defined()) continue;
    TensorImpl* t = o.tensor().impl();
    if (t->viewBase) tapeHook->refreshView(t);
    requiresGrad |= t->requiresGrad;
  }
  return requiresGrad;
}

void run(const OpFacts& f, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  switch (f.kind) {
  case OpKind::Pointwise:
  case OpKind::Random:
  case OpKind::Creation:
    return runPointwise(f, operands, attrs, outs);
  case OpKind::Reduction:
    return runReduction(f, operands[0].tensor(), attrs, outs[0]);
  case OpKind::Library:
    return runLibrary(f, operands, attrs, outs);
  default:
    fail<InternalError>(f.name, " is not a primitive that runs");
  }
}

/// Operand metas, on the stack for the usual few.
class OperandMetas {
 public:
  OperandMetas(const OpFacts& f, Operands operands)
      : few_(operands.size() <= kFew ? operands.size() : 0, [&](std::size_t i) { return checked(f, operands, i); }) {
    span_ = few_;
    if (operands.size() <= kFew) return;
    for (std::size_t i = 0; i < operands.size(); ++i) many_.push_back(checked(f, operands, i));
    span_ = many_;
  }
  [[nodiscard]] std::span<const TensorMeta> span() const { return span_; }

 private:
  static constexpr std::size_t kFew = 4;

  static TensorMeta checked(const OpFacts& f, Operands operands, std::size_t i) {
    if (operands[i].isTensor() && !operands[i].tensor().defined() && f.kind != OpKind::Library)
      fail<TypeError>(f.name, "(): operand ", i, " must be a Tensor or a number, not None");
    return metaOf(operands[i]);
  }

  InlineArray<TensorMeta, kFew> few_;
  std::vector<TensorMeta> many_;
  std::span<const TensorMeta> span_;
};
using ResultMetas = InlineArray<TensorMeta, kMostResults>;

/// The operands of a random operation: the generator's seed and next offset, then the caller's.
std::vector<Operand> withGeneratorState(Operands operands) {
  Generator& g = scopedGenerator() != nullptr ? *scopedGenerator() : defaultGenerator();
  std::vector<Operand> all{Operand(g.seed()), Operand(g.next())};
  all.insert(all.end(), operands.begin(), operands.end());
  return all;
}

/// The operands of a partial operation on integers, the second checked; kept in `own`, and in `divisor` what it refers
/// to.
Operands checkedPair(const OpFacts& f, Operands operands, std::array<Operand, 2>& own, Tensor& divisor) {
  const Operand& by = operands[1];
  if (f.partial == OpPartial::Exponent) {
    if (!by.isTensor() && by.scalar().asInt() < 0) fail("Integers to negative integer powers are not allowed.");
    return operands;
  }
  if (!by.isTensor()) {
    if (by.scalar().asInt() == 0) fail("ZeroDivisionError: an integer is divided by zero");
    return operands;
  }
  divisor = ops::expected(by.tensor(), ops::ne(by, 0), Expectation::NonZeroDivisor);
  own = {operands[0], Operand(divisor)};
  return own;
}
bool needsPairCheck(const OpFacts& f, const TensorMeta& result) {
  return f.partial != OpPartial::None && !isFloating(result.dtype);
}

void applyAnew(const OpFacts& f, Operands operands, Attrs attrs, std::span<Tensor> results) {
  OperandMetas metas(f, operands);
  ResultMetas made(results.size());
  f.metaRule(f, metas.span(), attrs, made);
  std::array<Operand, 2> own;
  Tensor divisor;
  if (needsPairCheck(f, made[0])) operands = checkedPair(f, operands, own, divisor);
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

// Spans by reference: the last would be put on the stack in halves and read whole, which processors are slow at.
void applyGeneral(const OpFacts& f, const Operands& operands, const Attrs& attrs, const std::span<Tensor>& results) {
  const bool needsGrad = refresh(operands) && f.differentiable;
  if (activeRecorder == nullptr || !activeRecorder->repeat(f, operands, attrs, results))
    applyAnew(f, operands, attrs, results);
  if (needsGrad) tapeHook->record(f.code, operands, attrs, results);
}

/// Pointwise operations on contiguous tensors of one shape and dtype, and numbers that do not change that dtype: the
/// rules reduce to "the same again".
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
    else if (t->dtype != first->dtype || !(t->shape == first->shape))
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
  result = makeEmpty(first->shape, dtype);
  runPointwise(f, operands, attrs, {&result, 1});
  if (needsGrad && f.differentiable && gradEnabled()) tapeHook->record(f.code, operands, attrs, {&result, 1});
  return true;
}

bool selfOverlaps(const Tensor& t) {
  if (t.numel() == 0) return false;
  for (std::size_t d = 0; d < t.shape().size(); ++d)
    if (t.strides()[d] == 0 && t.shape()[d] > 1) return true;
  return false;
}

/// (stride, size) of the dims with more than one element, the smallest stride first.
std::vector<std::pair<std::int64_t, std::int64_t>> fromInnermost(const Tensor& t) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t d = 0; d < t.shape().size(); ++d)
    if (t.shape()[d] > 1) dims.emplace_back(t.strides()[d], t.shape()[d]);
  std::sort(dims.begin(), dims.end());
  return dims;
}

/// Of windows of other kinds: may two places be one element?
bool mayOverlapItself(const Tensor& t) {
  if (t.isContiguous()) return false;
  std::int64_t inner = 0;  // the farthest place that the dims before reach
  for (const auto& [stride, size] : fromInnermost(t)) {
    if (stride <= inner) return true;
    inner += stride * (size - 1);
  }
  return false;
}

/// The bytes a window touches, [first, last).
std::pair<std::int64_t, std::int64_t> extent(const Tensor& t) {
  std::int64_t last = t.impl()->offset + 1;
  for (std::size_t d = 0; d < t.shape().size(); ++d) last += (t.shape()[d] - 1) * t.strides()[d];
  auto size = static_cast<std::int64_t>(itemSize(t.dtype()));
  // Two looks at one memory begin at different places.
  const Storage& s = *t.impl()->storage;
  const auto first = s.isShared() ? static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(s.data())) : 0;
  return {first + t.impl()->offset * size, first + last * size};
}

/// Shares memory with `into`.
bool overlaps(const Tensor& t, const Tensor& into) {
  if (!t.defined() || t.numel() == 0 || !t.impl()->storage->sameMemory(*into.impl()->storage)) return false;
  auto [a, b] = extent(t);
  auto [c, d] = extent(into);
  return a < d && c < b;
}

/// Of a tensor with elements: all of a stretch of memory, each once.
bool isDense(const Tensor& t) {
  if (t.isContiguous()) return true;
  std::int64_t expected = 1;
  for (const auto& [stride, size] : fromInnermost(t)) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

/// Other than by being the same window: reading it while `into` is written would see the write.
bool overlapsPartly(const Tensor& t, const Tensor& into) { return overlaps(t, into) && !sameWindow(t, into); }

/// All of the same memory in the same order, in whatever shape: a write of one to the other changes nothing.
bool sameMemory(const Tensor& a, const Tensor& b) {
  return sameWindow(a, b) || (a.impl()->storage == b.impl()->storage && a.impl()->offset == b.impl()->offset &&
                              a.dtype() == b.dtype() && a.numel() == b.numel() && a.isContiguous() && b.isContiguous());
}

void checkResultFits(const OpFacts& f, const TensorMeta& result, const Tensor& out) {
  bool copies = f.code == OpCode::clone;
  bool fits = result.shape == out.shape();
  if (!fits && result.shape.size() <= out.shape().size()) {
    Dims wide = broadcastShapes(f.name.data(), result.shape, out.shape());
    fits = wide == out.shape();
  }
  if (!fits)
    fail(f.name, "_: output with shape ", shapeText(out.shape()), " doesn't match the broadcast shape ",
         shapeText(result.shape));
  if (!copies && category(result.dtype) > category(out.dtype()))
    fail(f.name, "_: result type ", dtypeClassName(result.dtype), " can't be cast to the desired output type ",
         dtypeClassName(out.dtype()));
}

/// Does a derivative that is needed read operand 0, which the write into it destroys?
bool readsSelf(const OpFacts& f, Operands operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& o = operands[i];
    if (o.isTensor() && o.tensor().defined() && o.tensor().requiresGrad() &&
        (f.readsFor[std::min<std::size_t>(i, std::size(f.readsFor) - 1)] & 1) != 0)
      return true;
  }
  return false;
}

[[noreturn]] void failOverlap(const char* op, const Tensor& t, const Tensor& out) {
  fail("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
       "location. Please clone() the tensor before performing the operation (",
       op, " of shape ", shapeText(t.shape()), " into shape ", shapeText(out.shape()), ").");
}

/// Whether the operation is the step that changes its operand 0 in place.
bool updatesInPlace(const OpFacts& f, Operands operands) {
  return f.updates && updating != nullptr && operands[0].isTensor() && operands[0].tensor().impl() == updating;
}

}  // namespace

void refusePartialOverlap(const char* op, const Tensor& out, Operands operands) {
  for (const Operand& o : operands) {
    if (!o.isTensor() || !o.tensor().defined() || o.tensor() == out || !overlaps(o.tensor(), out)) continue;
    const Tensor& t = o.tensor();
    if (!isDense(t) || !isDense(out) || (extent(t) == extent(out) && t.strides() == out.strides())) continue;
    failOverlap(op, t, out);
  }
}

void refuseOverlap(const char* op, const Tensor& out, const Tensor& t) {
  if (t.defined() && overlaps(t, out) && isDense(t) && isDense(out)) failOverlap(op, t, out);
}

InPlaceForm::InPlaceForm(const Tensor& self) : self_(self), outer_(std::exchange(inPlaceSelf, &self)) {
  if (tapeHook != nullptr) tapeHook->beginInPlaceForm();
  recording_.beginInScopes();
}
InPlaceForm::~InPlaceForm() {
  inPlaceSelf = outer_;
  if (tapeHook != nullptr) tapeHook->endInPlaceForm();
}
void InPlaceForm::end(Tensor value) {
  if (!sameMemory(value, self_)) ops::assign(self_, value);
  value = {};  // or the recording would have to keep it
  recording_.end();
}

LastStep::LastStep(const Tensor& x) : outer_(updating) {
  const bool known = inPlaceSelf != nullptr && activeRecorder == nullptr && !x.isPending() && !x.impl()->batch;
  updating = known && x.isContiguous() && sameMemory(x, *inPlaceSelf) ? x.impl() : nullptr;
}
LastStep::~LastStep() { updating = outer_; }

bool sameWindow(const Tensor& a, const Tensor& b) {
  return a.impl()->storage == b.impl()->storage && a.impl()->offset == b.impl()->offset && a.shape() == b.shape() &&
         a.strides() == b.strides() && a.dtype() == b.dtype();
}

namespace {

Tensor applyHere(OpCode op, Operands operands, Attrs attrs) {
  const OpFacts& f = facts(op);
  Tensor result;
  if (f.kind == OpKind::Pointwise && applySimple(f, operands, attrs, result)) return result;
  if (updatesInPlace(f, operands)) {
    updating = nullptr;
    result = operands[0].tensor();
    applyInto(result, op, operands, attrs);
    return result;
  }
  applyGeneral(f, operands, attrs, {&result, 1});
  return result;
}

}  // namespace

Tensor apply(OpCode op, Operands operands, Attrs attrs) {
  if (!otherDevices) [[likely]]
    return applyHere(op, operands, attrs);
  const Placement place(facts(op).name.data(), operands);
  return applyHere(op, place.operands(), attrs);
}

void applyMulti(OpCode op, Operands operands, Attrs attrs, std::span<Tensor> results) {
  if (!otherDevices) [[likely]]
    return applyGeneral(facts(op), operands, attrs, results);
  const Placement place(facts(op).name.data(), operands);
  applyGeneral(facts(op), place.operands(), attrs, results);
}

void applyInto(const Tensor& out, OpCode op, Operands operands, Attrs attrs) {
  if (!otherDevices) [[likely]]
    return applyIntoHere(out, op, operands, attrs);
  Tensor moved;
  Operand there;
  if (op == OpCode::clone && operands[0].isTensor() && operands[0].tensor().device() != out.device()) {
    // What is copied may come from anywhere.
    moved = toDevice(operands[0].tensor(), out.device());
    there = Operand(moved);
    operands = {&there, 1};
  }
  const Placement place(facts(op).name.data(), operands, out);
  applyIntoHere(out, op, place.operands(), attrs);
}

namespace {

void applyIntoHere(const Tensor& out, OpCode op, Operands operands, Attrs attrs) {
  const OpFacts& f = facts(op);
  const bool passesGrad = refresh(operands) && f.differentiable;
  const Operand self(out);
  refresh({&self, 1});
  OperandMetas metas(f, operands);
  ResultMetas made(1);
  f.metaRule(f, metas.span(), attrs, made);
  std::array<Operand, 2> pair;
  Tensor divisor;
  if (needsPairCheck(f, made[0])) operands = checkedPair(f, operands, pair, divisor);
  checkResultFits(f, made[0], out);
  bool needsGrad = gradEnabled() && (out.requiresGrad() || passesGrad) && f.kind != OpKind::Random;
  if (tapeHook != nullptr) tapeHook->checkWrite(out, needsGrad);
  if (selfOverlaps(out))
    fail("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
         "Please clone() the tensor before performing the operation (",
         f.name, "_ on shape ", shapeText(out.shape()), ").");

  if (tapeHook != nullptr) tapeHook->beforeWrite(out.impl()->storage.get());
  if (needsGrad && !operands.empty() && operands[0].isTensor() && operands[0].tensor() == out &&
      readsSelf(f, operands)) {
    // As PyTorch does: `x.mul_(w)` keeps what x was, and differentiates; other operands are kept as they are.
    Tensor before = apply(OpCode::clone, {out});
    std::vector<Operand> own(operands.begin(), operands.end());
    own[0] = Operand(before);
    return applyIntoHere(out, op, own, attrs);
  }
  const Operand all[] = {out};
  Recorder* recorder = recorderFor(operands);
  if (recorder == nullptr) recorder = recorderFor(all);
  if (recorder != nullptr && mayOverlapItself(out) && recorder->mayRead()) {
    // What is read after it was written depends on the order of a kernel's steps.
    AtOnce now;
    return applyIntoHere(out, op, operands, attrs);
  }
  bool exact = made[0].shape == out.shape() && made[0].dtype == out.dtype();
  bool batched = out.impl()->batch || needsBatching(f, operands);
  if (recorder != nullptr || batched || (needsGrad && !exact)) {
    // As a new value of the out's shape and dtype, then a write of that value.
    Tensor value = apply(op, operands, attrs);
    if (value.dtype() != out.dtype()) {
      AttrWriter to;
      to.dtype(out.dtype());
      value = apply(OpCode::to, {value}, to.span());
    }
    if (!(value.shape() == out.shape())) {
      AttrWriter size;
      size.list(out.shape());
      value =
          applyView(OpCode::expand, value, out.shape(), broadcastStrides(value.shape(), value.strides(), out.shape()),
                    value.impl()->offset, size.span());
    }
    if (recorder == nullptr) recorder = recorderFor(all);
    if (batched) {
      writeBatched(f, out, value);
    } else if (recorder != nullptr) {
      recorder->recordWrite(out, value);
    } else {
      const Operand from[] = {value};
      runPointwise(facts(OpCode::clone), from, {}, {&out, 1});
    }
    if (!out.impl()->untracked) ++out.impl()->storage->version;
    if (tapeHook != nullptr && needsGrad) tapeHook->recordWrite(out, value);
    return;
  }

  // Library operations that update their operand 0 do so where it is.
  const bool update = f.updates && exact && operands[0].isTensor() && operands[0].tensor() == out && out.isContiguous();
  // Operands that share memory with the out are read from copies.
  std::vector<Operand> own(operands.begin(), operands.end());
  std::vector<Tensor> copies;
  copies.reserve(own.size());
  for (auto& o : own) {
    if (!o.isTensor()) continue;
    const bool whole = update && &o != own.data();  // read elsewhere than where the out is written
    if (!(whole ? overlaps(o.tensor(), out) : overlapsPartly(o.tensor(), out))) continue;
    copies.push_back(makeEmpty(o.tensor().shape(), o.tensor().dtype()));
    const Operand from[] = {o};
    runPointwise(facts(OpCode::clone), from, {}, {&copies.back(), 1});
    o = Operand(copies.back());
  }
  if (f.kind == OpKind::Pointwise) {
    runPointwise(f, own, attrs, {&out, 1});
  } else if (update) {
    run(f, own, attrs, {&out, 1});
  } else {
    std::array<Tensor, 1> value{makeEmpty(made[0].shape, made[0].dtype)};
    run(f, f.random ? withGeneratorState(own) : own, attrs, value);
    const Operand from[] = {value[0]};
    runPointwise(facts(OpCode::clone), from, {}, {&out, 1});
  }
  if (needsGrad) {
    // The value is the out's own memory: saved as a result, it has the version after the write.
    Tensor value = makeAlias(out, out.shape(), out.strides(), out.impl()->offset);
    if (passesGrad) tapeHook->record(f.code, operands, attrs, {&value, 1});
    if (!out.impl()->untracked) ++out.impl()->storage->version;
    tapeHook->recordWrite(out, value);
  } else if (!out.impl()->untracked) {
    ++out.impl()->storage->version;
  }
}

}  // namespace

Tensor applyOver(const Tensor& over, OpCode op, std::initializer_list<Operand> list) {
  const OpFacts& f = facts(op);
  const Operands operands(list.begin(), list.size());
  bool fits = activeRecorder == nullptr && over.isContiguous();
  for (const Operand& o : operands) {
    const Tensor& t = o.tensor();
    fits = fits && !t.isPending() && !t.impl()->batch && t.dtype() == over.dtype() && t.device() == over.device() &&
           t.dim() <= over.dim();
    for (std::int64_t d = 1; fits && d <= t.dim(); ++d) fits = t.size(-d) == 1 || t.size(-d) == over.size(-d);
  }
  if (!fits) return apply(op, operands);
  const bool needsGrad = refresh(operands) && f.differentiable;
  Tensor result = makeAlias(over, over.shape(), over.strides(), over.impl()->offset);
  runPointwise(f, operands, {}, {&result, 1});
  if (needsGrad) tapeHook->record(op, operands, {}, {&result, 1});
  return result;
}

void applyUpdate(OpCode op, Operands operands, std::span<const Tensor> outs) {
  const OpFacts& f = facts(op);
  std::optional<Placement> place;
  if (otherDevices) [[unlikely]]
    operands = place.emplace(f.name.data(), operands, outs[0]).operands();
  NoGrad noGrad;
  std::array<Tensor, kMostResults> values;
  auto countWrites = [&] {
    for (const auto& t : outs)
      if (t.defined() && !t.impl()->untracked) ++t.impl()->storage->version;
  };
  if (activeRecorder != nullptr && activeRecorder->repeatUpdate(f, operands, outs)) return countWrites();
  OperandMetas metas(f, operands);
  ResultMetas made(f.numResults);
  f.metaRule(f, metas.span(), {}, made);
  // One kernel writes outs that have one stride along the innermost dim.
  DimsRef shape = outs[0].shape();
  std::size_t inner = shape.size();
  while (inner > 0 && shape[inner - 1] == 1) --inner;
  bool inPlace = true;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    inPlace &= outs[i].defined() && (inner == 0 || outs[i].strides()[inner - 1] == outs[0].strides()[inner - 1]);
    if (outs[i].defined() && (!(made[i].shape == outs[i].shape()) || made[i].dtype != outs[i].dtype()))
      fail(f.name, ": expected a ", dtypeName(made[i].dtype), " tensor of shape ", shapeText(made[i].shape),
           " to update, but got ", dtypeName(outs[i].dtype()), " ", shapeText(outs[i].shape()));
  }
  if (anyBatched(operands)) {
    // As new values, then written: an optimizer step inside vmap is rare.
    applyMulti(op, operands, {}, {values.data(), f.numResults});
    for (std::size_t i = 0; i < outs.size(); ++i)
      if (outs[i].defined()) writeBatched(f, outs[i], values[i]);
  } else if (Recorder* recorder = recorderFor(operands)) {
    recorder->record(op, operands, {}, made, {values.data(), f.numResults});
    for (std::size_t i = 0; i < outs.size(); ++i)
      if (outs[i].defined()) recorder->recordWrite(outs[i], values[i]);
  } else if (inPlace) {
    runPointwise(f, operands, {}, outs);
  } else {
    for (std::size_t i = 0; i < outs.size(); ++i) values[i] = makeEmpty(made[i].shape, made[i].dtype);
    runPointwise(f, operands, {}, {values.data(), outs.size()});
    for (std::size_t i = 0; i < outs.size(); ++i) {
      if (!outs[i].defined()) continue;
      const Operand from[] = {values[i]};
      runPointwise(facts(OpCode::clone), from, {}, {&outs[i], 1});
    }
  }
  countWrites();
}

void tapeWhole(OpCode op, Operands operands, Attrs attrs, std::span<Tensor> results) {
  if (refresh(operands) && facts(op).differentiable) tapeHook->record(op, operands, attrs, results);
}

Tensor applyView(OpCode op, const Tensor& base, Dims shape, Dims strides, std::int64_t offset, Attrs attrs) {
  const Operand operands[] = {base};
  if (base.impl()->viewBase) refresh(operands);
  if (activeRecorder != nullptr) {
    if (otherDevices) [[unlikely]]
      activeRecorder->enter(base.device());
    activeRecorder->touch(base);
  }
  Tensor view = makeAlias(base, std::move(shape), std::move(strides), offset);
  view.impl()->viewBase = base.impl()->viewBase ? base.impl()->viewBase : base.ref();
  view.impl()->untracked = base.impl()->untracked;
  ViewOrigin origin = base.impl()->origin;
  if (origin == ViewOrigin::Plain && !gradEnabled())
    origin = inferenceMode() ? ViewOrigin::Inference : ViewOrigin::NoGrad;
  view.impl()->origin = origin;
  if (gradEnabled() && base.requiresGrad()) tapeHook->record(op, operands, attrs, {&view, 1});
  return view;
}

}  // namespace tandem
