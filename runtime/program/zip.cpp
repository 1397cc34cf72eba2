#include "runtime/program/zip.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"

namespace tandem::program {
namespace {

constexpr std::size_t kMostMembers = 1 << 20;
constexpr std::uint64_t kLongestComment = 0xffff;

[[noreturn]] void bad(const char* what) { fail<ValueError>(what); }
[[noreturn]] void badDirectory() { bad("its directory is damaged"); }

/// A record of fixed size: its fields by their offsets, little endian.
class Record {
 public:
  /// The record of `bytes` that begins at `at`, which may be anywhere.
  Record(std::string_view file, std::uint64_t at, std::uint64_t bytes) {
    if (at > file.size() || bytes > file.size() - at) badDirectory();
    begin_ = file.data() + at;
  }
  [[nodiscard]] std::uint64_t u16(std::size_t at) const { return get<std::uint16_t>(at); }
  [[nodiscard]] std::uint64_t u32(std::size_t at) const { return get<std::uint32_t>(at); }
  [[nodiscard]] std::uint64_t u64(std::size_t at) const { return get<std::uint64_t>(at); }

 private:
  template <class T>
  [[nodiscard]] T get(std::size_t at) const {
    T value;
    std::memcpy(&value, begin_ + at, sizeof value);
    return value;
  }
  const char* begin_;
};

constexpr std::uint64_t kEnd = 0x06054b50;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kEnd64 = 0x06064b50;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kLocator = 0x07064b50;
constexpr std::uint64_t kLocatorBytes = 20;
constexpr std::uint64_t kEntry = 0x02014b50;
constexpr std::uint64_t kEntryBytes = 46;
constexpr std::uint64_t kLocal = 0x04034b50;
constexpr std::uint64_t kLocalBytes = 30;

/// Where the record is that ends the file, but for a comment.
std::uint64_t findEnd(std::string_view file) {
  if (file.size() < kEndBytes) bad("it is no zip archive");
  const std::uint64_t last = file.size() - kEndBytes;
  for (std::uint64_t comment = 0; comment <= std::min(last, kLongestComment); ++comment) {
    const Record end(file, last - comment, kEndBytes);
    if (end.u32(0) == kEnd && end.u16(20) == comment) return last - comment;
  }
  bad("it is no zip archive");
}

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

Directory findDirectory(std::string_view file) {
  std::uint64_t behind = findEnd(file);
  const Record end(file, behind, kEndBytes);
  Directory found{end.u16(10), end.u32(16), end.u32(12)};
  bool oneDisk = end.u16(4) == 0 && end.u16(6) == 0 && end.u16(8) == end.u16(10);
  if (behind >= kLocatorBytes) {
    const Record locator(file, behind - kLocatorBytes, kLocatorBytes);
    if (locator.u32(0) == kLocator) {
      behind = locator.u64(8);
      const Record end64(file, behind, kEnd64Bytes);
      if (end64.u32(0) != kEnd64) badDirectory();
      found = {end64.u64(32), end64.u64(48), end64.u64(40)};
      oneDisk = locator.u32(4) == 0 && end64.u32(16) == 0 && end64.u32(20) == 0 && end64.u64(24) == end64.u64(32);
    }
  }
  if (!oneDisk || found.at > behind || found.bytes != behind - found.at) badDirectory();
  if (found.entries > std::min(kMostMembers, found.bytes / kEntryBytes)) badDirectory();
  return found;
}

/// What the field of zip64 in `extra` says instead of 32-bit numbers that are all ones.
void readZip64(std::string_view extra, std::uint64_t& whole, std::uint64_t& stored, std::uint64_t& at) {
  constexpr std::uint64_t kInstead = 0xffffffff;
  constexpr std::uint64_t kZip64 = 1;
  if (whole != kInstead && stored != kInstead && at != kInstead) return;
  for (std::uint64_t field = 0; extra.size() - field >= 4;) {
    const Record head(extra, field, 4);
    field += 4;
    if (head.u16(2) > extra.size() - field) badDirectory();
    std::string_view content = extra.substr(field, head.u16(2));
    field += content.size();
    if (head.u16(0) != kZip64) continue;
    for (std::uint64_t* number : {&whole, &stored, &at}) {
      if (*number != kInstead) continue;
      *number = Record(content, 0, 8).u64(0);
      content.remove_prefix(8);
    }
    return;
  }
  badDirectory();
}

}  // namespace

std::vector<ZipMember> readZip(std::string_view file) {
  const Directory directory = findDirectory(file);
  const std::string_view entries = file.substr(directory.at, directory.bytes);
  std::vector<ZipMember> members;
  members.reserve(directory.entries);
  std::uint64_t at = 0;
  std::uint64_t together = 0;
  for (std::uint64_t k = 0; k < directory.entries; ++k) {
    const Record entry(entries, at, kEntryBytes);
    const std::uint64_t nameBytes = entry.u16(28);
    const std::uint64_t extraBytes = entry.u16(30);
    at += kEntryBytes;
    const std::uint64_t next = at + nameBytes + extraBytes + entry.u16(32);
    if (entry.u32(0) != kEntry || next > entries.size()) badDirectory();
    ZipMember member{entries.substr(at, nameBytes), {}, static_cast<std::uint32_t>(entry.u32(16))};
    std::uint64_t whole = entry.u32(24);
    std::uint64_t stored = entry.u32(20);
    std::uint64_t local = entry.u32(42);
    readZip64(entries.substr(at + nameBytes, extraBytes), whole, stored, local);
    at = next;
    constexpr std::uint64_t kEncrypted = 1;
    if (entry.u16(10) != 0 || whole != stored || (entry.u16(8) & kEncrypted) != 0) bad("a member is compressed");
    const Record header(file, local, kLocalBytes);
    if (header.u32(0) != kLocal || header.u16(8) != 0 || header.u16(26) != nameBytes) bad("a member is damaged");
    const std::uint64_t begin = local + kLocalBytes + nameBytes + header.u16(28);
    if (begin > directory.at || whole > directory.at - begin) bad("a member lies outside the file");
    if (file.substr(local + kLocalBytes, nameBytes) != member.name) bad("a member is damaged");
    // Many that share bytes would be far more to read than there is.
    together += whole;
    if (together > file.size()) bad("members overlap");
    member.bytes = file.substr(begin, whole);
    members.push_back(member);
  }
  if (at != entries.size()) badDirectory();
  return members;
}

}  // namespace tandem::program
