// gather, scatter, scatter_add, scatter_combine: one index an element. Two writes meet only where they agree in all
// dims but one, so the lines along that dim are independent of each other, and each is walked in order.
#include <algorithm>
#include <array>
#include <functional>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/index_list.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

Dims without(const Dims& dims, std::int64_t dim) {
  Dims d = dims;
  d.erase(static_cast<std::size_t>(dim));
  return d;
}

/// The lines of `index` along a dim, and where they begin in two arrays of its rank, `dst` and `src`.
struct Lines {
  Lines(const ArrayView& index, const Dims& dst, const Dims& src, std::int64_t dim)
      : shape(without(index.shape, dim)), dstStrides(without(dst, dim)), srcStrides(without(src, dim)),
        indexStrides(without(contiguousStrides(index.shape), dim)), length(index.shape[dim]),
        indexStep(contiguousStrides(index.shape)[dim]), srcStep(src[dim]) {}
  Dims shape, dstStrides, srcStrides, indexStrides;
  std::int64_t length, indexStep, srcStep;

  /// Calls each(dst offset, index, src offset) for elements begin .. end, counted line by line.
  template <class Each>
  void walk(const IndexList& list, std::int64_t begin, std::int64_t end, Each each) const {
    // One element a line, as of a loss that picks a class.
    if (length == 1 && shape.size() == 1) {
      for (std::int64_t i = begin; i < end; ++i) each(i * dstStrides[0], list[i * indexStrides[0]], i * srcStrides[0]);
      return;
    }
    Walker<3> at(shape, {dstStrides, srcStrides, indexStrides}, begin / length);
    for (; begin < end; at.next()) {
      std::int64_t first = begin % length;
      std::int64_t stop = std::min(length, first + end - begin);
      for (std::int64_t i = first; i < stop; ++i)
        each(at.offset[0], list[at.offset[2] + i * indexStep], at.offset[1] + i * srcStep);
      begin += stop - first;
    }
  }
};

/// Reads: every element is independent of the others.
template <class Each>
void readLines(const Lines& lines, const IndexList& list, Each each) {
  parallelFor(list.count(), kSerialElements,
              [&](std::int64_t begin, std::int64_t end) { lines.walk(list, begin, end, each); });
}

/// Writes to lines of `size` elements, those to one place in order. Of few and long lines each thread writes a part of
/// the places, so that the order is kept whatever their number.
template <class Each>
void writeLines(const Lines& lines, const IndexList& list, std::int64_t size, Each each) {
  std::int64_t n = lines.length;
  std::int64_t count = numelOf(lines.shape);
  std::int64_t parts = list.count() < 2 * kSerialElements || count >= numThreads() ? 1 : numThreads();
  parallelFor(count * parts, parts > 1 ? 1 : kSerialElements / n + 1, [&](std::int64_t begin, std::int64_t end) {
    if (parts == 1) return lines.walk(list, begin * n, end * n, each);
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t line = task / parts;
      std::int64_t part = task % parts;
      std::int64_t low = size * part / parts;
      std::int64_t high = size * (part + 1) / parts;
      lines.walk(list, line * n, (line + 1) * n, [&](std::int64_t to, std::int64_t at, std::int64_t from) {
        if (at >= low && at < high) each(to, at, from);
      });
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
  IndexList list("gather", index, dim, x.shape[d]);
  if (list.count() == 0) return;
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    readLines(Lines(index, x.strides, out.strides, dim), list,
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
  IndexList list("scatter", index, dim, x.shape[d]);
  copyArray(x, out);
  if (list.count() == 0) return;
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    writeLines(Lines(index, out.strides, src.strides, dim), list, x.shape[d],
               [from = src.as<T>(), to = out.as<T>(), stride = out.strides[d]](
                   std::int64_t line, std::int64_t at, std::int64_t s) { to[line + at * stride] = from[s]; });
  });
}

namespace {

/// A copy of the input combined with the sources, line by line, each in order.
template <class Combine>
void scatterCombined(const char* op, const LibraryCall& call, Combine combine) {
  ArrayView x = atLeast1d(call.inputs[0]);
  ArrayView index = atLeast1d(call.inputs[1]);
  ArrayView src = atLeast1d(call.inputs[2]);
  ArrayView out = atLeast1d(call.outputs[0]);
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  auto d = static_cast<std::size_t>(dim);
  IndexList list(op, index, dim, x.shape[d]);
  if (list.count() == 0) return copyArray(x, out);
  withType(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Accumulator<T> results(x, out);
    writeLines(Lines(index, out.strides, src.strides, dim), list, x.shape[d],
               [from = src.as<T>(), to = results.data(), stride = out.strides[d],
                combine](std::int64_t line, std::int64_t at, std::int64_t s) {
                 auto& result = to[line + at * stride];
                 result = combine(result, Element<T>::load(from[s]));
               });
    results.finish();
  });
}

/// The one that `first` prefers; NaN before all.
template <class C, class First>
C preferred(C a, C b, First first) {
  if constexpr (std::is_floating_point_v<C>)
    if (a != a || b != b) return a != a ? a : b;
  return first(b, a) ? b : a;
}

}  // namespace

void scatter_add(const LibraryCall& call) {
  scatterCombined("scatter_add", call, [](auto a, auto b) { return addElements(a, b); });
}

void scatter_combine(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  attrs.integer();
  switch (attrs.integer()) {
  case 0:
    return scatterCombined("scatter_reduce", call, [](auto a, auto b) { return mulElements(a, b); });
  case 1:
    return scatterCombined("scatter_reduce", call, [](auto a, auto b) { return preferred(a, b, std::less<>()); });
  default:
    return scatterCombined("scatter_reduce", call, [](auto a, auto b) { return preferred(a, b, std::greater<>()); });
  }
}

}  // namespace tandem::lib
