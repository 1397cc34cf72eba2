// The updates of optimizers: pointwise operations that read and overwrite a parameter and its state in one pass.
#include "eager/updates.h"

#include <algorithm>
#include <array>
#include <optional>

#include "eager/apply_steps.h"
#include "eager/batch.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/placement.h"

namespace tandem {
namespace {

void checkUpdate(const OpFacts& f, std::span<const TensorMeta> made, std::span<const Tensor> outs) {
  for (std::size_t i = 0; i < outs.size(); ++i)
    if (outs[i].defined() && (!(made[i].shape == outs[i].shape()) || made[i].dtype != outs[i].dtype()))
      fail(f.name, ": expected a ", dtypeName(made[i].dtype), " tensor of shape ", shapeText(made[i].shape),
           " to update, but got ", dtypeName(outs[i].dtype()), " ", shapeText(outs[i].shape()));
}

/// One kernel writes outs that are all wanted and have one stride along the innermost dim.
bool writesInPlace(std::span<const Tensor> outs) {
  DimsRef shape = outs[0].shape();
  std::size_t inner = shape.size();
  while (inner > 0 && shape[inner - 1] == 1) --inner;
  return std::ranges::all_of(outs, [&](const Tensor& t) {
    return t.defined() && (inner == 0 || t.strides()[inner - 1] == outs[0].strides()[inner - 1]);
  });
}

/// Does an update run at once, on one device, by kernels that write where the outs are?
bool runsHere(Operands operands, std::span<const Tensor> outs) {
  if (activeRecorder != nullptr) return false;
  DimsRef shape = outs[0].shape();
  const Device device = outs[0].device();
  for (const Operand& o : operands) {
    if (!o.isTensor()) continue;
    const Tensor& t = o.tensor();
    if (t.isPending() || t.impl()->batch || t.device() != device || t.dim() > outs[0].dim()) return false;
  }
  return std::ranges::all_of(outs, [&](const Tensor& t) { return t.defined() && t.shape() == shape; });
}

}  // namespace

void applyUpdate(OpCode op, Operands operands, std::span<const Tensor> outs) {
  const OpFacts& f = facts(op);
  std::optional<Placement> place;
  if (otherDevices) [[unlikely]]
    operands = place.emplace(f.name.data(), operands, outs[0]).operands();
  NoGrad noGrad;
  std::array<Tensor, kMostResults> values;
  auto countWrites = [&] {
    for (const auto& t : outs)
      if (t.defined()) countWrite(t);
  };
  if (activeRecorder != nullptr && activeRecorder->repeatUpdate(f, operands, outs)) return countWrites();
  OperandMetas metas(f, operands);
  ResultMetas made(f.numResults);
  f.metaRule(f, metas.span(), {}, made);
  checkUpdate(f, made, outs);
  if (anyBatched(operands)) {
    // As new values, then written: an optimizer step inside vmap is rare.
    applyMulti(op, operands, {}, {values.data(), f.numResults});
    for (std::size_t i = 0; i < outs.size(); ++i)
      if (outs[i].defined()) writeBatched(f, outs[i], values[i]);
  } else if (Recorder* recorder = recorderFor(operands)) {
    recorder->record(op, operands, {}, made, {values.data(), f.numResults});
    for (std::size_t i = 0; i < outs.size(); ++i)
      if (outs[i].defined()) recorder->recordWrite(outs[i], values[i]);
  } else if (writesInPlace(outs)) {
    runPointwise(f, operands, {}, outs);
  } else {
    for (std::size_t i = 0; i < outs.size(); ++i) values[i] = makeEmpty(made[i].shape, made[i].dtype);
    runPointwise(f, operands, {}, {values.data(), outs.size()});
    for (std::size_t i = 0; i < outs.size(); ++i)
      if (outs[i].defined()) copyInto(outs[i], values[i]);
  }
  countWrites();
}

bool Updates::putOff(Operands operands, std::span<const Tensor> outs) {
  if (!runsHere(operands, outs)) return false;
  if (rows_.add(operands, outs)) return true;
  const OpFacts& f = facts(op_);
  OperandMetas metas(f, operands);
  ResultMetas made(f.numResults);
  f.metaRule(f, metas.span(), {}, made);
  checkUpdate(f, made, outs);
  return rows_.addFirst(operands, outs);
}

void Updates::add(Operands operands, std::span<const Tensor> outs) {
  bool later = false;
  try {
    later = putOff(operands, outs);
  } catch (...) {
    run();  // those before the one that is wrong
    throw;
  }
  if (!later) {
    run();
    return applyUpdate(op_, operands, outs);
  }
  for (const Tensor& t : outs) countWrite(t);
}

}  // namespace tandem
