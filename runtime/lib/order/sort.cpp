// sort and topk: lines of (value, index) pairs. NaN is greater than everything, equal values keep their order, so the
// result is one, whatever the algorithm. Elements are ordered by integer keys: lines of a few by counting what comes
// before each, short ones by comparing (key, index), long ones digit by digit, which keeps the order of equal keys.
#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem::lib {
namespace {

template <class T>
using KeyOf = std::conditional_t<(sizeof(T) < 8), std::uint32_t, std::uint64_t>;

/// Integers in the order of the values: equal for the two zeros, one for all NaN, which is the largest.
template <class T>
KeyOf<T> ascendingKey(T x) {
  using Key = KeyOf<T>;
  using C = typename Element<T>::Compute;
  constexpr Key kTop = Key{1} << (sizeof(Key) * 8 - 1);
  C v = Element<T>::load(x);
  if constexpr (std::is_same_v<C, bool>) {
    return v ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<C>) {
    Key bits = std::bit_cast<Key>(v + C{0});  // -0 + 0 is +0
    // Without branches, for vectors: a negative number has all its bits turned, a positive one its first.
    bits ^= static_cast<Key>(static_cast<std::make_signed_t<Key>>(bits) >> (sizeof(Key) * 8 - 1)) | kTop;
    return v != v ? ~Key{0} : bits;
  } else if constexpr (std::is_signed_v<C>) {
    return static_cast<Key>(static_cast<std::make_signed_t<Key>>(v)) ^ kTop;
  } else {
    return static_cast<Key>(v);
  }
}

/// A key and the place it came from: in one word where there is room, so that comparing is one instruction.
template <class Key>
struct Item;
template <>
struct Item<std::uint32_t> {
  std::uint64_t word;
  Item() = default;
  Item(std::uint32_t key, std::int64_t index) : word(std::uint64_t{key} << 32 | static_cast<std::uint64_t>(index)) {}
  [[nodiscard]] std::uint32_t key() const { return static_cast<std::uint32_t>(word >> 32); }
  [[nodiscard]] std::int64_t index() const { return static_cast<std::int64_t>(word & 0xffffffffULL); }
  friend bool operator<(const Item& a, const Item& b) { return a.word < b.word; }
};
template <>
struct Item<std::uint64_t> {
  std::uint64_t own;
  std::int64_t place;
  Item() = default;
  Item(std::uint64_t key, std::int64_t index) : own(key), place(index) {}
  [[nodiscard]] std::uint64_t key() const { return own; }
  [[nodiscard]] std::int64_t index() const { return place; }
  friend bool operator<(const Item& a, const Item& b) { return a.own < b.own || (a.own == b.own && a.place < b.place); }
};

constexpr std::size_t kByDigits = 256;  // lines from here on

/// Digit by digit from the lowest, as many as the keys' `bits`; digits that all keys share are skipped. The result is
/// in `items` or `spare`, which are of one length and change places.
template <class Key>
void sortByDigits(std::span<Item<Key>>& items, std::span<Item<Key>>& spare, int bits) {
  const int width = items.size() < 16 * 1024 ? 8 : 11;
  const std::size_t buckets = std::size_t{1} << width;
  const Key mask = static_cast<Key>(buckets - 1);
  const auto digits = static_cast<std::size_t>((bits + width - 1) / width);
  std::vector<std::uint32_t> counts(digits * buckets);
  for (const auto& item : items)
    for (std::size_t d = 0; d < digits; ++d) ++counts[d * buckets + (item.key() >> (width * d) & mask)];
  for (std::size_t d = 0; d < digits; ++d) {
    std::uint32_t* next = counts.data() + d * buckets;
    if (next[items[0].key() >> (width * d) & mask] == items.size()) continue;
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < buckets; ++k) sum += std::exchange(next[k], sum);
    for (const auto& item : items) spare[next[item.key() >> (width * d) & mask]++] = item;
    std::swap(items, spare);
  }
}

template <class Key>
void sortItems(std::span<Item<Key>>& items, std::span<Item<Key>>& spare) {
  if (items.size() < kByDigits || items.size() >> 32 != 0) return std::sort(items.begin(), items.end());
  Key all = 0;
  for (const auto& item : items) all |= item.key();
  sortByDigits(items, spare, static_cast<int>(std::bit_width(all)));
}

/// The first `keep`, sorted.
template <class Key>
void sortFirst(std::span<Item<Key>> items, std::int64_t keep) {
  auto middle = items.begin() + keep;
  std::nth_element(items.begin(), middle - 1, items.end());
  std::sort(items.begin(), middle);
}

/// The keys of a line, smallest first to come.
template <class T, class Step = std::int64_t, class Key = KeyOf<T>>
struct LineKeys {
  const T* from;
  Step step;
  Key turned;  // all ones for the largest first
  Key operator()(std::int64_t r) const { return ascendingKey(from[r * step]) ^ turned; }
};

constexpr std::int64_t kByRank = 16;  // lines up to here

/// A short line of keys with room for their places in one word: each goes to the place that as many others come
/// before. No branch depends on values, which would be guessed wrong.
template <class T, class Place>
void placeByRank(const LineKeys<T>& keys, std::int64_t size, Place place) {
  std::uint64_t words[kByRank];
  std::int32_t ranks[kByRank] = {};
  for (std::int64_t r = 0; r < size; ++r) words[r] = Item<std::uint32_t>(keys(r), r).word;
  for (std::int64_t r = 1; r < size; ++r)
    for (std::int64_t q = 0; q < r; ++q) {
      const std::int32_t before = words[r] < words[q] ? 1 : 0;
      ranks[q] += before;
      ranks[r] += 1 - before;
    }
  for (std::int64_t r = 0; r < size; ++r) place(ranks[r], r);
}

