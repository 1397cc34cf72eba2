#include "runtime/kernel/reduce_split.h"

#include "runtime/kernel/collapse.h"
#include "runtime/kernel/reduction_levels.h"

namespace tandem {

namespace {

// Below 64 K elements a range runs serially anyway; from 16 rows on rows are units enough.
constexpr std::int64_t kMinSplitElements = 65536;
constexpr std::int64_t kMaxSplitRows = 15;
static_assert(kMaxSplitRows < kAcrossRows, "a split kernel's rows are in the order of the result");
constexpr std::int64_t kMaxSplitColumns = 512;

std::size_t firstStep(const KernelSignature& s) { return s.inputs.size() + s.scalars.size(); }

}  // namespace

bool splitsRows(std::int64_t rows, std::int64_t n) { return rows <= kMaxSplitRows && n >= kMinSplitElements; }

bool splitsColumns(std::int64_t columns, std::int64_t rows, bool trailing) {
  const std::int64_t block = columnOrder(trailing).block;
  return columns <= kMaxSplitColumns && rows * columns >= kMinSplitElements && rows > block && rows <= block * block;
}

bool shouldSplitRows(const KernelSignature& row, std::int64_t rows, std::int64_t n) {
  if (row.kind != KernelKind::Row || !splitsRows(rows, n) || row.outputs.empty()) return false;
  std::size_t first = firstStep(row);
  for (const KernelOutput& o : row.outputs)
    if (o.value < first || row.steps[o.value - first].kind != KernelStep::Kind::Reduce) return false;
  for (const KernelStep& step : row.steps)
    for (std::uint16_t v : step.operands)
      if (v >= first && row.steps[v - first].kind == KernelStep::Kind::Reduce) return false;
  return true;
}

SplitRows splitRows(const KernelSignature& row) {
  SplitRows split{row, {}};
  split.partial.kind = KernelKind::Partial;
  split.finish.outerRank = 1;
  std::size_t first = firstStep(row);
  for (std::size_t k = 0; k < row.outputs.size(); ++k) {
    const KernelStep& reduce = row.steps[row.outputs[k].value - first];
    split.partial.outputs[k].operand = {reduce.dtype, Access::Unit};
    split.finish.inputs.push_back({reduce.dtype, Access::Unit});
    KernelStep again{reduce.op, reduce.dtype, KernelStep::Kind::Reduce, {static_cast<std::uint16_t>(k)}, reduce.result};
    split.finish.steps.push_back(again);
    split.finish.outputs.push_back({row.outputs[k].operand, static_cast<std::uint16_t>(row.outputs.size() + k)});
  }
  return split;
}

}  // namespace tandem
