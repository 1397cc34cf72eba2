// Devices that come in a shared object of their own: it defines `tandemDevices`, and what that returns is registered.
// Such an object has hidden copies of the runtime's own functions, which know no devices and no caches; it gets those of
// the process as `DeviceHost`.
#pragma once

#include <string>

#include "runtime/device/executor.h"
#include "runtime/kernel/kernel_cache.h"

namespace tandem {

/// What the process lends its devices.
struct DeviceHost {
  /// The executor of the CPU, for work that is done there.
  Executor* cpu;
  /// findCode and findSourceCode (runtime/kernel/kernel_cache.h).
  void (*findCode)(const KernelSignature& signature, const std::string& architecture, const LoadCode& load);
  void (*findSourceCode)(const KernelSource& source, const std::string& architecture, const LoadCode& load);
};

struct DevicePlugin {
  const char* kind;  // its name
  Executor* const* devices;
  int count;
};
/// The entry point, with C linkage. `host` lives as long as the process.
using DevicePluginInit = DevicePlugin (*)(const DeviceHost& host);

/// Opens the shared object and registers its devices; the name of their kind. Error where it is none, or its kind has
/// devices already.
std::string loadDevices(const std::string& path);

}  // namespace tandem
