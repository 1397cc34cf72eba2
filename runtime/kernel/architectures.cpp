#include "runtime/kernel/architectures.h"

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

/// 90 of `sm_90` and `compute_90`; 0 where it says no number.
int capability(std::string_view architecture) {
  int number = 0;
  for (const char c : architecture.substr(architecture.find('_') + 1)) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + (c - '0');
  }
  return number;
}

/// Of a GPU that has `own`: more for better code, 0 where it does not run.
int rankOf(std::string_view architecture, int own) {
  constexpr int kMachineCode = 1 << 20;
  const int number = capability(architecture);
  const bool code = architecture.starts_with("sm_");
  if (number == 0 || number > own || (code && number / 10 != own / 10)) return 0;
  return number + (code ? kMachineCode : 0);
}

}  // namespace

bool isForGpus(std::string_view architecture) {
  return architecture.starts_with("sm_") || architecture.starts_with("compute_");
}

std::vector<std::string> thatRunOn(std::string_view own, const std::vector<std::string>& architectures) {
  std::vector<std::string> good;
  if (!isForGpus(own)) {
    // Levels are told apart by their last letter.
    for (const std::string& a : architectures)
      if (!isForGpus(a) && a <= own) good.push_back(a);
    std::ranges::sort(good, std::ranges::greater());
    return good;
  }
  const int level = capability(own);
  for (const std::string& a : architectures)
    if (isForGpus(a) && rankOf(a, level) > 0) good.push_back(a);
  std::ranges::sort(good,
                    [&](const std::string& a, const std::string& b) { return rankOf(a, level) > rankOf(b, level); });
  return good;
}

}  // namespace tandem
