// The one thread pool. Workers claim tiles dynamically, the caller works too and can finish alone; waiting is a short
// spin and then a futex; it is rebuilt after fork. Which thread runs a tile never matters to the result.
#pragma once

#include <cstdint>

#include "runtime/base/function_ref.h"

namespace tandem {

/// Threads that take part in a parallel loop, the caller among them.
int numThreads();
/// At least 1; ValueError otherwise.
void setNumThreads(int n);

/// Runs `tile(i)` for i in [0, tiles), each exactly once, in any order, and returns when all are done. A nested call
/// (from inside a tile) runs serially. The first exception thrown by a tile is rethrown here after all have ended.
void parallelTiles(std::int64_t tiles, FunctionRef<void(std::int64_t)> tile);

/// Runs `body(begin, end)` over disjoint pieces of [0, n) of at least `grain` each.
void parallelFor(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body);

}  // namespace tandem
