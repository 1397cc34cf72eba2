#include "runtime/device/cpu/dense_sums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "runtime/device/cpu/reduction_levels.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/kernel_signature.h"
#include "runtime/lib/half_vectors.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,f16c")  // which generated code needs too

namespace tandem::cpu {
namespace {

constexpr std::int64_t kVectors = 8;  // of accumulators in registers
constexpr std::int64_t kVectorBytes = 32;

constexpr std::int64_t kFewest = 2;  // vectors side by side
constexpr std::int64_t kAhead = 8;   // elements of a lane whose lines are fetched ahead
constexpr std::int64_t kLine = 64;

template <class C>
struct VectorOf {
  typedef C Type __attribute__((vector_size(kVectorBytes)));
};
template <class C>
using Vector = typename VectorOf<C>::Type;
template <class C>
constexpr std::int64_t kWide = kVectorBytes / sizeof(C);

template <class C, class T>
[[gnu::always_inline]] inline Vector<C> loadAs(const T* x) {
  Vector<C> v;
  if constexpr (std::is_same_v<T, C>) {
    std::memcpy(&v, x, sizeof v);
  } else {
    const __m256 wide = lib::floatsAt(x);
    std::memcpy(&v, &wide, sizeof v);
  }
  return v;
}

/// Vectors of sums of some lanes, `line` apart.
template <int Vectors, class C>
struct Sums {
  static constexpr int kLanes = kVectors / Vectors;
  Vector<C> v[kLanes][Vectors];

  [[gnu::always_inline]] void load(const C* from, std::int64_t line) {
    forEach([&](int lane, int i) { v[lane][i] = loadAs<C>(from + lane * line + i * kWide<C>); });
  }
  [[gnu::always_inline]] void store(C* to, std::int64_t line) const {
    forEach([&](int lane, int i) { std::memcpy(to + lane * line + i * kWide<C>, &v[lane][i], kVectorBytes); });
  }
  template <class F>
  [[gnu::always_inline]] static void forEach(F f) {
#pragma GCC unroll 8
    for (int lane = 0; lane < kLanes; ++lane)
#pragma GCC unroll 8
      for (int i = 0; i < Vectors; ++i) f(lane, i);
  }
};

/// To the sums of some lanes the `count` elements of each; the offsets of a lane's elements lie one behind the other,
/// and those of the next lane behind them. Of several steps of the dense dim in a block each goes on from where the one
/// before it came to, beside it; all elements are kept at `copies` for them.
template <int Vectors, class T, class C>
[[gnu::noinline]] void addLanes(C* sums, std::int64_t line, const T* x, const std::int64_t* offsets, std::int64_t count,
                                std::int64_t steps, C* copies) {
  using S = Sums<Vectors, C>;
  constexpr std::int64_t kBytes = Vectors * kWide<C> * std::int64_t{sizeof(T)};
  S s;
  s.load(sums, line);
  auto addAll = [&](auto keep) __attribute__((always_inline)) {
    for (std::int64_t k = 0; k < count; ++k) {
#pragma GCC unroll 8
      for (int lane = 0; lane < S::kLanes; ++lane) {
        const T* const from = x + offsets[lane * count + k];
        const char* const next = reinterpret_cast<const char*>(x + offsets[lane * count + k + kAhead]);
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < kBytes; i += kLine) __builtin_prefetch(next + i);
#pragma GCC unroll 8
        for (int i = 0; i < Vectors; ++i) {
          const Vector<C> element = loadAs<C>(from + i * kWide<C>);
          s.v[lane][i] += element;
          if constexpr (keep())
            std::memcpy(copies + ((k * S::kLanes + lane) * Vectors + i) * kWide<C>, &element, kVectorBytes);
        }
      }
    }
  };
  if (steps == 1)
    addAll(std::false_type());
  else
    addAll(std::true_type());
  for (std::int64_t step = 1; step < steps; ++step) {
    s.store(sums + 1, line);
    s.load(sums, line);
    const C* from = copies;
    for (std::int64_t k = 0; k < count; ++k)
      S::forEach([&](int lane, int i) __attribute__((always_inline)) {
        s.v[lane][i] += loadAs<C>(from);
        from += kWide<C>;
      });
  }
  s.store(sums, line);
}

}  // namespace

