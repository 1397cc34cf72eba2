// gather, scatter, scatter_add, scatter_combine: one index an element. Two writes meet only where they agree in all
// dims but one, so the lines along that dim are independent of each other, and each is walked in order.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/accumulator.h"
#include "runtime/lib/indexing/index_list.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

Dims without(const Dims& dims, std::size_t dim, std::size_t last) {
  Dims kept;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (d != dim && d != last) kept.push_back(dims[d]);
  return kept;
}

/// The dim whose neighbours are lines along `dim` that lie side by side: the last one, or where that is `dim` itself,
/// and lines have one element, as of a loss that picks a class, the one before.
std::size_t sideDim(const Dims& shape, std::size_t dim) {
  const std::size_t last = shape.size() - 1;
  return dim == last && dim > 0 && shape[dim] == 1 ? last - 1 : last;
}

/// The indices of lines along a dim. Those that are the same along another dim, as of an expanded tensor, are held
/// once; lines that lie side by side read theirs from a row, or have the same.
struct LineIndices {
  LineIndices(const char* op, const ArrayView& index, std::int64_t dim, std::int64_t size)
      : shape(index.shape), held(once(index, static_cast<std::size_t>(dim))),
        list(op, held, dim, size, IndexRange::Elements) {}

  Dims shape;
  ArrayView held;
  IndexList list;

 private:
  static ArrayView once(ArrayView index, std::size_t dim) {
    for (std::size_t d = 0; d < index.shape.size(); ++d)
      if (d != dim && index.strides[d] == 0 && index.shape[d] > 1) index.shape[d] = 1;
    return index;
  }
};

/// The lines of indices along a dim, and where they begin in two arrays of its rank, `dst` and `src`. Lines along
/// another dim than the last lie side by side in sheets: `across` of them, next to each other in memory.
struct Lines {
  Lines(const LineIndices& index, const Dims& dst, const Dims& src, std::int64_t dim) {
    auto d = static_cast<std::size_t>(dim);
    const std::size_t last = sideDim(index.shape, d);
    Dims steps = contiguousStrides(index.held.shape);
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (index.held.shape[k] != index.shape[k]) steps[k] = 0;
    shape = without(index.shape, d, last);
    dstStrides = without(dst, d, last);
    srcStrides = without(src, d, last);
    indexStrides = without(steps, d, last);
    length = index.shape[d];
    indexStep = steps[d];
    srcStep = src[d];
    if (d == last) return;
    across = index.shape[last];
    indexAcross = steps[last];
    dstAcross = dst[last];
    srcAcross = src[last];
    const std::int64_t share = (across + numThreads() - 1) / numThreads();
    if (indexAcross == 0) band = std::max(band, (share + kLine - 1) / kLine * kLine);
  }
  Dims shape, dstStrides, srcStrides, indexStrides;
  std::int64_t length, indexStep, srcStep;
  std::int64_t across = 1, indexAcross = 0, dstAcross = 0, srcAcross = 0;
  static constexpr std::int64_t kLine = 64;
  /// Lines of a sheet that a thread writes at once: whole cache lines; of rows with one index as much as there is.
  std::int64_t band = kLine;
  [[nodiscard]] std::int64_t bands() const { return (across + band - 1) / band; }

