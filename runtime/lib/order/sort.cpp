// sort and topk: lines of (value, index) pairs. NaN is greater than everything, equal values keep their order, so the
// result is one, whatever the algorithm. Elements are ordered by integer keys: lines of a few by counting what comes
// before each, short ones by comparing (key, index), long ones digit by digit, which keeps the order of equal keys.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/order/keys.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem::lib {
namespace {

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

/// The elements of a line, smallest key first to come.
template <class Key>
struct Line {
  KeysFn<Key> keysOf;
  const std::byte* from;
  std::int64_t step, itemSize;
  Key turned;  // all ones for the largest first
  void keys(std::int64_t first, std::int64_t count, Key* to) const {
    keysOf(from + first * step * itemSize, step, count, turned, to);
  }
};

constexpr std::int64_t kByRank = 16;  // lines up to here

/// The places of the first `keep` elements of each line: each element goes to the place that as many others come
/// before. No branch depends on values, which would be guessed wrong. `Size` is the lines' where it is a constant.
template <std::int64_t Size, class Key>
void placesByRank(const ShortLines<Key>& lines, std::int64_t keep, std::int64_t* places) {
  constexpr std::int64_t kMost = Size > 0 ? Size : kByRank;
  const std::int64_t size = Size > 0 ? Size : lines.size;
  for (std::int64_t line = 0; line < lines.count; ++line) {
    const Key* from = lines.keys + line * lines.keysApart;
    std::int64_t* to = places + lines.results + line * lines.resultsApart;
    if constexpr (Size == 2) {
      const std::int64_t first = from[lines.keyStep] < from[0] ? 1 : 0;
      to[0] = first;
      if (keep == 2) to[lines.elementStep] = 1 - first;
    } else {
      Key own[kMost];
      std::int32_t ranks[kMost] = {};
      for (std::int64_t r = 0; r < size; ++r) own[r] = from[r * lines.keyStep];
#pragma GCC unroll 4
      for (std::int64_t r = 1; r < size; ++r)
#pragma GCC unroll 4
        for (std::int64_t q = 0; q < r; ++q) {
          const std::int32_t before = own[r] < own[q] ? 1 : 0;
          ranks[q] += before;
          ranks[r] += 1 - before;
        }
      std::int64_t order[kMost] = {};
      for (std::int64_t r = 0; r < size; ++r) order[ranks[r]] = r;
      for (std::int64_t r = 0; r < keep; ++r) to[r * lines.elementStep] = order[r];
    }
  }
}

/// The smallest few of many keys, sorted: a heap of those met so far, in which few of the others replace the largest.
template <class Key>
void smallestOf(const Line<Key>& line, std::int64_t size, std::span<Item<Key>> heap) {
  const auto keep = static_cast<std::int64_t>(heap.size());
  constexpr std::int64_t kTogether = 32;
  constexpr std::int64_t kKeys = 8 * kTogether;
  Key keys[kKeys];
  std::int64_t filled = 0;
  Key largest = 0;
  for (std::int64_t first = 0; first < size; first += kKeys) {
    const std::int64_t count = std::min(kKeys, size - first);
    line.keys(first, count, keys);
    std::int64_t k = 0;
    for (; filled < keep && k < count; ++k) {
      heap[static_cast<std::size_t>(filled++)] = {keys[k], first + k};
      if (filled < keep) continue;
      std::make_heap(heap.begin(), heap.end());
      largest = heap[0].key();
    }
    for (std::int64_t end = k; k < count; k = end) {
      end = std::min(k + kTogether, count);
      Key least = ~Key{0};
      if (end - k == kTogether) {
        for (std::int64_t j = 0; j < kTogether; ++j) least = std::min(least, keys[k + j]);
      } else {
        least = 0;  // looked at one by one
      }
      if (least >= largest) continue;
      for (; k < end; ++k) {
        if (keys[k] >= largest) continue;  // of equal keys the first is there already
        std::pop_heap(heap.begin(), heap.end());
        heap.back() = {keys[k], first + k};
        std::push_heap(heap.begin(), heap.end());
        largest = heap[0].key();
      }
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
  template <class Wide, class Place>
  void order(const Wide* keys, Wide least, std::int64_t keep, Place place) {
    if (!memory_) memory_ = std::make_unique<Scratch<Item<Key>>>(2 * size_);
    auto size = static_cast<std::size_t>(size_);
    std::span<Item<Key>> items(memory_->data(), size);
    std::span<Item<Key>> spare(memory_->data() + size, size);
    const auto itemAt = [&](std::int64_t r) { return Item<Key>(static_cast<Key>(keys[r] - least), r); };
    for (std::int64_t r = 0; r < size_; ++r) items[static_cast<std::size_t>(r)] = itemAt(r);
    // Of a large part of short keys, sorting the rest takes less time than finding what it is.
    if (keep < (sizeof(Key) < 8 ? size_ / 4 : size_)) {
      const auto last = items.begin() + keep - 1;
      std::nth_element(items.begin(), last, items.end());
      const Item<Key> most = *last;
      // Again in their order, which sorting by digits keeps.
      std::size_t kept = 0;
      for (std::int64_t r = 0; kept < static_cast<std::size_t>(keep); ++r) {
        items[kept] = itemAt(r);
        kept += most < items[kept] ? 0 : 1;
      }
      items = items.first(kept);
      spare = spare.first(kept);
    }
    sortItems(items, spare);
    for (std::int64_t r = 0; r < keep; ++r) place(r, items[static_cast<std::size_t>(r)].index());
  }

 private:
  std::int64_t size_;
  std::unique_ptr<Scratch<Item<Key>>> memory_;
};

/// What sort and topk do of one line after the other: the places of the first `keep` elements of each.
template <class Key>
class Sorter {
 public:
  Sorter(std::int64_t size, std::int64_t keep) : size_(size), keep_(keep), items_(size), wideItems_(size) {}

  /// Writes them `step` apart.
  void order(const Line<Key>& line, std::int64_t* places, std::int64_t step) {
    auto place = [&](std::int64_t r, std::int64_t at) { places[r * step] = at; };
    if (keep_ <= size_ / 32 && size_ >> 32 == 0) {
      few_.resize(static_cast<std::size_t>(keep_));
      smallestOf(line, size_, std::span(few_));
      for (std::int64_t r = 0; r < keep_; ++r) place(r, few_[static_cast<std::size_t>(r)].index());
      return;
    }
    if (!keys_) keys_ = std::make_unique<Scratch<Key>>(size_);
    const Key* keys = keys_->data();
    line.keys(0, size_, keys_->data());
    Key least = keys[0], most = keys[0];
    for (std::int64_t r = 1; r < size_; ++r) {
      least = std::min(least, keys[r]);
      most = std::max(most, keys[r]);
    }
    // Keys of 64 bits that lie within 32 become those.
    if (std::uint64_t{most - least} >> 32 == 0 && size_ >> 32 == 0)
      items_.order(keys, least, keep_, place);
    else
      wideItems_.order(keys, least, keep_, place);
  }

 private:
  std::int64_t size_, keep_;
  std::unique_ptr<Scratch<Key>> keys_;
  LineItems<std::uint32_t> items_;
  LineItems<std::uint64_t> wideItems_;
  std::vector<Item<Key>> few_;
};

/// The elements at the places of a line, which lie `step` apart and are written `toStep` apart, as the places are.
void takePlaces(DType dtype, const void* from, std::int64_t step, const std::int64_t* places, std::int64_t toStep,
                std::int64_t count, void* to) {
  withSize(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (std::int64_t r = 0; r < count; ++r)
      static_cast<T*>(to)[r * toStep] = static_cast<const T*>(from)[places[r * toStep] * step];
  });
}

/// Orders each line of x along the dim and writes the first `keep`. Of lines beside each other, whose elements lie far
/// apart, as many are taken together as have place in a part of the second cache.
template <class Key>
void eachLine(const LibraryCall& call, const ArrayView& x, const DimSplit& s, std::int64_t keep, bool descending,
              KeysFn<Key> keysOf) {
  constexpr std::int64_t kBytes = 256 * 1024;
  constexpr std::int64_t kLines = 64;
  auto* indices = call.outputs[1].as<std::int64_t>();
  const auto item = static_cast<std::int64_t>(itemSize(x.dtype));
  const std::int64_t together = std::clamp<std::int64_t>(kBytes / (s.size * item), 1, std::min(kLines, s.inner));
  const std::int64_t groups = (s.inner + together - 1) / together;
  parallelFor(s.outer * groups, grainOf(8 * s.size * together), [&](std::int64_t begin, std::int64_t end) {
    Sorter<Key> sorter(s.size, keep);
    const Scratch<std::byte> beside(together > 1 ? together * s.size * item : 0);
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t o = group / groups;
      const std::int64_t first = group % groups * together;
      const std::int64_t count = std::min(together, s.inner - first);
      const std::byte* from = x.as<std::byte>() + (o * s.size * s.inner + first) * item;
      if (together > 1) transposeMatrix(from, s.inner, beside.data(), s.size, count, s.size, x.dtype);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::byte* line = together > 1 ? beside.data() + i * s.size * item : from;
        const std::int64_t step = together > 1 ? 1 : s.inner;
        const std::int64_t to = o * keep * s.inner + first + i;
        sorter.order({keysOf, line, step, item, descending ? ~Key{0} : Key{0}}, indices + to, s.inner);
        takePlaces(x.dtype, line, step, indices + to, s.inner, keep, call.outputs[0].as<std::byte>() + to * item);
      }
    }
  });
}

