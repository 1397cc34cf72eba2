#include "runtime/program/archive.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>
#include <utility>

#include <minizip/unzip.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/base/error.h"

// What libsodium calls where it is used wrongly. Its own ends the process too, and stands beside sodium_init, which
// would bring all of its ciphers along.
extern "C" void sodium_misuse() { std::abort(); }

namespace tandem::program {
namespace {

/// A file, mapped to be read.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail<ValueError>(path, ": ", std::strerror(errno));
    struct stat info{};
    const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    if (regular && info.st_size > 0) {
      bytes_ = static_cast<std::size_t>(info.st_size);
      data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
    }
    const int error = errno;
    ::close(fd);
    if (!regular) fail<ValueError>(path, ": not a file");
    if (data_ == MAP_FAILED) fail<ValueError>(path, ": cannot be mapped: ", std::strerror(error));
  }
  ~Mapping() {
    if (data_ != nullptr && data_ != MAP_FAILED) ::munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(data_), bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// minizip reads through functions; ours read memory.
struct Reader {
  std::string_view bytes;
  std::size_t at = 0;
};
Reader& reader(void* stream) { return *static_cast<Reader*>(stream); }

zlib_filefunc64_def memoryFunctions(Reader& memory) {
  zlib_filefunc64_def f{};
  f.opaque = &memory;
  f.zopen64_file = [](void* opaque, const void*, int) { return opaque; };
  f.zread_file = [](void*, void* stream, void* to, uLong size) -> uLong {
    Reader& r = reader(stream);
    const std::size_t n = std::min<std::size_t>(size, r.bytes.size() - r.at);
    if (n != 0) std::memcpy(to, r.bytes.data() + r.at, n);
    r.at += n;
    return n;
  };
  f.zwrite_file = [](void*, void*, const void*, uLong) -> uLong { return 0; };
  f.ztell64_file = [](void*, void* stream) -> ZPOS64_T { return reader(stream).at; };
  f.zseek64_file = [](void*, void* stream, ZPOS64_T offset, int origin) -> long {
    Reader& r = reader(stream);
    const std::size_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                             : origin == ZLIB_FILEFUNC_SEEK_CUR ? r.at
                                                                : r.bytes.size();
    if (offset > r.bytes.size() - from) return -1;
    r.at = from + offset;
    return 0;
  };
  f.zclose_file = [](void*, void*) { return 0; };
  f.zerror_file = [](void*, void*) { return 0; };
  return f;
}

}  // namespace

Archive Archive::open(const std::string& path) {
  auto mapping = std::make_shared<Mapping>(path);
  const std::string_view bytes = mapping->bytes();
  Archive archive = read(bytes, std::move(mapping), path);
  if (archive.has(kWeights) || !archive.has(kManifest)) return archive;
  const std::string beside = besideOf(path);
  if (::access(beside.c_str(), F_OK) != 0) fail<ValueError>(path, ": its weights are neither in it nor in ", beside);
  auto both = std::make_shared<std::pair<std::shared_ptr<const void>, Mapping>>(
      std::piecewise_construct, std::forward_as_tuple(std::move(archive.owner_)), std::forward_as_tuple(beside));
  archive.members_.emplace(kWeights, both->second.bytes());
  archive.owner_ = std::move(both);
  return archive;
}

Archive Archive::read(std::string_view bytes, std::shared_ptr<const void> owner, const std::string& path) {
  auto bad = [&](const char* what) { fail<ValueError>(path, ": not a saved program: ", what); };
  Reader memory{bytes};
  zlib_filefunc64_def functions = memoryFunctions(memory);
  const std::unique_ptr<void, int (*)(unzFile)> zip(unzOpen2_64(path.c_str(), &functions), &unzClose);
  if (zip == nullptr) bad("it is no zip archive");
  constexpr std::size_t kMostMembers = 1 << 20;
  constexpr std::size_t kLongestName = 4096;
  std::size_t together = 0;
  std::map<std::string, std::string_view, std::less<>> members;
  int found = unzGoToFirstFile(zip.get());
  for (; found == UNZ_OK; found = unzGoToNextFile(zip.get())) {
    unz_file_info64 info{};
    std::string name(kLongestName, '\0');
    if (unzGetCurrentFileInfo64(zip.get(), &info, name.data(), name.size(), nullptr, 0, nullptr, 0) != UNZ_OK)
      bad("its directory is damaged");
    if (info.size_filename >= kLongestName || members.size() == kMostMembers) bad("a name is too long");
    name.resize(info.size_filename);
    if (!std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; })) bad("a name has other characters");
    if (info.compression_method != 0 || info.compressed_size != info.uncompressed_size || (info.flag & 1) != 0)
      bad("a member is compressed");
    int method = 0;
    int level = 0;
    if (unzOpenCurrentFile2(zip.get(), &method, &level, 1) != UNZ_OK) bad("a member is damaged");
    const ZPOS64_T at = unzGetCurrentFileZStreamPos64(zip.get());
    unzCloseCurrentFile(zip.get());
    if (at > bytes.size() || info.uncompressed_size > bytes.size() - at) bad("a member lies outside the file");
    // Many that share bytes would be far more to read than there is.
    together += info.uncompressed_size;
    if (together > bytes.size()) bad("members overlap");
    if (at % 64 != 0) bad("a member lies at no multiple of 64 bytes");
    if (!members.emplace(name, bytes.substr(at, info.uncompressed_size)).second) bad("two members have one name");
    if (name == kManifest && crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + at),
                                   static_cast<uInt>(info.uncompressed_size)) != info.crc)
      bad("its manifest is damaged");
  }
  if (found != UNZ_END_OF_LIST_OF_FILE) bad("its directory is damaged");
  return {std::move(members), std::move(owner)};
}

