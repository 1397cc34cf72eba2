// Maxima of narrow windows of floating elements, read straight from the input. Of equal ones that in the first place is
// the maximum, of several NaN the last.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/lib/pool/max_by_columns.h"
#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// A vector of 32 bytes, or of four elements at least; or one element.
template <class T, int N>
struct Lanes {
  using V = typename Vector<T, N>::Type;
  static constexpr int kLane = N == 1 ? 1 : 16 / sizeof(T);

  /// Of the 2 N elements from `row` on, those in even and those in odd places, in an order that costs an instruction
  /// each: every 16 bytes of a result are of 16 bytes of the lower and of 16 bytes of the upper half.
  template <std::size_t... I>
  [[gnu::always_inline]] static void split(const T* row, V& even, V& odd, std::index_sequence<I...>) {
    V low, high;
    std::memcpy(&low, row, sizeof low);
    std::memcpy(&high, row + N, sizeof high);
    even = __builtin_shufflevector(low, high, from(I)...);
    odd = __builtin_shufflevector(low, high, (from(I) + 1)...);
  }
  /// What `split` gave, in the order of the row.
  template <std::size_t... I>
  [[gnu::always_inline]] static void order(V& v, std::index_sequence<I...>) {
    v = __builtin_shufflevector(v, v, place(I)...);
  }

 private:
  static constexpr int from(int at) {
    const int lane = at / kLane * kLane;
    const int in = at % kLane;
    return in < kLane / 2 ? lane + 2 * in : N + lane + 2 * in - kLane;
  }
  static constexpr int place(int i) {
    constexpr int half = std::max(kLane / 2, 1);
    const int j = i % (N / 2);
    return j / half * kLane + j % half + (i < N / 2 ? 0 : half);
  }
};

/// In the place of the type of places: there are none.
struct NoPlace {
  NoPlace() = default;
  template <class N>
  explicit NoPlace(N) {}
};

/// Element by element, which leaves `v` in its register.
template <class V, std::size_t... I>
[[gnu::always_inline]] inline bool anyNan(const V& v, std::index_sequence<I...>) {
  return ((v[I] != v[I]) || ...);
}

/// Windows of two columns that divide planes of rows evenly. Rows of all planes are then one stretch of pairs, and an
/// element of the result is the maximum of what lies in the same column of a few rows of the pairs' maxima:
///
///     rows of the input   1 5 | 2 0      of the pairs   5 2      of the result   5 3
///                         4 1 | 0 3                     4 3
///
/// A row of few columns takes no longer than one of many so.
template <class T>
class Pairs {
 public:
  static bool serves(const Pool& pool) {
    const auto& [d, h, w] = pool.axes;
    return divides(d) && divides(h) && divides(w) && d.kernel == 1 && w.kernel == 2;
  }

  Pairs(const Pool& pool, std::int64_t planes)
      : down_(pool.axes[1].kernel), columns_(pool.axes[2].out), rows_(planes * pool.axes[0].out * pool.axes[1].out),
        band_(std::clamp<std::int64_t>(kBandElements / (down_ * columns_), 1, rows_)),
        pairs_(down_ == 1 ? 0 : band_ * down_ * columns_ + kMost) {}

  [[gnu::always_inline]] void run(const T* x, T* values) {
    for (std::int64_t row = 0; row < rows_; row += band_) {
      const std::int64_t rows = std::min(band_, rows_ - row);
      if (!band<false>(x, values, rows)) band<true>(x, values, rows);
      x += rows * down_ * columns_ * 2;
      values += rows * columns_;
    }
  }

 private:
  static constexpr std::int64_t kBandElements = 4 * 1024;  // of pairs, in the first cache
  static constexpr int kMost = 32 / sizeof(T);

  static bool divides(const PoolAxis& a) {
    return !a.adaptive && a.kernel == a.stride && a.padding == 0 && (a.dilation == 1 || a.kernel == 1) &&
           a.size == a.out * a.kernel;
  }

