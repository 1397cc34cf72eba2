// What averages over windows are taken of: how many places count, and what a row has of each window.
#pragma once

#include <algorithm>

#include "runtime/lib/pool/pooling.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

struct Average {
  Pool pool;
  bool countPadding;
  std::int64_t divisor;  // 0: what the window covers

  /// Of a window with `rest` places in the other dims, at `o` of `axis`.
  [[nodiscard]] std::int64_t places(const PoolAxis& axis, std::int64_t o) const {
    if (countPadding && !axis.adaptive) return axis.padded(o);
    Span s = axis.inside(o);
    return s.end - s.first;
  }
  /// Rows of a window of all depths.
  [[nodiscard]] std::int64_t placesDown(std::int64_t od, std::int64_t oh) const {
    return places(pool.axes[0], od) * places(pool.axes[1], oh);
  }
};

/// The windows along the last dim: what they see of a row, and how many of their places count.
struct AverageWindows {
  Scratch<Span> inside;
  Scratch<std::int64_t> places;

  explicit AverageWindows(const Average& a) : inside(a.pool.axes[2].out), places(a.pool.axes[2].out) {
    const PoolAxis& w = a.pool.axes[2];
    for (std::int64_t o = 0; o < w.out; ++o) {
      inside[o] = w.inside(o);
      places[o] = a.places(w, o);
    }
  }
};

/// Calls each(input row's offset) for the rows of the window of output row (od, oh).
template <class Each>
[[gnu::always_inline]] inline void eachRow(const Pool& pool, std::int64_t od, std::int64_t oh, Each each) {
  const auto& [d, h, w] = pool.axes;
  Span depth = d.inside(od);
  Span rows = h.inside(oh);
  for (std::int64_t i = depth.first; i < depth.end; ++i)
    for (std::int64_t j = rows.first; j < rows.end; ++j) each((i * h.size + j) * w.size);
}

/// The columns that some windows see, and the window behind these: as many as have this many columns at most.
struct Stretch {
  Span columns{0, 0};
  std::int64_t end;
  Stretch(const AverageWindows& windows, std::int64_t first, std::int64_t out, std::int64_t most) : end(first) {
    for (; end < out; ++end) {
      const Span s = windows.inside[end];
      if (s.end <= s.first) continue;
      if (columns.end == 0) columns = s;
      if (end > first && s.end - columns.first > most) break;
      columns.end = std::max(columns.end, s.end);
    }
  }
};

}  // namespace tandem::lib