DenseSums::DenseSums(const ArrayView& rows, std::size_t kept, bool trailing)
    : rows_(rows), kept_(kept), lanes_(columnOrder(trailing).count), block_(columnOrder(trailing).block) {
  Dims shape(DimsRef(rows.shape).subspan(kept));
  Dims strides(DimsRef(rows.strides).subspan(kept));
  collapsePointwise(shape, {&strides, 1});
  const auto dense = static_cast<std::size_t>(std::ranges::find(strides, 1) - strides.begin());
  if (dense == strides.size()) return;
  before_ = Dims(DimsRef(shape).first(dense));
  beforeStrides_ = Dims(DimsRef(strides).first(dense));
  behind_ = Dims(DimsRef(shape).subspan(dense + 1));
  behindStrides_ = Dims(DimsRef(strides).subspan(dense + 1));
  dense_ = shape[dense];
  length_ = numelOf(behind_);
  together_ = std::max(std::int64_t{1}, block_ / length_);
  parts_ = std::max(std::int64_t{1}, length_ / block_);
  if (length_ * together_ != block_ * parts_) return;
  const std::int64_t wide = kVectorBytes / (rows.dtype == DType::Float64 ? 8 : 4);
  std::int64_t vectors = kVectors;
  while (vectors * wide > dense_) vectors /= 2;
  // Of several steps in a block each is added to all, which few beside each other are not worth.
  if (vectors < kFewest || (together_ > 1 && (2 * together_ > vectors || dense_ % (vectors * wide) != 0))) return;
  vectors_ = vectors;
}

/// Those of the elements of one block, or of a step's share of it, lane by lane.
void DenseSums::fillOffsets(std::int64_t part, std::int64_t* offsets) const {
  const std::int64_t all = block_ / together_, each = all / lanes_;
  const std::size_t last = behind_.size() - 1;
  const std::int64_t run = behind_[last], step = behindStrides_[last];
  const std::int64_t first = part * block_;
  lib::Walker<1> at(DimsRef(behind_).first(last), {DimsRef(behindStrides_).first(last)}, first / run);
  for (std::int64_t e = 0, in = first % run, place = 0; e < all; in = 0, at.next())
    for (std::int64_t offset = at.offset[0] + in * step; in < run && e < all; ++in, offset += step) {
      offsets[place] = offset;
      place += (++e & (lanes_ - 1)) != 0 ? each : 1 - (lanes_ - 1) * each;
    }
  std::fill_n(offsets + all, kAhead, offsets[0]);
}

template <class T, class C>
void DenseSums::runAs(C* partials) const {
  const std::int64_t wide = vectors_ * kWide<C>, line = wide + 1, atOnce = kVectors / vectors_;
  const std::int64_t tiles = (dense_ + wide - 1) / wide, before = numelOf(before_);
  const std::int64_t kept = numelOf(DimsRef(rows_.shape).first(kept_)), count = block_ / together_ / lanes_;
  const std::int64_t blocks = before * dense_ * parts_ / together_;  // of a row
  const auto add = vectors_ == 8 ? &addLanes<8, T, C> : vectors_ == 4 ? &addLanes<4, T, C> : &addLanes<2, T, C>;
  parallelFor(
      parts_ * kept * before * tiles, lib::grainOf(block_ / together_ * wide),
      [&](std::int64_t begin, std::int64_t end) {
        const lib::Scratch<std::int64_t> offsets(block_ / together_ + kAhead);
        const lib::Scratch<C> sums(lanes_ * line);
        const lib::Scratch<C> copies(together_ > 1 ? count * kVectors * kWide<C> : 0);
        const std::int64_t perPart = kept * before * tiles;
        for (std::int64_t unit = begin; unit < end; ++unit) {
          const std::int64_t part = unit / perPart, row = unit / (before * tiles) % kept, p = unit / tiles % before;
          if (unit == begin || unit % perPart == 0) fillOffsets(part, offsets.data());
          const lib::Walker<1> rowAt(DimsRef(rows_.shape).first(kept_), {DimsRef(rows_.strides).first(kept_)}, row);
          const lib::Walker<1> pAt(before_, {DimsRef(beforeStrides_)}, p);
          // The last ones are some of those before once more.
          const std::int64_t first = unit % tiles * wide, d = std::min(first, dense_ - wide);
          const T* const x = rows_.as<T>() + rowAt.offset[0] + pAt.offset[0] + d;
          for (std::int64_t lane = 0; lane < lanes_; lane += atOnce) {
            C* const own = &sums[lane * line];
            std::fill_n(own, atOnce * line, C(-0.0));
            add(own, line, x, &offsets[lane * count], count, together_, copies.data());
          }
          for (std::int64_t half = lanes_ / 2; half >= 1; half /= 2)
            for (std::int64_t i = 0; i < half * line; ++i) sums[i] += sums[i + half * line];
          C* const to = partials + row * blocks + p * dense_ * parts_ / together_;
          for (std::int64_t i = first - d + together_ - 1; i < wide; i += together_)
            to[(d + i) / together_ * parts_ + part] = sums[i];
        }
      });
}

void DenseSums::run(void* partials) const {
  switch (rows_.dtype) {
  case DType::Float64:
    return runAs<double>(static_cast<double*>(partials));
  case DType::Float16:
    return runAs<lib::Half>(static_cast<float*>(partials));
  case DType::BFloat16:
    return runAs<lib::BFloat16>(static_cast<float*>(partials));
  default:
    return runAs<float>(static_cast<float*>(partials));
  }
}

}  // namespace tandem::cpu