  /// Unless it may meet `Nans`, it only finds out whether there are any, from a sum of all elements, which may also be
  /// NaN of infinities. Those it takes one by one: they are rare.
  template <bool Nans>
  [[gnu::always_inline]] bool band(const T* x, T* values, std::int64_t rows) {
    const std::int64_t n = rows * down_ * columns_;
    T* pairs = down_ == 1 ? values : pairs_.data();
    const bool none =
        !Nans && n >= kMost ? ofPairs<Nans, Nans ? 1 : kMost>(x, n, pairs) : ofPairs<Nans, 1>(x, n, pairs);
    if (!none) return false;
    if (down_ == 1) return true;
    if constexpr (Nans)
      ofRows<Nans, 1>(rows, values);
    else if (columns_ > 4 || kMost == 4)
      ofRows<Nans, kMost>(rows, values);
    else
      ofRows<Nans, 4>(rows, values);
    return true;
  }

  /// `most`: the greater of it and of what comes later.
  template <bool Nans, class V>
  [[gnu::always_inline]] static void take(V& most, const V& later) {
    const V greater = later > most ? later : most;
    if constexpr (Nans)
      most = later != later ? later : most != most ? most : greater;
    else
      most = greater;
  }

  /// The last vector has some of the pairs of the one before once more.
  template <bool Nans, int N>
  [[gnu::always_inline]] bool ofPairs(const T* x, std::int64_t n, T* to) const {
    using V = typename Vector<T, N>::Type;
    V sum{};
    for (std::int64_t next = 0; next < n; next += N) {
      const std::int64_t i = std::min(next, n - N);
      V most, odd;
      Lanes<T, N>::split(x + 2 * i, most, odd, std::make_index_sequence<N>());
      if constexpr (!Nans) sum += most + odd;
      take<Nans>(most, odd);
      if constexpr (N > 1) Lanes<T, N>::order(most, std::make_index_sequence<N>());
      std::memcpy(to + i, &most, sizeof most);
    }
    return Nans || !anyNan(sum, std::make_index_sequence<N>());
  }

  /// Rows shorter than a vector are made whole with elements of those behind them, which come later, while there are
  /// so many.
  template <bool Nans, int N>
  [[gnu::always_inline]] void ofRows(std::int64_t rows, T* values) const {
    const std::int64_t down = down_, columns = columns_;
    const T* const pairs = pairs_.data();
    const auto windows = [=]<int Many>(std::integral_constant<int, Many>, std::int64_t row, std::int64_t o)
                             TANDEM_INLINED {
                               typename Vector<T, Many>::Type most, v;
                               const T* from = pairs + row * down * columns + o;
                               std::memcpy(&most, from, sizeof most);
                               for (std::int64_t j = 1; j < down; ++j) {
                                 std::memcpy(&v, from += columns, sizeof v);
                                 take<Nans>(most, v);
                               }
                               std::memcpy(values + row * columns + o, &most, sizeof most);
                             };
    constexpr std::integral_constant<int, N> whole;
    std::int64_t row = 0;
    if (columns < N)
      for (const std::int64_t room = rows * columns - N; row * columns <= room; ++row) windows(whole, row, 0);
    else
      for (; row < rows; ++row)
        for (std::int64_t o = 0; o < columns; o += N) windows(whole, row, std::min(o, columns - N));
    for (; row < rows; ++row)
      for (std::int64_t o = 0; o < columns; ++o) windows(std::integral_constant<int, 1>(), row, o);
  }

  std::int64_t down_, columns_;  // rows of the input that a window sees, columns of the result
  std::int64_t rows_, band_;     // of the result, and those made at a time
  Scratch<T> pairs_;
};

/// Windows of at most three columns that lie beside each other, or of two or three that lie two columns apart, in
/// vectors for those inside of the input. `I`: what their places are counted in, as wide as `T`, or NoPlace.
template <class T, class I>
class Narrow {
 public:
  static bool serves(const Pool& pool) {
    const PoolAxis& w = pool.axes[2];
    return w.dilation == 1 && w.kernel <= 3 && (w.stride == 1 || (w.stride == 2 && w.kernel >= 2));
  }

  explicit Narrow(const Pool& pool)
      : d_(pool.axes[0]), h_(pool.axes[1]), w_(pool.axes[2]), size_(pool.inputSize()), rows_(d_.kernel * h_.kernel) {
    const std::int64_t room = w_.size + w_.padding - w_.kernel;
    from_ = std::min(w_.out, (w_.padding + w_.stride - 1) / w_.stride);
    to_ = room < 0 ? from_ : std::clamp(room / w_.stride + 1, from_, w_.out);
  }

