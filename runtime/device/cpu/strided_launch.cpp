#include "runtime/device/cpu/strided_launch.h"

#include <algorithm>
#include <bit>

#include "runtime/device/cpu/launch.h"
#include "runtime/device/cpu/split.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::cpu {

namespace {

constexpr std::int64_t kTilesAThread = 4;
constexpr std::int64_t kAlignment = 64;

/// Runs a kernel whose units are rows of n elements, or blocks of rows.
void runUnits(const CpuKernel& kernel, const std::int64_t* args, std::int64_t rows, std::int64_t n, std::int64_t block,
              std::span<const ArrayView> inputs) {
  std::int64_t least = 1;  // elements of a piece
  for (const ArrayView& input : inputs)
    if (!input.shape.empty()) least = std::max(least, RowMajorPieces(input).least());
  const std::int64_t blocks = (n + block - 1) / block;
  // The last block of a row may be shorter.
  auto beginOf = [&](std::int64_t unit) { return unit / blocks * n + std::min(unit % blocks * block, n); };
  const KernelFn fn = kernel.function();
  inPieces(rows * blocks, block, least, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t begin = beginOf(first), end = beginOf(last);
    auto forEach = [&](auto f) {
      for (std::size_t k = 0; k < inputs.size(); ++k)
        if (!inputs[k].shape.empty()) f(k, RowMajorPieces(inputs[k]));
    };
    std::int64_t bytes = 0;
    forEach([&](std::size_t, const RowMajorPieces& from) { bytes += from.bytes(begin, end) + kAlignment; });
    const lib::Scratch<char> memory(bytes);
    char* to = memory.data();
    Args own;
    own.append(args, args + kernel.layout.size());
    forEach([&](std::size_t k, const RowMajorPieces& from) {
      // The kernel counts elements from the first row on.
      own[kernel.layout.pointer(k)] = std::bit_cast<std::int64_t>(from.copy(begin, end, to)) - begin * from.itemSize();
      to += (from.bytes(begin, end) + kAlignment - 1) / kAlignment * kAlignment;
    });
    fn(own.data(), first, last);
  });
}

}  // namespace

void inPieces(std::int64_t units, std::int64_t length, std::int64_t least,
              FunctionRef<void(std::int64_t, std::int64_t)> piece) {
  const bool few = units * length < lib::kSerialElements;
  const std::int64_t share = few ? units : units / (numThreads() * kTilesAThread) + 1;
  const std::int64_t count = std::min(share, (least + length - 1) / length);
  parallelTiles((units + count - 1) / count,
                [&](std::int64_t i) { piece(i * count, std::min(units, (i + 1) * count)); });
}

void launchStrided(const CpuKernel& kernel, const std::int64_t* args, const LaunchSpace& space,
                   std::span<const ArrayView> inputs) {
  bump(counters().kernelLaunches);
  const auto [rows, n] = space;
  if (!isWorthSplitting(kernel, space)) return runUnits(kernel, args, rows, n, n, inputs);
  launchBlocks(kernel, args, space, [&](const CpuKernel& partial, const std::int64_t* own) {
    runUnits(partial, own, rows, n, kTrailingBlock, inputs);
  });
}

}  // namespace tandem::cpu
