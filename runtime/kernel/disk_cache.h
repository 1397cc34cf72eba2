// Kernel objects on disk: $TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, else ~/.cache/tandem, and read-only the
// folder `kernels` beside the library. One file an object, `<2 hex>/<30 hex>.o`, headed by magic, length and checksum;
// written aside, synced and renamed, so that readers see all of a file or nothing. TANDEM_CACHE=off does without.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// 128 bits in hex over all parts and their lengths.
std::string cacheKey(std::initializer_list<std::string_view> parts);
/// What the caches hold under `key`, undamaged: none, one or two objects.
std::vector<std::string> readCachedObjects(const std::string& key);
/// Best effort: a cache that cannot be written is no error.
void writeCachedObject(const std::string& key, std::string_view object);

}  // namespace tandem
