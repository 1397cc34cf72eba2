// argmax, argmin, max_dim, min_dim: the first place of the extreme value; the first NaN wins over everything.
//
// Along memory the extreme value of a piece is found first, in lanes, and its place only where it is better than that
// of the pieces before. Across memory (another dim than the last) neighbouring columns are the lanes; so are short
// rows, which are transposed for it.
#include <algorithm>
#include <array>
#include <cstddef>
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
// Rows of up to this many elements are columns of a transpose: lanes along them would be mostly empty.
constexpr std::int64_t kShortRow = 16;

template <class T>
bool isNan(T v) {
  if constexpr (std::is_floating_point_v<T>) return v != v;
  return false;
}

/// Does `a`, met later, replace `b`? Without branches, for lanes.
template <bool Max, class T>
bool beats(T a, T b) {
  bool better = Max ? a > b : a < b;
  if constexpr (std::is_floating_point_v<T>) return static_cast<bool>(int{better} | (int{a != a} & int{b == b}));
  return better;
}

/// The extreme value of n >= 1 elements, or NaN.
template <bool Max, class T>
T extremeOf(const T* x, std::int64_t n) {
  T best = x[0];
  std::int64_t i = 0;
  bool nan = false;
  if (n >= kLanes) {
    std::array<T, kLanes> lanes;
    std::array<T, kLanes> nans{};  // becomes NaN, and stays so, where one is met
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = best;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) {
        T v = x[i + j];
        lanes[j] = (Max ? v > lanes[j] : v < lanes[j]) ? v : lanes[j];
        if constexpr (std::is_floating_point_v<T>) nans[j] = v != v ? v : nans[j];
      }
    }
    for (std::int64_t j = 0; j < kLanes; ++j) {
      if (Max ? lanes[j] > best : lanes[j] < best) best = lanes[j];
      nan |= isNan(nans[j]);
    }
  }
  for (; i < n; ++i) {
    T v = x[i];
    nan |= isNan(v);
    best = (Max ? v > best : v < best) ? v : best;
  }
  if constexpr (std::is_floating_point_v<T>) return nan ? std::numeric_limits<T>::quiet_NaN() : best;
  return best;
}

/// The first place of `value` (or of a NaN) among n elements, which have one.
template <class T>
std::int64_t placeOf(const T* x, std::int64_t n, T value) {
  std::int64_t i = 0;
  auto find = [&](auto same) {
    for (; i + kLanes <= n; i += kLanes) {
      int found = 0;
      for (std::int64_t j = 0; j < kLanes; ++j) found |= int{same(x[i + j])};
      if (found != 0) break;
    }
    while (i + 1 < n && !same(x[i])) ++i;
  };
  isNan(value) ? find([](T v) { return isNan(v); }) : find([&](T v) { return v == value; });
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
    if (beats<Max>(x[f], x[at])) at = f;
  return at;
}

/// Of `count` neighbouring columns of `size` elements, each `step` from the one above.
template <bool Max, class T>
void bestOfColumns(const T* x, std::int64_t size, std::int64_t step, std::int64_t count, std::int64_t* indices) {
  using Row = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  constexpr std::int64_t kRows = std::int64_t{1} << 30;  // fit a Row
  std::array<T, kColumns> best;
  std::array<Row, kColumns> rows;
  for (std::int64_t j = 0; j < count; ++j) best[j] = x[j];
  std::fill_n(indices, count, 0);
  for (std::int64_t first = 0; first < size; first += kRows) {
    std::fill_n(rows.begin(), count, Row{-1});
    for (std::int64_t r = 0; r < std::min(kRows, size - first); ++r) {
      const T* row = x + (first + r) * step;
      for (std::int64_t j = 0; j < count; ++j) {
        T v = row[j];
        bool better = beats<Max>(v, best[j]);
        best[j] = better ? v : best[j];
        rows[j] = better ? static_cast<Row>(r) : rows[j];
      }
    }
    for (std::int64_t j = 0; j < count; ++j)
      if (rows[j] >= 0) indices[j] = first + rows[j];
  }
}

/// What the values of results are taken from, and written to: null where only places are asked for.
struct Taken {
  const std::byte* elements;
  std::byte* values;
  DType dtype;
  /// Of `count` neighbouring results from `first` on, whose lines begin at `from`, `beside` elements apart: the
  /// elements at the places `indices` of lines of elements `down` apart.
  void take(std::int64_t first, std::int64_t count, const std::int64_t* indices, std::int64_t from, std::int64_t down,
            std::int64_t beside) const {
    if (values == nullptr) return;
    withSize(dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      const T* x = reinterpret_cast<const T*>(elements) + from;
      T* to = reinterpret_cast<T*>(values) + first;
      const std::int64_t* place = indices + first;
      if (down == 1)
        for (std::int64_t j = 0; j < count; ++j) to[j] = x[place[j] + j * beside];
      else
        for (std::int64_t j = 0; j < count; ++j) to[j] = x[place[j] * down + j * beside];
    });
  }
};

