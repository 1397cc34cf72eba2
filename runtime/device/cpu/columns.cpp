#include "runtime/device/cpu/columns.h"

#include <cstdlib>

#include "runtime/device/cpu/across.h"
#include "runtime/kernel/column_reduction.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t kLeastLength = 16;            // of a row that becomes a column
constexpr std::int64_t kLeastColumns = 16;           // that become rows: threads share them
constexpr std::int64_t kLeastColumnElements = 1024;  // of all of these

std::uint64_t bit(std::size_t k) { return std::uint64_t{1} << k; }

/// The operands of a Row kernel that are dense over the rows. False where an input is neither that nor one element for
/// all points.
bool denseOverRows(const CpuKernel& kernel, const std::int64_t* args, std::uint64_t& dense) {
  const ArgLayout& layout = kernel.layout;
  const std::size_t inputs = kernel.signature.inputs.size();
  for (std::size_t k = 0; k < kernel.operands.size(); ++k) {
    const std::int64_t step = args[layout.outerStride(k, layout.outerRank - 1)];
    if (step == 1) dense |= bit(k);
    const bool fits = step == 1 || (step == 0 && kernel.operands[k].access == Access::Zero);
    if (k < inputs && (!fits || kernel.operands[k].access == Access::Unit)) return false;
  }
  return true;
}

/// The Column kernel to take a Row kernel's rows, or null.
const CpuKernel* columnsFor(const CpuKernel& kernel, const std::int64_t* args) {
  if (!kernel.columns) return nullptr;
  const ArgLayout& layout = kernel.layout;
  const std::int64_t rows = rowsOf(args, layout), length = args[layout.innerSize()];
  if (rows < kLeastRows || length < kLeastLength || length > kMostTrailingRows) return nullptr;
  if (matricesOf(args, layout, layout.outerRank) * length < kAcrossElements) return nullptr;
  std::uint64_t dense = 0;
  return denseOverRows(kernel, args, dense) ? kernel.ofColumns(dense) : nullptr;
}

/// The Leading kernel to take a Column kernel's columns, or null: all inputs are dense down them or one element for
/// each, and some are far apart along the rows.
const CpuKernel* rowsFor(const CpuKernel& kernel, const std::int64_t* args) {
  if (!kernel.standing) return nullptr;
  const ArgLayout& layout = kernel.layout;
  const std::int64_t length = args[layout.reducedSize()];
  const std::int64_t columns = args[layout.innerSize()] * matricesOf(args, layout, layout.outerRank);
  if (length < kLeastRows || columns < kLeastColumns || length * columns < kLeastColumnElements) return nullptr;
  std::uint64_t dense = 0;
  bool far = false;
  for (std::size_t k = 0; k < kernel.signature.inputs.size(); ++k) {
    const KernelOperand& operand = kernel.operands[k];
    const std::int64_t down = args[layout.reducedStride(k)];
    if (down != 0 && down != 1) return nullptr;
    if (down == 0) continue;
    dense |= bit(k);
    far |=
        std::abs(innerStride(args, layout, k, operand.access)) * static_cast<std::int64_t>(itemSize(operand.dtype)) >=
        kLine;
  }
  return far ? kernel.alongColumns(dense) : nullptr;
}

/// With what both kernels have: operands, scalars and the first `outer` outer dims.
OtherLaunch launchOf(const CpuKernel& to, const CpuKernel& from, const std::int64_t* args, int outer) {
  OtherLaunch made{&to, Args(to.layout.size()), {}};
  for (int d = 0; d < outer; ++d) made.args[to.layout.outerSize(d)] = args[from.layout.outerSize(d)];
  for (std::size_t k = 0; k < from.operands.size(); ++k) {
    made.args[to.layout.pointer(k)] = args[from.layout.pointer(k)];
    for (int d = 0; d < outer; ++d) made.args[to.layout.outerStride(k, d)] = args[from.layout.outerStride(k, d)];
  }
  for (std::size_t j = 0; j < from.layout.scalars; ++j) made.args[to.layout.scalar(j)] = args[from.layout.scalar(j)];
  return made;
}

OtherLaunch asColumns(const CpuKernel& columns, const CpuKernel& rows, const std::int64_t* args) {
  const ArgLayout& from = rows.layout;
  const ArgLayout& to = columns.layout;
  const int last = from.outerRank - 1;
  OtherLaunch made = launchOf(columns, rows, args, last);
  made.args[to.innerSize()] = args[from.outerSize(last)];
  made.args[to.reducedSize()] = args[from.innerSize()];
  for (std::size_t k = 0; k < rows.operands.size(); ++k) {
    made.args[to.innerStride(k)] = args[from.outerStride(k, last)];
    made.args[to.reducedStride(k)] = innerStride(args, from, k, rows.operands[k].access);
  }
  made.space = wholeSpace(KernelKind::Column, to, made.args.data());
  return made;
}

OtherLaunch asRows(const CpuKernel& rows, const CpuKernel& columns, const std::int64_t* args) {
  const ArgLayout& from = columns.layout;
  const ArgLayout& to = rows.layout;
  const int last = from.outerRank;
  OtherLaunch made = launchOf(rows, columns, args, last);
  made.args[to.outerSize(last)] = args[from.innerSize()];
  made.args[to.innerSize()] = args[from.reducedSize()];
  for (std::size_t k = 0; k < columns.operands.size(); ++k) {
    made.args[to.outerStride(k, last)] = innerStride(args, from, k, columns.operands[k].access);
    made.args[to.innerStride(k)] = args[from.reducedStride(k)];
  }
  made.space = wholeSpace(KernelKind::Leading, to, made.args.data());
  return made;
}

}  // namespace

OtherLaunch otherLaunch(const CpuKernel& kernel, const std::int64_t* args) {
  if (const CpuKernel* columns = columnsFor(kernel, args)) return asColumns(*columns, kernel, args);
  if (const CpuKernel* rows = rowsFor(kernel, args)) return asRows(*rows, kernel, args);
  return {};
}

}  // namespace tandem::cpu
