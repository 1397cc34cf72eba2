#include "runtime/lib/nonzero.h"

#include <algorithm>
#include <vector>

#include "runtime/base/attrs.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kPiece = 16 * 1024;

/// The counts of each piece of kPiece elements in row-major order.
std::vector<std::int64_t> countPieces(const ArrayView& x) {
  std::int64_t n = x.numel();
  std::vector<std::int64_t> counts(static_cast<std::size_t>((n + kPiece - 1) / kPiece));
  parallelTiles(static_cast<std::int64_t>(counts.size()), [&](std::int64_t p) {
    const auto* data = x.as<std::uint8_t>();
    std::int64_t count = 0;
    std::int64_t length = std::min(kPiece, n - p * kPiece);
    if (x.contiguous()) {
      for (std::int64_t i = 0; i < length; ++i) count += data[p * kPiece + i];
    } else {
      Walker<1> at(x.shape, {x.strides}, p * kPiece);
      for (std::int64_t i = 0; i < length; ++i, at.next()) count += data[at.offset[0]];
    }
    counts[static_cast<std::size_t>(p)] = count;
  });
  return counts;
}

}  // namespace

void expect_size(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  std::int64_t size = attrs.integer();
  std::int64_t number = attrs.integer();
  std::int64_t now = *call.inputs[0].as<std::int64_t>();
  if (now != size) throw SizeChanged(number, now);
  *call.outputs[0].as<std::int64_t>() = now;
}

void nonzero_rows(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  std::vector<std::int64_t> starts = countPieces(x);
  std::int64_t total = 0;
  for (std::int64_t& s : starts) total += std::exchange(s, total);
  TANDEM_CHECK(total == out.shape[0], "nonzero: ", out.shape[0], " rows for ", total, " elements");
  std::int64_t n = x.numel();
  std::size_t rank = x.shape.size();
  parallelTiles(static_cast<std::int64_t>(starts.size()), [&](std::int64_t p) {
    const auto* data = x.as<std::uint8_t>();
    std::int64_t* row = out.as<std::int64_t>() + starts[static_cast<std::size_t>(p)] * static_cast<std::int64_t>(rank);
    std::int64_t first = p * kPiece;
    std::int64_t length = std::min(kPiece, n - first);
    if (rank == 1) {
      // Every place is written, and kept where the element is 1: there is nothing to guess wrong.
      const std::size_t next = static_cast<std::size_t>(p) + 1;
      const std::int64_t* end = out.as<std::int64_t>() + (next < starts.size() ? starts[next] : total);
      std::int64_t stride = x.strides[0];
      for (std::int64_t i = first; i < first + length && row != end; ++i) {
        *row = i;
        row += data[i * stride];
      }
      return;
    }
    Walker<1> at(x.shape, {x.strides}, first);
    for (std::int64_t i = 0; i < length; ++i, at.next()) {
      if (data[at.offset[0]] == 0) continue;
      std::copy(at.index().begin(), at.index().end(), row);
      row += rank;
    }
  });
}

}  // namespace tandem::lib
