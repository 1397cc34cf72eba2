// nonzero_rows: runtime/lib/indexing/nonzero.cpp. The number of rows is the shape of the result: whoever allocated it
// has learnt it.
#include <algorithm>

#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/prefix_sum.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kNonzero("nonzero", kNonzeroText);
constexpr unsigned kThreads = 256;
constexpr std::int64_t kTile = 2048;  // as in the text

struct Shape {
  static constexpr std::size_t kMost = 32;
  std::int64_t rank = 0;
  std::int64_t sizes[kMost] = {};
};

}  // namespace

void nonzero_rows(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  const std::int64_t rows = out.shape[0];
  if (x.numel() == 0 || x.shape.empty()) return;
  if (x.shape.size() > Shape::kMost)
    fail<NotImplementedError>("nonzero: more than ", Shape::kMost, " dims: ", shapeText(x.shape));
  Shape shape;
  shape.rank = static_cast<std::int64_t>(x.shape.size());
  std::copy(x.shape.begin(), x.shape.end(), shape.sizes);
  const auto w = walk<1>(x.shape, {x.strides});
  const std::int64_t tiles = (x.numel() + kTile - 1) / kTile;
  const Workspace counts(static_cast<std::size_t>(tiles) * sizeof(std::int64_t));
  auto* starts = counts.as<std::int64_t>();
  launch(kNonzero.kernel("countTiles"), blocks(tiles, kThreads), w, x.data, tiles, starts);
  prefixSum(starts, tiles);
  Fault* where = expectNoFault(call, [](const long long* numbers) {
    fail<InternalError>("nonzero: ", numbers[1], " rows for ", numbers[0], " elements");
  });
  launch(kNonzero.kernel("writeRows"), blocks(tiles, kThreads), w, shape, x.data, tiles, starts, out.data, rows, where);
}

namespace {

const Registered here{{"nonzero_rows", &nonzero_rows}};

}  // namespace

}  // namespace tandem::cuda::lib
