// gather, scatter, scatter_add: one index an element. Two writes meet only where they agree in all dims but one, so
// the lines along that dim are independent of each other, and each is walked in order.
#include <array>

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
  auto d = static_cast<std::size_t>(dim);
  std::int64_t n = index.shape[d];
  if (list.count() == 0) return;
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

void scatter_add(const LibraryCall& call) {
  ArrayView x = atLeast1d(call.inputs[0]);
  ArrayView index = atLeast1d(call.inputs[1]);
  ArrayView src = atLeast1d(call.inputs[2]);
  ArrayView out = atLeast1d(call.outputs[0]);
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  auto d = static_cast<std::size_t>(dim);
  IndexList list("scatter_add", index, dim, x.shape[d]);
  withType(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Accumulator<T> sums(x, out);
    alongLines(index, list, out.strides, src.strides, dim,
               [from = src.as<T>(), to = sums.data(), stride = out.strides[d]](std::int64_t line, std::int64_t at,
                                                                               std::int64_t s) {
                 auto& sum = to[line + at * stride];
                 sum = addElements(sum, Element<T>::load(from[s]));
               });
    sums.finish();
  });
}

}  // namespace tandem::lib
