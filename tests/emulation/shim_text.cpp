#include "tests/emulation/shim_text.h"

#include <string_view>

#include "runtime/base/hash.h"
#include "tests/emulation/shim_texts.h"

namespace tandem::emulation {

const std::string& shimText() {
  static const std::string whole = [] {
    std::string out;
    for (std::string_view text :
         {kModuleText, kTypesText, kThreadsText, kAtomicsText, kMathText, kConvertText, kKernelsText}) {
      // What makes headers of the files has no use here.
      while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.empty() || line.starts_with("//") || line.starts_with("#pragma once") || line.starts_with("#include"))
          continue;
        out.append(line).append("\n");
      }
    }
    return out;
  }();
  return whole;
}

std::uint64_t shimVersion() {
  static const std::uint64_t version = Hash128{}.add(shimText()).lo;
  return version;
}

}  // namespace tandem::emulation
