// index_select, index_add, index_get, index_put: one index a block. The array is seen as outer x indexed x inner; the
// indexed dims become one list of offsets, so that one tensor of indices and several are the same work.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/accumulator.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/indexing/index_list.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// The offsets, in elements, that index tensors stand for: sum over k of index_k * strides[first + k].
class Offsets {
 public:
  [[gnu::noinline]] Offsets(const char* op, std::span<const ArrayView> indices, DimsRef shape, DimsRef strides,
                            std::int64_t first, IndexRange range)
      : count_(indices[0].numel()) {
    if (indices.size() == 1 && strides[static_cast<std::size_t>(first)] == 1) {
      // The indices are the offsets.
      plain_.emplace(op, indices[0], first, shape[static_cast<std::size_t>(first)], range);
      values_ = plain_->data();
      return;
    }
    std::int64_t* sums = sums_.emplace(count_).data();
    values_ = sums;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      std::int64_t dim = first + static_cast<std::int64_t>(k);
      auto d = static_cast<std::size_t>(dim);
      TANDEM_CHECK(indices[k].shape == indices[0].shape, op, ": index tensors of different shapes");
      IndexList list(op, indices[k], dim, shape[d], range);
      parallelFor(count_, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) sums[i] = (k == 0 ? 0 : sums[i]) + list[i] * strides[d];
      });
    }
  }
  /// `count` of them, which live as long as `all`.
  Offsets(const Offsets& all, std::int64_t first, std::int64_t count) : count_(count), values_(all.values_ + first) {}
  std::int64_t count() const { return count_; }
  std::int64_t operator[](std::int64_t i) const { return values_[i]; }
  const std::int64_t* data() const { return values_; }
  ArrayView view() const { return {const_cast<std::int64_t*>(values_), DType::Int64, {count_}, {1}}; }
  /// How much more each is than the one before, if that is one number for all.
  std::optional<std::int64_t> step() const {
    return plain_ && plain_->step() ? plain_->step() : stepOf(values_, count_);
  }

 private:
  std::int64_t count_;
  const std::int64_t* values_ = nullptr;
  std::optional<IndexList> plain_;
  std::optional<Scratch<std::int64_t>> sums_;
};

/// out[o, j] = x[o, offsets[j]].
template <class T>
void readElements(const T* x, const Offsets& offsets, DimsRef outer, DimsRef outerStrides, T* out) {
  std::int64_t count = offsets.count();
  // A slice, or a slice read backwards: no need to look at each offset.
  const std::optional<std::int64_t> step = offsets.step();
  parallelFor(numelOf(outer) * count, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    Walker<1> at(outer, {outerStrides}, begin / count);
    for (std::int64_t i = begin; i < end; at.next()) {
      std::int64_t j = i % count;
      std::int64_t length = std::min(count - j, end - i);
      const T* row = x + at.offset[0];
      T* to = out + i;
      if (step == 1) {
        copyBytes(to, row + offsets[j], static_cast<std::size_t>(length) * sizeof(T));
      } else if (step == -1) {
        const T* last = row + offsets[j];
        for (std::int64_t k = 0; k < length; ++k) to[k] = last[-k];
      } else if (step) {
        const T* first = row + offsets[j];
        for (std::int64_t k = 0; k < length; ++k) to[k] = first[k * *step];
      } else {
        const std::int64_t* from = offsets.data() + j;
#pragma GCC unroll 8
        for (std::int64_t k = 0; k < length; ++k) to[k] = row[from[k]];
      }
      i += length;
    }
  });
}

