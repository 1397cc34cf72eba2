#include "runtime/kernel/shipped_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"
#include "runtime/kernel/compiler_path.h"

namespace tandem {
namespace {

constexpr std::string_view kMagic = "tdpack01";
constexpr std::string_view kSuffix = ".pack";

struct Entry {
  std::uint8_t key[16];
  std::uint64_t offset;
  std::uint64_t bytes;
};
static_assert(sizeof(Entry) == 32);

class Pack {
 public:
  explicit Pack(const std::string& path) : file_(path) {
    const std::string_view all = file_.bytes();
    constexpr std::size_t kHead = kMagic.size() + sizeof(std::uint64_t);
    if (!all.starts_with(kMagic) || all.size() < kHead) return;
    std::uint64_t count = 0;
    std::memcpy(&count, all.data() + kMagic.size(), sizeof count);
    if (count > (all.size() - kHead) / sizeof(Entry)) return;
    entries_.resize(count);
    if (count != 0) std::memcpy(entries_.data(), all.data() + kHead, count * sizeof(Entry));
  }
  [[nodiscard]] std::optional<std::string> find(std::string_view hex) const {
    Entry wanted{};
    for (std::size_t k = 0; k < 16; ++k)
      wanted.key[k] = static_cast<std::uint8_t>(std::stoi(std::string(hex.substr(2 * k, 2)), nullptr, 16));
    auto less = [](const Entry& a, const Entry& b) { return std::memcmp(a.key, b.key, sizeof a.key) < 0; };
    const auto it = std::ranges::lower_bound(entries_, wanted, less);
    if (it == entries_.end() || less(wanted, *it)) return std::nullopt;
    const std::string_view all = file_.bytes();
    if (it->offset > all.size() || it->bytes > all.size() - it->offset) return std::nullopt;
    return objectIn(all.substr(it->offset, it->bytes));
  }

 private:
  MappedFile file_;
  std::vector<Entry> entries_;
};

/// Read once; a package does not change under a process.
struct Shipped {
  std::vector<std::string> architectures;
  std::map<std::string, std::unique_ptr<const Pack>> packs;

  Shipped() {
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(libraryFolder() + "/kernels", none)) {
      if (file.path().extension() != kSuffix) continue;
      try {
        const std::string name = file.path().stem().string();
        packs.emplace(name, std::make_unique<const Pack>(file.path().string()));
        architectures.push_back(name);
      } catch (const Error&) {
        // What cannot be read is compiled.
      }
    }
  }
};

const Shipped& shipped() {
  static const auto* const s = new Shipped;  // never destroyed: threads may look up while the process ends
  return *s;
}

}  // namespace

const std::vector<std::string>& shippedArchitectures() { return shipped().architectures; }

std::optional<std::string> readShippedObject(const CodeName& name) {
  const auto it = shipped().packs.find(name.architecture);
  return it == shipped().packs.end() ? std::nullopt : it->second->find(name.key);
}

}  // namespace tandem
