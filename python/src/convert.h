// Python values to and from ours, where no tensor operation is involved: sizes, dtypes, nested sequences.
#pragma once

#include <Python.h>
#include <initializer_list>
#include <optional>

#include "eager/memory_format.h"
#include "eager/tensor.h"

namespace tandem::python {

/// The package's name as dtypes, sizes and their like show it: "tandem", or "torch" under install_as_torch().
const char* packageName();
/// `_set_package_name(name)`.
PyObject* setPackageName(PyObject* module, PyObject* name);

// tandem.Size: a tuple of ints.
bool isSize(PyObject* o);
PyObject* sizeObject(DimsRef dims);
/// A tuple, list or Size of integers, or one integer; TypeError naming `op`.
Dims dimsOf(PyObject* o, const char* op);

// tandem.dtype: one object each, compared by identity.
bool isDType(PyObject* o);
/// A dtype object or one of the types float, int, bool; nothing for others.
std::optional<DType> asDType(PyObject* o);
PyObject* dtypeObject(DType t);  // borrowed

/// The format that a tandem.memory_format names; TypeError for another object.
MemoryFormat memoryFormatOf(PyObject* o, const char* op);
bool isLayout(PyObject* o);
/// NotImplementedError where a layout is not `strided`.
void denseLayout(PyObject* layout, const char* op);

/// A fresh tensor of nested sequences, numbers, arrays or a tensor: `tandem.tensor`.
Tensor makeTensor(PyObject* data, std::optional<DType> dtype);
/// That `call` (for users) of a tensor had better be a clone.
void warnOfCopy(const char* call);
/// Shares the memory of a NumPy array (anything with the buffer protocol). TypeError for dtypes without a tensor.
/// Memory that may not be written warns, unless the caller only reads (`readOnly`).
Tensor fromBuffer(PyObject* array, bool readOnly = false);
/// Shares the memory of an object that exports it by DLPack, or by `__cuda_array_interface__`, or of a capsule of
/// DLPack's, wherever that is; an undefined tensor for others.
Tensor fromOtherLibrary(PyObject* object);
/// The memory of `t` as elements of dtype `to`, which it shares as NumPy would, without gradients; writes count as
/// those of `t`. RuntimeError where sizes or strides do not allow it.
Tensor viewAs(const Tensor& t, DType to);
/// A NumPy array sharing the tensor's memory.
PyObject* toNumpy(const Tensor& t);
PyObject* toList(const Tensor& t);

/// Calls a function of tandem/_support.py: what is better written in Python. A new reference or null.
PyObject* callSupport(const char* name, std::initializer_list<PyObject*> args);

/// Adds dtype, Size, layout and memory_format to the module.
void initConvert(PyObject* module);

}  // namespace tandem::python
