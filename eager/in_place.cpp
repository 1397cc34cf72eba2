// Operations whose result is written into memory that exists: in-place forms and `out=`.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "eager/apply_steps.h"
#include "eager/batch.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/host.h"
#include "eager/in_place_form.h"
#include "eager/kernels.h"
#include "eager/overlap.h"
#include "eager/placement.h"
#include "eager/recorder.h"
#include "runtime/base/attrs.h"

namespace tandem {
namespace {

/// A result of another shape is written where it broadcasts to that of `out`; a copy says so by the name copy_.
void checkShapeFits(const OpFacts& f, const Dims& shape, const Tensor& out) {
  const bool copies = f.code == OpCode::clone;
  Dims wide = shape;
  if (copies)
    wide = broadcastShapes("copy_", out.shape(), shape);
  else if (shape.size() <= out.shape().size())
    wide = broadcastShapes(f.name.data(), shape, out.shape());
  if (!(wide == out.shape()))
    fail(copies ? "copy" : f.name, "_: output with shape ", shapeText(out.shape()),
         " doesn't match the broadcast shape ", shapeText(wide));
}

void checkResultFits(const OpFacts& f, const TensorMeta& result, const Tensor& out) {
  if (!(result.shape == out.shape())) checkShapeFits(f, result.shape, out);
  if (f.code != OpCode::clone && category(result.dtype) > category(out.dtype()))
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

/// The write of an operation's result into `out`.
struct ResultWrite {
  const Tensor& out;
  const OpFacts& f;
  Operands operands;
  Attrs attrs;
  const TensorMeta& made;  // of the result
  bool passesGrad;         // from the operands to the result
  bool needsGrad;          // the out has a history afterwards

  [[nodiscard]] bool isExact() const { return made.shape == out.shape() && made.dtype == out.dtype(); }
  [[nodiscard]] bool isOver(std::size_t operand) const {
    return operand < operands.size() && operands[operand].isTensor() && operands[operand].tensor() == out;
  }
  /// What is written where `value`, of the out's shape and dtype, is the result of a change of some places of the out.
  [[nodiscard]] Tensor changes(const Tensor& value) const {
    return f.updates && isOver(0) && mayOverlapItself(out) ? ops::lastChanges(out, value) : value;
  }
};

/// All errors that are known before anything changes.
void checkWrite(const ResultWrite& w) {
  checkResultFits(w.f, w.made, w.out);
  if (tapeHook != nullptr) tapeHook->checkWrite(w.out, w.needsGrad);
  if (selfOverlaps(w.out))
    fail("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
         "Please clone() the tensor before performing the operation (",
         w.f.name, "_ on shape ", shapeText(w.out.shape()), ").");
}

/// The result as a new value of the out's shape and dtype.
Tensor resultLikeOut(const ResultWrite& w) {
  const Tensor& out = w.out;
  Tensor value = apply(w.f.code, w.operands, w.attrs);
  if (value.dtype() != out.dtype()) {
    AttrWriter to;
    to.dtype(out.dtype());
    value = apply(OpCode::to, {value}, to.span());
  }
  if (value.shape() == out.shape()) return value;
  AttrWriter size;
  size.list(out.shape());
  return applyView(OpCode::expand, value, out.shape(), broadcastStrides(value.shape(), value.strides(), out.shape()),
                   value.impl()->offset, size.span());
}

/// As a new value, then a write of that value: what is recorded, has hidden dims, or needs a conversion with history.
void writeValue(const ResultWrite& w, bool batched) {
  const Tensor value = resultLikeOut(w);
  const Operand all[] = {w.out};
  if (batched)
    writeBatched(w.f, w.out, value);
  else if (Recorder* recorder = recorderFor(all))
    recorder->recordWrite(w.out, w.changes(value));
  else
    copyInto(w.out, w.changes(value));
  countWrite(w.out);
  if (tapeHook != nullptr && w.needsGrad) tapeHook->recordWrite(w.out, value);
}

/// The operands, those that the write would change before they are read as copies, which `copies` keeps. The first
/// `samePlace` of them are read only where they are written.
std::vector<Operand> apartFrom(const ResultWrite& w, std::size_t samePlace, std::vector<Tensor>& copies) {
  std::vector<Operand> own(w.operands.begin(), w.operands.end());
  copies.reserve(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    Operand& o = own[i];
    if (!o.isTensor()) continue;
    if (!(i >= samePlace ? overlaps(o.tensor(), w.out) : overlapsPartly(o.tensor(), w.out))) continue;
    copies.push_back(makeEmpty(o.tensor().shape(), o.tensor().dtype()));
    copyInto(copies.back(), o);
    o = Operand(copies.back());
  }
  return own;
}

/// At once, into the out's memory: by the kernel itself where it can write there.
void runInto(const ResultWrite& w) {
  // Library operations that update their operand 0 do so where it is.
  const bool dense = w.isExact() && w.out.isContiguous();
  const bool update = dense && w.f.updates && w.isOver(0);
  // Those that read where indices say have looked at all of them before they write.
  const bool gathers = dense && w.f.kind == OpKind::Gather;
  std::vector<Tensor> copies;
  const std::size_t all = w.operands.size();
  const std::vector<Operand> own = apartFrom(w, update ? 1 : gathers ? 0 : all, copies);
  if (w.f.kind == OpKind::Pointwise) {
    runPointwise(w.f, own, w.attrs, {&w.out, 1});
  } else if (update || gathers) {
    run(w.f, own, w.attrs, {&w.out, 1});
  } else {
    std::array<Tensor, 1> value{makeEmpty(w.made.shape, w.made.dtype)};
    run(w.f, w.f.random ? withGeneratorState(own) : own, w.attrs, value);
    copyInto(w.out, w.isExact() ? w.changes(value[0]) : value[0]);
  }
}

/// The history of an out that `runInto` wrote, and its version.
void noteWrite(const ResultWrite& w) {
  if (!w.needsGrad) return countWrite(w.out);
  // The value is the out's own memory: saved as a result, it has the version after the write.
  Tensor value = makeAlias(w.out, w.out.shape(), w.out.strides(), w.out.impl()->offset);
  if (w.passesGrad) tapeHook->record(w.f.code, w.operands, w.attrs, {&value, 1});
  countWrite(w.out);
  tapeHook->recordWrite(w.out, value);
}

void applyIntoHere(const Tensor& out, OpCode op, Operands operands, Attrs attrs) {
  const OpFacts& f = facts(op);
  const bool passesGrad = refresh(operands) && f.differentiable;
  const Operand all[] = {out};
  refresh(all);
  OperandMetas metas(f, operands);
  ResultMetas made(1);
  f.metaRule(f, metas.span(), attrs, made);
  std::array<Operand, 2> pair;
  Tensor divisor;
  if (isPartial(f, made[0])) operands = checkedOperands(f, made[0], operands, pair, divisor);
  const bool needsGrad = gradEnabled() && (out.requiresGrad() || passesGrad) && !f.random;
  const ResultWrite write{out, f, operands, attrs, made[0], passesGrad, needsGrad};
  checkWrite(write);

  Recorder* recorder = recorderFor(operands);
  if (recorder == nullptr) recorder = recorderFor(all);
  const bool again = write.isOver(0) && mayOverlapItself(out);
  if (recorder != nullptr && again && f.kind == OpKind::Pointwise) {
    // What is read after it was written depends on the order of a kernel's steps.
    if (!recorder->mayRead())
      fail(f.name, "_: an element of the written-to tensor of shape ", shapeText(out.shape()),
           " may have several places, of which later ones read what was written to others, which a whole trace does "
           "not do. Please clone() the tensor before performing the operation.");
    settleReads(*out.impl()->storage);
    AtOnce now;
    return applyIntoHere(out, op, operands, attrs);
  }
  std::optional<GradientOnce> gradient;
  if (again && needsGrad) gradient.emplace(out);
  if (recorder == nullptr)
    beforeWrite(*out.impl()->storage);
  else if (tapeHook != nullptr)
    tapeHook->beforeWrite(out.impl()->storage.get());
  if (needsGrad && tapeHook->keepsSaved()) {
    // What else is read of the memory is kept as it was, too: `x.mul_(x)`.
    std::vector<Operand> own(operands.begin(), operands.end());
    std::vector<Tensor> kept;
    kept.reserve(own.size());
    for (std::size_t i = write.isOver(0) ? 1 : 0; i < own.size(); ++i) {
      const Tensor* t = own[i].isTensor() ? &own[i].tensor() : nullptr;
      if (t == nullptr || !t->defined() || !t->impl()->storage->sameMemory(*out.impl()->storage)) continue;
      kept.push_back(apply(OpCode::clone, {*t}));
      own[i] = Operand(kept.back());
    }
    if (!kept.empty()) return applyIntoHere(out, op, own, attrs);
  }
  const bool batched = out.impl()->batch || needsBatching(f, operands);
  if (needsGrad && write.isOver(0) && readsSelf(f, operands)) {
    // As PyTorch does: `x.mul_(w)` keeps what x was, and differentiates; other operands are kept as they are.
    Tensor before = apply(OpCode::clone, {out});
    std::vector<Operand> own(operands.begin(), operands.end());
    own[0] = Operand(before);
    if (!again || recorder != nullptr || batched || !write.isExact()) return applyIntoHere(out, op, own, attrs);
    runInto(write);
    return noteWrite({out, f, own, attrs, made[0], passesGrad, needsGrad});
  }
  if (recorder != nullptr || batched || (needsGrad && !write.isExact())) return writeValue(write, batched);
  runInto(write);
  noteWrite(write);
}

}  // namespace

void applyInto(const Tensor& out, OpCode op, Operands operands, Attrs attrs) {
  if (!otherDevices) [[likely]]
    return applyIntoHere(out, op, operands, attrs);
  Tensor moved;
  Operand there;
  if (op == OpCode::clone && operands[0].isTensor() && operands[0].tensor().device() != out.device()) {
    // What is copied may come from anywhere.
    const Tensor& from = operands[0].tensor();
    if (writeLate(out, from)) return countWrite(out);
    const LateCopies copies(copiesLate() && !out.device().isCpu());  // the host reads it at once
    moved = toDevice(from, out.device());
    there = Operand(moved);
    operands = {&there, 1};
  }
  const Placement place(facts(op).name.data(), operands, out);
  applyIntoHere(out, op, place.operands(), attrs);
}

Tensor applyOver(const Tensor& over, OpCode op, std::initializer_list<Operand> list) {
  const OpFacts& f = facts(op);
  const Operands operands(list.begin(), list.size());
  bool fits = activeRecorder == nullptr && over.isContiguous();
  for (const Operand& o : operands) {
    const Tensor& t = o.tensor();
    fits = fits && !t.isPending() && !t.impl()->batch && t.dtype() == over.dtype() && t.device() == over.device() &&
           t.dim() <= over.dim() && (t.isContiguous() || t.dim() < 2);  // else the result may lie in another order
    for (std::int64_t d = 1; fits && d <= t.dim(); ++d) fits = t.size(-d) == 1 || t.size(-d) == over.size(-d);
  }
  if (!fits) return apply(op, operands);
  const bool needsGrad = refresh(operands) && f.differentiable;
  Tensor result = makeAlias(over, over.shape(), over.strides(), over.impl()->offset);
  runPointwise(f, operands, {}, {&result, 1});
  if (needsGrad) tapeHook->record(op, operands, {}, {&result, 1});
  return result;
}

}  // namespace tandem
