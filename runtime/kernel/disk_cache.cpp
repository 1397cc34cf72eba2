#include "runtime/kernel/disk_cache.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <sys/stat.h>

#include "runtime/kernel/compiler_path.h"

namespace tandem {

namespace {

struct Header {
  char magic[8] = {'t', 'd', 'k', 'e', 'r', 'n', '0', '1'};
  std::uint64_t length = 0;
  std::uint64_t checksum[2] = {0, 0};
};
static_assert(sizeof(Header) == 32);

// Two independent 64-bit multiply-xor hashes with a final mix. They guard against accidents, not adversaries: who may
// write the cache may run code as this user anyway.
struct Hash128 {
  std::uint64_t a = 0x243f6a8885a308d3;
  std::uint64_t b = 0x13198a2e03707344;

  void update(std::string_view bytes) {
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t n = bytes.size() < 8 ? bytes.size() : 8;
      std::memcpy(&word, bytes.data(), n);
      bytes.remove_prefix(n);
      add(word);
    }
  }
  void add(std::uint64_t word) {
    a = mix(a ^ word) * 0x9e3779b97f4a7c15;
    b = mix(b + word) * 0xd6e8feb86659fd93 + a;
  }
  void finish() {
    a = mix(a ^ (b >> 7));
    b = mix(b + a);
  }
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 29)) * 0x94d049bb133111eb;
    return x ^ (x >> 32);
  }
};

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

std::string fileOf(const std::string& folder, const std::string& key) {
  return folder + "/" + key.substr(0, 2) + "/" + key.substr(2) + ".o";
}

Header headerOf(std::string_view object) {
  Header header;
  header.length = object.size();
  Hash128 hash;
  hash.update(object);
  hash.finish();
  header.checksum[0] = hash.a;
  header.checksum[1] = hash.b;
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

void readObject(const std::string& path, std::vector<std::string>& objects) {
  std::string bytes;
  if (!readWhole(path, bytes) || bytes.size() < sizeof(Header)) return;
  std::string object = bytes.substr(sizeof(Header));
  const Header expected = headerOf(object);
  if (std::memcmp(&expected, bytes.data(), sizeof(Header)) == 0) objects.push_back(std::move(object));
}

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

std::string cacheKey(std::initializer_list<std::string_view> parts) {
  Hash128 hash;
  for (std::string_view part : parts) {
    hash.add(part.size());
    hash.update(part);
  }
  hash.finish();
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.a),
                static_cast<unsigned long long>(hash.b));
  return text;
}

std::vector<std::string> readCachedObjects(const std::string& key) {
  std::vector<std::string> objects;
  if (!cacheIsOff()) {
    const std::string folder = cacheFolder();
    if (!folder.empty()) readObject(fileOf(folder, key), objects);
  }
  readObject(fileOf(libraryFolder() + "/kernels", key), objects);
  return objects;
}

void writeCachedObject(const std::string& key, std::string_view object) {
  const std::string folder = cacheFolder();
  if (cacheIsOff() || folder.empty()) return;
  const std::string path = fileOf(folder, key);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return;
  static std::atomic<int> counter{0};
  const std::string aside = path + "." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const Header header = headerOf(object);
  const std::string_view headerBytes(reinterpret_cast<const char*>(&header), sizeof(header));
  const bool written = writeAll(fd, headerBytes) && writeAll(fd, object) && ::fsync(fd) == 0;
  const bool closed = ::close(fd) == 0;
  if (!written || !closed || ::rename(aside.c_str(), path.c_str()) != 0) ::unlink(aside.c_str());
}

}  // namespace tandem
