// Devices that come in a shared object of their own: it defines `tandemDevices`, and what that returns is registered.
// Such an object has hidden copies of the runtime's own functions, which know no devices and no caches; it gets those
// of the process as `DeviceHost`. One that lies beside the library under its kind's name is opened when the first
// device of the kind is asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

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
  /// As in runtime/base/user_line.h.
  std::string (*userLine)();
};

/// A device of an architecture that need not be here: what is queued on it is not done, and its memory is never read,
/// but the code is noted that the work needs, each piece once. For one thread at a time.
class CodeSurvey {
 public:
  virtual ~CodeSurvey() = default;
  virtual Executor& device() = 0;
  /// Of generated kernels, and of library functions.
  [[nodiscard]] virtual const std::vector<KernelSignature>& kernels() const = 0;
  [[nodiscard]] virtual const std::vector<KernelSource>& sources() const = 0;
};

struct DevicePlugin {
  const char* kind;  // its name
  Executor* const* devices;
  int count;
  const char* why = "";  // there are none, as part of a sentence; lives as long as the process
  /// A new one; null where the plug-in has none. ValueError where it knows no such architecture.
  CodeSurvey* (*survey)(const std::string& architecture) = nullptr;
};
/// The entry point, with C linkage. `host` lives as long as the process.
using DevicePluginInit = DevicePlugin (*)(const DeviceHost& host);

/// Opens the shared object and registers its devices; the name of their kind. Error where it is none, or its kind has
/// devices already.
std::string loadDevices(const std::string& path);
/// The same of $TANDEM_<KIND>, else of libtandem_<kind>.so in libraryFolder(). Throws nothing: why there are no
/// devices, empty where there are some.
std::string openDevices(const std::string& kind);

/// Of the devices of a kind, whose plug-in must be here; the devices need not. Error saying why where it is not.
std::unique_ptr<CodeSurvey> surveyCode(const std::string& kind, const std::string& architecture);

}  // namespace tandem
