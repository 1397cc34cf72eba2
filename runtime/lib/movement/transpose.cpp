// Tiles of the transpose are made in registers. Whatever the strides, a line of memory is read once and written once:
// lines of a column are fetched ahead, since no processor foresees steps of more than a page, and rows that lie far
// apart are written line by line.
#include "runtime/lib/movement/transpose.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <utility>

#include "runtime/lib/clones.h"

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem::lib {

namespace {

constexpr int kVector = 32;  // bytes
constexpr int kLane = 16;    // of a vector: shuffles within one are the cheap ones
constexpr std::int64_t kLine = 64;
// Rows that are read side by side, a page after the other, and columns of a block.
constexpr std::int64_t kBand = 64;
// Columns fetched ahead, and rows of a band. Of 8 bytes more would meet in few sets of the caches where columns are
// 16 KiB apart.
template <class T>
constexpr std::int64_t kAhead = sizeof(T) < 8 ? 64 : 24;
// From this distance on, rows share too few sets of the first cache for 64 lines that are written in parts; nearer ones
// leave the sets to the columns, which may share them too.
constexpr std::int64_t kFarApart = 512;

template <class T, int Bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes = kVector>
using Vector = typename VectorOf<T, Bytes>::Type;

/// Two columns, a lane of each.
template <class T, std::size_t... I>
[[gnu::always_inline]] inline Vector<T> twoLanes(const T* first, const T* second, std::index_sequence<I...>) {
  Vector<T, kLane> a;
  Vector<T, kLane> b;
  std::memcpy(&a, first, kLane);
  std::memcpy(&b, second, kLane);
  return __builtin_shufflevector(a, b, static_cast<int>(I)...);
}

/// The first (or last) halves of the lanes of two vectors, element by element in turn.
template <int N, bool Last, class V, std::size_t... I>
[[gnu::always_inline]] inline V interleave(V a, V b, std::index_sequence<I...>) {
  constexpr int elements = sizeof...(I);
  return __builtin_shufflevector(
      a, b,
      static_cast<int>(I % 2 * elements + I / N * N + I % N / 2 + (Last ? N / 2 : 0))...);  // NOLINT
}

/// The transpose of the N elements of each lane of N vectors: each of log2(N) steps interleaves vector i with i + N/2.
template <int Step, int N, class T>
[[gnu::always_inline]] inline void transposeLanes(Vector<T>* rows) {
  if constexpr (Step < N) {
    using Each = std::make_index_sequence<kVector / sizeof(T)>;
    Vector<T> next[N];
#pragma GCC unroll 16
    for (int j = 0; j < N / 2; ++j) {
      next[2 * j] = interleave<N, false>(rows[j], rows[j + N / 2], Each{});
      next[2 * j + 1] = interleave<N, true>(rows[j], rows[j + N / 2], Each{});
    }
    transposeLanes<2 * Step, N, T>(next);
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) rows[j] = next[j];
  }
}

/// As many rows as a lane has elements, as many columns as a vector has.
template <class T>
[[gnu::always_inline]] inline void transposeTile(const T* from, std::int64_t fromColumn, T* to, std::int64_t toRow) {
  constexpr int n = kLane / sizeof(T);
  Vector<T> rows[n];
#pragma GCC unroll 16
  for (int j = 0; j < n; ++j) {
    rows[j] =
        twoLanes(from + j * fromColumn, from + (j + n) * fromColumn, std::make_index_sequence<kVector / sizeof(T)>{});
  }
  transposeLanes<1, n, T>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) std::memcpy(to + i * toRow, &rows[i], kVector);
}

/// A block of at most kBand rows and columns, `Together` vectors of columns at a time; `ahead` says how many columns
/// there are to fetch behind it. Where rows or columns are no whole tiles, the last ones have some of those before once
/// more.
template <int Together, class T>
void transposeSmall(const T* from, std::int64_t fromColumn, T* to, std::int64_t toRow, std::int64_t rows,
                    std::int64_t columns, std::int64_t ahead) {
  constexpr std::int64_t kRows = kLane / sizeof(T);
  constexpr std::int64_t kColumns = kVector / sizeof(T);
  if (rows < kRows || columns < kColumns) {
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) to[i * toRow + j] = from[i + j * fromColumn];
    return;
  }
  constexpr std::int64_t kStep = Together * kColumns;
  for (std::int64_t next = 0; next < columns; next += kStep) {
    for (std::int64_t q = next + kAhead<T>; q < std::min(next + kAhead<T> + kStep, columns + ahead); ++q)
      for (std::int64_t i = 0; i < rows; i += kLine / sizeof(T)) __builtin_prefetch(from + i + q * fromColumn);
    const std::int64_t count = std::min<std::int64_t>(Together, (columns - next + kColumns - 1) / kColumns);
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const std::int64_t i = std::min(row, rows - kRows);
      for (std::int64_t t = 0; t < count; ++t) {
        const std::int64_t j = std::min(next + t * kColumns, columns - kColumns);
        transposeTile(from + i + j * fromColumn, fromColumn, to + i * toRow + j, toRow);
      }
    }
  }
}

