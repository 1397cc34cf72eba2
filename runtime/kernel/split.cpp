#include "runtime/kernel/split.h"

#include <algorithm>

#include "runtime/kernel/collapse.h"

namespace tandem {
namespace {

constexpr std::int64_t kAlignment = 64;

std::size_t firstStep(const KernelSignature& s) { return s.inputs.size() + s.scalars.size(); }

const KernelStep& reductionOf(const KernelSignature& s, const KernelOutput& output) {
  return s.steps[output.value - firstStep(s)];
}

}  // namespace

bool canSplit(const KernelSignature& whole) {
  if ((whole.kind != KernelKind::Row && whole.kind != KernelKind::Column) || whole.outputs.empty()) return false;
  // A framed input is found by its place in the whole space, and so is the index of a step that knows it.
  if (whole.kind == KernelKind::Column) {
    for (const KernelOperand& input : whole.inputs)
      if (input.access == Access::Framed) return false;
    for (const KernelStep& step : whole.steps)
      if (step.kind == KernelStep::Kind::Index) return false;
  }
  const std::size_t first = firstStep(whole);
  for (const KernelOutput& o : whole.outputs)
    if (o.value < first || reductionOf(whole, o).kind != KernelStep::Kind::Reduce) return false;
  for (const KernelStep& step : whole.steps)
    for (std::uint16_t v : step.operands)
      if (v >= first && whole.steps[v - first].kind == KernelStep::Kind::Reduce) return false;
  return true;
}

std::pair<KernelSignature, KernelSignature> splitSignature(const KernelSignature& whole) {
  KernelSignature partial = whole;
  KernelSignature finish;
  finish.kind = whole.kind;
  finish.outerRank = whole.outerRank;
  finish.trailing = whole.trailing;
  if (whole.kind == KernelKind::Row) partial.kind = KernelKind::Partial;
  for (std::size_t k = 0; k < whole.outputs.size(); ++k) {
    const KernelStep& reduce = reductionOf(whole, whole.outputs[k]);
    partial.outputs[k].operand = {reduce.dtype, Access::Unit};
    finish.inputs.push_back({reduce.dtype, Access::Unit});
    finish.steps.push_back(
        {reduce.op, reduce.dtype, KernelStep::Kind::Reduce, {static_cast<std::uint16_t>(k)}, reduce.result});
    finish.outputs.push_back({whole.outputs[k].operand, static_cast<std::uint16_t>(whole.outputs.size() + k)});
  }
  return {std::move(partial), std::move(finish)};
}

bool canSplitAsDim(const KernelSignature& whole) {
  if (!canSplit(whole)) return false;
  if (whole.kind != KernelKind::Column) return true;
  return whole.reducedRank == 1 && whole.outerRank < kMaxOuterRank;
}

std::pair<KernelSignature, KernelSignature> splitSignatureAsDim(const KernelSignature& whole) {
  auto both = splitSignature(whole);
  if (whole.kind == KernelKind::Column) ++both.first.outerRank;
  return both;
}

PartialPlaces::PartialPlaces(const KernelSignature& partial, std::int64_t each) {
  for (const KernelOutput& output : partial.outputs) {
    offsets.push_back(bytes);
    const auto size = static_cast<std::int64_t>(itemSize(output.operand.dtype));
    bytes += (each * size + kAlignment - 1) / kAlignment * kAlignment;
  }
}

SplitArgs partialRowArgs(const KernelSignature& whole, const std::int64_t* args, const PartialPlaces& places,
                         std::int64_t memory) {
  const ArgLayout layout(whole);
  const std::size_t inputs = whole.inputs.size();
  SplitArgs own;
  own.append(args, args + layout.size());
  for (std::size_t k = 0; k < whole.outputs.size(); ++k) {
    own[layout.pointer(inputs + k)] = memory + places.offsets[k];
    own[layout.innerStride(inputs + k)] = 1;
    std::int64_t step = rowBlocks(args[layout.innerSize()]);
    for (int d = layout.outerRank; d-- > 0;) {
      own[layout.outerStride(inputs + k, d)] = step;
      step *= args[layout.outerSize(d)];
    }
  }
  return own;
}

SplitArgs finishArgs(const KernelSignature& whole, const KernelSignature& finish, const std::int64_t* args,
                     const PartialPlaces& places, std::int64_t memory, std::int64_t blocks) {
  const ArgLayout layout(whole);
  const ArgLayout ends(finish);
  const std::int64_t n = args[layout.innerSize()];
  const std::size_t inputs = whole.inputs.size();
  const std::size_t outputs = whole.outputs.size();
  SplitArgs own(ends.size());
  std::int64_t step = layout.column ? blocks * n : blocks;
  for (int d = layout.outerRank; d-- > 0;) {
    own[ends.outerSize(d)] = args[layout.outerSize(d)];
    for (std::size_t k = 0; k < outputs; ++k) {
      own[ends.outerStride(k, d)] = step;
      own[ends.outerStride(outputs + k, d)] = args[layout.outerStride(inputs + k, d)];
    }
    step *= args[layout.outerSize(d)];
  }
  own[ends.innerSize()] = layout.column ? n : blocks;
  if (layout.column) own[ends.reducedSize()] = blocks;
  for (std::size_t k = 0; k < outputs; ++k) {
    own[ends.pointer(k)] = memory + places.offsets[k];
    own[ends.innerStride(k)] = 1;
    if (layout.column) own[ends.reducedStride(k)] = n;
    own[ends.pointer(outputs + k)] = args[layout.pointer(inputs + k)];
    own[ends.innerStride(outputs + k)] = args[layout.innerStride(inputs + k)];
  }
  return own;
}

}  // namespace tandem
