#include "runtime/kernel/compiler_path.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <link.h>

#include "runtime/kernel/kernel_compiler.h"

namespace tandem {

namespace {

// The build id lies in a note in the first pages, which the linker places there for readers like this.
std::string buildId(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(4096, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  Elf64_Ehdr header;
  if (head.size() < sizeof(header)) return {};
  std::memcpy(&header, head.data(), sizeof(header));
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const std::size_t at = header.e_phoff + i * sizeof(segment);
    if (at + sizeof(segment) > head.size()) break;
    std::memcpy(&segment, head.data() + at, sizeof(segment));
    if (segment.p_type != PT_NOTE) continue;
    std::size_t note = segment.p_offset;
    while (note + sizeof(Elf64_Nhdr) <= std::min<std::size_t>(head.size(), segment.p_offset + segment.p_filesz)) {
      Elf64_Nhdr n;
      std::memcpy(&n, head.data() + note, sizeof(n));
      const std::size_t name = note + sizeof(n);
      const std::size_t id = name + (n.n_namesz + 3) / 4 * 4;
      if (n.n_type == NT_GNU_BUILD_ID && id + n.n_descsz <= head.size()) return head.substr(id, n.n_descsz);
      note = id + (n.n_descsz + 3) / 4 * 4;
    }
  }
  return {};
}

// A program that is linked statically has none, and what it opened would bring a second C library.
bool hasLibraries() {
  auto isLibrary = [](dl_phdr_info* object, std::size_t, void*) -> int {
    return std::strchr(object->dlpi_name, '/') != nullptr ? 1 : 0;
  };
  return ::dl_iterate_phdr(isLibrary, nullptr) != 0;
}

}  // namespace

const std::string& libraryFolder() {
  static const std::string folder = [] {
    Dl_info info;
    if (::dladdr(reinterpret_cast<void*>(&compilerPath), &info) == 0 || info.dli_fname == nullptr)
      return std::string(".");
    std::error_code ignored;
    const std::filesystem::path self = std::filesystem::absolute(info.dli_fname, ignored);
    return self.parent_path().string();
  }();
  return folder;
}

std::string compilerPath() {
  if (const char* given = std::getenv("TANDEM_COMPILER"); given != nullptr && *given != '\0') return given;
  return libraryFolder() + "/libtandem_compiler.so";
}

const std::string& compilerIdentity() {
  static const std::string identity = buildId(compilerPath());
  return identity;
}

void* openLibrary(const std::string& path, std::string& why) {
  if (!hasLibraries()) {
    why = "this program is linked statically";
    return nullptr;
  }
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object != nullptr) return object;
  const char* said = ::dlerror();
  why = said == nullptr ? "unknown reason" : said;
  return nullptr;
}

}  // namespace tandem
