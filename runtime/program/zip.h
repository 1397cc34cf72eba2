// The directory of a zip archive: where the members are that are stored as they are. Of the format
// (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT) this is the part that a saved program has: one disk, no
// compression, no encryption, zip64 where sizes need it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tandem::program {

struct ZipMember {
  std::string_view name;
  std::string_view bytes;
  std::uint32_t crc = 0;  // that the directory says they have
};

/// The members in the order of the directory; they and their names lie in `file`. ValueError saying what is wrong where
/// it is no such archive, or a member is compressed, lies outside the file or shares bytes with others. Checksums are
/// not compared.
std::vector<ZipMember> readZip(std::string_view file);

}  // namespace tandem::program
