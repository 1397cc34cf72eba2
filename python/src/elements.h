// Single elements between memory and numbers.
#pragma once

#include <Python.h>
#include <optional>

#include "eager/tensor.h"
#include "runtime/base/dtype.h"
#include "runtime/base/scalar.h"

namespace tandem::python {

Scalar loadElement(DType t, const void* p);
/// Rounds to nearest; Error for an integer that the type cannot hold.
void storeElement(DType t, void* p, const Scalar& s);
/// The dtype of what the buffer protocol gives; nothing for types that tensors do not have.
std::optional<DType> bufferDType(PyObject* o);

/// `t` was to be shared with other processes: warns that they get copies. Memory of a GPU is nobody's.
void warnOfOwnMemory(const Tensor& t);

}  // namespace tandem::python