void sortLines(const LibraryCall& call, const ArrayView& x, const DimSplit& s, std::int64_t keep, bool descending) {
  if (x.numel() == 0 || keep == 0) return;
  withKeys(x.dtype, [&]<class Key>(KeysFn<Key> keysOf) {
    if (s.size > kByRank) return eachLine(call, x, s, keep, descending, keysOf);
    auto* places = call.outputs[1].as<std::int64_t>();
    eachShortLines(x, s, keep, keysOf, descending ? ~Key{0} : Key{0}, [&](const ShortLines<Key>& lines) {
      const auto order = s.size == 2   ? &placesByRank<2, Key>
                         : s.size == 3 ? &placesByRank<3, Key>
                         : s.size == 4 ? &placesByRank<4, Key>
                                       : &placesByRank<0, Key>;
      order(lines, keep, places);
      takeElements(lines, x.dtype, keep, places, call.outputs[0].data);
    });
  });
}

}  // namespace

void sort(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  std::int64_t dim = wrapDim(attrs.integer(), static_cast<std::int64_t>(x.view().shape.size()));
  bool descending = attrs.boolean();
  DimSplit split(x.view().shape, dim);
  sortLines(call, x.view(), split, split.size, descending);
}

void topk(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  std::int64_t k = attrs.integer();
  std::int64_t dim = wrapDim(attrs.integer(), static_cast<std::int64_t>(x.view().shape.size()));
  bool largest = attrs.boolean();
  DimSplit split(x.view().shape, dim);
  if (k < 0 || k > split.size) fail<Error>("topk: k = ", k, " is out of range for a dim of size ", split.size);
  // Always sorted, asked for or not: one result is better than two. A tensor of no dims has its one element, also for
  // 0.
  sortLines(call, x.view(), split, x.view().shape.empty() ? 1 : k, largest);
}

}  // namespace tandem::lib
