// kthvalue, median_dim, nanmedian_dim, mode: one element of each line along a dim, and where it is. NaN counts as
// largest.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

template <class C>
bool isNan(C x) {
  if constexpr (std::is_floating_point_v<C>)
    return x != x;
  else
    return false;
}
template <class C>
bool less(C a, C b) {
  return isNan(b) ? !isNan(a) : a < b;
}
template <class C>
bool same(C a, C b) {
  return a == b || (isNan(a) && isNan(b));
}

/// The element of rank k of the first n, which are reordered.
template <class C>
[[gnu::noinline]] C nthOf(std::span<C> line, std::int64_t n, std::int64_t k) {
  std::nth_element(line.begin(), line.begin() + k, line.begin() + n, [](C a, C b) { return less(a, b); });
  return line[static_cast<std::size_t>(k)];
}

constexpr std::int64_t kMany = 16384;  // elements of a line of which a sample is looked at first

/// The element of rank k, or none where a sample of the line misleads. Elements beside those of the ranks around k in
/// the sample are left out, without a branch, which would be guessed wrong every other time.
template <class C>
std::optional<C> bySample(std::span<C> line, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(line.size());
  const std::int64_t step = std::min<std::int64_t>(n / 1024, 64);
  const std::int64_t size = ceilDiv(n, step);
  const Scratch<C> memory(n);  // of the sample, then of what is between
  const std::span<C> near(memory.data(), static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < size; ++i) memory[i] = line[static_cast<std::size_t>(i * step)];
  const std::int64_t middle = k / step;
  const auto apart = static_cast<std::int64_t>(2 * std::sqrt(static_cast<double>(size)));
  const C low = nthOf(near, size, std::max<std::int64_t>(middle - apart, 0));
  const C high = nthOf(near, size, std::min(middle + apart, size - 1));
  if (isNan(high)) return {};
  std::int64_t below = 0, between = 0;
  for (const C v : line) {
    memory[between] = v;
    below += v < low ? 1 : 0;
    between += (v >= low) & (v <= high) ? 1 : 0;
  }
  if (k < below || k >= below + between) return {};
  return nthOf(near, between, k - below);
}

/// The element of rank k, counted from 0, of a copy that may be reordered.
template <class C>
C ofRank(std::span<C> line, std::int64_t k) {
  if constexpr (std::is_floating_point_v<C>)
    if (static_cast<std::int64_t>(line.size()) >= kMany)
      if (const std::optional<C> found = bySample(line, k)) return *found;
  return nthOf(line, static_cast<std::int64_t>(line.size()), k);
}

template <class C>
C medianOf(std::span<C> line, bool ignoreNan) {
  auto n = static_cast<std::int64_t>(line.size());
  if constexpr (std::is_floating_point_v<C>) {
    std::int64_t nans = std::count_if(line.begin(), line.end(), isNan<C>);
    if (nans == n || (nans > 0 && !ignoreNan)) return *std::find_if(line.begin(), line.end(), isNan<C>);
    n -= nans;
  }
  return ofRank(line, (n - 1) / 2);
}

template <class C>
C modeOf(std::span<C> line) {
  std::sort(line.begin(), line.end(), [](C a, C b) { return less(a, b); });
  C best = line[0];
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < line.size();) {
    std::size_t end = begin + 1;
    // A NaN is equal to nothing, to other NaN neither.
    while (end < line.size() && line[end] == line[begin]) ++end;
    if (end - begin > most) most = end - begin, best = line[begin];
    begin = end;
  }
  return best;
}

enum class Choice { OfRank, Median, NanMedian, Mode };

template <class L>
L choose(Choice what, std::span<L> line, std::int64_t rank) {
  switch (what) {
  case Choice::OfRank:
    return ofRank(line, rank);
  case Choice::Median:
  case Choice::NanMedian:
    return medianOf(line, what == Choice::NanMedian);
  case Choice::Mode:
    return modeOf(line);
  }
  return line[0];
}

/// For each line, the value that is chosen of a copy of it, and the first (of the mode: last) place of that value.
void selectAlong(const LibraryCall& call, std::int64_t dim, Choice what, std::int64_t rank = 0) {
  const bool lastPlace = what == Choice::Mode;
  if (call.outputs[0].numel() == 0) return;
  Contiguous x(call.inputs[0]);
  DimSplit s(x.view().shape, wrapDim(dim, static_cast<std::int64_t>(x.view().shape.size())));
  withType(x.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = typename Element<T>::Compute;
    // Lines of bool are those of bytes: a vector of bool has no elements to refer to.
    using L = std::conditional_t<std::is_same_v<C, bool>, std::uint8_t, C>;
    T* values = call.outputs[0].as<T>();
    auto* indices = call.outputs[1].as<std::int64_t>();
    parallelFor(s.outer * s.inner, grainOf(8 * s.size), [&](std::int64_t begin, std::int64_t end) {
      const Scratch<L> memory(s.size);
      const std::span<L> line(memory.data(), static_cast<std::size_t>(s.size));
      for (std::int64_t p = begin; p < end; ++p) {
        const T* from = x.as<T>() + p / s.inner * s.size * s.inner + p % s.inner;
        auto at = [&](std::int64_t r) { return static_cast<L>(Element<T>::load(from[r * s.inner])); };
        for (std::int64_t r = 0; r < s.size; ++r) line[static_cast<std::size_t>(r)] = at(r);
        L value = choose(what, line, rank);
        std::int64_t place = lastPlace ? s.size - 1 : 0;
        while (!same(at(place), value)) place += lastPlace ? -1 : 1;
        values[p] = from[place * s.inner];
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