/// The smallest few of many keys, sorted: a heap of those met so far, in which few of the others replace the largest.
template <class Keys, class Key = decltype(Keys{}(0))>
void smallestOf(const Keys& keys, std::int64_t size, std::span<Item<Key>> heap) {
  const auto keep = static_cast<std::int64_t>(heap.size());
  for (std::int64_t r = 0; r < keep; ++r) heap[static_cast<std::size_t>(r)] = {keys(r), r};
  std::make_heap(heap.begin(), heap.end());
  Key largest = heap[0].key();
  constexpr std::int64_t kTogether = 32;
  Key some[kTogether];
  for (std::int64_t first = keep; first < size; first += kTogether) {
    const std::int64_t count = std::min(kTogether, size - first);
    Key least = ~Key{0};
    for (std::int64_t k = 0; k < count; ++k) {
      some[k] = keys(first + k);
      least = std::min(least, some[k]);
    }
    if (least >= largest) continue;
    for (std::int64_t k = 0; k < count; ++k) {
      if (some[k] >= largest) continue;  // of equal keys the first is there already
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = {some[k], first + k};
      std::push_heap(heap.begin(), heap.end());
      largest = heap[0].key();
    }
  }
  std::sort_heap(heap.begin(), heap.end());
}

/// Memory for the items of a line and for what orders them, taken when first needed.
template <class Key>
class LineItems {
 public:
  explicit LineItems(std::int64_t n) : size_(n) {}
  /// Sorts the keys of a line, less the smallest, and calls place(r, where) for its first `keep`.
  template <class Keys, class Place>
  void order(const Keys& keys, decltype(Keys{}(0)) least, std::int64_t keep, Place place) {
    if (!memory_) memory_.emplace(2 * size_);
    auto size = static_cast<std::size_t>(size_);
    std::span<Item<Key>> items(memory_->data(), size);
    std::span<Item<Key>> spare(memory_->data() + size, size);
    for (std::int64_t r = 0; r < size_; ++r)
      items[static_cast<std::size_t>(r)] = {static_cast<Key>(keys(r) - least), r};
    if (keep < size_)
      sortFirst(items, keep);
    else
      sortItems(items, spare);
    for (std::int64_t r = 0; r < keep; ++r) place(r, items[static_cast<std::size_t>(r)].index());
  }

 private:
  std::int64_t size_;
  std::optional<Scratch<Item<Key>>> memory_;
};

/// Orders each line of x along the dim and writes the first `keep`. Keys of 64 bits that lie within 32 become those.
template <class T>
void eachLine(const LibraryCall& call, const ArrayView& x, const DimSplit& s, std::int64_t keep, bool descending) {
  T* values = call.outputs[0].as<T>();
  auto* indices = call.outputs[1].as<std::int64_t>();
  if (keep == 0) return;
  parallelFor(s.outer * s.inner, grainOf(8 * s.size), [&](std::int64_t begin, std::int64_t end) {
    LineItems<std::uint32_t> items(s.size);
    LineItems<std::uint64_t> wideItems(s.size);
    std::vector<Item<KeyOf<T>>> few;
    for (std::int64_t line = begin; line < end; ++line) {
      std::int64_t o = line / s.inner;
      std::int64_t i = line % s.inner;
      const T* from = x.as<T>() + o * s.size * s.inner + i;
      const KeyOf<T> turned = descending ? ~KeyOf<T>{0} : 0;
      LineKeys<T> keys{from, s.inner, turned};
      auto place = [&](std::int64_t r, std::int64_t at) {
        std::int64_t to = (o * keep + r) * s.inner + i;
        values[to] = from[at * s.inner];
        indices[to] = at;
      };
      if constexpr (sizeof(KeyOf<T>) == sizeof(std::uint32_t)) {
        if (s.size <= kByRank) {
          placeByRank(keys, s.size, [&](std::int64_t r, std::int64_t at) {
            if (r < keep) place(r, at);
          });
          continue;
        }
      }
      if (keep <= s.size / 32 && s.size >> 32 == 0) {
        few.resize(static_cast<std::size_t>(keep));
        if (s.inner == 1)
          smallestOf(LineKeys<T, std::integral_constant<std::int64_t, 1>>{from, {}, turned}, s.size, std::span(few));
        else
          smallestOf(keys, s.size, std::span(few));
        for (std::int64_t r = 0; r < keep; ++r) place(r, few[static_cast<std::size_t>(r)].index());
        continue;
      }
      auto least = keys(0), most = least;
      for (std::int64_t r = 1; r < s.size; ++r) {
        auto key = keys(r);
        least = std::min(least, key);
        most = std::max(most, key);
      }
      bool narrow = std::uint64_t{most - least} >> 32 == 0 && s.size >> 32 == 0;
      if (narrow)
        items.order(keys, least, keep, place);
      else
        wideItems.order(keys, least, keep, place);
    }
  });
}

}  // namespace

void sort(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  std::int64_t dim = wrapDim(attrs.integer(), static_cast<std::int64_t>(x.view().shape.size()));
  bool descending = attrs.boolean();
  DimSplit split(x.view().shape, dim);
  withType(x.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    eachLine<T>(call, x.view(), split, split.size, descending);
  });
}

void topk(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  std::int64_t k = attrs.integer();
  std::int64_t dim = wrapDim(attrs.integer(), static_cast<std::int64_t>(x.view().shape.size()));
  bool largest = attrs.boolean();
  DimSplit split(x.view().shape, dim);
  if (k < 0 || k > split.size) fail<Error>("topk: k = ", k, " is out of range for a dim of size ", split.size);
  // Always sorted, asked for or not: one result is better than two.
  withType(x.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    eachLine<T>(call, x.view(), split, k, largest);
  });
}

}  // namespace tandem::lib