/// For each position of outer x inner, by the order of `x`.
template <bool Max, class T>
void bestAlong(const T* x, const DimSplit& s, const Taken& taken, std::int64_t* indices) {
  if (s.outer * s.inner == 1) {
    indices[0] = bestOfAll<Max>(x, s.size);
    return taken.take(0, 1, indices, 0, 1, 0);
  }
  const bool shortRows = s.inner == 1 && s.size <= kShortRow;
  if (s.inner == 1 && !shortRows) {
    return parallelFor(s.outer, grainOf(s.size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) indices[o] = bestOf<Max>(x + o * s.size, s.size);
      taken.take(begin, end - begin, indices, begin * s.size, 1, s.size);
    });
  }
  const std::int64_t width = shortRows ? s.outer : s.inner;
  const std::int64_t pieces = ceilDiv(width, kColumns);
  const std::int64_t work = s.size * std::min(width, kColumns);
  parallelFor((shortRows ? 1 : s.outer) * pieces, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
    std::array<T, kShortRow * kColumns> turned;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t o = unit / pieces;
      const std::int64_t i = unit % pieces * kColumns;
      const std::int64_t count = std::min(kColumns, width - i);
      const std::int64_t first = o * width + i;
      const std::int64_t at = shortRows ? i * s.size : o * s.size * width + i;
      if (shortRows) transposeMatrix(x + at, s.size, turned.data(), kColumns, s.size, count, taken.dtype);
      bestOfColumns<Max>(shortRows ? turned.data() : x + at, s.size, shortRows ? kColumns : width, count,
                         indices + first);
      taken.take(first, count, indices, at, shortRows ? 1 : width, shortRows ? s.size : 1);
    }
  });
}

/// Integers in the order of half types' elements: a zero's sign does not count, and each NaN comes before or behind
/// all.
template <bool Max>
void orderHalves(const std::int16_t* x, std::int64_t n, DType dtype, std::int16_t* keys) {
  const int infinity = dtype == DType::Float16 ? 0x7c00 : 0x7f80;
  parallelFor(n, kSerialElements, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto magnitude = static_cast<std::int16_t>(x[i] & 0x7fff);
      const auto number = static_cast<std::int16_t>(x[i] < 0 ? -magnitude : magnitude);
      keys[i] = magnitude > infinity ? std::int16_t{Max ? 0x7fff : -0x8000} : number;
    }
  });
}

template <bool Max>
void reduce(const char* op, const ArrayView& input, const DimSplit& split, void* values, const ArrayView& indices) {
  if (indices.numel() == 0) return;
  if (split.size == 0) fail<IndexError>(op, ": the reduced dim has no elements");
  Contiguous x(input);
  const Taken taken{x.as<std::byte>(), static_cast<std::byte*>(values), input.dtype};
  auto along = [&]<class T>(const T* ordered) { bestAlong<Max>(ordered, split, taken, indices.as<std::int64_t>()); };
  if (input.dtype == DType::Float16 || input.dtype == DType::BFloat16) {
    Scratch<std::int16_t> keys(input.numel());
    orderHalves<Max>(x.as<std::int16_t>(), input.numel(), input.dtype, keys.data());
    return along(static_cast<const std::int16_t*>(keys.data()));
  }
  auto byBytes = [&](auto key) {
    Scratch<std::uint8_t> keys(input.numel());
    parallelFor(input.numel(), kSerialElements, [&](std::int64_t begin, std::int64_t end) {
      // Not what is captured, which writes of bytes might change.
      const auto* from = x.as<std::uint8_t>();
      std::uint8_t* to = keys.data();
      for (std::int64_t i = begin; i < end; ++i) to[i] = key(from[i]);
    });
    along(static_cast<const std::uint8_t*>(keys.data()));
  };
  // Any byte but 0 is true: bools may have been written as bytes.
  if (input.dtype == DType::Bool) return byBytes([](std::uint8_t byte) { return byte != 0 ? 1 : 0; });
  // Of so few bits those with a sign are ordered as those without, if the sign's is turned.
  if (input.dtype == DType::Int8) return byBytes([](std::uint8_t byte) { return byte ^ 0x80; });
  withType(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, std::int8_t> && !std::is_same_v<T, bool>)
      along(static_cast<const T*>(x.as<T>()));
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
