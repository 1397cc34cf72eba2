#include "runtime/device/plugin.h"

#include <dlfcn.h>

#include "runtime/base/error.h"
#include "runtime/kernel/compiler_path.h"

namespace tandem {

std::string loadDevices(const std::string& path) {
  std::string why;
  void* object = openLibrary(path, why);
  if (object == nullptr) fail<Error>("the devices ", path, " cannot be opened: ", why);
  const auto init = reinterpret_cast<DevicePluginInit>(::dlsym(object, "tandemDevices"));
  if (init == nullptr) fail<Error>(path, " has no devices: it does not define tandemDevices");
  static const DeviceHost host{&executor(Device{}), &findCode, &findSourceCode};
  const DevicePlugin plugin = init(host);
  const DeviceKind kind = addDeviceKind(plugin.kind);
  if (deviceCount(kind) != 0) fail<Error>("there are devices of kind ", plugin.kind, " already");
  registerExecutors(kind, {plugin.devices, static_cast<std::size_t>(plugin.count)});
  return plugin.kind;
}

}  // namespace tandem
