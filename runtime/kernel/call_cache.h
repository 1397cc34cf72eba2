// From the facts of a call, packed into a few words, to the kernel that the thread last used for it: what makes a call
// of one operation a hash and a compare.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/device/device.h"
#include "runtime/kernel/kernel.h"

namespace tandem {

/// Operation, outer rank, then a byte an operand (tensor: dtype and access; number: its category) and a byte an out.
struct CallKey {
  static constexpr std::size_t kMost = 20;  // operands and outs; the first 3 and the last byte are for other facts
  std::array<std::uint64_t, 3> words{};
  Device device;

  void set(std::size_t i, std::uint8_t byte) { words[i / 8] |= std::uint64_t{byte} << (8 * (i % 8)); }
  friend bool operator==(const CallKey& a, const CallKey& b) {
    return a.words[0] == b.words[0] && a.words[1] == b.words[1] && a.words[2] == b.words[2] && a.device == b.device;
  }
  /// Below kCallEntries.
  [[nodiscard]] std::size_t hash() const {
    // The uppermost bits of a product depend on all bits of a word, lower ones on those below them.
    return (words[0] * 0x9e3779b97f4a7c15ULL ^ words[1] * 0xc2b2ae3d27d4eb4fULL ^ words[2] * 0x165667b19e3779f9ULL) >>
           54;
  }
};
struct CallEntry {
  CallKey key;
  const Kernel* kernel = nullptr;
};
inline constexpr std::size_t kCallEntries = 1 << 10;

/// The thread's entries; on the heap, as the loader has little room for the thread-local memory of libraries that it
/// opens late.
extern thread_local constinit CallEntry* callCache;
CallEntry* makeCallCache();

/// The two entries of a key and of those whose place is the same but for the last bit, the newer one first.
inline std::array<CallEntry*, 2> callEntries(const CallKey& key) {
  CallEntry* entries = callCache != nullptr ? callCache : makeCallCache();
  CallEntry* first = entries + (key.hash() & ~std::size_t{1});
  return {first, first + 1};
}

/// The kernel that the thread remembers for a key, or what `build` gives.
template <class Build>
const Kernel& kernelFor(const CallKey& key, Build build) {
  const auto [entry, other] = callEntries(key);
  if (entry->kernel != nullptr && entry->key == key) return *entry->kernel;
  if (other->kernel != nullptr && other->key == key) return *other->kernel;
  const Kernel* kernel = build();
  *other = *entry;
  *entry = {key, kernel};
  return *kernel;
}

inline std::uint8_t operandByte(DType t, Access a) {
  return static_cast<std::uint8_t>(1 + static_cast<int>(t) * 4 + static_cast<int>(a));
}

}  // namespace tandem
