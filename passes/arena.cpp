#include "passes/arena.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
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

namespace {

// A temporary, or several of which each inherits the place of the one before: what lies at one place for so long.
struct Block {
  std::int64_t bytes;
  int made;
  int lastUse;
  std::int64_t at = 0;
};

/// In the order in which they are made, each in the smallest hole; the size of the arena.
std::int64_t placeInOrder(std::span<Block> blocks) {
  std::vector<std::size_t> ending(blocks.size());  // in the order in which they are read last
  std::iota(ending.begin(), ending.end(), 0);
  std::ranges::stable_sort(ending, {}, [&](std::size_t i) { return blocks[i].lastUse; });
  Arena arena;
  std::size_t ended = 0;
  for (Block& b : blocks) {
    for (; ended < ending.size() && blocks[ending[ended]].lastUse < b.made; ++ended)
      arena.give(blocks[ending[ended]].at, blocks[ending[ended]].bytes);
    b.at = arena.take(b.bytes);
  }
  return arena.size();
}

/// The largest first, each as low as those that live beside it allow: packs closer, and takes a time that grows with
/// the square of their number.
std::int64_t placeBySize(std::span<Block> blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return blocks[i].bytes; });
  std::vector<std::size_t> placed;  // from the lowest to the highest
  std::int64_t size = 0;
  for (std::size_t i : order) {
    Block& b = blocks[i];
    std::int64_t end = 0;  // of what lies below and lives beside it
    for (std::size_t k : placed) {
      const Block& other = blocks[k];
      if (other.made > b.lastUse || b.made > other.lastUse) continue;
      if (other.at - end >= b.bytes) break;
      end = std::max(end, other.at + other.bytes);
    }
    b.at = end;
    size = std::max(size, end + b.bytes);
    placed.insert(std::ranges::upper_bound(placed, end, {}, [&](std::size_t k) { return blocks[k].at; }), i);
  }
  return size;
}

/// The most bytes that live at one time: no arena is smaller.
std::int64_t mostAlive(std::span<const Block> blocks) {
  std::vector<std::pair<int, std::int64_t>> changes;
  for (const Block& b : blocks) {
    changes.emplace_back(b.made, b.bytes);
    changes.emplace_back(b.lastUse + 1, -b.bytes);
  }
  std::ranges::sort(changes);
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (auto [at, bytes] : changes) most = std::max(most, alive += bytes);
  return most;
}

// So many blocks are placed in both ways.
constexpr std::size_t kFewBlocks = 512;

}  // namespace

std::int64_t placeTemporaries(std::span<MemoryLife> memories, bool reuse) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<Block> blocks;
  std::vector<std::size_t> blockOf(memories.size(), kNone);
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const MemoryLife& m = memories[i];
    if (m.place.kind != MemoryPlace::Arena || m.made < 0 || m.bytes == 0) continue;
    if (m.inherits >= 0) {
      blockOf[i] = blockOf[static_cast<std::size_t>(m.inherits)];
      blocks[blockOf[i]].lastUse = std::max(blocks[blockOf[i]].lastUse, m.lastUse);
      continue;
    }
    blockOf[i] = blocks.size();
    blocks.push_back({m.bytes, m.made, reuse ? m.lastUse : std::numeric_limits<int>::max() - 1});
  }
  std::int64_t size = placeInOrder(blocks);
  if (size > mostAlive(blocks) && blocks.size() <= kFewBlocks) {
    std::vector<Block> packed = blocks;
    if (const std::int64_t least = placeBySize(packed); least < size) {
      size = least;
      blocks = std::move(packed);
    }
  }
  for (std::size_t i = 0; i < memories.size(); ++i)
    if (memories[i].place.kind == MemoryPlace::Arena && memories[i].made >= 0)
      memories[i].place.number = blockOf[i] == kNone ? 0 : blocks[blockOf[i]].at;
  return size;
}

}  // namespace tandem::passes
