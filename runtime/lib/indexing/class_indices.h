// Targets of classification losses: the number of a class each, or the number that means "not counted".
#pragma once

#include <cstdint>

#include "runtime/lib/library.h"

namespace tandem::lib {

/// Throws the IndexError of the first element of the int64 `target`, in row-major order, that is neither in
/// [0, classes) nor `ignored`.
void checkClasses(const ArrayView& target, std::int64_t classes, std::int64_t ignored);

}  // namespace tandem::lib
