// index_select, index_add, index_get, index_put: runtime/lib/indexing/index_blocks.cpp. Writes that may meet are sorted
// by place, so that those to one place are neighbours, in their order.
#include <string>

#include "runtime/lib/cuda/indices.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/radix_sort.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

using tandem::lib::IndexRange;
using tandem::lib::leastIndex;

const Source& source() {
  static const std::string text = std::string(kCombineText) + kIndexBlocksText;
  static const Source source("index_blocks", text.c_str());
  return source;
}

/// Index tensors of one shape for the dims from `first` on of an array of this shape.
struct Indices {
  std::string_view op;
  std::span<const ArrayView> tensors;
  DimsRef shape;
  std::int64_t first;
  IndexRange range;

  [[nodiscard]] std::int64_t count() const { return tensors[0].numel(); }
  [[nodiscard]] std::size_t dim(std::size_t k) const { return static_cast<std::size_t>(first) + k; }
  void check() const {
    for (const ArrayView& t : tensors) {
      TANDEM_CHECK(t.shape == tensors[0].shape, op, ": index tensors of different shapes");
      indexType(op, t);
    }
  }
  Fault* fault(const LibraryCall& call, std::size_t k) const {
    return expectIndices(call, op, range, first + static_cast<std::int64_t>(k), shape[dim(k)]);
  }
};

/// Queues the places that index tensors name together, `none` for wrong ones: sums of strides, in units of `unit`
/// elements. `positions`, if there are such, become 0, 1, ...
void findPlaces(const LibraryCall& call, const Indices& indices, DimsRef strides, std::int64_t unit, std::int64_t none,
                std::int64_t* places, std::int64_t* positions) {
  for (std::size_t k = 0; k < indices.tensors.size(); ++k) {
    const ArrayView& index = indices.tensors[k];
    const std::int64_t size = indices.shape[indices.dim(k)];
    launch(source().kernel("indexPlaces", {{"ELEMENT", "uint8"}, {"INDEX", indexType(indices.op, index)}}),
           elementwise(index.numel()), walk<1>(index.shape, {index.strides}), index.data,
           leastIndex(indices.range, size), size, strides[indices.dim(k)] / unit, none, std::int32_t{k == 0}, places,
           k + 1 == indices.tensors.size() ? positions : nullptr, indices.fault(call, k));
  }
}

/// out[o, j, i] = x[o, place of j, i].
void readBlocks(const LibraryCall& call, const ArrayView& x, const Indices& indices) {
  const ArrayView& out = call.outputs[0];
  indices.check();
  const std::int64_t count = indices.count();
  if (out.numel() == 0 && count == 0) return;
  const auto first = static_cast<std::size_t>(indices.first);
  const std::size_t n = indices.tensors.size();
  DimsRef outerShape = DimsRef(x.shape).first(first);
  DimsRef innerShape = DimsRef(x.shape).subspan(first + n);
  Dims outerStrides = DimsRef(x.strides).first(first);
  Dims innerStrides = DimsRef(x.strides).subspan(first + n);
  Dims placeStrides = x.strides;
  // Blocks that are dense are moved in wide units, all counts being multiples of them.
  auto item = static_cast<std::int64_t>(itemSize(x.dtype));
  std::int64_t unit = item;
  auto inner = walk<1>(innerShape, {innerStrides});
  if (isContiguous(innerShape, innerStrides) && inner.numel > 1) {
    Dims counts = placeStrides;
    counts.push_back(inner.numel);
    for (std::size_t d = first + n; d < x.shape.size(); ++d) counts[d] = 0;
    for (std::size_t d = 0; d < first; ++d)
      if (x.shape[d] == 1) counts[d] = 0;
    const void* addresses[] = {x.data, out.data};
    unit = std::max(unit, unitOf(item, counts, addresses));
    const std::int64_t wide = unit / item;
    const Dims size{inner.numel / wide};
    const Dims one{1};
    inner = walk<1>(size, {one});
    for (std::int64_t& s : outerStrides) s /= wide;
    for (std::int64_t& s : placeStrides) s /= wide;
  }
  const auto outer = walk<1>(outerShape, {outerStrides});
  const Grid grid = elementwise(outer.numel * count * inner.numel);
  const ArrayView& index = indices.tensors[0];
  if (n == 1 && index.contiguous() && out.numel() > 0) {
    const std::int64_t size = indices.shape[first];
    return launch(
        source().kernel("readIndexed", {{"ELEMENT", unitType(unit)}, {"INDEX", indexType(indices.op, index)}}), grid,
        outer, inner, index.data, count, leastIndex(indices.range, size), size, placeStrides[first], x.data, out.data,
        indices.fault(call, 0));
  }
  constexpr std::int64_t kNone = INT64_MIN;
  const Workspace places(static_cast<std::size_t>(count) * sizeof(std::int64_t));
  auto* list = places.as<std::int64_t>();
  findPlaces(call, indices, placeStrides, 1, kNone, list, nullptr);
  launch(source().kernel("readPlaces", {{"ELEMENT", unitType(unit)}}), grid, outer, inner, list, count, kNone, x.data,
         out.data);
}

