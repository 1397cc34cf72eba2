#include "runtime/device/cpu/split.h"

#include <algorithm>

#include "runtime/base/counters.h"
#include "runtime/device/cpu/launch.h"
#include "runtime/device/cpu/reduction_levels.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::cpu {

namespace {

// Fewer elements run serially anyway; more columns are units enough.
constexpr std::int64_t kMinSplitElements = 65536;
constexpr std::int64_t kMaxSplitColumns = 512;
constexpr std::int64_t kAlignment = 64;

std::size_t firstStep(const KernelSignature& s) { return s.inputs.size() + s.scalars.size(); }

const KernelStep& reductionOf(const KernelSignature& s, const KernelOutput& output) {
  return s.steps[output.value - firstStep(s)];
}

/// Memory for the partial results of a launch: `each` elements an output, in the outputs' accumulators.
class Partials {
 public:
  Partials(const KernelSignature& partial, std::int64_t each) : memory_(bytes(partial, each)) {
    auto at = reinterpret_cast<std::int64_t>(memory_.data());
    for (const KernelOutput& output : partial.outputs) {
      places_.push_back(at);
      at += aligned(output, each);
    }
  }
  [[nodiscard]] std::int64_t of(std::size_t output) const { return places_[output]; }

 private:
  static std::int64_t aligned(const KernelOutput& output, std::int64_t each) {
    const auto size = static_cast<std::int64_t>(itemSize(output.operand.dtype));
    return (each * size + kAlignment - 1) / kAlignment * kAlignment;
  }
  static std::int64_t bytes(const KernelSignature& partial, std::int64_t each) {
    std::int64_t sum = 0;
    for (const KernelOutput& output : partial.outputs) sum += aligned(output, each);
    return sum;
  }

  lib::Scratch<char> memory_;
  SmallVector<std::int64_t, 8> places_;
};

/// The argument block of the second kernel, which reduces `blocks` results of each row or column.
Args finishArgs(const CpuKernel& whole, const std::int64_t* args, const Partials& partials, std::int64_t blocks) {
  const ArgLayout& layout = whole.layout;
  const ArgLayout& ends = whole.split().finish->layout;
  const std::int64_t n = args[layout.innerSize()];
  const std::size_t inputs = whole.signature.inputs.size();
  const std::size_t outputs = whole.signature.outputs.size();
  Args own(ends.size());
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
    own[ends.pointer(k)] = partials.of(k);
    own[ends.innerStride(k)] = 1;
    if (layout.column) own[ends.reducedStride(k)] = n;
    own[ends.pointer(outputs + k)] = args[layout.pointer(inputs + k)];
    own[ends.innerStride(outputs + k)] = args[layout.innerStride(inputs + k)];
  }
  return own;
}

void launchRows(const CpuKernel& whole, const std::int64_t* args, std::int64_t rows, std::int64_t n) {
  const auto [partial, finish] = whole.split();
  const ArgLayout& layout = whole.layout;
  const std::size_t inputs = whole.signature.inputs.size();
  const std::int64_t blocks = rowBlocks(n);
  const Partials partials(partial->signature, rows * blocks);
  Args own;
  own.append(args, args + layout.size());
  for (std::size_t k = 0; k < whole.signature.outputs.size(); ++k) {
    own[layout.pointer(inputs + k)] = partials.of(k);
    own[layout.innerStride(inputs + k)] = 1;
    std::int64_t step = blocks;
    for (int d = layout.outerRank; d-- > 0;) {
      own[layout.outerStride(inputs + k, d)] = step;
      step *= args[layout.outerSize(d)];
    }
  }
  launchTiles(*partial, own.data(), {rows * blocks, std::min(n, kTrailingBlock)});
  bump(counters().kernelLaunches);
  launchTiles(*finish, finishArgs(whole, args, partials, blocks).data(), {rows, blocks});
}

void launchColumns(const CpuKernel& whole, const std::int64_t* args, std::int64_t columns, std::int64_t rows) {
  constexpr std::int64_t kGrain = 16 * 1024;
  const auto [partial, finish] = whole.split();
  const ArgLayout& layout = whole.layout;
  const std::size_t inputs = whole.signature.inputs.size();
  const std::int64_t block = columnOrder(whole.signature.trailing).block;
  const std::int64_t blocks = (rows + block - 1) / block;
  const std::int64_t n = args[layout.innerSize()];
  const Partials partials(partial->signature, columns * blocks);
  const KernelFn fn = partial->function();
  parallelFor(columns / n * blocks, kGrain / (block * n) + 1, [&](std::int64_t begin, std::int64_t end) {
    Args own;
    own.append(args, args + layout.size());
    for (std::size_t k = inputs; k < whole.operands.size(); ++k) {
      own[layout.innerStride(k)] = 1;
      for (int d = 0; d < layout.outerRank; ++d) own[layout.outerStride(k, d)] = 0;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % blocks * block;
      own[layout.reducedSize()] = std::min(block, rows - first);
      if (layout.reducedRank > 1) own[layout.firstReduced()] = args[layout.firstReduced()] + first;
      for (std::size_t k = 0; layout.reducedRank == 1 && k < inputs; ++k)
        own[layout.pointer(k)] =
            args[layout.pointer(k)] +
            first * args[layout.reducedStride(k)] * static_cast<std::int64_t>(itemSize(whole.operands[k].dtype));
      for (std::size_t k = inputs; k < whole.operands.size(); ++k)
        own[layout.pointer(k)] =
            partials.of(k - inputs) +
            i * n * static_cast<std::int64_t>(itemSize(partial->signature.outputs[k - inputs].operand.dtype));
      fn(own.data(), i / blocks * n, (i / blocks + 1) * n);
    }
  });
  bump(counters().kernelLaunches);
  launchTiles(*finish, finishArgs(whole, args, partials, blocks).data(), {columns, blocks});
}

}  // namespace

bool canSplit(const KernelSignature& whole) {
  if (whole.kind == KernelKind::Partial || whole.outputs.empty()) return false;
  // A framed input is found by its place in the whole space.
  if (whole.kind == KernelKind::Column)
    for (const KernelOperand& input : whole.inputs)
      if (input.access == Access::Framed) return false;
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

bool isWorthSplitting(const CpuKernel& whole, const LaunchSpace& space) {
  if (!whole.splits) return false;
  const auto [units, length] = space;
  if (whole.signature.kind == KernelKind::Row) return target().splitsRows(units, length);
  // The blocks of a column must be few enough to be one block of the column of their results.
  const std::int64_t block = columnOrder(whole.signature.trailing).block;
  return units <= kMaxSplitColumns && units * length >= kMinSplitElements && length > block && length <= block * block;
}

void launchSplit(const CpuKernel& whole, const std::int64_t* args, const LaunchSpace& space) {
  if (whole.signature.kind == KernelKind::Row) return launchRows(whole, args, space.units, space.elementsPerUnit);
  launchColumns(whole, args, space.units, space.elementsPerUnit);
}

}  // namespace tandem::cpu