  using Offsets = std::array<std::int64_t, 3>;
  /// Calls each(dst offset, index, src offset) for places [i, iEnd) of the line at `at`.
  template <class Each>
  void visitLine(const IndexList& list, const Offsets& at, std::int64_t i, std::int64_t iEnd, Each each) const {
    const std::int64_t* index = list.data() + at[2];
    // Not members, which writes of integers might change.
    const std::int64_t dst = at[0], src = at[1], step = indexStep, from = srcStep;
    if (step == 1 && from == 1)
      for (; i < iEnd; ++i) each(dst, index[i], src + i);
    else
      for (; i < iEnd; ++i) each(dst, index[i * step], src + i * from);
  }
  /// The same of lines [j, jEnd) of the sheet at `at`, and of indices alone that `takes` is true for.
  template <class Each, class Takes>
  void visitSheet(const IndexList& list, const Offsets& at, std::int64_t i, std::int64_t iEnd, std::int64_t j,
                  std::int64_t jEnd, Each each, Takes takes) const {
    const std::int64_t* index = list.data() + at[2];
    const std::int64_t dst = at[0], src = at[1], step = indexStep, from = srcStep;
    const std::int64_t beside = indexAcross, right = dstAcross, down = srcAcross;
    if (beside == 0 && right == 1 && down == 1) {  // rows as wholes
      for (; i < iEnd; ++i)
        if (const std::int64_t place = index[i * step]; takes(place))
          for (std::int64_t k = j; k < jEnd; ++k) each(dst + k, place, src + i * from + k);
      return;
    }
    for (; i < iEnd; ++i)
      for (std::int64_t k = j; k < jEnd; ++k)
        if (const std::int64_t place = index[i * step + k * beside]; takes(place))
          each(dst + k * right, place, src + i * from + k * down);
  }
  [[nodiscard]] std::int64_t elements() const { return numelOf(shape) * length * across; }
  /// Are they the rows of a matrix of indices, and of elements beside each other in `src`?
  [[nodiscard]] bool areRows() const { return shape.size() == 1 && across == 1 && indexStep == 1 && srcStep == 1; }
  [[nodiscard]] Walker<3> walker(std::int64_t sheet) const {
    return Walker<3>(shape, {dstStrides, srcStrides, indexStrides}, sheet);
  }
};

constexpr auto takesAll = [](std::int64_t) { return true; };

/// Reads: every element is independent of the others, and they are cut anywhere.
template <class Each>
void readLines(const Lines& lines, const IndexList& list, Each each) {
  std::int64_t across = lines.across;
  std::int64_t size = lines.length * across;
  parallelFor(numelOf(lines.shape) * size, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    Walker<3> at = lines.walker(begin / size);
    for (std::int64_t sheet = begin / size; sheet * size < end; ++sheet, at.next()) {
      std::int64_t first = std::max(begin - sheet * size, std::int64_t{0});
      std::int64_t stop = std::min(end - sheet * size, size);
      if (across == 1) {
        lines.visitLine(list, at.offset, first, stop, each);
        continue;
      }
      for (std::int64_t i = first / across; i * across < stop; ++i)
        lines.visitSheet(list, at.offset, i, i + 1, std::max(first - i * across, std::int64_t{0}),
                         std::min(stop - i * across, across), each, takesAll);
    }
  });
}

// Of so many places in a line, which the cache holds, one thread writes them sooner than several find out which are
// theirs.
constexpr std::int64_t kNearPlaces = std::int64_t{1} << 18;

/// Writes to lines of `size` elements, those to one place in order. Of few and long lines each thread writes a part of
/// the places, so that the order is kept whatever their number.
template <class Each>
void writeLines(const Lines& lines, const IndexList& list, std::int64_t size, Each each) {
  const std::int64_t band = lines.band, bands = lines.bands();
  const std::int64_t tasks = numelOf(lines.shape) * bands;
  const bool near = lines.across == 1 && size <= kNearPlaces;
  if (near || lines.elements() < 2 * kSerialElements || tasks >= numThreads()) {
    const std::int64_t work = lines.length * std::min(band, lines.across);
    return parallelFor(tasks, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
      if (lines.areRows()) {
        // Of a matrix, which may be short.
        const std::int64_t length = lines.length, dst = lines.dstStrides[0], src = lines.srcStrides[0];
        // Not what is captured, which writes of bytes might change.
        const std::int64_t step = lines.indexStrides[0];
        const std::int64_t* index = list.data() + begin * step;
        const Each write = each;
        for (std::int64_t row = begin; row < end; ++row, index += step)
          for (std::int64_t i = 0; i < length; ++i) write(row * dst, index[i], row * src + i);
        return;
      }
      Walker<3> at = lines.walker(begin / bands);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t j = task % bands * band;
        if (lines.across == 1)
          lines.visitLine(list, at.offset, 0, lines.length, each);
        else
          lines.visitSheet(list, at.offset, 0, lines.length, j, std::min(lines.across, j + band), each, takesAll);
        if (j + band >= lines.across) at.next();
      }
    });
  }
  const std::int64_t parts = numThreads();
  parallelFor(tasks * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t low = size * (task % parts) / parts;
      const std::int64_t high = size * (task % parts + 1) / parts;
      const std::int64_t j = task / parts % bands * band;
      lines.visitSheet(list, lines.walker(task / parts / bands).offset, 0, lines.length, j,
                       std::min(lines.across, j + band), each,
                       [=](std::int64_t place) { return place >= low && place < high; });
    }
  });
}

}  // namespace

