#include "runtime/device/cpu/dense_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/kernel/kernel_signature.h"
#include "runtime/lib/half_vectors.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,f16c")  // which generated code needs too

namespace tandem::cpu {
namespace {

constexpr std::int64_t kTogether = 128;  // rows: their lanes stay in the first cache
constexpr std::int64_t kAhead = 8;       // elements of a row whose lines are fetched ahead
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kFewestRows = 16;
constexpr std::int64_t kWide = 8;  // elements at a time

template <class T>
void addTo(float* sums, const T* x) {
  _mm256_storeu_ps(sums, _mm256_add_ps(_mm256_loadu_ps(sums), lib::floatsAt(x)));
}
void addTo(double* sums, const double* x) {
  for (int half = 0; half < 2; ++half, sums += kWide / 2, x += kWide / 2)
    _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), _mm256_loadu_pd(x)));
}

/// Row R of all begins at element R * length of the order, in the midst of a block mostly: its head, up to the end of
/// that block, goes on from where the row before came to.
template <class C>
class DenseRows {
 public:
  DenseRows(const ArrayView& x, C* partials)
      : x_(x), outer_(DimsRef(x.shape).first(x.shape.size() - 2)), rows_(x.shape[x.shape.size() - 2]),
        length_(x.shape.back()), step_(x.strides.back()), all_(numelOf(outer_) * rows_), partials_(partials),
        carried_(length_ % kTrailingBlock == 0 ? 0 : all_ * kTrailingLanes) {}

  void run() {
    const std::int64_t tiles = (rows_ + kTogether - 1) / kTogether;
    // What a row carries to the next one's head may come from another tile.
    for (const bool heads : {false, true}) {
      if (heads && length_ % kTrailingBlock == 0) return;
      parallelFor(numelOf(outer_) * tiles, 1, [this, tiles, heads](std::int64_t begin, std::int64_t end) {
        const lib::Scratch<C> lanes(kTrailingLanes * kTogether);
        for (std::int64_t i = begin; i < end; ++i) tile(i / tiles, i % tiles * kTogether, lanes.data(), heads);
      });
    }
  }

 private:
  struct Tile {
    const char* data;
    std::int64_t row, height;  // of all rows
    C* lanes;                  // of element c at line c mod 32, a row in each column
    C& at(std::int64_t lane, std::int64_t w) const { return lanes[lane * kTogether + w]; }
  };

  /// The length of a row's head.
  [[nodiscard]] std::int64_t headOf(std::int64_t row) const { return -(row * length_) & (kTrailingBlock - 1); }

  /// The heads of a tile's rows, or all blocks that begin in them.
  void tile(std::int64_t outer, std::int64_t row, C* lanes, bool heads) {
    const lib::Walker<1> place(outer_, {DimsRef(x_.strides).first(outer_.size())}, outer);
    const std::int64_t offset = (place.offset[0] + row) * static_cast<std::int64_t>(itemSize(x_.dtype));
    const Tile t{x_.as<char>() + offset, outer * rows_ + row, std::min(kTogether, rows_ - row), lanes};
    // Rows by the lengths of their heads: the order in which their blocks end.
    std::array<std::int64_t, kTogether> order;
    for (std::int64_t w = 0; w < t.height; ++w) {
      std::int64_t i = w;
      for (const std::int64_t head = headOf(t.row + w); i > 0 && headOf(t.row + order[i - 1]) > head; --i)
        order[i] = order[i - 1];
      order[i] = w;
    }
    for (std::int64_t w = 0; w < t.height; ++w)
      for (std::int64_t j = 0; j < kTrailingLanes; ++j)
        t.at(j, w) = heads && headOf(t.row + w) != 0 ? carried(t.row + w - 1, t.row + w, j) : C(-0.0);
    std::int64_t c = 0;
    for (std::int64_t before = 0; before < (heads ? kTrailingBlock : length_); before += kTrailingBlock)
      for (std::int64_t i = 0; i < t.height; ++i) {
        const std::int64_t w = order[i], head = headOf(t.row + w), end = before + head;
        if (end >= length_ || (heads && head == 0)) continue;
        take(t, c, end);
        c = end;
        if (heads || before > 0) finish(t, w, end);
        for (std::int64_t j = 0; j < kTrailingLanes; ++j) t.at(j, w) = C(-0.0);
      }
    if (heads) return;
    take(t, c, length_);
    for (std::int64_t w = 0; w < t.height; ++w) {
      const std::int64_t r = t.row + w;
      if (r + 1 == all_ || headOf(r + 1) == 0)
        finish(t, w, length_);
      else
        for (std::int64_t j = 0; j < kTrailingLanes; ++j) carried(r, r, j) = t.at(j, w);
    }
  }

