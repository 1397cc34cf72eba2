// Integers in the order of elements, by which lines are ordered whatever their dtype; and short lines of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// What elements of T have as keys.
template <class T>
using KeyOf = std::conditional_t<(sizeof(T) < 8), std::uint32_t, std::uint64_t>;

/// Writes the keys of `count` elements, `step` apart, each with the bits of `turned` turned: integers in the order of
/// the values, equal for the two zeros, one for all NaN, which is the largest.
template <class Key>
using KeysFn = void (*)(const void* from, std::int64_t step, std::int64_t count, Key turned, Key* to);
template <class T>
KeysFn<KeyOf<T>> keysOf();

/// Calls f(keys) with the function that writes keys of elements of `dtype`.
template <class F>
decltype(auto) withKeys(DType dtype, F&& f) {
  return withType(dtype, [&](auto tag) { return f(keysOf<typename decltype(tag)::Type>()); });
}

/// Lines of few elements, some of those along a dim of x, as their keys.
template <class Key>
struct ShortLines {
  std::int64_t count, size;
  const Key* keys;
  std::int64_t keysApart, keyStep;  // of the keys of two lines, of two keys of one
  const std::byte* elements;        // the first line's; they lie as far apart as keys of lines,
  std::int64_t elementStep;         // and those of one line so far
  std::int64_t results;             // where results begin that are `keep` for each line,
  std::int64_t resultsApart;  // and how far apart those of two lines are; of one line they are `elementStep` apart
};

constexpr std::int64_t kKeysTogether = 512;

/// Calls body(lines) until it has had all lines of x along a dim of at most kKeysTogether elements: rows, or columns of
/// a piece of a matrix. `keep` results are for each line.
template <class Key, class Body>
void eachShortLines(const ArrayView& x, const DimSplit& s, std::int64_t keep, KeysFn<Key> keysOf, Key turned,
                    Body body) {
  if (x.numel() == 0) return;
  const auto item = static_cast<std::int64_t>(itemSize(x.dtype));
  const bool rows = s.inner == 1;
  const std::int64_t width = rows ? s.outer : s.inner;
  const std::int64_t together = std::min(kKeysTogether / s.size, width);
  const std::int64_t pieces = ceilDiv(width, together);
  const std::int64_t grain = grainOf(8 * s.size * together);
  parallelFor((rows ? 1 : s.outer) * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    Key keys[kKeysTogether];
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t o = piece / pieces;
      const std::int64_t i = piece % pieces * together;
      const std::int64_t count = std::min(together, width - i);
      const std::byte* from = x.as<std::byte>() + (rows ? i * s.size : o * s.size * width + i) * item;
      if (rows) {
        keysOf(from, 1, count * s.size, turned, keys);
      } else {
        for (std::int64_t r = 0; r < s.size; ++r) keysOf(from + r * width * item, 1, count, turned, keys + r * count);
      }
      const std::int64_t to = rows ? i * keep : o * keep * width + i;
      body(ShortLines<Key>{count, s.size, keys, rows ? s.size : 1, rows ? 1 : count, from, s.inner, to,
                           rows ? keep : 1});
    }
  });
}

/// Copies the elements at `places`, the first `keep` results of each line, to where the results are.
template <class Key>
void takeElements(const ShortLines<Key>& lines, DType dtype, std::int64_t keep, const std::int64_t* places, void* to) {
  withSize(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    // Not what writes of bytes might change.
    const auto [count, apart, step, first, resultsApart] =
        std::array{lines.count, lines.keysApart, lines.elementStep, lines.results, lines.resultsApart};
    const T* line = reinterpret_cast<const T*>(lines.elements);
    T* values = static_cast<T*>(to) + first;
    const std::int64_t* from = places + first;
    for (std::int64_t k = 0; k < count; ++k, line += apart)
      for (std::int64_t r = 0; r < keep; ++r) {
        const std::int64_t at = k * resultsApart + r * step;
        values[at] = line[from[at] * step];
      }
  });
}

}  // namespace tandem::lib
