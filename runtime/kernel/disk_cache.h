// Kernel objects on disk: $TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, else ~/.cache/tandem, and read-only the
// folder `kernels` beside the library. One file an object, `<architecture>/<2 hex>/<30 hex>.o`, and under `plans` what
// large traces were compiled to (lazy/plan_files.h); headed by magic, length and checksum; written aside, synced and
// renamed, so that readers see all of a file or nothing. TANDEM_CACHE=off does without.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// 128 bits in hex over all parts and their lengths.
std::string cacheKey(std::initializer_list<std::string_view> parts);
/// The name of an object: what it is code for, and 32 hex digits.
struct CodeName {
  std::string architecture;
  std::string key;
};
/// What the caches hold under a name, undamaged: none, one or two objects.
std::vector<std::string> readCachedObjects(const CodeName& name);
/// Best effort: a cache that cannot be written is no error.
void writeCachedObject(const CodeName& name, std::string_view object);

}  // namespace tandem
