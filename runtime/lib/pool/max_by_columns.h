// What the maxima of windows have in common, and those of windows that are wide, or few to a row of the output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

template <class T, int N>
struct Vector {
  using Type [[gnu::vector_size(N * sizeof(T))]] = T;
};

inline constexpr std::int64_t kPad = 8;  // rows are worked on in whole vectors of this many

template <class C>
constexpr C kLowest =
    std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();

template <class C>
[[gnu::always_inline]] inline bool replaces(C v, C best) {
  if constexpr (std::is_floating_point_v<C>)
    return (v > best) | (v != v);  // no branch: it would be guessed wrong
  else
    return v > best;
}

/// One plane. Of each column of a window's rows the largest element first, in vectors, then of the window's
/// columns. Of equal ones that in the first place is the maximum, of several NaN the last.
template <class C>
class ByColumns {
 public:
  /// Where few windows have an element of the input in common, and columns of a window something to save.
  static bool serves(const Pool& pool) {
    const auto& [d, h, w] = pool.axes;
    const bool once = 2 * d.stride > d.kernel && 2 * h.stride > h.kernel && w.stride > 2 && d.kernel * h.kernel > 2;
    return (w.out < kPad || once) && w.kernel > 2 && pool.inputSize() <= std::numeric_limits<std::int32_t>::max();
  }
  explicit ByColumns(const Pool& pool)
      : pool_(pool), width_(pool.axes[2].size), best_(pool.axes[2].size), rows_(pool.axes[2].size) {}

  [[gnu::always_inline]] void run(const C* x, C* values, std::int64_t* indices) {
    const auto& [d, h, w] = pool_.axes;
    for (std::int64_t od = 0; od < d.out; ++od)
      for (std::int64_t oh = 0; oh < h.out; ++oh) {
        const Span depth = d.inside(od);
        const Span rows = h.inside(oh);
        takeRows(x, depth, rows);
        for (std::int64_t o = 0; o < w.out; ++o) {
          const Found found = largest(w.inside(o), w.dilation);
          *values++ = found.value;
          if (indices != nullptr) *indices++ = found.place;
        }
      }
  }

 private:
  using Row = std::conditional_t<sizeof(C) == sizeof(std::int64_t), std::int64_t, std::int32_t>;
  struct Found {
    C value;
    std::int64_t place;
  };

  [[gnu::always_inline]] void takeRows(const C* x, Span depth, Span rows) {
    constexpr int longest = 32 / sizeof(C);
    if (width_ >= 4 * longest)
      takeColumns<longest, 4>(x, depth, rows);
    else if (width_ >= longest)
      takeColumns<longest, 1>(x, depth, rows);
    else if (longest > 4 && width_ >= 4)
      takeColumns<4, 1>(x, depth, rows);
    else
      takeColumns<1, 1>(x, depth, rows);
  }

  /// `Many` vectors of columns stay in registers while the rows go by. The last ones have some columns of those before
  /// once more.
  template <int N, int Many>
  [[gnu::always_inline]] void takeColumns(const C* x, Span depth, Span rows) {
    using V = typename Vector<C, N>::Type;
    using Rows = typename Vector<Row, N>::Type;
    const PoolAxis& d = pool_.axes[0];
    const PoolAxis& h = pool_.axes[1];
    for (std::int64_t next = 0; next < width_; next += N * Many) {
      const std::int64_t k = std::min(next, width_ - N * Many);
      V best[Many];
      Rows at[Many];
      for (int m = 0; m < Many; ++m) {
        best[m] = V{} + kLowest<C>;
        at[m] = Rows{} + static_cast<Row>(depth.first * h.size + rows.first);
      }
      for (std::int64_t i = depth.first; i < depth.end; i += d.dilation)
        for (std::int64_t j = rows.first; j < rows.end; j += h.dilation) {
          const Rows row = Rows{} + static_cast<Row>(i * h.size + j);
          const C* from = x + (i * h.size + j) * width_ + k;
          for (int m = 0; m < Many; ++m) {
            V v;
            std::memcpy(&v, from + m * N, sizeof v);
            auto better = v > best[m];
            if constexpr (std::is_floating_point_v<C>) better |= v != v;
            best[m] = better ? v : best[m];
            at[m] = better ? row : at[m];
          }
        }
      std::memcpy(best_.data() + k, best, sizeof best);
      std::memcpy(rows_.data() + k, at, sizeof at);
    }
  }

  [[gnu::always_inline]] Found largest(Span columns, std::int64_t step) const {
    Found found{best_[columns.first], rows_[columns.first] * width_ + columns.first};
    for (std::int64_t k = columns.first + step; k < columns.end; k += step) {
      const C v = best_[k];
      const std::int64_t place = rows_[k] * width_ + k;
      const bool better = v > found.value || (v == found.value && place < found.place) ||
                          (v != v && (found.value == found.value || place > found.place));
      if (better) found = {v, place};
    }
    return found;
  }

  const Pool& pool_;
  std::int64_t width_;
  Scratch<C> best_;
  Scratch<Row> rows_;
};

}  // namespace tandem::lib
