// A number of PyTorch's statistics of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tandem::cuda {

struct Stat {
  std::int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(std::int64_t n) {
    current += n;
    peak = std::max(peak, current);
    (n > 0 ? allocated : freed) += n > 0 ? n : -n;
  }
  void resetPeak() { peak = current; }
  void resetAccumulated() { allocated = freed = 0; }
  void tell(const std::string& name, std::vector<std::pair<std::string, std::int64_t>>& to) const {
    to.emplace_back(name + ".current", current);
    to.emplace_back(name + ".peak", peak);
    to.emplace_back(name + ".allocated", allocated);
    to.emplace_back(name + ".freed", freed);
  }
};

}  // namespace tandem::cuda
