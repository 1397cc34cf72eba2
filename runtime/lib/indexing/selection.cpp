// kthvalue, median_dim, nanmedian_dim, mode: one element of each line along a dim, and where it is. NaN counts as
// largest. Elements are looked for by their keys, whatever their dtype.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/order/keys.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

// Of NaN, of all NaN. Integers may have it too.
template <class Key>
constexpr Key kNan = ~Key{0};

/// The key of rank k of the first n, which are reordered.
template <class Key>
[[gnu::noinline]] Key nthOf(std::span<Key> line, std::int64_t n, std::int64_t k) {
  std::nth_element(line.begin(), line.begin() + k, line.begin() + n);
  return line[static_cast<std::size_t>(k)];
}

constexpr std::int64_t kMany = 16384;  // elements of a line of which a sample is looked at first

/// The key of rank k, or none where a sample of the line misleads. Those beside the ones of the ranks around k in the
/// sample are left out, without a branch, which would be guessed wrong every other time.
template <class Key>
std::optional<Key> bySample(std::span<Key> line, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(line.size());
  const std::int64_t step = std::min<std::int64_t>(n / 1024, 64);
  const std::int64_t size = ceilDiv(n, step);
  const Scratch<Key> memory(n);  // of the sample, then of what is between
  const std::span<Key> near(memory.data(), static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < size; ++i) memory[i] = line[static_cast<std::size_t>(i * step)];
  const std::int64_t middle = k / step;
  const auto apart = static_cast<std::int64_t>(2 * std::sqrt(static_cast<double>(size)));
  const Key low = nthOf(near, size, std::max<std::int64_t>(middle - apart, 0));
  const Key high = nthOf(near, size, std::min(middle + apart, size - 1));
  std::int64_t below = 0, between = 0;
  for (const Key v : line) {
    memory[between] = v;
    below += v < low ? 1 : 0;
    between += (v >= low) & (v <= high) ? 1 : 0;
  }
  if (k < below || k >= below + between) return {};
  return nthOf(near, between, k - below);
}

/// The key of rank k, counted from 0, of a copy that may be reordered.
template <class Key>
Key ofRank(std::span<Key> line, std::int64_t k) {
  if (static_cast<std::int64_t>(line.size()) >= kMany)
    if (const std::optional<Key> found = bySample(line, k)) return *found;
  return nthOf(line, static_cast<std::int64_t>(line.size()), k);
}

template <class Key>
Key modeOf(std::span<Key> line, bool floating) {
  std::sort(line.begin(), line.end());
  Key best = line[0];
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < line.size();) {
    std::size_t end = begin + 1;
    // A NaN is equal to nothing, to other NaN neither.
    while (end < line.size() && line[end] == line[begin] && !(floating && line[end] == kNan<Key>)) ++end;
    if (end - begin > most) most = end - begin, best = line[begin];
    begin = end;
  }
  return best;
}

enum class Choice { OfRank, Median, NanMedian, Mode };

/// The rank that is chosen of `size` keys, among them so many of NaN; of those none where a median is NaN.
std::int64_t rankOf(Choice what, std::int64_t size, std::int64_t nans, std::int64_t rank) {
  if (what == Choice::OfRank) return rank;
  if (nans == size || (nans > 0 && what == Choice::Median)) return size - 1;
  return (size - nans - 1) / 2;
}

constexpr std::int64_t kShort = 8;  // lines in which all elements are compared, without branches to be guessed wrong

/// The key that is chosen of `size` of them, at most `Most`. NaN has the largest key.
template <std::int64_t Most, class Key>
Key chooseKey(Choice what, const Key* keys, std::int64_t size, std::int64_t rank, bool floating) {
  std::int32_t counts[Most] = {};  // of elements before, or for the mode of equal ones
  if (what == Choice::Mode) {
    for (std::int64_t r = 1; r < size; ++r)
      for (std::int64_t q = 0; q < r; ++q) counts[r] += keys[r] == keys[q] ? 1 : 0;
    // Of equal elements the last has all of them counted; a NaN is equal to nothing, to other NaN neither.
    Key best = keys[0];
    std::int32_t most = 0;
    for (std::int64_t r = 1; r < size; ++r) {
      const std::int32_t count = floating && keys[r] == kNan<Key> ? 0 : counts[r];
      const bool better = (count > most) | ((count == most) & (keys[r] < best));
      best = better ? keys[r] : best;
      most = better ? count : most;
    }
    return best;
  }
  std::int64_t nans = 0;
  for (std::int64_t r = 0; r < size; ++r) nans += floating && keys[r] == kNan<Key> ? 1 : 0;
  rank = rankOf(what, size, nans, rank);
  for (std::int64_t r = 1; r < size; ++r)
    for (std::int64_t q = 0; q < r; ++q) {
      const std::int32_t before = keys[r] < keys[q] ? 1 : 0;
      counts[q] += before;
      counts[r] += 1 - before;
    }
  Key found = keys[0];
  for (std::int64_t r = 1; r < size; ++r) found = counts[r] == rank ? keys[r] : found;
  return found;
}

