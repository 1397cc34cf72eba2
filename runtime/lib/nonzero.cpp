#include "runtime/lib/nonzero.h"

#include <algorithm>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kPiece = 16 * 1024;

/// The counts of each piece of kPiece elements in row-major order.
std::vector<std::int64_t> countPieces(const ArrayView& x) {
  std::int64_t n = x.numel();
  std::vector<std::int64_t> counts(static_cast<std::size_t>((n + kPiece - 1) / kPiece));
  withType(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = typename Element<T>::Compute;
    parallelTiles(static_cast<std::int64_t>(counts.size()), [&](std::int64_t p) {
      std::int64_t count = 0;
      std::int64_t length = std::min(kPiece, n - p * kPiece);
      if (x.contiguous()) {
        for (std::int64_t i = 0; i < length; ++i) count += Element<T>::load(x.as<T>()[p * kPiece + i]) != C{} ? 1 : 0;
      } else {
        Walker<1> at(x.shape, {x.strides}, p * kPiece);
        for (std::int64_t i = 0; i < length; ++i, at.next())
          count += Element<T>::load(x.as<T>()[at.offset[0]]) != C{} ? 1 : 0;
      }
      counts[static_cast<std::size_t>(p)] = count;
    });
  });
  return counts;
}

}  // namespace

std::int64_t nonzeroCount(const ArrayView& x) {
  std::int64_t total = 0;
  for (std::int64_t c : countPieces(x)) total += c;
  return total;
}

void nonzero(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  std::vector<std::int64_t> starts = countPieces(x);
  std::int64_t total = 0;
  for (std::int64_t& s : starts) total += std::exchange(s, total);
  TANDEM_CHECK(total == out.shape[0], "nonzero: ", out.shape[0], " rows for ", total, " elements");
  std::int64_t n = x.numel();
  std::size_t rank = x.shape.size();
  withType(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = typename Element<T>::Compute;
    parallelTiles(static_cast<std::int64_t>(starts.size()), [&](std::int64_t p) {
      Walker<1> at(x.shape, {x.strides}, p * kPiece);
      std::int64_t* row =
          out.as<std::int64_t>() + starts[static_cast<std::size_t>(p)] * static_cast<std::int64_t>(rank);
      for (std::int64_t i = 0; i < std::min(kPiece, n - p * kPiece); ++i, at.next()) {
        if (Element<T>::load(x.as<T>()[at.offset[0]]) == C{}) continue;
        std::copy(at.index().begin(), at.index().end(), row);
        row += rank;
      }
    });
  });
}

}  // namespace tandem::lib
