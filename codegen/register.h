// How the graph compiler, which lives in the same shared object but in a higher folder, gets registered with the rest:
// `passes` calls offerGraphCompiler from a static initialiser, before the runtime asks. And how both learn of targets.
#pragma once

#include "runtime/device/device.h"
#include "runtime/device/target.h"

namespace tandem::codegen {

/// A tandem::GraphCompiler*, handed to the runtime as it is.
void offerGraphCompiler(void* compiler);

/// What passes ask about a device. `Target{}` where no program has opened the compiler, as in td-opt.
const Target& targetOf(Device device);

}  // namespace tandem::codegen
