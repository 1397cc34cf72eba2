#include "runtime/base/shared_library.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

namespace tandem {

namespace {

/// The reason of the first that cannot be opened stays, until one can.
void* open(const std::string& path, std::string& why) {
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object != nullptr) {
    why.clear();
  } else if (why.empty()) {
    const char* said = ::dlerror();
    why = said == nullptr ? path + " cannot be opened" : said;
  }
  return object;
}

}  // namespace

void* openSharedLibrary(const char* variable, std::span<const char* const> names, std::string& why) {
  why.clear();
  if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') return open(given, why);
  for (const char* name : names)
    if (void* object = open(name, why)) return object;
  const char* folders = std::getenv("TANDEM_CUDA_PATH");
  for (std::string_view rest = folders == nullptr ? "" : folders; !rest.empty();) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    for (const char* name : names)
      if (void* object = open(folder + "/" + name, why)) return object;
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return nullptr;
}

std::string findFunctions(void* library, std::span<const SharedFunction> functions) {
  std::string lacking;
  for (const auto& [name, at] : functions) {
    void* const found = ::dlsym(library, name);
    std::memcpy(at, static_cast<const void*>(&found), sizeof found);
    if (found == nullptr && lacking.empty()) lacking = std::string("lacks ") + name;
  }
  return lacking;
}

}  // namespace tandem
