// Sums over rows that lie side by side: dense across the rows, far apart along them. Memory is walked as it lies, some
// rows at a time, and the lanes of each row's block of kernel_signature.h's trailing class stand beside those of the
// next row, so that no copy in the order of rows is made.
#pragma once

#include "runtime/lib/library.h"

namespace tandem::cpu {

/// Are the innermost two dims rows, 1 and any apart, that are no shorter than a block? The dims before them, which come
/// first in the row-major order, may lie anyhow.
bool areDenseRows(DimsRef shape, DimsRef strides);
/// The sums of all blocks of the array's row-major order: float64 of float64, else float32, to which half types are
/// widened.
void sumDenseRows(const ArrayView& from, void* partials);

}  // namespace tandem::cpu
