// What `tandem.cuda` is made of: the bindings of GpuControl (runtime/device/gpu_control.h). Nothing here looks for a
// GPU before a program names one.
#pragma once

#include <Python.h>

#include "eager/tensor.h"
#include "runtime/device/gpu_control.h"

namespace tandem::python {

DeviceKind cudaKind();
/// Which GPU names without an index mean on this thread: `tandem.cuda.set_device`.
extern thread_local constinit int currentGpu;

/// As tandem::deviceCount; what a GPU's libraries need to be found is there before the first one is asked for.
int countDevices(DeviceKind kind);
/// The first GPU of the process; null where there is none.
GpuControl* firstGpu();

/// A copy in page-locked memory of the host; itself where it is there. RuntimeError for one on a device.
Tensor pinMemory(const Tensor& t);
/// False where no GPU was used yet.
bool isPinned(const Tensor& t);

/// For the time of a backward pass: the work of the streams that the program chose is done before what is queued now,
/// and what they get later is done after it. The pass runs on the current stream, wherever its operations ran forward.
class AcrossStreams {
 public:
  AcrossStreams();
  ~AcrossStreams();
  AcrossStreams(const AcrossStreams&) = delete;
  AcrossStreams& operator=(const AcrossStreams&) = delete;
};

/// Adds the functions `_gpu_...` and the types of streams, events and graphs to the module.
void initCuda(PyObject* module);
/// And those of communicators, which are between processes.
void initCommunicators(PyObject* module);

}  // namespace tandem::python
