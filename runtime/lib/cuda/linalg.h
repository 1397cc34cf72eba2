// What is made of matrices beside linalg.cpp.
#pragma once

#include "runtime/lib/library.h"

namespace tandem::cuda {

/// Contiguous matrices [..., rows, columns] of float32 or float64 become the first rows and columns of unit matrices.
void makeIdentities(const ArrayView& to);

}  // namespace tandem::cuda
