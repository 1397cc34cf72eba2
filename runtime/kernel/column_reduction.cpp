#include "runtime/kernel/column_reduction.h"

#include <algorithm>
#include <array>

namespace tandem {

namespace {

/// The dims of a reduction: kept ones as {outer..., inner} with the strides of operand and out, and those reduced.
struct ColumnWalk {
  Dims kept;
  std::array<Dims, 2> keptStrides;
  Dims reduced;
  Dims reducedStrides;
};

std::optional<ColumnWalk> walkColumns(const StridedReduction& r) {
  constexpr std::int64_t kLeastDense = 16;
  constexpr std::int64_t kLeastElements = 1024;
  constexpr std::size_t kMostReduced = 4;
  if (r.in.numel() < kLeastElements) return {};
  Dims order;  // of the kept dims, as they lie in memory
  ColumnWalk w;
  for (std::size_t d = 0; d < r.in.shape.size(); ++d) {
    if (d >= r.begin && d < r.end) {
      w.reduced.push_back(r.in.shape[d]);
      w.reducedStrides.push_back(r.in.strides[d]);
    } else if (r.in.shape[d] != 1) {
      order.push_back(static_cast<std::int64_t>(d));
    }
  }
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return r.in.strides[a] > r.in.strides[b]; });
  // A dim that is repeated stays an outer one.
  const auto dense = std::ranges::find_if(order, [&](std::int64_t d) { return r.in.strides[d] == 1; });
  if (dense == order.end()) return {};
  std::rotate(dense, dense + 1, order.end());
  for (std::int64_t d : order) {
    w.kept.push_back(r.in.shape[d]);
    w.keptStrides[0].push_back(r.in.strides[d]);
    w.keptStrides[1].push_back(r.out.strides[d]);
  }
  collapsePointwise(w.kept, w.keptStrides);
  collapsePointwise(w.reduced, {&w.reducedStrides, 1});
  if (w.kept.back() < kLeastDense || w.kept.size() > kMaxOuterRank + 1 || w.reduced.size() > kMostReduced) return {};
  if (r.trailing && numelOf(w.reduced) > kMostTrailingRows) return {};
  return w;
}

/// [outer..., reduced..., inner]
Dims joined(const Dims& kept, const Dims& reduced) {
  Dims all;
  all.append(kept.begin(), kept.end() - 1);
  all.append(reduced.begin(), reduced.end());
  all.push_back(kept.back());
  return all;
}

}  // namespace

std::optional<ColumnReduction> columnsOf(const StridedReduction& r) {
  const auto walk = walkColumns(r);
  if (!walk) return {};
  const std::int64_t n = walk->kept.back();
  ColumnReduction columns{{r.op,
                           KernelKind::Column,
                           static_cast<int>(walk->kept.size()) - 1,
                           {r.in.dtype, Access::Unit},
                           r.accumulator,
                           {r.out.dtype, accessOf(walk->keptStrides[1].back(), n)},
                           r.trailing,
                           static_cast<int>(walk->reduced.size())},
                          {},
                          {}};
  // Of the out none is reduced.
  const std::array<Dims, 2> strides{joined(walk->keptStrides[0], walk->reducedStrides),
                                    joined(walk->keptStrides[1], Dims(walk->reduced.size(), 0))};
  const ArgLayout layout = columns.kernel.layout();
  columns.args = SmallVector<std::int64_t, 64>(layout.size());
  writeWalk(layout, joined(walk->kept, walk->reduced), strides, columns.args.data());
  columns.args[layout.pointer(0)] = reinterpret_cast<std::int64_t>(r.in.data);
  columns.args[layout.pointer(1)] = reinterpret_cast<std::int64_t>(r.out.data);
  columns.space = wholeSpace(KernelKind::Column, layout, columns.args.data());
  return columns;
}

}  // namespace tandem