  [[gnu::always_inline]] void run(std::int64_t planes, const T* x, T* values, std::int64_t* indices) {
    x_ = x;
    end_ = x + planes * size_;
    values_ = values;
    valuesEnd_ = values + planes * d_.out * h_.out * w_.out;
    indices_ = indices;
    if (w_.stride == 2) return w_.kernel == 2 ? byLength<2, 2>() : byLength<3, 2>();
    if (w_.kernel == 1) return byLength<1, 1>();
    if (w_.kernel == 2) return byLength<2, 1>();
    byLength<3, 1>();
  }

 private:
  static constexpr bool kPlaces = std::is_integral_v<I>;
  /// Of several windows side by side: the maxima, the sum of all that they see, and the places of the maxima in the
  /// rows of the first window.
  template <int N>
  struct Found {
    using Places = typename Vector<std::conditional_t<kPlaces, I, std::int8_t>, N>::Type;
    typename Vector<T, N>::Type best, sum;
    Places at;
  };

  template <int Kernel, int Stride>
  [[gnu::always_inline]] void byLength() {
    constexpr int longest = 32 / sizeof(T);
    if (longest == 4 || to_ - from_ <= 4) return allPlanes<Kernel, Stride, 4>();
    allPlanes<Kernel, Stride, longest>();
  }

  template <int Kernel, int Stride, int N>
  [[gnu::always_inline]] void allPlanes() {
    for (; x_ < end_; x_ += size_, values_ += d_.out * h_.out * w_.out) {
      // A plane where there may be a NaN is taken again, one by one.
      std::int64_t from = from_, to = to_;
      while (!rows<Kernel, Stride, N>(from, to)) from = to = w_.out;
      if constexpr (kPlaces) indices_ += d_.out * h_.out * w_.out;
    }
  }

  /// Windows `from` to `to` of each row in vectors, which only find out whether there is a NaN, from a sum of all
  /// elements, which may also be NaN of infinities. The others one by one.
  template <int Kernel, int Stride, int N>
  [[gnu::always_inline]] bool rows(std::int64_t from, std::int64_t to) {
    typename Vector<T, N>::Type total{};
    T* values = values_;
    std::int64_t* indices = indices_;
    for (std::int64_t od = 0; od < d_.out; ++od)
      for (std::int64_t oh = 0; oh < h_.out; ++oh, values += w_.out) {
        const Span depth = d_.inside(od);
        const Span down = h_.inside(oh);
        std::int64_t* end = rows_.data();
        for (std::int64_t i = depth.first; i < depth.end; i += d_.dilation)
          for (std::int64_t j = down.first; j < down.end; j += h_.dilation) *end++ = (i * h_.size + j) * w_.size;
        const std::int64_t first = (depth.first * h_.size + down.first) * w_.size;
        std::int64_t behind = to;
        // Fewer than a vector are made whole with what lies behind them, of which results come later.
        if (to - from < N && to != from && !reaches<Kernel, Stride, N>(end, from, values)) behind = from;
        for (std::int64_t next = from; next < behind; next += N) {
          // The last vector makes some of the one before once more.
          const std::int64_t o = std::max(std::min(next, behind - N), from);
          const std::int64_t column = o * Stride - w_.padding;
          const Found<N> found = windows<Kernel, Stride, N>(x_ + column, end, first);
          std::memcpy(values + o, &found.best, sizeof found.best);
          if constexpr (kPlaces) storePlaces<Stride>(found.at, column, indices + o, std::make_index_sequence<4>());
          total += found.sum;
        }
        edges(end, first, 0, from, values, indices);
        edges(end, first, behind, w_.out, values, indices);
        if constexpr (kPlaces) indices += w_.out;
      }
    return !anyNan(total, std::make_index_sequence<N>());
  }

  /// Is there as much memory behind window `o` as a vector of windows sees and makes?
  template <int Kernel, int Stride, int N>
  [[nodiscard]] bool reaches(const std::int64_t* end, std::int64_t o, const T* values) const {
    const std::int64_t last = end == rows_.data() ? 0 : end[-1];
    return valuesEnd_ - values >= o + N && end_ - x_ >= last + o * Stride - w_.padding + N * Stride + Kernel;
  }