std::string_view Archive::member(std::string_view name) const {
  const auto it = members_.find(name);
  if (it == members_.end()) fail<ValueError>("a saved program lacks its member `", name, "`");
  return it->second;
}

std::string besideOf(const std::string& path) { return path + ".safetensors"; }

std::string codeMember(std::string_view target, std::string_view symbol) {
  return strcat("cpu/", target, "/", symbol, ".o");
}

std::string sha256(std::string_view bytes) {
  std::string hash(crypto_hash_sha256_BYTES, '\0');
  crypto_hash_sha256(reinterpret_cast<unsigned char*>(hash.data()),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return hash;
}

namespace {

const unsigned char* raw(std::string_view s) { return reinterpret_cast<const unsigned char*>(s.data()); }
unsigned char* raw(std::string& s) { return reinterpret_cast<unsigned char*>(s.data()); }

struct KeyPair {
  explicit KeyPair(std::string_view seed) {
    if (seed.size() != crypto_sign_SEEDBYTES)
      fail<ValueError>("a secret key has ", crypto_sign_SEEDBYTES, " bytes, not ", seed.size());
    crypto_sign_seed_keypair(raw(open), raw(secret), raw(seed));
  }
  std::string open = std::string(crypto_sign_PUBLICKEYBYTES, '\0');
  std::string secret = std::string(crypto_sign_SECRETKEYBYTES, '\0');
};

}  // namespace

std::string signatureOf(std::string_view bytes, std::string_view secret) {
  const KeyPair keys(secret);
  std::string signature(crypto_sign_BYTES, '\0');
  crypto_sign_detached(raw(signature), nullptr, raw(bytes), bytes.size(), raw(std::string_view(keys.secret)));
  return signature;
}
std::string publicKeyOf(std::string_view secret) { return KeyPair(secret).open; }

bool isSigned(std::string_view bytes, std::string_view signature, std::string_view key) {
  return signature.size() == crypto_sign_BYTES && key.size() == crypto_sign_PUBLICKEYBYTES &&
         crypto_sign_verify_detached(raw(signature), raw(bytes), bytes.size(), raw(key)) == 0;
}

}  // namespace tandem::program
