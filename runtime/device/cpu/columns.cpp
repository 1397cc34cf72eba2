#include "runtime/device/cpu/columns.h"

#include "runtime/device/cpu/across.h"
#include "runtime/kernel/column_reduction.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t kLeastRows = 16;    // lie beside each other
constexpr std::int64_t kLeastLength = 16;  // of a row

/// The operands that are dense over the rows. False where an input is neither that nor one element for all points.
bool denseOverRows(const CpuKernel& kernel, const std::int64_t* args, std::uint64_t& dense) {
  const ArgLayout& layout = kernel.layout;
  const std::size_t inputs = kernel.signature.inputs.size();
  dense = 0;
  for (std::size_t k = 0; k < kernel.operands.size(); ++k) {
    const std::int64_t step = args[layout.outerStride(k, layout.outerRank - 1)];
    if (step == 1) dense |= std::uint64_t{1} << k;
    const bool fits = step == 1 || (step == 0 && kernel.operands[k].access == Access::Zero);
    if (k < inputs && (!fits || kernel.operands[k].access == Access::Unit)) return false;
  }
  return true;
}

}  // namespace

ColumnLaunch columnsAcross(const CpuKernel& kernel, const std::int64_t* args) {
  if (!kernel.columns) return {};
  const ArgLayout& layout = kernel.layout;
  const int last = layout.outerRank - 1;
  const std::int64_t rows = args[layout.outerSize(last)];
  const std::int64_t length = args[layout.innerSize()];
  if (rows < kLeastRows || length < kLeastLength || length > kMostTrailingRows) return {};
  std::int64_t outer = 1;
  for (int d = 0; d < last; ++d) outer *= args[layout.outerSize(d)];
  if (outer * rows * length < kAcrossElements) return {};
  std::uint64_t dense = 0;
  if (!denseOverRows(kernel, args, dense)) return {};
  ColumnLaunch made;
  made.kernel = kernel.ofColumns(dense);
  if (made.kernel == nullptr) return {};
  const ArgLayout& to = made.kernel->layout;
  made.args = Args(to.size());
  for (int d = 0; d < last; ++d) made.args[to.outerSize(d)] = args[layout.outerSize(d)];
  made.args[to.innerSize()] = rows;
  made.args[to.reducedSize()] = length;
  for (std::size_t k = 0; k < kernel.operands.size(); ++k) {
    made.args[to.pointer(k)] = args[layout.pointer(k)];
    made.args[to.innerStride(k)] = args[layout.outerStride(k, last)];
    made.args[to.reducedStride(k)] = kernel.operands[k].access == Access::Strided ? args[layout.innerStride(k)] : 0;
    for (int d = 0; d < last; ++d) made.args[to.outerStride(k, d)] = args[layout.outerStride(k, d)];
  }
  for (std::size_t j = 0; j < layout.scalars; ++j) made.args[to.scalar(j)] = args[layout.scalar(j)];
  made.space = wholeSpace(KernelKind::Column, to, made.args.data());
  return made;
}

}  // namespace tandem::cpu