  /// The lane that row `before` left of the block in which element j of `row` lies, for that element.
  C& carried(std::int64_t before, std::int64_t row, std::int64_t j) {
    return carried_[before * kTrailingLanes + ((row * length_ + j) & (kTrailingLanes - 1))];
  }

  /// Elements [from, to) of all rows of the tile.
  void take(const Tile& t, std::int64_t from, std::int64_t to) const {
    if constexpr (std::is_same_v<C, float>) {
      if (x_.dtype == DType::Float16) return take<lib::Half>(t, from, to);
      if (x_.dtype == DType::BFloat16) return take<lib::BFloat16>(t, from, to);
    }
    take<C>(t, from, to);
  }
  template <class T>
  [[gnu::noinline]] void take(const Tile& t, std::int64_t from, std::int64_t to) const {
    const T* x = reinterpret_cast<const T*>(t.data) + from * step_;
    const std::int64_t whole = t.height & -kWide, ahead = kAhead * step_;
    for (std::int64_t c = from; c < to; ++c, x += step_) {
      for (std::int64_t w = 0; w < t.height && c + kAhead < length_; w += kLine / std::int64_t{sizeof(T)})
        __builtin_prefetch(x + ahead + w);
      C* const lanes = &t.at(c & (kTrailingLanes - 1), 0);
#pragma GCC unroll 4
      for (std::int64_t w = 0; w < whole; w += kWide) addTo(lanes + w, x + w);
      if (whole == t.height) continue;
      std::array<T, kWide> last{};
      std::memcpy(last.data(), x + whole, static_cast<std::size_t>(t.height - whole) * sizeof(T));
      addTo(lanes + whole, last.data());
    }
  }

  /// The block of row w that ends before its element `end`, or with the row.
  [[gnu::noinline]] void finish(const Tile& t, std::int64_t w, std::int64_t end) const {
    const std::int64_t begin = (t.row + w) * length_;
    std::array<C, kTrailingLanes> lanes;
    for (std::int64_t j = 0; j < kTrailingLanes; ++j) lanes[(begin + j) & (kTrailingLanes - 1)] = t.at(j, w);
    for (std::int64_t h = kTrailingLanes / 2; h >= 1; h /= 2)
      for (std::int64_t j = 0; j < h; ++j) lanes[j] += lanes[j + h];
    partials_[(begin + end - 1) / kTrailingBlock] = lanes[0];
  }

  const ArrayView& x_;
  DimsRef outer_;
  std::int64_t rows_, length_, step_, all_;
  C* partials_;
  lib::Scratch<C> carried_;
};

}  // namespace

bool areDenseRows(DimsRef shape, DimsRef strides) {
  const std::size_t rank = shape.size();
  return rank >= 2 && strides[rank - 2] == 1 && shape[rank - 2] >= kFewestRows && shape[rank - 1] >= kTrailingBlock;
}

void sumDenseRows(const ArrayView& from, void* partials) {
  if (from.dtype == DType::Float64)
    DenseRows<double>(from, static_cast<double*>(partials)).run();
  else
    DenseRows<float>(from, static_cast<float*>(partials)).run();
}

}  // namespace tandem::cpu