/// out[o, j, i] = x[o, offsets[j], i], where the dims [first, first + n) of x are those the offsets stand for.
[[gnu::noinline]] void readBlocks(const ArrayView& x, const Offsets& offsets, std::size_t first, std::size_t n,
                                  const ArrayView& out) {
  if (out.numel() == 0) return;
  DimsRef outer = DimsRef(x.shape).first(first);
  DimsRef outerStrides = DimsRef(x.strides).first(first);
  ArrayView block{nullptr, x.dtype, DimsRef(x.shape).subspan(first + n), DimsRef(x.strides).subspan(first + n)};
  ArrayView to{nullptr, x.dtype, block.shape, contiguousStrides(block.shape)};
  std::int64_t inner = block.numel();
  std::int64_t count = offsets.count();
  bool dense = block.contiguous();
  constexpr std::int64_t kShort = 64;  // elements, of a block whose copy is no call
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (inner == 1) return readElements(x.as<T>(), offsets, outer, outerStrides, out.as<T>());
    parallelFor(numelOf(outer) * count, grainOf(inner), [&](std::int64_t begin, std::int64_t end) {
      Walker<1> at(outer, {outerStrides}, begin / count);
      ArrayView piece = block;
      ArrayView target = to;
      for (std::int64_t i = begin, j = begin % count; i < end; ++i) {
        const T* from = x.as<T>() + at.offset[0] + offsets[j];
        T* dst = out.as<T>() + i * inner;
        if (dense && inner <= kShort) {
          copyRow(from, inner, dst);
        } else if (dense) {
          copyBytes(dst, from, static_cast<std::size_t>(inner) * sizeof(T));
        } else {
          piece.data = const_cast<T*>(from);
          target.data = dst;
          copyArray(piece, target);
        }
        if (++j == count) j = 0, at.next();
      }
    });
  });
}

/// The dims of the result, that of the offsets as one, in the order in which x has them, the innermost last. Those that
/// are no step in x come first.
Dims orderInMemory(const ArrayView& x, std::size_t first, std::size_t n) {
  auto stepOfDim = [&](std::size_t d) {
    return x.shape[d] == 1 || x.strides[d] == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(x.strides[d]);
  };
  Dims steps, order;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (d > first && d < first + n)
      steps.back() = std::min(steps.back(), stepOfDim(d));
    else
      steps.push_back(stepOfDim(d));
  }
  for (std::size_t k = 0; k < steps.size(); ++k) {
    order.push_back(static_cast<std::int64_t>(k));
    for (std::size_t at = k; at > 0 && steps[order[at - 1]] < steps[order[at]]; --at)
      std::swap(order[at - 1], order[at]);
  }
  return order;
}

// Out of line: each is a dozen copies of lists otherwise.
[[gnu::noinline]] ArrayView viewOf(void* data, DType dtype, const Dims& shape, const Dims& strides) {
  return {data, dtype, shape, strides};
}

/// As readBlocks, in the order of x, of pieces of the result that a cache holds until they are put in their places.
void readAsItLies(const ArrayView& x, const Offsets& offsets, std::size_t first, std::size_t n, const ArrayView& out,
                  const Dims& order) {
  constexpr std::int64_t kPiece = 256 * 1024;  // bytes, of several places of the outermost dim
  const auto size = static_cast<std::int64_t>(itemSize(x.dtype));
  Dims shape, from, to;   // of the result, its dims in that order, and what it is read from
  std::size_t place = 0;  // of the offsets
  for (const std::int64_t d : order) {
    const auto of = static_cast<std::size_t>(d);
    if (of == first) place = shape.size();
    const std::size_t in = of <= first ? of : of + n - 1;
    shape.push_back(of == first ? offsets.count() : x.shape[in]);
    from.push_back(of == first ? 0 : x.strides[in]);
    std::int64_t step = of < first ? offsets.count() : 1;
    for (std::size_t k = in + 1; k < x.shape.size(); ++k)
      if (k < first || k >= first + n) step *= x.shape[k];
    to.push_back(of == first ? numelOf(DimsRef(x.shape).subspan(first + n)) : step);
  }
  const std::int64_t outer = shape[0], inner = out.numel() / outer;
  const std::int64_t each = std::clamp<std::int64_t>(kPiece / size / inner, 1, outer);
  parallelTiles((outer + each - 1) / each, [&](std::int64_t i) {
    const std::int64_t begin = i * each;
    Dims part = shape;
    part[0] = std::min(each, outer - begin);
    const Scratch<char> memory(part[0] * inner * size);
    const ArrayView made = viewOf(memory.data(), x.dtype, part, contiguousStrides(part));
    readBlocks(viewOf(x.as<char>() + begin * from[0] * size, x.dtype, part, from),
               Offsets(offsets, place == 0 ? begin : 0, part[place]), place, 1, made);
    copyArray(made, viewOf(out.as<char>() + begin * to[0] * size, x.dtype, part, to));
  });
}

