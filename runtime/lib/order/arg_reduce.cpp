// argmax, argmin, max_dim, min_dim: the first place of the extreme value; the first NaN wins over everything.
//
// Along memory the extreme value of a piece is found first, in lanes, and its place only where it is better than that
// of the pieces before. Across memory (another dim than the last) neighbouring columns are the lanes.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem::lib {
namespace {

// A full reduction is cut into pieces of this many elements for threads.
constexpr std::int64_t kPiece = 64 * 1024;
// Elements whose extreme value is found before its place is looked for: they stay in the first-level cache.
constexpr std::int64_t kNear = 2048;
constexpr std::int64_t kLanes = 32;
constexpr std::int64_t kColumns = 64;

template <class C>
bool isNan(C v) {
  if constexpr (std::is_floating_point_v<C>) return v != v;
  return false;
}

/// Does `a`, met later, replace `b`? Without branches, for lanes.
template <bool Max, class C>
bool beats(C a, C b) {
  bool better = Max ? a > b : a < b;
  if constexpr (std::is_floating_point_v<C>) return static_cast<bool>(int{better} | (int{a != a} & int{b == b}));
  return better;
}

/// The extreme value of n >= 1 elements, or NaN.
template <bool Max, class T>
auto extremeOf(const T* x, std::int64_t n) {
  using C = typename Element<T>::Compute;
  C best = Element<T>::load(x[0]);
  std::int64_t i = 0;
  bool nan = false;
  if (n >= kLanes) {
    std::array<C, kLanes> lanes;
    std::array<C, kLanes> nans{};  // becomes NaN, and stays so, where one is met
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = best;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) {
        C v = Element<T>::load(x[i + j]);
        lanes[j] = (Max ? v > lanes[j] : v < lanes[j]) ? v : lanes[j];
        if constexpr (std::is_floating_point_v<C>) nans[j] = v != v ? v : nans[j];
      }
    }
    for (std::int64_t j = 0; j < kLanes; ++j) {
      if (Max ? lanes[j] > best : lanes[j] < best) best = lanes[j];
      nan |= isNan(nans[j]);
    }
  }
  for (; i < n; ++i) {
    C v = Element<T>::load(x[i]);
    nan |= isNan(v);
    best = (Max ? v > best : v < best) ? v : best;
  }
  if constexpr (std::is_floating_point_v<C>) return nan ? std::numeric_limits<C>::quiet_NaN() : best;
  return best;
}

/// The first place of `value` (or of a NaN) among n elements, which have one.
template <class T, class C>
std::int64_t placeOf(const T* x, std::int64_t n, C value) {
  std::int64_t i = 0;
  auto find = [&](auto same) {
    for (; i + kLanes <= n; i += kLanes) {
      int found = 0;
      for (std::int64_t j = 0; j < kLanes; ++j) found |= int{same(Element<T>::load(x[i + j]))};
      if (found != 0) break;
    }
    while (i + 1 < n && !same(Element<T>::load(x[i]))) ++i;
  };
  isNan(value) ? find([](C v) { return isNan(v); }) : find([&](C v) { return v == value; });
  return i;
}

template <bool Max, class T>
std::int64_t bestOf(const T* x, std::int64_t n) {
  auto best = extremeOf<Max>(x, std::min(n, kNear));
  std::int64_t from = 0;
  for (std::int64_t i = kNear; i < n && !isNan(best); i += kNear)
    if (auto v = extremeOf<Max>(x + i, std::min(n - i, kNear)); beats<Max>(v, best)) best = v, from = i;
  return from + placeOf(x + from, std::min(n - from, kNear), best);
}

template <bool Max, class T>
std::int64_t bestOfAll(const T* x, std::int64_t n) {
  if (n <= kPiece) return bestOf<Max>(x, n);
  std::int64_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<std::int64_t> found(static_cast<std::size_t>(pieces));
  parallelTiles(pieces, [&](std::int64_t p) {
    std::int64_t from = p * kPiece;
    found[static_cast<std::size_t>(p)] = from + bestOf<Max>(x + from, std::min(kPiece, n - from));
  });
  std::int64_t at = found[0];
  for (std::int64_t f : found)
    if (beats<Max>(Element<T>::load(x[f]), Element<T>::load(x[at]))) at = f;
  return at;
}

