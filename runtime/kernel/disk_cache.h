// Kernel objects on disk: $TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, else ~/.cache/tandem. One file an object,
// `<architecture>/<2 hex>/<30 hex>.o`, and under `plans` what large traces were compiled to (lazy/plan_files.h); headed
// by magic, length and checksum; written aside, synced and renamed, so that readers see all of a file or nothing.
// TANDEM_CACHE=off does without.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

/// 128 bits in hex over all parts and their lengths.
std::string cacheKey(std::initializer_list<std::string_view> parts);
/// The name of an object: what it is code for, and 32 hex digits.
struct CodeName {
  std::string architecture;
  std::string key;
};
/// What the cache holds under a name, undamaged.
std::optional<std::string> readCachedObject(const CodeName& name);
/// The object in the bytes of such a file, where it is undamaged.
std::optional<std::string> objectIn(std::string_view bytes);
/// Best effort: a cache that cannot be written is no error.
void writeCachedObject(const CodeName& name, std::string_view object);

}  // namespace tandem
