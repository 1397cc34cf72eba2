// randperm: the numbers 0 .. n-1 in the order of their random keys.
#include <algorithm>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/random/philox.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

void randperm(const LibraryCall& call) {
  std::int64_t n = AttrReader(call.attrs).integer();
  auto seed = static_cast<std::uint64_t>(call.scalars[0]);
  auto offset = static_cast<std::uint64_t>(call.scalars[1]);
  struct Keyed {
    std::uint64_t key;
    std::int64_t value;
  };
  std::vector<Keyed> items(static_cast<std::size_t>(n));
  parallelFor(n, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      auto u = static_cast<std::uint64_t>(i);
      auto r = philox({static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(u >> 32),
                       static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)},
                      seed);
      items[static_cast<std::size_t>(i)] = {std::uint64_t{r[1]} << 32 | r[0], i};
    }
  });
  std::sort(items.begin(), items.end(),
            [](const Keyed& a, const Keyed& b) { return a.key < b.key || (a.key == b.key && a.value < b.value); });
  auto* out = call.outputs[0].as<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) out[i] = items[static_cast<std::size_t>(i)].value;
}

}  // namespace tandem::lib
