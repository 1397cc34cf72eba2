// randperm: the numbers 0 .. n-1 in the order of their random keys.
#include <algorithm>
#include <bit>
#include <numeric>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/random/philox.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

struct Keyed {
  std::uint64_t key;
  std::int64_t value;
};

// Items that share their leading bits, of keys which are as likely to have any.
constexpr std::int64_t kTogether = 4;
constexpr int kMostBits = 18;

/// `items` in the order of keys, and of values where keys are equal, to `sorted`: groups of a few by leading bits, then
/// each by itself.
void sortByKeys(const Keyed* items, Keyed* sorted, std::int64_t n) {
  const int bits = std::min<int>(std::bit_width(static_cast<std::uint64_t>(n / kTogether)), kMostBits);
  auto group = [&](const Keyed& item) { return bits == 0 ? 0 : static_cast<std::int64_t>(item.key >> (64 - bits)); };
  const std::int64_t groups = std::int64_t{1} << bits;
  Scratch<std::int64_t> ends(groups + 1);
  std::fill_n(ends.data(), groups + 1, 0);
  for (std::int64_t i = 0; i < n; ++i) ++ends[group(items[i]) + 1];
  std::partial_sum(ends.data(), ends.data() + groups + 1, ends.data());
  for (std::int64_t i = 0; i < n; ++i) sorted[ends[group(items[i])]++] = items[i];
  auto less = [](const Keyed& a, const Keyed& b) { return a.key < b.key || (a.key == b.key && a.value < b.value); };
  for (std::int64_t g = 0, begin = 0; g < groups; begin = ends[g++])
    if (ends[g] - begin > 1) std::sort(sorted + begin, sorted + ends[g], less);
}

}  // namespace

void randperm(const LibraryCall& call) {
  std::int64_t n = AttrReader(call.attrs).integer();
  auto seed = static_cast<std::uint64_t>(call.scalars[0]);
  auto offset = static_cast<std::uint64_t>(call.scalars[1]);
  Scratch<Keyed> items(n);
  Scratch<Keyed> sorted(n);
  parallelFor(n, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      auto u = static_cast<std::uint64_t>(i);
      auto r = philox({static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(u >> 32),
                       static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)},
                      seed);
      items[i] = {std::uint64_t{r[1]} << 32 | r[0], i};
    }
  });
  sortByKeys(items.data(), sorted.data(), n);
  auto* out = call.outputs[0].as<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) out[i] = sorted[i].value;
}

}  // namespace tandem::lib