/// readBlocks of memory in whatever order.
[[gnu::noinline]] void readAnyOrder(const ArrayView& x, const Offsets& offsets, std::size_t first, std::size_t n,
                                    const ArrayView& out) {
  constexpr std::int64_t kLeast = 1024;
  constexpr std::int64_t kLargeBlock = 4096;  // is put in order by itself
  if (out.numel() >= kLeast && !x.contiguous()) {
    const Dims order = orderInMemory(x, first, n);
    const std::int64_t inner = numelOf(DimsRef(x.shape).subspan(first + n));
    const bool innermost = order.back() == static_cast<std::int64_t>(first);
    if (!std::ranges::is_sorted(order) && (innermost || inner < kLargeBlock))
      return readAsItLies(x, offsets, first, n, out, order);
  }
  readBlocks(x, offsets, first, n, out);
}

/// Calls each(destination, source, length) for runs of out[o, offsets[j], i] and values[o, j, i], both dense. Runs of
/// different positions (o, i) are independent; those of one position come in the order of j.
template <class Each>
void writeBlocks(std::int64_t outer, std::int64_t outerStride, std::int64_t inner, const Offsets& offsets, Each each) {
  std::int64_t count = offsets.count();
  if (count == 0 || inner == 0) return;
  if (inner == 1) {
    const std::int64_t* places = offsets.data();
    parallelFor(outer, grainOf(count), [=](std::int64_t begin, std::int64_t end) {
      const Each write = each;  // not what is captured, which writes of bytes might change
      const std::int64_t n = count, step = outerStride;
      const std::int64_t* at = places;
      for (std::int64_t o = begin; o < end; ++o)
        for (std::int64_t j = 0; j < n; ++j) write(o * step + at[j], o * n + j, 1);
    });
    return;
  }
  parallelFor(outer * inner, grainOf(count), [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      std::int64_t o = begin / inner;
      std::int64_t i = begin % inner;
      std::int64_t length = std::min(inner - i, end - begin);
      for (std::int64_t j = 0; j < count; ++j)
        each(o * outerStride + offsets[j] + i, (o * count + j) * inner + i, length);
      begin += length;
    }
  });
}

/// The positions of a list of offsets by the place (offset / inner) that they name, in their order within a place: a
/// group for every place, or, where few are named, for each that is.
class ByPlace {
 public:
  /// Are so few of the places named that sorting the list is less work than looking at each place?
  static bool few(std::int64_t count, std::int64_t places) { return count <= places / 16; }

  ByPlace(const Offsets& offsets, std::int64_t inner, std::int64_t places)
      : ends_(few(offsets.count(), places) ? offsets.count() + 1 : places + 1), positions_(offsets.count()) {
    std::int64_t count = offsets.count();
    if (few(count, places)) {
      std::int64_t* begin = positions_.data();
      std::iota(begin, begin + count, std::int64_t{0});
      std::sort(begin, begin + count, [&](std::int64_t a, std::int64_t b) {
        return offsets[a] < offsets[b] || (offsets[a] == offsets[b] && a < b);
      });
      for (std::int64_t j = 1; j <= count; ++j)
        if (j == count || offsets[begin[j]] != offsets[begin[j - 1]]) ends_[groups_++] = j;
      return;
    }
    groups_ = places;
    std::fill_n(ends_.data(), places + 1, 0);
    for (std::int64_t j = 0; j < count; ++j) ++ends_[offsets[j] / inner + 1];
    for (std::int64_t p = 0; p < places; ++p) ends_[p + 1] += ends_[p];
    // Each place's begin moves to its end.
    for (std::int64_t j = 0; j < count; ++j) positions_[ends_[offsets[j] / inner]++] = j;
  }
  std::int64_t groups() const { return groups_; }
  std::span<const std::int64_t> operator[](std::int64_t group) const {
    std::int64_t begin = group == 0 ? 0 : ends_[group - 1];
    return {positions_.data() + begin, static_cast<std::size_t>(ends_[group] - begin)};
  }

 private:
  std::int64_t groups_ = 0;
  Scratch<std::int64_t> ends_, positions_;
};

