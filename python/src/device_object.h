// tandem.device: the name of a device, which need not be here, and the block whose tensors are made on it.
#pragma once

#include <Python.h>

#include "runtime/device/device.h"

namespace tandem::python {

bool isDevice(PyObject* o);
/// The kind of tensors without elements.
DeviceKind metaKind();
inline bool isMeta(Device d) { return !d.isCpu() && d.kind == metaKind(); }
/// A new reference. Names of the CPU and of `meta` have no index, those of other devices have one.
PyObject* deviceObject(Device device);
/// The device that an argument names: a tandem.device, its name, or the index of an accelerator; None is where tensors
/// are made by default. A GPU without an index is the thread's current one. RuntimeError naming a device that is not
/// here.
Device deviceFrom(PyObject* o);

/// Adds `device` and the functions about devices to the module.
void initDevice(PyObject* module);

}  // namespace tandem::python