/// A copy of x with `values` (in the shape outer + index shape + inner) added at or written to the places.
void writeBlocks(const LibraryCall& call, const ArrayView& x, const ArrayView& values, const Indices& indices,
                 bool accumulate, const ArrayView& out) {
  indices.check();
  copyUnlessSame(x, out);
  const std::int64_t count = indices.count();
  if (count == 0) return;
  const auto first = static_cast<std::size_t>(indices.first);
  const std::size_t n = indices.tensors.size();
  const std::int64_t inner = numelOf(DimsRef(x.shape).subspan(first + n));
  const std::int64_t blocks = numelOf(DimsRef(x.shape).subspan(first, n));
  const Workspace placeMemory(static_cast<std::size_t>(count) * sizeof(std::int64_t));
  const Workspace positionMemory(static_cast<std::size_t>(count) * sizeof(std::int64_t));
  auto* places = placeMemory.as<std::int64_t>();
  auto* positions = positionMemory.as<std::int64_t>();
  // Wrong indices are reported also where there is nothing to write.
  Dims strides = contiguousStrides(out.shape);
  findPlaces(call, indices, strides, std::max<std::int64_t>(inner, 1), blocks, places, positions);
  if (out.numel() == 0) return;
  const std::size_t indexRank = indices.tensors[0].shape.size();
  auto part = [&](std::size_t from, std::size_t length) {
    return walk<1>(DimsRef(values.shape).subspan(from, length), {DimsRef(values.strides).subspan(from, length)});
  };
  const auto outerWalk = part(0, first);
  const auto indexWalk = part(first, indexRank);
  const auto innerWalk = part(first + indexRank, values.shape.size() - first - indexRank);
  const Grid grid = elementwise(outerWalk.numel * count * inner);
  const DType t = out.dtype;
  const How how = howOf(accumulate ? How::Sum : How::Last, t);
  if (how == How::Sum && (t == DType::Int32 || t == DType::Int64))
    return launch(source().kernel("addPlaces", {{"ELEMENT", unitType(t)}, {"ATOMIC", "1"}}), grid, places, count,
                  blocks, blocks, inner, outerWalk, indexWalk, innerWalk, values.data, out.data);
  sortPairs(reinterpret_cast<std::uint64_t*>(places), positions, 1, count, bitsOf(static_cast<std::uint64_t>(blocks)));
  launch(source().kernel("writePlaces", {{"ELEMENT", how == How::Last ? unitType(t) : typeName(t)},
                                         {"HOW", std::to_string(static_cast<int>(how))}}),
         grid, places, positions, count, blocks, blocks, inner, outerWalk, indexWalk, innerWalk, values.data, out.data);
}

}  // namespace

void index_select(const LibraryCall& call) {
  const ArrayView x = atLeast1d(call.inputs[0]);
  const std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  readBlocks(call, x, {"index_select", call.inputs.subspan(1, 1), x.shape, dim, IndexRange::Slices});
}

void index_add(const LibraryCall& call) {
  const ArrayView x = atLeast1d(call.inputs[0]);
  const ArrayView out = atLeast1d(call.outputs[0]);
  if (out.numel() == 0) return;
  const std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  const Indices indices{"index_add", call.inputs.subspan(1, 1), out.shape, dim, IndexRange::Slices};
  // One index is a block of size 1 along the dim, also where it is 0-d.
  ArrayView values = atLeast1d(call.inputs[2]);
  const ArrayView index = atLeast1d(indices.tensors[0]);
  Indices rows = indices;
  rows.tensors = {&index, 1};
  writeBlocks(call, x, values, rows, true, out);
}

void index_get(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  AttrReader attrs(call.attrs);
  const std::int64_t first = attrs.integer();
  const std::size_t n = call.inputs.size() - 1;
  const IndexRange range = attrs.boolean() ? IndexRange::Flat : IndexRange::Wrapped;
  if (tandem::lib::anyIndexServes(x.shape, first, n, call.outputs[0].numel())) return;
  readBlocks(call, x, {"index", call.inputs.subspan(1, n), x.shape, first, range});
}

void index_put(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  AttrReader attrs(call.attrs);
  const std::int64_t first = attrs.integer();
  const std::size_t n = call.inputs.size() - 2;
  const bool accumulate = attrs.boolean();
  const IndexRange range = attrs.boolean() ? IndexRange::Flat : IndexRange::Wrapped;
  if (tandem::lib::anyIndexServes(out.shape, first, n, out.numel())) return;
  const Indices indices{"index_put", call.inputs.subspan(2, n), out.shape, first, range};
  const auto f = static_cast<std::size_t>(first);
  Dims shape = DimsRef(x.shape).first(f);
  shape.append(indices.tensors[0].shape.begin(), indices.tensors[0].shape.end());
  const DimsRef inner = DimsRef(x.shape).subspan(f + n);
  shape.append(inner.begin(), inner.end());
  ArrayView values = call.inputs[1];
  values.strides = broadcastStrides(values.shape, values.strides, shape);
  values.shape = shape;
  writeBlocks(call, x, values, indices, accumulate, out);
}

namespace {

const Registered here{
    {"index_select", &index_select}, {"index_add", &index_add}, {"index_get", &index_get}, {"index_put", &index_put}};

}  // namespace

}  // namespace tandem::cuda::lib
