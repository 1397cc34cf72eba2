// Places from counts: the sum of all elements before each.
#pragma once

#include <cstdint>

namespace tandem::cuda {

/// Replaces each of n int64 elements in device memory by the sum of those before it; the first by 0. Queued in the
/// current stream.
void prefixSum(std::int64_t* data, std::int64_t n);

}  // namespace tandem::cuda
