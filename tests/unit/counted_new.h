// How often the process took memory by `new`, for tests of what allocates nothing.
#pragma once

#include <cstdint>

namespace tandem::test {

std::int64_t numNews();
/// Sanitizers have a `new` of their own, which is not counted.
bool countsNews();

}  // namespace tandem::test
