#include "runtime/kernel/disk_cache.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <sys/stat.h>

#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/new_file.h"

namespace tandem {

namespace {

struct Header {
  char magic[8] = {'t', 'd', 'k', 'e', 'r', 'n', '0', '2'};
  std::uint64_t length = 0;
  // Against accidents, not adversaries: who may write the cache may run code as this user anyway.
  std::uint64_t checksum[2] = {0, 0};
};
static_assert(sizeof(Header) == 32);

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool cacheIsOff() {
  const char* value = environment("TANDEM_CACHE");
  return value != nullptr && std::strcmp(value, "off") == 0;
}

// Read at each use, which is once a kernel and process: tests move the cache.
std::string cacheFolder() {
  if (const char* folder = environment("TANDEM_CACHE_DIR")) return folder;
  if (const char* folder = environment("XDG_CACHE_HOME")) return std::string(folder) + "/tandem";
  if (const char* home = environment("HOME")) return std::string(home) + "/.cache/tandem";
  return {};
}

std::string fileOf(const std::string& folder, const CodeName& name) {
  return folder + "/" + name.architecture + "/" + name.key.substr(0, 2) + "/" + name.key.substr(2) + ".o";
}

Header headerOf(std::string_view object) {
  Header header;
  header.length = object.size();
  const Hash128 hash = Hash128{}.add(object);
  header.checksum[0] = hash.lo;
  header.checksum[1] = hash.hi;
  return header;
}

bool readWhole(const std::string& path, std::string& bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info{};
  bool ok = ::fstat(fd, &info) == 0 && info.st_size >= 0;
  if (ok) {
    bytes.resize(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    while (ok && done < bytes.size()) {
      const ssize_t n = ::read(fd, bytes.data() + done, bytes.size() - done);
      ok = n > 0;
      if (ok) done += static_cast<std::size_t>(n);
    }
  }
  ::close(fd);
  return ok;
}

}  // namespace

std::string cacheKey(std::initializer_list<std::string_view> parts) {
  Hash128 hash;
  for (std::string_view part : parts) hash.add(part);
  return hash.hex();
}

std::optional<std::string> objectIn(std::string_view bytes) {
  if (bytes.size() < sizeof(Header)) return std::nullopt;
  const std::string_view object = bytes.substr(sizeof(Header));
  const Header expected = headerOf(object);
  if (std::memcmp(&expected, bytes.data(), sizeof(Header)) != 0) return std::nullopt;
  return std::string(object);
}

std::optional<std::string> readCachedObject(const CodeName& name) {
  const std::string folder = cacheFolder();
  std::string bytes;
  if (cacheIsOff() || folder.empty() || !readWhole(fileOf(folder, name), bytes)) return std::nullopt;
  return objectIn(bytes);
}

void writeCachedObject(const CodeName& name, std::string_view object) {
  const std::string folder = cacheFolder();
  if (cacheIsOff() || folder.empty()) return;
  const std::string path = fileOf(folder, name);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return;
  const Header header = headerOf(object);
  try {
    NewFile file(path);
    file.write({reinterpret_cast<const char*>(&header), sizeof(header)});
    file.write(object);
    file.finish();
  } catch (const Error&) {
    // It is made again by whoever needs it next.
  }
}

}  // namespace tandem
