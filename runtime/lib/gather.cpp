// gather, scatter, scatter_add, scatter_combine: one index an element. Two writes meet only where they agree in all
// dims but one, so the lines along that dim are independent of each other, and each is walked in order.
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

/// Calls each(dst offset, index, src offset) for every element of `index`, line by line along `dim`. `dst` and `src`
/// have the rank of `index`.
template <class Each>
void alongLines(const ArrayView& index, const IndexList& list, const Dims& dst, const Dims& src, std::int64_t dim,
                Each each) {
  if (list.count() == 0) return;
  auto d = static_cast<std::size_t>(dim);
  std::int64_t n = index.shape[d];
  Dims lines = without(index.shape, dim);
  Dims dstLine = without(dst, dim);
  Dims srcLine = without(src, dim);
  Dims indexStrides = contiguousStrides(index.shape);
  Dims indexLine = without(indexStrides, dim);
  parallelFor(numelOf(lines), kSerialElements / n + 1, [&](std::int64_t begin, std::int64_t end) {
    Walker<3> at(lines, {dstLine, srcLine, indexLine}, begin);
    for (std::int64_t line = begin; line < end; ++line, at.next())
      for (std::int64_t i = 0; i < n; ++i)
        each(at.offset[0], list[at.offset[2] + i * indexStrides[d]], at.offset[1] + i * src[d]);
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
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    alongLines(index, list, x.strides, out.strides, dim,
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
  withSize(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    alongLines(index, list, out.strides, src.strides, dim,
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
  withType(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Accumulator<T> results(x, out);
    alongLines(index, list, out.strides, src.strides, dim,
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