/// The place of the element that is chosen of each line: of `Size` elements, where that is a constant, or at most
/// kShort.
template <std::int64_t Size, class Key>
void placesOfChosen(const ShortLines<Key>& lines, Choice what, std::int64_t rank, bool floating, std::int64_t* places) {
  constexpr std::int64_t kMost = Size > 0 ? Size : kShort;
  const std::int64_t size = Size > 0 ? Size : lines.size;
  for (std::int64_t k = 0; k < lines.count; ++k) {
    Key keys[kMost] = {};
    for (std::int64_t r = 0; r < size; ++r) keys[r] = lines.keys[k * lines.keysApart + r * lines.keyStep];
    const Key chosen = chooseKey<kMost>(what, keys, size, rank, floating);
    std::int64_t place = 0;
    for (std::int64_t r = 0; r < size; ++r) {
      const std::int64_t at = what == Choice::Mode ? r : size - 1 - r;
      place = keys[at] == chosen ? at : place;
    }
    places[lines.results + k * lines.resultsApart] = place;
  }
}

/// What selectAlong does, of lines of at most kShort elements.
void selectInShort(const LibraryCall& call, const ArrayView& x, const DimSplit& s, Choice what, std::int64_t rank) {
  auto* places = call.outputs[1].as<std::int64_t>();
  withKeys(x.dtype, [&]<class Key>(KeysFn<Key> keysOf) {
    eachShortLines(x, s, 1, keysOf, Key{0}, [&](const ShortLines<Key>& lines) {
      const auto choose = s.size == 2   ? &placesOfChosen<2, Key>
                          : s.size == 3 ? &placesOfChosen<3, Key>
                          : s.size == 4 ? &placesOfChosen<4, Key>
                                        : &placesOfChosen<0, Key>;
      choose(lines, what, rank, isFloating(x.dtype), places);
      takeElements(lines, x.dtype, 1, places, call.outputs[0].data);
    });
  });
}

/// For each line, the value that is chosen, and the first (of the mode: last) place of that value.
void selectAlong(const LibraryCall& call, std::int64_t dim, Choice what, std::int64_t rank = 0) {
  if (call.outputs[0].numel() == 0) return;
  Contiguous x(call.inputs[0]);
  DimSplit s(x.view().shape, wrapDim(dim, static_cast<std::int64_t>(x.view().shape.size())));
  if (s.size <= kShort) return selectInShort(call, x.view(), s, what, rank);
  const DType dtype = x.view().dtype;
  const auto item = static_cast<std::int64_t>(itemSize(dtype));
  auto* indices = call.outputs[1].as<std::int64_t>();
  auto* values = call.outputs[0].as<std::byte>();
  withKeys(dtype, [&]<class Key>(KeysFn<Key> keysOf) {
    parallelFor(s.outer * s.inner, grainOf(8 * s.size), [&](std::int64_t begin, std::int64_t end) {
      const Scratch<Key> keys(s.size), copy(s.size);
      const std::span<Key> line(copy.data(), static_cast<std::size_t>(s.size));
      for (std::int64_t p = begin; p < end; ++p) {
        const std::byte* from = x.as<std::byte>() + (p / s.inner * s.size * s.inner + p % s.inner) * item;
        keysOf(from, s.inner, s.size, Key{0}, keys.data());
        std::copy_n(keys.data(), s.size, copy.data());
        const std::int64_t nans = isFloating(dtype) ? std::count(line.begin(), line.end(), kNan<Key>) : 0;
        const Key chosen =
            what == Choice::Mode ? modeOf(line, isFloating(dtype)) : ofRank(line, rankOf(what, s.size, nans, rank));
        std::int64_t place = what == Choice::Mode ? s.size - 1 : 0;
        while (keys[place] != chosen) place += what == Choice::Mode ? -1 : 1;
        std::memcpy(values + p * item, from + place * s.inner * item, static_cast<std::size_t>(item));
        indices[p] = place;
      }
    });
  });
}

}  // namespace

void kthvalue(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  std::int64_t k = attrs.integer();
  selectAlong(call, attrs.integer(), Choice::OfRank, k - 1);
}
void median_dim(const LibraryCall& call) { selectAlong(call, AttrReader(call.attrs).integer(), Choice::Median); }
void nanmedian_dim(const LibraryCall& call) { selectAlong(call, AttrReader(call.attrs).integer(), Choice::NanMedian); }
void mode(const LibraryCall& call) { selectAlong(call, AttrReader(call.attrs).integer(), Choice::Mode); }

}  // namespace tandem::lib