/// to = x + the rows of `positions`, `step` apart, of `length` elements.
template <class T, std::int64_t Width>
void sumOfRows(const T* x, const T* rows, std::span<const std::int64_t> positions, std::int64_t step,
               std::int64_t length, T* to) {
  std::array<typename Element<T>::Compute, Width> sums;
  std::int64_t i = 0;
  for (; i + Width <= length; i += Width) {
    for (std::int64_t k = 0; k < Width; ++k) sums[k] = Element<T>::load(x[i + k]);
    for (std::int64_t j : positions)
      for (std::int64_t k = 0; k < Width; ++k) sums[k] = addElements(sums[k], Element<T>::load(rows[j * step + i + k]));
    for (std::int64_t k = 0; k < Width; ++k) to[i + k] = Element<T>::store(sums[k]);
  }
  if constexpr (Width > 1) sumOfRows<T, 1>(x + i, rows + i, positions, step, length - i, to + i);
}

constexpr std::int64_t kBand = 256;  // of a row: a place that most blocks go to is shared by threads

/// The same of at most kBand elements of a half type, widened a row at a time.
template <class T>
void sumOfHalves(const T* x, const T* rows, std::span<const std::int64_t> positions, std::int64_t step,
                 std::int64_t length, T* to) {
  std::array<float, kBand> sums, terms;
  widen(x, sums.data(), length);
  for (std::int64_t j : positions) {
    widen(rows + j * step, terms.data(), length);
    for (std::int64_t k = 0; k < length; ++k) sums[k] += terms[k];
  }
  narrow(sums.data(), to, length);
}

/// out = x + the blocks of `values` that go to each place, in their order: a place is read and written once. Where few
/// are named `out` holds x already, and the others are not touched.
template <class T>
void addByPlace(const T* x, const T* values, const Offsets& offsets, std::int64_t outer, std::int64_t places,
                std::int64_t inner, T* out) {
  ByPlace blocks(offsets, inner, places);
  const std::int64_t groups = blocks.groups();
  if (groups == 0) return;
  std::int64_t bands = (inner + kBand - 1) / kBand;
  std::int64_t work = std::min(inner, kBand) * (1 + offsets.count() / groups);
  parallelFor(outer * groups * bands, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t group = task / bands % groups;
      std::int64_t o = task / bands / groups;
      std::int64_t i = task % bands * kBand;
      std::int64_t length = std::min(kBand, inner - i);
      std::span<const std::int64_t> positions = blocks[group];
      std::int64_t first = positions.empty() ? group * inner : offsets[positions[0]];
      std::int64_t at = o * places * inner + first + i;
      const T* rows = values + o * offsets.count() * inner + i;
      if (positions.empty()) {
        if (x == out) continue;
        copyBytes(out + at, x + at, static_cast<std::size_t>(length) * sizeof(T));
      } else if constexpr (Widened<T>::kWide) {
        sumOfHalves(x + at, rows, positions, inner, length, out + at);
      } else {
        sumOfRows<T, 16>(x + at, rows, positions, inner, length, out + at);
      }
    }
  });
}

// Counts in pieces: of so many additions, at least, and at least so many for each place; and how many at most.
constexpr std::int64_t kCountTogether = 256 * 1024;
constexpr std::int64_t kCountEach = 8;
constexpr std::int64_t kMaxCounts = 16;
// Places that are named again soon wait for each other: neighbours are added to sums of their own, where all of these
// take no more bytes than this.
constexpr std::int64_t kSideBySide = 4;
constexpr std::int64_t kSideBytes = 16 * 1024;

/// What sums of elements of a type are taken in: they wrap, with a sign as without.
template <class Stored>
using SumsOf = std::conditional_t<std::is_same_v<Stored, std::int8_t>, std::uint8_t, Stored>;

/// sums[k][at[j]] += terms[j * step] for n places, those of one k by themselves.
template <class T, class I>
void addSideBySide(const I* at, std::int64_t n, const T* terms, std::int64_t step, T* sums, std::int64_t apart) {
  auto add = [&](std::int64_t j, T* to, T term) TANDEM_INLINED { to[at[j]] = addElements(to[at[j]], term); };
  std::int64_t j = 0;
  if (step == 0) {
    const T one = terms[0];
    for (; j + kSideBySide <= n; j += kSideBySide)
      for (std::int64_t k = 0; k < kSideBySide; ++k) add(j + k, sums + k * apart, one);
  } else {
    for (; j + kSideBySide <= n; j += kSideBySide)
      for (std::int64_t k = 0; k < kSideBySide; ++k) add(j + k, sums + k * apart, terms[j + k]);
  }
  for (; j < n; ++j) add(j, sums, terms[j * step]);
}

