#include "runtime/device/cpu/split.h"

#include <algorithm>
#include <bit>

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

/// Memory for the partial results of a launch.
class Partials : public PartialPlaces {
 public:
  Partials(const KernelSignature& partial, std::int64_t each) : PartialPlaces(partial, each), memory_(bytes) {}
  [[nodiscard]] std::int64_t memory() const { return std::bit_cast<std::int64_t>(memory_.data()); }

 private:
  lib::Scratch<char> memory_;
};

void finish(const CpuKernel& whole, const std::int64_t* args, const Partials& partials, const LaunchSpace& space) {
  const CpuKernel& last = *whole.split().finish;
  bump(counters().kernelLaunches);
  launchTiles(
      last,
      finishArgs(whole.signature, last.signature, args, partials, partials.memory(), space.elementsPerUnit).data(),
      space);
}

void launchColumns(const CpuKernel& whole, const std::int64_t* args, std::int64_t columns, std::int64_t rows) {
  constexpr std::int64_t kGrain = 16 * 1024;
  const CpuKernel& partial = *whole.split().partial;
  const ArgLayout& layout = whole.layout;
  const std::size_t inputs = whole.signature.inputs.size();
  const std::int64_t block = columnOrder(whole.signature.trailing).block;
  const std::int64_t blocks = (rows + block - 1) / block;
  const std::int64_t n = args[layout.innerSize()];
  const Partials partials(partial.signature, columns * blocks);
  const KernelFn fn = partial.function();
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
            partials.memory() + partials.offsets[k - inputs] +
            i * n * static_cast<std::int64_t>(itemSize(partial.signature.outputs[k - inputs].operand.dtype));
      fn(own.data(), i / blocks * n, (i / blocks + 1) * n);
    }
  });
  finish(whole, args, partials, {columns, blocks});
}

}  // namespace

bool isWorthSplitting(const CpuKernel& whole, const LaunchSpace& space) {
  if (!whole.splits) return false;
  const auto [units, length] = space;
  if (whole.signature.kind == KernelKind::Row) return target().splitsRows(units, length);
  // The blocks of a column must be few enough to be one block of the column of their results.
  const std::int64_t block = columnOrder(whole.signature.trailing).block;
  return units <= kMaxSplitColumns && units * length >= kMinSplitElements && length > block && length <= block * block;
}

void launchBlocks(const CpuKernel& whole, const std::int64_t* args, const LaunchSpace& space,
                  FunctionRef<void(const CpuKernel&, const std::int64_t*)> run) {
  const auto [rows, n] = space;
  const CpuKernel& partial = *whole.split().partial;
  const std::int64_t blocks = rowBlocks(n);
  const Partials partials(partial.signature, rows * blocks);
  run(partial, partialRowArgs(whole.signature, args, partials, partials.memory()).data());
  finish(whole, args, partials, {rows, blocks});
}

void launchSplit(const CpuKernel& whole, const std::int64_t* args, const LaunchSpace& space) {
  if (whole.signature.kind == KernelKind::Row)
    return launchBlocks(whole, args, space, [&](const CpuKernel& partial, const std::int64_t* own) {
      launchTiles(partial, own,
                  {space.units * rowBlocks(space.elementsPerUnit), std::min(space.elementsPerUnit, kTrailingBlock)});
    });
  launchColumns(whole, args, space.units, space.elementsPerUnit);
}

}  // namespace tandem::cpu