/// Few columns: they are read in turn.
template <int N, class T>
void mergeColumns(const T* from, std::int64_t fromColumn, T* to, std::int64_t toRow, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (int j = 0; j < N; ++j) to[i * toRow + j] = from[i + j * fromColumn];
}

/// Which bytes of N lanes, whose elements of `Size` bytes belong to N rows in turn, go where in a lane of each row.
template <int N, int Size>
struct Turns {
  alignas(kLane) std::array<std::array<std::array<char, kLane>, N>, N> place;  // of a row, of what a lane has for it

  constexpr Turns() : place() {
    for (int row = 0; row < N; ++row)
      for (int byte = 0; byte < kLane; ++byte) {
        const int at = (byte / Size * N + row) * Size + byte % Size;
        for (int lane = 0; lane < N; ++lane) place[row][lane][byte] = at / kLane == lane ? at % kLane : -1;
      }
  }
};
template <int N, int Size>
constexpr Turns<N, Size> kTurns{};

/// Lanes of N rows, `toRow` bytes apart, of columns that lie one behind the other.
template <int N>
[[gnu::noinline]] void splitLanes(const char* from, char* to, std::int64_t toRow, std::int64_t lanes,
                                  const char* places) {
  for (std::int64_t j = 0; j < lanes; ++j, from += std::ptrdiff_t{N} * kLane, to += kLane) {
    __m128i in[N];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) in[v] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + v);
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) {
      __m128i out = _mm_setzero_si128();
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v)
        out = _mm_or_si128(out, _mm_shuffle_epi8(in[v], *(reinterpret_cast<const __m128i*>(places) + i * N + v)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * toRow), out);
    }
  }
}

/// Two to four rows, dense columns that lie one behind the other.
template <class T>
[[gnu::noinline]] void splitRows(const T* from, T* to, std::int64_t toRow, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kSize = sizeof(T);
  const std::int64_t lanes = columns * kSize / kLane;
  auto split = [&]<int N>(std::integral_constant<int, N>) {
    splitLanes<N>(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to), toRow * kSize, lanes,
                  kTurns<N, kSize>.place[0][0].data());
  };
  if (rows == 2) split(std::integral_constant<int, 2>());
  if (rows == 3) split(std::integral_constant<int, 3>());
  if (rows == 4) split(std::integral_constant<int, 4>());
  for (std::int64_t j = lanes * kLane / kSize; j < columns; ++j)
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < rows; ++i) to[i * toRow + j] = from[j * rows + i];
}

}  // namespace

template <class T>
void transposeBlock(const T* from, std::int64_t fromColumn, T* to, std::int64_t toRow, std::int64_t rows,
                    std::int64_t columns) {
  if (columns == 2) return mergeColumns<2>(from, fromColumn, to, toRow, rows);
  if (columns == 3) return mergeColumns<3>(from, fromColumn, to, toRow, rows);
  if (columns == 4) return mergeColumns<4>(from, fromColumn, to, toRow, rows);
  if (fromColumn == rows && rows >= 2 && rows <= 4) return splitRows(from, to, toRow, rows, columns);
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  const bool farApart = std::abs(toRow) * kSize >= kFarApart;
  for (std::int64_t band = 0; band < rows; band += kAhead<T>)
    for (std::int64_t j = 0; j < columns; j += kBand) {
      const std::int64_t height = std::min(rows - band, kAhead<T>);
      const std::int64_t width = std::min(columns - j, kBand);
      const T* source = from + band + j * fromColumn;
      T* out = to + band * toRow + j;
      const std::int64_t ahead = columns - j - width;
      if (farApart)
        transposeSmall<kLine / kVector>(source, fromColumn, out, toRow, height, width, ahead);
      else
        transposeSmall<1>(source, fromColumn, out, toRow, height, width, ahead);
    }
}

template void transposeBlock(const std::uint8_t*, std::int64_t, std::uint8_t*, std::int64_t, std::int64_t,
                             std::int64_t);
template void transposeBlock(const std::uint16_t*, std::int64_t, std::uint16_t*, std::int64_t, std::int64_t,
                             std::int64_t);
template void transposeBlock(const std::uint32_t*, std::int64_t, std::uint32_t*, std::int64_t, std::int64_t,
                             std::int64_t);
template void transposeBlock(const std::uint64_t*, std::int64_t, std::uint64_t*, std::int64_t, std::int64_t,
                             std::int64_t);

}  // namespace tandem::lib