/// out = x + the values at the places of a contiguous index, of integers, which wrap to one result in any order: where
/// places are few pieces of the values side by side, each into sums of its own. False, and nothing written, where an
/// index is out of range; `known` to be inside, they are not looked at.
template <class T>
bool addByPieces(const ArrayView& x, const ArrayView& values, const ArrayView& index, bool known,
                 const ArrayView& out) {
  const std::int64_t count = index.numel();
  const std::int64_t places = out.numel();
  const std::int64_t pieces =
      std::max<std::int64_t>(1, std::min(kMaxCounts, count / std::max(kCountTogether, kCountEach * places)));
  const std::int64_t bytes = kSideBySide * places * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t sides = bytes <= kSideBytes && count >= kSideBySide * kCountEach * places ? kSideBySide : 1;
  const bool one = std::ranges::all_of(values.strides, [](std::int64_t stride) { return stride == 0; });
  std::optional<Contiguous> list;
  const T* terms = one ? values.as<T>() : list.emplace(values).as<T>();
  const std::int64_t apart = sides == 1 ? 0 : places;
  auto add = [&](std::int64_t begin, std::int64_t end, T* to) {
    auto addSome = [&](const auto* at, std::int64_t from, std::int64_t n) {
      addSideBySide(at, n, one ? terms : terms + from, one ? 0 : 1, to, apart);
    };
    if constexpr (std::is_same_v<T, std::int64_t>) {  // as counts are
      if (index.dtype == DType::UInt8) return addSome(index.as<const std::uint8_t>() + begin, begin, end - begin);
      if (index.dtype == DType::Int32) return addSome(index.as<const std::int32_t>() + begin, begin, end - begin);
    }
    forStretches(index, begin, end, addSome);
  };
  T* to = out.as<T>();
  if (pieces * sides == 1) {
    if (!known && !indicesInside(index, 0, count, places)) return false;
    copyArray(x, out);
    add(0, count, to);
    return true;
  }
  Scratch<T> sums(pieces * sides * places);
  std::atomic<bool> inside{true};
  parallelTiles(pieces, [&](std::int64_t piece) {
    T* own = sums.data() + piece * sides * places;
    std::fill_n(own, sides * places, T{});
    const std::int64_t begin = count * piece / pieces, end = count * (piece + 1) / pieces;
    if (known || indicesInside(index, begin, end - begin, places))
      add(begin, end, own);
    else
      inside.store(false, std::memory_order_relaxed);
  });
  if (!inside.load(std::memory_order_relaxed)) return false;
  copyArray(x, out);
  for (std::int64_t piece = 0; piece < pieces * sides; ++piece)
    for (std::int64_t i = 0; i < places; ++i) to[i] = addElements(to[i], sums[piece * places + i]);
  return true;
}

bool addIntegers(const ArrayView& x, const ArrayView& values, const ArrayView& index, bool known,
                 const ArrayView& out) {
  return withType(out.dtype, [&](auto tag) {
    using T = SumsOf<typename decltype(tag)::Type>;
    if constexpr (std::is_integral_v<T>)
      return addByPieces<T>(x, values, index, known, out);
    else
      return false;
  });
}

