// The matrices of a batch, and which of them are worked on side by side.
#pragma once

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// Calls body(begin, end) for ranges of `count` matrices of about `work` steps each. Few large ones share the pool
/// within each, many go side by side. Which never matters to the bits.
template <class Body>
void forEachMatrix(std::int64_t count, std::int64_t work, Body body) {
  constexpr std::int64_t large = std::int64_t{1} << 21;
  if (count < numThreads() || (work > large && count % numThreads() != 0 && count < 2 * numThreads()))
    body(0, count);
  else
    parallelFor(count, grainOf(work), body);
}

}  // namespace tandem::lib
