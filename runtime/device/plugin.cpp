#include "runtime/device/plugin.h"

#include <dlfcn.h>

#include "runtime/base/error.h"

namespace tandem {

std::string loadDevices(const std::string& path) {
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    const char* why = ::dlerror();
    fail<Error>("the devices ", path, " cannot be opened: ", why == nullptr ? "unknown reason" : why);
  }
  const auto init = reinterpret_cast<DevicePluginInit>(::dlsym(object, "tandemDevices"));
  if (init == nullptr) fail<Error>(path, " has no devices: it does not define tandemDevices");
  const DevicePlugin plugin = init(executor(Device{}));
  const DeviceKind kind = addDeviceKind(plugin.kind);
  if (deviceCount(kind) != 0) fail<Error>("there are devices of kind ", plugin.kind, " already");
  registerExecutors(kind, {plugin.devices, static_cast<std::size_t>(plugin.count)});
  return plugin.kind;
}

}  // namespace tandem