/// A copy of x with `values` (in the shape outer + index shape + inner) added at or written to the offsets.
void writeInto(const ArrayView& x, const ArrayView& values, const Offsets& offsets, std::size_t first, std::size_t n,
               bool accumulate, const ArrayView& out) {
  if (out.numel() == 0) return;
  std::int64_t outer = numelOf(DimsRef(x.shape).first(first));
  std::int64_t inner = numelOf(DimsRef(x.shape).subspan(first + n));
  std::int64_t outerStride = numelOf(DimsRef(x.shape).subspan(first));
  if (accumulate) {
    if (outer == 1 && inner == 1 && addIntegers(x, values, offsets.view(), true, out)) return;
    withType(x.dtype, [&](auto tag) {
      using T = SumsOf<typename decltype(tag)::Type>;
      Contiguous source(values);
      // Sorting pays where blocks are wider than their index and many, or would be rounded one by one.
      std::int64_t places = outerStride / inner;
      const bool few = ByPlace::few(offsets.count(), places);
      if (Widened<T>::kWide ? few || inner >= 16 : inner >= 16 && offsets.count() >= places / 4) {
        if (few) copyArray(x, out);
        Contiguous old(few ? out : x);
        return addByPlace(old.as<const T>(), source.as<const T>(), offsets, outer, places, inner, out.as<T>());
      }
      Accumulator<T> sums(x, out);
      auto* to = sums.data();
      Widened<T> terms(source.view());
      const auto* from = terms.data();
      writeBlocks(outer, outerStride, inner, offsets, [=](std::int64_t d, std::int64_t s, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) to[d + i] = addElements(to[d + i], from[s + i]);
      });
      sums.finish();
    });
    return;
  }
  Contiguous source(values);
  copyArray(x, out);
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* to = out.as<T>();
    const T* from = source.as<T>();
    writeBlocks(outer, outerStride, inner, offsets, [=](std::int64_t d, std::int64_t s, std::int64_t length) {
      copyBytes(to + d, from + s, static_cast<std::size_t>(length) * sizeof(T));
    });
  });
}

}  // namespace

void index_select(const LibraryCall& call) {
  ArrayView x = atLeast1d(call.inputs[0]);
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  Offsets offsets("index_select", call.inputs.subspan(1, 1), x.shape, x.strides, dim, IndexRange::Slices);
  readAnyOrder(x, offsets, static_cast<std::size_t>(dim), 1, call.outputs[0]);
}

void index_add(const LibraryCall& call) {
  ArrayView x = atLeast1d(call.inputs[0]);
  ArrayView out = atLeast1d(call.outputs[0]);
  if (out.numel() == 0) return;
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  const ArrayView& index = call.inputs[1];
  // Of a list of integers the index is read as it is.
  if (out.shape.size() == 1 && isInteger(index.dtype) && index.contiguous() && index.numel() > 0 &&
      addIntegers(x, call.inputs[2], index, false, out))
    return;
  Offsets offsets("index_add", call.inputs.subspan(1, 1), out.shape, out.strides, dim, IndexRange::Slices);
  writeInto(x, call.inputs[2], offsets, static_cast<std::size_t>(dim), 1, true, out);
}

void index_get(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  AttrReader attrs(call.attrs);
  std::int64_t first = attrs.integer();
  std::size_t n = call.inputs.size() - 1;
  IndexRange range = attrs.boolean() ? IndexRange::Flat : IndexRange::Wrapped;
  if (anyIndexServes(x.shape, first, n, call.outputs[0].numel())) return;
  Offsets offsets("index", call.inputs.subspan(1, n), x.shape, x.strides, first, range);
  readAnyOrder(x, offsets, static_cast<std::size_t>(first), n, call.outputs[0]);
}

void index_put(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  AttrReader attrs(call.attrs);
  std::int64_t first = attrs.integer();
  std::size_t n = call.inputs.size() - 2;
  bool accumulate = attrs.boolean();
  IndexRange range = attrs.boolean() ? IndexRange::Flat : IndexRange::Wrapped;
  std::span<const ArrayView> indices = call.inputs.subspan(2, n);
  if (anyIndexServes(out.shape, first, n, out.numel())) return;
  Offsets offsets("index_put", indices, out.shape, out.strides, first, range);
  auto f = static_cast<std::size_t>(first);
  Dims shape = DimsRef(x.shape).first(f);
  shape.append(indices[0].shape.begin(), indices[0].shape.end());
  DimsRef inner = DimsRef(x.shape).subspan(f + n);
  shape.append(inner.begin(), inner.end());
  ArrayView values = call.inputs[1];
  values.strides = broadcastStrides(values.shape, values.strides, shape);
  values.shape = shape;
  writeInto(x, values, offsets, f, n, accumulate, out);
}

}  // namespace tandem::lib
