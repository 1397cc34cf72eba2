#include "runtime/program/archive.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sodium.h>
#include <unistd.h>
#include <utility>
#include <zlib.h>

// The functions of a hash alone, without the providers that OpenSSL would rather have asked for it.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"
#include "runtime/kernel/architectures.h"
#include "runtime/program/zip.h"

// What libsodium calls where it is used wrongly. Its own ends the process too, and stands beside sodium_init, which
// would bring all of its ciphers along.
extern "C" void sodium_misuse() { std::abort(); }

namespace tandem::program {

Archive Archive::open(const std::string& path) {
  auto mapping = std::make_shared<MappedFile>(path);
  const std::string_view bytes = mapping->bytes();
  Archive archive = read(bytes, std::move(mapping), path);
  if (archive.has(kWeights) || !archive.has(kManifest)) return archive;
  const std::string beside = besideOf(path);
  if (::access(beside.c_str(), F_OK) != 0) fail<ValueError>(path, ": its weights are neither in it nor in ", beside);
  auto both = std::make_shared<std::pair<std::shared_ptr<const void>, MappedFile>>(
      std::piecewise_construct, std::forward_as_tuple(std::move(archive.owner_)), std::forward_as_tuple(beside));
  archive.members_.emplace(kWeights, both->second.bytes());
  archive.owner_ = std::move(both);
  archive.weightsAreBeside_ = true;
  return archive;
}

Archive Archive::read(std::string_view bytes, std::shared_ptr<const void> owner, const std::string& path) {
  auto bad = [&](const char* what) { fail<ValueError>(path, ": not a saved program: ", what); };
  std::vector<ZipMember> found;
  try {
    found = readZip(bytes);
  } catch (const ValueError& e) {
    bad(e.what());
  }
  std::map<std::string, std::string_view, std::less<>> members;
  for (const ZipMember& m : found) {
    if (!std::ranges::all_of(m.name, [](char c) { return c > ' ' && c <= '~'; })) bad("a name has other characters");
    if ((m.bytes.data() - bytes.data()) % 64 != 0) bad("a member lies at no multiple of 64 bytes");
    if (!members.emplace(m.name, m.bytes).second) bad("two members have one name");
    if (m.name == kManifest && crc32_z(0, reinterpret_cast<const Bytef*>(m.bytes.data()), m.bytes.size()) != m.crc)
      bad("its manifest is damaged");
  }
  return {std::move(members), std::move(owner)};
}

std::string_view Archive::member(std::string_view name) const {
  const auto it = members_.find(name);
  if (it == members_.end()) fail<ValueError>("a saved program lacks its member `", name, "`");
  return it->second;
}

std::string besideOf(const std::string& path) { return path + ".safetensors"; }

std::string codeFolder(std::string_view target) { return strcat(isForGpus(target) ? "gpu/" : "cpu/", target, "/"); }

std::string codeMember(std::string_view target, std::string_view symbol) {
  const char* suffix = target.starts_with("sm_") ? ".cubin" : isForGpus(target) ? ".ptx" : ".o";
  return strcat(codeFolder(target), symbol, suffix);
}

std::string sha256(std::string_view bytes) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256_CTX state;
  SHA256_Init(&state);
  SHA256_Update(&state, bytes.data(), bytes.size());
  SHA256_Final(reinterpret_cast<unsigned char*>(hash.data()), &state);
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