/// Of `count` neighbouring columns of `size` elements, each `step` from the one above.
template <bool Max, class T>
void bestOfColumns(const T* x, std::int64_t size, std::int64_t step, std::int64_t count, std::int64_t* indices) {
  using C = typename Element<T>::Compute;
  using Row = std::conditional_t<sizeof(C) == 8, std::int64_t, std::int32_t>;
  constexpr std::int64_t kRows = std::int64_t{1} << 30;  // fit a Row
  std::array<C, kColumns> best;
  std::array<Row, kColumns> rows;
  for (std::int64_t j = 0; j < count; ++j) best[j] = Element<T>::load(x[j]);
  std::fill_n(indices, count, 0);
  for (std::int64_t first = 0; first < size; first += kRows) {
    std::fill_n(rows.begin(), count, Row{-1});
    for (std::int64_t r = 0; r < std::min(kRows, size - first); ++r) {
      const T* row = x + (first + r) * step;
      for (std::int64_t j = 0; j < count; ++j) {
        C v = Element<T>::load(row[j]);
        bool better = beats<Max>(v, best[j]);
        best[j] = better ? v : best[j];
        rows[j] = better ? static_cast<Row>(r) : rows[j];
      }
    }
    for (std::int64_t j = 0; j < count; ++j)
      if (rows[j] >= 0) indices[j] = first + rows[j];
  }
}

/// For each position of outer x inner. `values` may be null.
template <bool Max, class T>
void bestAlong(const T* x, const DimSplit& s, T* values, std::int64_t* indices) {
  // The value of a position, once its index is there.
  auto take = [&](std::int64_t p) {
    if (values != nullptr) values[p] = x[(p / s.inner * s.size + indices[p]) * s.inner + p % s.inner];
  };
  if (s.outer * s.inner == 1) {
    indices[0] = bestOfAll<Max>(x, s.size);
    return take(0);
  }
  if (s.inner == 1) {
    return parallelFor(s.outer, grainOf(s.size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) {
        indices[o] = bestOf<Max>(x + o * s.size, s.size);
        take(o);
      }
    });
  }
  std::int64_t pieces = (s.inner + kColumns - 1) / kColumns;
  std::int64_t work = s.size * std::min(s.inner, kColumns);
  parallelFor(s.outer * pieces, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::int64_t o = unit / pieces;
      std::int64_t i = unit % pieces * kColumns;
      std::int64_t count = std::min(kColumns, s.inner - i);
      bestOfColumns<Max>(x + o * s.size * s.inner + i, s.size, s.inner, count, indices + o * s.inner + i);
      for (std::int64_t p = o * s.inner + i; p < o * s.inner + i + count; ++p) take(p);
    }
  });
}

template <bool Max>
void reduce(const char* op, const ArrayView& input, const DimSplit& split, void* values, const ArrayView& indices) {
  if (indices.numel() == 0) return;
  if (split.size == 0) fail<IndexError>(op, ": the reduced dim has no elements");
  Contiguous x(input);
  withType(input.dtype, [&](auto tag) {
    using Stored = typename decltype(tag)::Type;
    using T = std::conditional_t<std::is_same_v<Stored, bool>, std::uint8_t, Stored>;
    bestAlong<Max>(x.as<T>(), split, static_cast<T*>(values), indices.as<std::int64_t>());
  });
}

template <bool Max>
void argReduce(const char* op, const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  AttrReader attrs(call.attrs);
  DimSplit split{{}, 0};
  if (attrs.present())
    split = DimSplit(x.shape, wrapDim(attrs.integer(), static_cast<std::int64_t>(x.shape.size())));
  else
    split.size = x.numel();
  reduce<Max>(op, x, split, nullptr, call.outputs[0]);
}

template <bool Max>
void dimReduce(const char* op, const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  reduce<Max>(op, x, DimSplit(x.shape, dim), call.outputs[0].data, call.outputs[1]);
}

}  // namespace

void argmax(const LibraryCall& call) { argReduce<true>("argmax", call); }
void argmin(const LibraryCall& call) { argReduce<false>("argmin", call); }
void max_dim(const LibraryCall& call) { dimReduce<true>("max", call); }
void min_dim(const LibraryCall& call) { dimReduce<false>("min", call); }

}  // namespace tandem::lib
