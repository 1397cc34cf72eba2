// A stable sort of pairs in device memory, by the bits of their keys. Others build on it: sorts of tensors, and writes
// to places that several elements name, which are done in the elements' order.
#pragma once

#include <cstdint>

namespace tandem::cuda {

/// Sorts each of `lines` lines of `size` pairs (keys[line * size + i], values[line * size + i]) by key, ascending,
/// equal keys in the order they had. Of a key only the lowest `bits` bits count: few bits are few passes. In place;
/// takes as much memory again while it runs where a line is longer than kSortedAtOnce. Queued in the current stream.
///
/// Key is std::uint32_t or std::uint64_t, Value is std::uint32_t or std::int64_t; both are arrays in device memory.
template <class Key, class Value>
void sortPairs(Key* keys, Value* values, std::int64_t lines, std::int64_t size, int bits);

/// Lines up to this size are sorted by one block of threads each, in one launch.
inline constexpr std::int64_t kSortedAtOnce = 2048;

/// How many bits the numbers 0 ... largest have.
constexpr int bitsOf(std::uint64_t largest) {
  int bits = 0;
  for (; largest != 0; largest >>= 1) ++bits;
  return bits;
}

}  // namespace tandem::cuda
