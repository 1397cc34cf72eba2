#pragma once

#include <vector>

#include "python/src/arg_parser.h"

namespace tandem::python {

/// Methods of `Tensor` that compare and change its sizes.
std::vector<PyMethodDef> sizeMethodDefs();

}  // namespace tandem::python