void gather(const LibraryCall& call) {
  ArrayView x = atLeast1d(call.inputs[0]);
  ArrayView index = atLeast1d(call.inputs[1]);
  ArrayView out = atLeast1d(call.outputs[0]);
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  auto d = static_cast<std::size_t>(dim);
  const LineIndices indices("gather", index, dim, x.shape[d]);
  if (index.numel() == 0) return;
  const Lines lines(indices, x.strides, out.strides, dim);
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    readLines(lines, indices.list,
              [from = x.as<T>(), to = out.as<T>(), stride = x.strides[d]](
                  std::int64_t line, std::int64_t at, std::int64_t o) { to[o] = from[line + at * stride]; });
  });
}

void scatter(const LibraryCall& call) {
  ArrayView x = atLeast1d(call.inputs[0]);
  ArrayView index = atLeast1d(call.inputs[1]);
  ArrayView src = atLeast1d(call.inputs[2]);
  ArrayView out = atLeast1d(call.outputs[0]);
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  auto d = static_cast<std::size_t>(dim);
  const LineIndices indices("scatter", index, dim, x.shape[d]);
  copyArray(x, out);
  if (index.numel() == 0) return;
  const Lines lines(indices, out.strides, src.strides, dim);
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    writeLines(lines, indices.list, x.shape[d],
               [from = src.as<T>(), to = out.as<T>(), stride = out.strides[d]](
                   std::int64_t line, std::int64_t at, std::int64_t s) { to[line + at * stride] = from[s]; });
  });
}

namespace {

// What a result becomes. Integers wrap when they are added and multiplied, which is the same for those with a sign and
// those without.
struct Add {
  template <class Signed, class Unsigned>
  using Integer = Unsigned;
  template <class C>
  C operator()(C a, C b) const {
    return addElements(a, b);
  }
};
struct Multiply {
  template <class Signed, class Unsigned>
  using Integer = Unsigned;
  template <class C>
  C operator()(C a, C b) const {
    return mulElements(a, b);
  }
};
/// The one that `Prefers` says, a of equal ones; NaN before all. Without branches.
template <class Prefers>
struct Preferred {
  template <class Signed, class Unsigned>
  using Integer = Signed;
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>) {
      // As bits: compilers make branches of a choice of floating elements.
      using Bits = std::conditional_t<sizeof(C) == 4, std::uint32_t, std::uint64_t>;
      const Bits kept = Bits{0} - static_cast<Bits>(Prefers()(a, b) | (a != a));
      return std::bit_cast<C>((std::bit_cast<Bits>(a) & kept) | (std::bit_cast<Bits>(b) & ~kept));
    } else {
      return Prefers()(a, b) ? a : b;
    }
  }
};
using Least = Preferred<std::less_equal<>>;
using Greatest = Preferred<std::greater_equal<>>;

/// One result and one source, of a dtype that is so rare here, or of so few, that no loop is compiled for it.
using CombineFn = void (*)(void* result, const void* source);
template <class T, class Combine>
void combineOne(void* result, const void* source) {
  auto& to = *static_cast<T*>(result);
  to = Element<T>::store(Combine()(Element<T>::load(to), Element<T>::load(*static_cast<const T*>(source))));
}

/// The operands of a scatter that combines: `out` has a copy of the input.
struct Scattered {
  const LineIndices& indices;
  ArrayView& src;
  const ArrayView& out;
  std::int64_t dim;

