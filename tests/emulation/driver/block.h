// Runs kernels: block after block, the threads of a block as fibers that wait for one another at barriers and shuffles.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulation/driver/object.h"

namespace tandem::emulation {

/// What is run: a kernel with its arguments.
struct Launch {
  const LoadedObject* object;
  const KernelRecord* kernel;
  uint3 blocks, threads;
  unsigned sharedBytes;
  void** parameters;
};

/// How a launch ended.
struct Outcome {
  enum Kind { kDone, kFault, kStuck } kind = kDone;
  std::string text;               // what happened, with the kernel's name
  bool isAccess = false;          // the fault was one of memory,
  const void* address = nullptr;  // at this address if the processor said it
};

/// Runs a kernel to its end on this thread. One at a time: the caller holds the driver's lock.
Outcome run(const Launch& launch);

}  // namespace tandem::emulation
