// Devices that come in a shared object of their own: it defines `tandemDevices`, and what that returns is registered.
#pragma once

#include <string>

#include "runtime/device/executor.h"

namespace tandem {

struct DevicePlugin {
  const char* kind;  // its name
  Executor* const* devices;
  int count;
};
/// The entry point, with C linkage: `cpu` is the executor of the CPU, for work that is done there.
using DevicePluginInit = DevicePlugin (*)(Executor& cpu);

/// Opens the shared object and registers its devices; the name of their kind. Error where it is none, or its kind has
/// devices already.
std::string loadDevices(const std::string& path);

}  // namespace tandem
