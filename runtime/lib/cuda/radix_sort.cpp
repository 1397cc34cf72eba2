#include "runtime/lib/cuda/radix_sort.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runtime/device/cuda/queue.h"
#include "runtime/lib/cuda/prefix_sum.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda {
namespace {

constexpr Source kRadixSort("radix_sort", kRadixSortText);
constexpr unsigned kThreads = 256;
constexpr std::int64_t kTile = kSortedAtOnce;  // as in the text
constexpr std::int64_t kDigits = 256;
constexpr int kBitsAPass = 8;

template <class Key, class Value>
const Function& kernel(const char* name) {
  return kRadixSort.kernel(
      name, {{"KEY", sizeof(Key) == 8 ? "uint64" : "uint32"}, {"VALUE", std::is_signed_v<Value> ? "int64" : "uint32"}});
}
template <class Key, class Value>
const Function& linesKernel() {
  return kRadixSort.kernel("sortLines", {{"KEY", sizeof(Key) == 8 ? "uint64" : "uint32"},
                                         {"VALUE", std::is_signed_v<Value> ? "int64" : "uint32"},
                                         {"LINES", "1"}});
}

}  // namespace

template <class Key, class Value>
void sortPairs(Key* keys, Value* values, std::int64_t lines, std::int64_t size, int bits) {
  if (lines == 0 || size <= 1 || bits == 0) return;
  if (size <= kTile) {
    const std::int64_t together = std::min(lines, kTile / size);
    return launch(linesKernel<Key, Value>(), blocks((lines + together - 1) / together, kThreads), keys, values, lines,
                  static_cast<std::int32_t>(size), static_cast<std::int32_t>(together),
                  static_cast<std::int32_t>(bits));
  }
  const std::int64_t tiles = (size + kTile - 1) / kTile;
  const std::int64_t n = lines * size;
  const Workspace otherKeys(static_cast<std::size_t>(n) * sizeof(Key));
  const Workspace otherValues(static_cast<std::size_t>(n) * sizeof(Value));
  const Workspace counts(static_cast<std::size_t>(lines * kDigits * tiles) * sizeof(std::int64_t));
  Key* fromKeys = keys;
  Value* fromValues = values;
  Key* toKeys = otherKeys.as<Key>();
  Value* toValues = otherValues.as<Value>();
  auto* places = counts.as<std::int64_t>();
  for (std::int32_t shift = 0; shift < bits; shift += kBitsAPass) {
    const std::int32_t left = bits - shift;
    launch(kernel<Key, Value>("countDigits"), blocks(lines * tiles, kThreads), fromKeys, lines, size, tiles, shift,
           left, places);
    prefixSum(places, lines * kDigits * tiles);
    launch(kernel<Key, Value>("moveTiles"), blocks(lines * tiles, kThreads), fromKeys, fromValues, toKeys, toValues,
           lines, size, tiles, shift, left, places);
    std::swap(fromKeys, toKeys);
    std::swap(fromValues, toValues);
  }
  if (fromKeys == keys) return;
  copy(keys, fromKeys, static_cast<std::size_t>(n) * sizeof(Key));
  copy(values, fromValues, static_cast<std::size_t>(n) * sizeof(Value));
}

template void sortPairs(std::uint32_t*, std::uint32_t*, std::int64_t, std::int64_t, int);
template void sortPairs(std::uint32_t*, std::int64_t*, std::int64_t, std::int64_t, int);
template void sortPairs(std::uint64_t*, std::uint32_t*, std::int64_t, std::int64_t, int);
template void sortPairs(std::uint64_t*, std::int64_t*, std::int64_t, std::int64_t, int);

}  // namespace tandem::cuda
