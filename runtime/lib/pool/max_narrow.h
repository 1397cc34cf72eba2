// Maxima of narrow windows of floating elements, without their places, read straight from the input. Of equal ones that
// in the first place is the maximum, of several NaN the last.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/lib/pool/max_by_columns.h"
#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

template <class T, int N>
struct Vector {
  using Type [[gnu::vector_size(N * sizeof(T))]] = T;
};

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
  /// NaN of infinities.
  template <bool Nans>
  [[gnu::always_inline]] bool band(const T* x, T* values, std::int64_t rows) {
    const std::int64_t n = rows * down_ * columns_;
    T* pairs = down_ == 1 ? values : pairs_.data();
    const bool none = n >= kMost ? ofPairs<Nans, kMost>(x, n, pairs) : ofPairs<Nans, 1>(x, n, pairs);
    if (!none) return false;
    if (down_ == 1) return true;
    if (columns_ > 4 || kMost == 4)
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

/// Windows of at most three columns that lie beside each other or two columns apart, in vectors for those inside of the
/// input.
template <class T>
class Narrow {
 public:
  static bool serves(const Pool& pool) {
    const PoolAxis& w = pool.axes[2];
    return w.dilation == 1 && (w.stride == 1 ? w.kernel <= 3 : w.stride == 2 && w.kernel == 2);
  }

  explicit Narrow(const Pool& pool)
      : d_(pool.axes[0]), h_(pool.axes[1]), w_(pool.axes[2]), rows_(d_.kernel * h_.kernel) {
    const std::int64_t room = w_.size + w_.padding - w_.kernel;
    from_ = std::min(w_.out, (w_.padding + w_.stride - 1) / w_.stride);
    to_ = room < 0 ? from_ : std::clamp(room / w_.stride + 1, from_, w_.out);
  }

  [[gnu::always_inline]] void run(const T* x, T* values) {
    if (w_.stride == 2) return byLength<2, 2>(x, values);
    if (w_.kernel == 1) return byLength<1, 1>(x, values);
    if (w_.kernel == 2) return byLength<2, 1>(x, values);
    byLength<3, 1>(x, values);
  }

 private:
  template <int Kernel, int Stride>
  [[gnu::always_inline]] void byLength(const T* x, T* values) {
    constexpr int longest = 32 / sizeof(T);
    const std::int64_t n = to_ - from_;
    if (n >= longest) return plane<Kernel, Stride, longest>(x, values);
    if (longest > 4 && n >= 4) return plane<Kernel, Stride, 4>(x, values);
    plane<Kernel, Stride, 1>(x, values);
  }

  template <int Kernel, int Stride, int N>
  [[gnu::always_inline]] void plane(const T* x, T* values) {
    if (!rows<Kernel, Stride, N, false>(x, values)) rows<Kernel, Stride, N, true>(x, values);
  }

  /// Unless it may meet `Nans`, it only finds out whether there are any, from a sum of all elements, which may also be
  /// NaN of infinities.
  template <int Kernel, int Stride, int N, bool Nans>
  [[gnu::always_inline]] bool rows(const T* x, T* values) {
    typename Vector<T, N>::Type total{};
    for (std::int64_t od = 0; od < d_.out; ++od)
      for (std::int64_t oh = 0; oh < h_.out; ++oh, values += w_.out) {
        const Span depth = d_.inside(od);
        const Span down = h_.inside(oh);
        const T** end = rows_.data();
        for (std::int64_t i = depth.first; i < depth.end; i += d_.dilation)
          for (std::int64_t j = down.first; j < down.end; j += h_.dilation) *end++ = x + (i * h_.size + j) * w_.size;
        for (std::int64_t o = 0; o < from_; ++o) values[o] = edge(end, o);
        for (std::int64_t o = to_; o < w_.out; ++o) values[o] = edge(end, o);
        inside<Kernel, Stride, N, Nans>(end, from_ * Stride - w_.padding, values + from_, to_ - from_, total);
      }
    if constexpr (Nans) return true;
    return !anyNan(total, std::make_index_sequence<N>());
  }

  /// The maxima of `n` windows whose rows begin at `first` of those from rows_ to `end`. In vectors of `N`, of which
  /// the last makes some of the one before once more; a maximum stays in a register while the rows go by.
  template <int Kernel, int Stride, int N, bool Nans, class V>
  [[gnu::always_inline]] void inside(const T* const* end, std::int64_t first, T* to, std::int64_t n, V& total) const {
    const T* const* const begin = rows_.data();
    V sum = total;
    for (std::int64_t next = 0; next < n; next += N) {
      const std::int64_t o = std::min(next, n - N);
      V best = V{} + kLowest<T>;
      V nan{};
      for (const T* const* row = begin; row != end; ++row) {
        const T* at = *row + first + o * Stride;
        std::array<V, Kernel> v;
        if constexpr (Stride == 2 && N > 1)
          Lanes<T, N>::split(at, v[0], v[1], std::make_index_sequence<N>());
        else
          for (int k = 0; k < Kernel; ++k) std::memcpy(&v[k], at + k, sizeof(V));
        for (int k = 0; k < Kernel; ++k) {
          best = v[k] > best ? v[k] : best;
          nan = !Nans ? nan + v[k] : v[k] != v[k] ? v[k] : nan;
        }
      }
      if constexpr (Nans)
        best = nan != nan ? nan : best;
      else
        sum += nan;
      if constexpr (Stride == 2 && N > 1) Lanes<T, N>::order(best, std::make_index_sequence<N>());
      std::memcpy(to + o, &best, sizeof best);
    }
    total = sum;
  }

  /// The maximum of a window that reaches out of the input.
  [[nodiscard]] T edge(const T* const* end, std::int64_t o) const {
    T best = kLowest<T>;
    const std::int64_t from = std::max<std::int64_t>(o * w_.stride - w_.padding, 0);
    const std::int64_t to = std::min(o * w_.stride - w_.padding + w_.kernel, w_.size);
    for (const T* const* row = rows_.data(); row != end; ++row)
      for (std::int64_t k = from; k < to; ++k) best = replaces((*row)[k], best) ? (*row)[k] : best;
    return best;
  }

  PoolAxis d_, h_, w_;
  std::int64_t from_, to_;  // windows that lie inside of the rows of the input
  Scratch<const T*> rows_;  // of the input, that the window at hand sees
};

}  // namespace tandem::lib
