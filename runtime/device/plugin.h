// Devices that come in a shared object of their own: it defines `tandemDevices`, and what that returns is registered.
// Such an object has hidden copies of the runtime's own functions, which know no devices and no caches; it gets those
// of the process as `DeviceHost`. One that lies beside the library under its kind's name is opened when the first
// device of the kind is asked for.
#pragma once

#include <string>

#include "runtime/base/counters.h"
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
  Counters* counters;
  /// As in runtime/base/warn.h.
  void (*warnOnce)(const std::string& text);
};

struct DevicePlugin {
  const char* kind;  // its name
  Executor* const* devices;
  int count;
  const char* why = "";  // there are none, as part of a sentence; lives as long as the process
};
/// The entry point, with C linkage. `host` lives as long as the process.
using DevicePluginInit = DevicePlugin (*)(const DeviceHost& host);

/// Opens the shared object and registers its devices; the name of their kind. Error where it is none, or its kind has
/// devices already.
std::string loadDevices(const std::string& path);
/// The same of $TANDEM_<KIND>, else of libtandem_<kind>.so in libraryFolder(). Throws nothing: why there are no
/// devices, empty where there are some.
std::string openDevices(const std::string& kind);

}  // namespace tandem
