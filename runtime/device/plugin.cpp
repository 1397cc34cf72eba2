#include "runtime/device/plugin.h"

#include <cctype>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/user_line.h"
#include "runtime/base/warn.h"
#include "runtime/kernel/compiler_path.h"

namespace tandem {

namespace {

/// What plug-ins have of them.
struct Surveys {
  std::mutex mutex;
  std::map<std::string, CodeSurvey* (*)(const std::string&)> byKind;
};
Surveys& surveys() {
  static auto* const s = new Surveys;
  return *s;
}

}  // namespace

std::string loadDevices(const std::string& path) {
  std::string why;
  void* object = openLibrary(path, why);
  if (object == nullptr) fail<Error>("the devices ", path, " cannot be opened: ", why);
  const auto init = reinterpret_cast<DevicePluginInit>(::dlsym(object, "tandemDevices"));
  if (init == nullptr) fail<Error>(path, " has no devices: it does not define tandemDevices");
  static const DeviceHost host{&executor(Device{}),
                               &findCode,
                               &findSourceCode,
                               &counters(),
                               [](const std::string& text) { warnOnce(text); },
                               [] { return userLine(); }};
  const DevicePlugin plugin = init(host);
  registerExecutors(addDeviceKind(plugin.kind), {plugin.devices, static_cast<std::size_t>(plugin.count)}, plugin.why);
  const std::lock_guard lock(surveys().mutex);
  surveys().byKind[plugin.kind] = plugin.survey;
  return plugin.kind;
}

std::string openDevices(const std::string& kind) {
  std::string variable = strcat("TANDEM_", kind);
  for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const char* given = std::getenv(variable.c_str());
  std::string path = given != nullptr ? given : "";
  if (path.empty()) {
    path = strcat(libraryFolder(), "/libtandem_", kind, ".so");
    if (::access(path.c_str(), F_OK) != 0) return strcat("this build has no ", path);
  }
  try {
    const std::string found = loadDevices(path);
    return found == kind ? "" : strcat(path, " has devices of kind ", found);
  } catch (const Error& e) {
    return e.what();
  }
}

std::unique_ptr<CodeSurvey> surveyCode(const std::string& kind, const std::string& architecture) {
  const DeviceKind devices = addDeviceKind(kind);
  const std::string why = whyNoDevice(devices);  // opens the plug-in
  CodeSurvey* (*make)(const std::string&) = nullptr;
  {
    const std::lock_guard lock(surveys().mutex);
    if (const auto it = surveys().byKind.find(kind); it != surveys().byKind.end()) make = it->second;
  }
  if (make == nullptr) fail<Error>("what code work on ", architecture, " needs cannot be told: ", why);
  return std::unique_ptr<CodeSurvey>(make(architecture));
}

}  // namespace tandem
