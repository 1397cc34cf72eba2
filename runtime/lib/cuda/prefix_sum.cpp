#include "runtime/lib/cuda/prefix_sum.h"

#include "runtime/device/cuda/queue.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda {
namespace {

constexpr Source kPrefixSum("prefix_sum", kPrefixSumText);
constexpr unsigned kThreads = 256;
constexpr std::int64_t kTile = 2048;  // as in the text

}  // namespace

void prefixSum(std::int64_t* data, std::int64_t n) {
  if (n == 0) return;
  const Function& tiles = kPrefixSum.kernel("sumTiles");
  const std::int64_t count = (n + kTile - 1) / kTile;
  if (count == 1) return launch(tiles, blocks(1, kThreads), data, n, static_cast<std::int64_t*>(nullptr));
  const Workspace sums(static_cast<std::size_t>(count) * sizeof(std::int64_t));
  auto* before = sums.as<std::int64_t>();
  launch(tiles, blocks(count, kThreads), data, n, before);
  prefixSum(before, count);
  launch(kPrefixSum.kernel("addSums"), elementwise(n), data, n, static_cast<const std::int64_t*>(before));
}

}  // namespace tandem::cuda
