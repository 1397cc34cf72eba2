// randperm: the numbers 0 .. n-1 in the order of their random keys.
#include <algorithm>
#include <array>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::uint64_t seed) {
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

}  // namespace

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
