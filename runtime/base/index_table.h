// Numbers of keys: pointers and hashes, which are looked up far more often than they come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/hash.h"

namespace tandem {

inline std::uint64_t tableHash(const void* pointer) {
  return (reinterpret_cast<std::uintptr_t>(pointer) >> 4) * 0x9e3779b97f4a7c15ULL >> 20;
}
inline std::uint64_t tableHash(const Hash128& hash) { return hash.lo; }

/// From keys to numbers by open addressing. It keeps its memory when it is cleared.
template <class Key>
class IndexTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The number of `key`; kNone where it has none.
  [[nodiscard]] std::uint32_t find(const Key& key) const {
    return slots_.empty() ? kNone : slots_[placeOf(key)].number;
  }
  [[nodiscard]] bool contains(const Key& key) const { return find(key) != kNone; }
  /// The number of `key`, which is `next` from now on if it had none.
  std::uint32_t findOrAdd(const Key& key, std::uint32_t next) {
    if (used_ * 2 >= slots_.size()) grow();
    Slot& s = slots_[placeOf(key)];
    if (s.number == kNone) {
      s = {key, next};
      ++used_;
    }
    return s.number;
  }
  void clear() {
    if (used_ == 0) return;
    std::fill(slots_.begin(), slots_.end(), Slot{});
    used_ = 0;
  }

 private:
  struct Slot {
    Key key{};
    std::uint32_t number = kNone;
  };
  [[nodiscard]] std::size_t placeOf(const Key& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = tableHash(key) & mask;
    while (slots_[i].number != kNone && !(slots_[i].key == key)) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<std::size_t>(32, old.size() * 2), {});
    for (const Slot& s : old)
      if (s.number != kNone) slots_[placeOf(s.key)] = s;
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace tandem
