// The directory of zip archives: what is found, and what is refused.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/program/zip.h"

namespace tandem::test {
namespace {

using program::readZip;
using program::ZipMember;

std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int k = 0; k < bytes; ++k) out += static_cast<char>(value >> 8 * k);
  return out;
}

/// What an archive says of a member, each field as it should be unless a test changes it.
struct Entry {
  std::string name;
  std::string bytes;
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint64_t size = bytes.size();
  std::uint64_t whole = bytes.size();
  std::uint64_t local = 0;
  std::string extra = {};
  std::string localName = name;
};

struct Archive {
  std::vector<Entry> entries;
  bool zip64 = false;
  std::string comment = {};
  std::uint64_t more = 0;  // entries that the end counts beside those that are there

  explicit Archive(std::vector<Entry> all) : entries(std::move(all)) {
    std::uint64_t at = 0;
    for (Entry& e : entries) {
      e.local = at;
      at += 30 + e.localName.size() + e.bytes.size();
    }
  }
  [[nodiscard]] std::string file() const {
    std::string out;
    for (const Entry& e : entries)
      out += number(0x04034b50, 4) + number(20, 2) + number(e.flags, 2) + number(e.method, 2) + number(0, 8) +
             number(e.size, 4) + number(e.whole, 4) + number(e.localName.size(), 2) + number(0, 2) + e.localName +
             e.bytes;
    const std::uint64_t begin = out.size();
    for (const Entry& e : entries)
      out += number(0x02014b50, 4) + number(20, 2) + number(20, 2) + number(e.flags, 2) + number(e.method, 2) +
             number(0, 4) + number(7, 4) + number(e.size, 4) + number(e.whole, 4) + number(e.name.size(), 2) +
             number(e.extra.size(), 2) + number(0, 2) + number(0, 8) + number(e.local, 4) + e.name + e.extra;
    const std::uint64_t end = out.size();
    const std::uint64_t count = entries.size() + more;
    if (zip64)
      out += number(0x06064b50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(count, 8) +
             number(count, 8) + number(end - begin, 8) + number(begin, 8) + number(0x07064b50, 4) + number(0, 4) +
             number(end, 8) + number(1, 4);
    out += number(0x06054b50, 4) + number(0, 4) + number(zip64 ? 0xffff : count, 2) +
           number(zip64 ? 0xffff : count, 2) + number(zip64 ? 0xffffffff : end - begin, 4) +
           number(zip64 ? 0xffffffff : begin, 4) + number(comment.size(), 2) + comment;
    return out;
  }
};

Archive two() { return Archive({{"first", "some bytes"}, {"second", ""}}); }

void expectBoth(const std::string& file) {
  const std::vector<ZipMember> found = readZip(file);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "first");
  EXPECT_EQ(found[0].bytes, "some bytes");
  EXPECT_EQ(found[0].crc, 7U);
  EXPECT_EQ(found[1].name, "second");
  EXPECT_EQ(found[1].bytes, "");
}

TEST(Zip, FindsMembers) {
  Archive archive = two();
  expectBoth(archive.file());
  archive.comment = std::string(300, 'c');
  expectBoth(archive.file());
  archive.zip64 = true;
  expectBoth(archive.file());
  EXPECT_TRUE(readZip(Archive({}).file()).empty());
}

TEST(Zip, FindsNumbersOf64Bits) {
  Archive archive = two();
  Entry& second = archive.entries[1];
  // Behind another field; of the three numbers those that do not fit, in their order.
  second.extra =
      number(0x6474, 2) + number(3, 2) + "abc" + number(1, 2) + number(16, 2) + number(0, 8) + number(second.local, 8);
  second.whole = second.local = 0xffffffff;
  expectBoth(archive.file());
  second.extra.resize(second.extra.size() - 8);
  EXPECT_THROW(readZip(archive.file()), ValueError);
  second.extra.clear();
  EXPECT_THROW(readZip(archive.file()), ValueError);
}

struct Refusal {
  const char* name;
  std::function<void(Archive&)> change;
  const char* text;
};

const Refusal kRefusals[] = {
    {"Compressed", [](Archive& a) { a.entries[0].method = 8; }, "a member is compressed"},
    {"SmallerThanWhole", [](Archive& a) { a.entries[0].size = 4; }, "a member is compressed"},
    {"Encrypted", [](Archive& a) { a.entries[1].flags = 1; }, "a member is compressed"},
    {"HeaderOutside", [](Archive& a) { a.entries[1].local = 1 << 20; }, "its directory is damaged"},
    {"HeaderElsewhere", [](Archive& a) { a.entries[1].local = 3; }, "a member is damaged"},
    {"AnotherName", [](Archive& a) { a.entries[0].localName = "fiRst"; }, "a member is damaged"},
    {"LongerThanTheFile", [](Archive& a) { a.entries[1].size = a.entries[1].whole = 1 << 20; },
     "a member lies outside the file"},
    {"OverTheDirectory", [](Archive& a) { a.entries[1].size = a.entries[1].whole = 50; },
     "a member lies outside the file"},
    {"MoreThanThereIs", [](Archive& a) { a.more = 1; }, "its directory is damaged"},
    {"FewerThanThereAre", [](Archive& a) { a.more = -1; }, "its directory is damaged"},
    {"ManyMore", [](Archive& a) { a.more = 60000; }, "its directory is damaged"},
};

class ZipRefused : public testing::TestWithParam<Refusal> {};

TEST_P(ZipRefused, WithWhatIsWrong) {
  Archive archive = two();
  GetParam().change(archive);
  try {
    readZip(archive.file());
    FAIL() << "it was taken";
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(), GetParam().text);
  }
}

INSTANTIATE_TEST_SUITE_P(Zip, ZipRefused, testing::ValuesIn(kRefusals),
                         [](const auto& info) { return info.param.name; });

TEST(Zip, MembersThatShareBytesAreRefused) {
  Archive archive({{"a", std::string(200, 'a')}, {"a", ""}, {"a", ""}});
  for (Entry& e : archive.entries) {
    e.local = 0;
    e.size = e.whole = 200;
  }
  EXPECT_THROW(readZip(archive.file()), ValueError);
}

TEST(Zip, NoPartOfAnArchiveIsOne) {
  for (const bool zip64 : {false, true}) {
    Archive archive = two();
    archive.zip64 = zip64;
    const std::string file = archive.file();
    // Exactly as long as they are, so that a sanitizer sees what is read behind them.
    for (std::size_t n = 0; n < file.size(); ++n) EXPECT_THROW(readZip(std::string(file, 0, n)), ValueError) << n;
    for (std::size_t n = 1; n < file.size(); ++n) EXPECT_THROW(readZip(std::string(file, n)), ValueError) << n;
  }
}

TEST(Zip, AnyByteMayBeAnother) {
  Archive archive = two();
  archive.zip64 = true;
  const std::string file = archive.file();
  for (std::size_t k = 0; k < file.size(); ++k)
    for (const int bit : {0, 3, 7}) {
      std::string changed = file;
      changed[k] = static_cast<char>(changed[k] ^ 1 << bit);
      try {
        for (const ZipMember& m : readZip(changed)) {
          EXPECT_GE(m.bytes.data(), changed.data());
          EXPECT_LE(m.bytes.data() + m.bytes.size(), changed.data() + changed.size());
        }
      } catch (const ValueError&) {
      }
    }
}

}  // namespace
}  // namespace tandem::test
