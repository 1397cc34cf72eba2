#include "passes/arena.h"

#include <algorithm>
#include <map>
#include <vector>

namespace tandem::passes {

namespace {

constexpr std::int64_t kAlignment = 64;

// The holes of an arena that grows at its end.
class Arena {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = holes_.end();
    for (auto it = holes_.begin(); it != holes_.end(); ++it)
      if (it->second >= bytes && (best == holes_.end() || it->second < best->second)) best = it;
    std::int64_t at = size_;
    if (best != holes_.end()) {
      auto [start, length] = *best;
      holes_.erase(best);
      if (length > bytes) holes_[start + bytes] = length - bytes;
      return start;
    }
    // The last hole may be too small but reach the end.
    if (!holes_.empty() && holes_.rbegin()->first + holes_.rbegin()->second == size_) {
      at = holes_.rbegin()->first;
      holes_.erase(at);
    }
    size_ = at + bytes;
    return at;
  }
  void give(std::int64_t at, std::int64_t bytes) {
    auto [it, fresh] = holes_.emplace(at, bytes);
    auto next = std::next(it);
    if (next != holes_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      holes_.erase(next);
    }
    if (it != holes_.begin() && std::prev(it)->first + std::prev(it)->second == it->first) {
      std::prev(it)->second += it->second;
      holes_.erase(it);
    }
  }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::map<std::int64_t, std::int64_t> holes_;  // start to length; 0 lengths never occur
  std::int64_t size_ = 0;
};

}  // namespace

std::int64_t alignedBytes(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::int64_t placeTemporaries(std::span<MemoryLife> memories, bool reuse) {
  auto temporary = [](const MemoryLife& m) { return m.place.kind == MemoryPlace::Arena && m.made >= 0; };
  std::vector<std::size_t> ending;  // in the order in which they are read last
  std::vector<bool> inherited(memories.size());
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (!temporary(memories[i])) continue;
    if (memories[i].inherits >= 0) inherited[static_cast<std::size_t>(memories[i].inherits)] = true;
    if (memories[i].bytes != 0) ending.push_back(i);
  }
  std::ranges::stable_sort(ending, {}, [&](std::size_t i) { return memories[i].lastUse; });
  Arena arena;
  std::size_t ended = 0;
  for (MemoryLife& m : memories) {
    if (!temporary(m)) continue;
    for (; ended < ending.size() && memories[ending[ended]].lastUse < m.made; ++ended)
      if (reuse && !inherited[ending[ended]])
        arena.give(memories[ending[ended]].place.number, memories[ending[ended]].bytes);
    m.place.number = m.inherits >= 0 ? memories[static_cast<std::size_t>(m.inherits)].place.number
                     : m.bytes == 0  ? 0
                                     : arena.take(m.bytes);
  }
  return arena.size();
}

}  // namespace tandem::passes
