#include "tests/emulation/shim_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

#include "runtime/base/hash.h"
#include "tests/emulation/texts.h"

namespace tandem::emulation {
namespace {

/// What stands between two `#pragma shim`.
struct Section {
  std::vector<std::string_view> names;  // none: always needed
  std::string text;
  std::set<std::string_view> words;
};

bool inWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<Section> readSections() {
  std::vector<Section> sections;
  for (std::string_view text :
       {kModuleText, kTypesText, kThreadsText, kAtomicsText, kMathText, kConvertText, kKernelsText}) {
    sections.emplace_back();
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      constexpr std::string_view kMark = "#pragma shim ";
      if (line.starts_with(kMark)) {
        sections.emplace_back();
        std::string_view rest = line.substr(kMark.size());
        while (rest != "always" && !rest.empty()) {
          const std::size_t space = std::min(rest.find(' '), rest.size());
          sections.back().names.push_back(rest.substr(0, space));
          rest.remove_prefix(std::min(space + 1, rest.size()));
        }
      } else if (!line.empty() && !line.starts_with("//") && !line.starts_with("#pragma once") &&
                 !line.starts_with("#include")) {
        sections.back().text.append(line).append("\n");
      }
    }
  }
  for (Section& s : sections) s.words = wordsOf(s.text);
  return sections;
}

const std::vector<Section>& sections() {
  static const std::vector<Section> all = readSections();
  return all;
}

/// Whether a word begins with one of the names.
bool needs(const std::set<std::string_view>& words, const Section& section) {
  for (const std::string_view name : section.names) {
    const auto it = words.lower_bound(name);
    if (it != words.end() && it->starts_with(name)) return true;
  }
  return section.names.empty();
}

}  // namespace

std::set<std::string_view> wordsOf(std::string_view text) {
  std::set<std::string_view> words;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!inWord(text[i])) continue;
    const std::size_t first = i;
    while (i < text.size() && inWord(text[i])) ++i;
    words.insert(text.substr(first, i - first));
  }
  return words;
}

std::string shimFor(const std::set<std::string_view>& words) {
  std::vector<bool> taken(sections().size());
  // What is taken may need more.
  const auto take = [&](auto& self, const std::set<std::string_view>& of) -> void {
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (taken[i] || !needs(of, sections()[i])) continue;
      taken[i] = true;
      if (!sections()[i].names.empty()) self(self, sections()[i].words);
    }
  };
  take(take, words);
  std::string out;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i]) out += sections()[i].text;
  }
  return out;
}

std::string wholeShim() {
  std::string out;
  for (const Section& s : sections()) out += s.text;
  return out;
}

std::uint64_t shimVersion() {
  static const std::uint64_t version = Hash128{}.add(wholeShim()).lo;
  return version;
}

}  // namespace tandem::emulation
