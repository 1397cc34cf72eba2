// Lists of names in the tables of this directory: texts of words.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace tandem::python {

/// The words of a text, one blank between them.
inline std::vector<std::string_view> wordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
  }
  return words;
}

}  // namespace tandem::python