  /// `N` windows, of the rows at those from rows_ to `end` of `x`. Their maxima stay in a register while the rows go
  /// by.
  template <int Kernel, int Stride, int N>
  [[gnu::always_inline]] Found<N> windows(const T* x, const std::int64_t* end, std::int64_t first) const {
    using V = typename Vector<T, N>::Type;
    using Places = typename Found<N>::Places;
    Found<N> found{V{} + kLowest<T>, {}, {}};
    if constexpr (kPlaces) found.at += static_cast<I>(first);
    for (const std::int64_t* row = rows_.data(); row != end; ++row) {
      const T* const from = x + *row;
      Places start{};
      if constexpr (kPlaces) start += static_cast<I>(*row);
      const auto take = [&](V v, std::int8_t k) TANDEM_INLINED {
        const auto better = v > found.best;
        found.best = better ? v : found.best;
        if constexpr (kPlaces) found.at = better ? start + k : found.at;
        found.sum += v;
      };
      if constexpr (Stride == 2) {
        V even, odd;
        Lanes<T, N>::split(from, even, odd, std::make_index_sequence<N>());
        take(even, 0);
        take(odd, 1);
        if constexpr (Kernel == 3) {
          Lanes<T, N>::split(from + 1, even, odd, std::make_index_sequence<N>());
          take(odd, 2);
        }
      } else {
        V v;
        std::memcpy(&v, from, sizeof v);
        take(v, 0);
        if constexpr (Kernel > 1) {
          std::memcpy(&v, from + 1, sizeof v);
          take(v, 1);
        }
        if constexpr (Kernel > 2) {
          std::memcpy(&v, from + 2, sizeof v);
          take(v, 2);
        }
      }
    }
    if constexpr (Stride == 2) {
      Lanes<T, N>::order(found.best, std::make_index_sequence<N>());
      if constexpr (kPlaces) Lanes<I, N>::order(found.at, std::make_index_sequence<N>());
    }
    return found;
  }

  /// Places in the rows of a first window that begins at `column`, of windows side by side.
  template <int Stride, class At, std::size_t... K>
  [[gnu::always_inline]] static void storePlaces(const At& at, std::int64_t column, std::int64_t* to,
                                                 std::index_sequence<K...>) {
    using Wide = typename Vector<std::int64_t, 4>::Type;
    constexpr int count = sizeof(At) / sizeof(I);
    const Wide columns = Wide{K * Stride...} + column;
    const Wide low = __builtin_convertvector(__builtin_shufflevector(at, at, K...), Wide) + columns;
    std::memcpy(to, &low, sizeof low);
    if constexpr (count == 8) {
      const Wide high =
          __builtin_convertvector(__builtin_shufflevector(at, at, K + 4 ...), Wide) + columns + 4 * Stride;
      std::memcpy(to + 4, &high, sizeof high);
    }
  }

  /// The windows from `o` on, which may reach out of the input. `first`: the place of their first row.
  [[gnu::noinline]] void edges(const std::int64_t* end, std::int64_t first, std::int64_t o, std::int64_t last,
                               T* values, std::int64_t* indices) const {
    const T* const x = x_;
    for (; o < last; ++o) {
      T best = kLowest<T>;
      const std::int64_t from = std::max<std::int64_t>(o * w_.stride - w_.padding, 0);
      const std::int64_t behind = std::min(o * w_.stride - w_.padding + w_.kernel, w_.size);
      std::int64_t at = first + from;
      for (const std::int64_t* row = rows_.data(); row != end; ++row)
        for (std::int64_t k = *row + from; k < *row + behind; ++k) {
          const bool better = replaces(x[k], best);
          best = better ? x[k] : best;
          at = better ? k : at;
        }
      values[o] = best;
      if constexpr (kPlaces) indices[o] = at;
    }
  }

  PoolAxis d_, h_, w_;
  std::int64_t size_;                      // of a plane
  std::int64_t from_, to_;                 // windows of a row that lie inside of the input
  Scratch<std::int64_t> rows_;             // of the plane, that the window at hand sees
  const T *x_ = nullptr, *end_ = nullptr;  // the plane at hand, and the end of all
  T *values_ = nullptr, *valuesEnd_ = nullptr;
  std::int64_t* indices_ = nullptr;
};

}  // namespace tandem::lib
