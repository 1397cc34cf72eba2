// How often the process took memory by `new`, for tests of what allocates nothing.
#pragma once

#include <cstdint>

namespace tandem::test {

std::int64_t numNews();

}  // namespace tandem::test