  [[nodiscard]] Lines lines() const { return {indices, out.strides, src.strides, dim}; }
  /// Combines elements of `C` at `from` into those at `to`, line by line, each in order.
  template <class C, class Combine>
  void elements(const Lines& lines, const void* from, void* to) const {
    const auto d = static_cast<std::size_t>(dim);
    writeLines(lines, indices.list, out.shape[d],
               [from = static_cast<const C*>(from), to = static_cast<C*>(to),
                stride = out.strides[d]](std::int64_t line, std::int64_t at, std::int64_t s) {
                 C& result = to[line + at * stride];
                 result = Combine()(result, from[s]);
               });
  }
  template <class Combine>
  void halves() const {
    const Contiguous dense(src);
    src = dense.view();
    auto run = [&]<class T>(TypeTag<T>) {
      // Of one source a line each place is rounded once where it is: a loss picks one class of many.
      if (indices.shape[static_cast<std::size_t>(dim)] == 1) return each(lines(), &combineOne<T, Combine>);
      const Accumulator<T> results(out, out);
      elements<float, Combine>(lines(), Widened<T>(src).data(), results.data());
      results.finish();
    };
    out.dtype == DType::Float16 ? run(TypeTag<Half>()) : run(TypeTag<BFloat16>());
  }
  /// The same of elements that only `combine` knows.
  void each(const Lines& lines, CombineFn combine) const {
    const auto d = static_cast<std::size_t>(dim);
    const auto item = static_cast<std::int64_t>(itemSize(out.dtype));
    writeLines(lines, indices.list, out.shape[d],
               [=, from = static_cast<const std::byte*>(src.data), to = static_cast<std::byte*>(out.data),
                stride = out.strides[d]](std::int64_t line, std::int64_t at, std::int64_t s) {
                 combine(to + (line + at * stride) * item, from + s * item);
               });
  }
};

template <class Combine>
void combineInto(const Scattered& s) {
  if (s.out.dtype == DType::Float16 || s.out.dtype == DType::BFloat16) return s.halves<Combine>();
  const Lines lines = s.lines();
  auto run = [&]<class C>(TypeTag<C>) { s.elements<C, Combine>(lines, s.src.data, s.out.data); };
  switch (s.out.dtype) {
  case DType::Bool:
  case DType::UInt8:
    return run(TypeTag<std::uint8_t>());
  case DType::Int8:
    if constexpr (std::is_unsigned_v<typename Combine::template Integer<std::int8_t, std::uint8_t>>)
      return run(TypeTag<std::uint8_t>());
    else
      return s.each(lines, &combineOne<std::int8_t, Combine>);
  case DType::Int16:
    return s.each(lines, &combineOne<std::int16_t, Combine>);
  case DType::Int32:
    return run(TypeTag<typename Combine::template Integer<std::int32_t, std::uint32_t>>());
  case DType::Int64:
    return run(TypeTag<typename Combine::template Integer<std::int64_t, std::uint64_t>>());
  case DType::Float32:
    return run(TypeTag<float>());
  default:
    return run(TypeTag<double>());
  }
}

enum class How { Add, Multiply, Least, Greatest };

/// A copy of the input combined with the sources.
void scatterCombined(const char* op, const LibraryCall& call, How how) {
  ArrayView x = atLeast1d(call.inputs[0]);
  ArrayView index = atLeast1d(call.inputs[1]);
  ArrayView src = atLeast1d(call.inputs[2]);
  ArrayView out = atLeast1d(call.outputs[0]);
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  const LineIndices indices(op, index, dim, x.shape[static_cast<std::size_t>(dim)]);
  copyArray(x, out);
  if (index.numel() == 0) return;
  const Scattered scattered{indices, src, out, dim};
  // Of bools, which are 0 and 1: or, and.
  const bool isBool = x.dtype == DType::Bool;
  if (how == How::Add && !isBool) return combineInto<Add>(scattered);
  if (how == How::Multiply && !isBool) return combineInto<Multiply>(scattered);
  if (how == How::Add || how == How::Greatest) return combineInto<Greatest>(scattered);
  combineInto<Least>(scattered);
}

}  // namespace

void scatter_add(const LibraryCall& call) { scatterCombined("scatter_add", call, How::Add); }

void scatter_combine(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  attrs.integer();
  const std::int64_t reduce = attrs.integer();
  scatterCombined("scatter_reduce", call, reduce == 0 ? How::Multiply : reduce == 1 ? How::Least : How::Greatest);
}

}  // namespace tandem::lib
