// gather, scatter, scatter_add, scatter_combine: runtime/lib/indexing/gather.cpp. Short lines are looked through by
// each of their elements; longer ones are sorted by place, so that elements of one place are neighbours, in their
// order.
#include <string>

#include "runtime/lib/cuda/indices.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/radix_sort.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

using tandem::lib::IndexRange;

const Source& gatherSource() {
  static const std::string text = std::string(kCombineText) + kGatherText;
  static const Source source("gather", text.c_str());
  return source;
}

constexpr std::int64_t kShort = 32;  // elements of a line

Dims without(const Dims& dims, std::size_t dim) {
  Dims kept;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (d != dim) kept.push_back(dims[d]);
  return kept;
}
Dims withZero(Dims strides, std::size_t dim) {
  strides[dim] = 0;
  return strides;
}

/// A scatter's operands; `out` has a copy of the input.
struct Scattered {
  Scattered(std::string_view op, const LibraryCall& call)
      : index(atLeast1d(call.inputs[1])), src(atLeast1d(call.inputs[2])), out(atLeast1d(call.outputs[0])),
        indexText(indexType(op, index)),
        dim(static_cast<std::size_t>(
            wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(out.shape.size())))),
        length(index.shape[dim]), size(out.shape[dim]), lines(without(index.shape, dim)),
        rowMajor(contiguousStrides(index.shape)) {
    if (index.numel() > 0) where = expectIndices(call, op, IndexRange::Elements, static_cast<std::int64_t>(dim), size);
    copyUnlessSame(atLeast1d(call.inputs[0]), out);
  }
  ArrayView index, src, out;
  std::string indexText;
  std::size_t dim;
  std::int64_t length, size;
  Dims lines, rowMajor;
  Fault* where = nullptr;
};

void scatterShort(const Scattered& s, const std::string& type, const std::string& how) {
  const Dims i = without(s.index.strides, s.dim);
  const Dims p = without(s.rowMajor, s.dim);
  const Dims o = without(s.out.strides, s.dim);
  const Dims f = without(s.src.strides, s.dim);
  const auto lines = walk<4>(s.lines, {i, p, o, f});
  const bool across = s.dim + 1 < s.index.shape.size();
  launch(gatherSource().kernel("scatterShort", {{"ELEMENT", type}, {"INDEX", s.indexText}, {"HOW", how}}),
         elementwise(s.index.numel()), lines, s.index.data, s.index.strides[s.dim], s.rowMajor[s.dim], s.length, s.size,
         s.src.data, s.src.strides[s.dim], s.out.data, s.out.strides[s.dim], static_cast<std::int32_t>(across),
         s.where);
}

template <class Key>
void scatterSorted(const Scattered& s, const std::string& type, const std::string& how) {
  const auto n = static_cast<std::size_t>(s.index.numel());
  const bool small = s.length <= INT32_MAX;
  const Workspace keyMemory(n * sizeof(Key));
  const Workspace valueMemory(n * (small ? 4 : 8));
  auto* keys = keyMemory.as<Key>();
  void* values = valueMemory.as<void>();
  const std::string key = sizeof(Key) == 4 ? "uint32" : "uint64";
  const std::string value = small ? "uint32" : "int64";
  const std::initializer_list<Define> defines = {
      {"ELEMENT", type}, {"INDEX", s.indexText}, {"HOW", how}, {"KEY", key}, {"VALUE", value}};
  const Dims i = without(s.index.strides, s.dim);
  const Dims p = without(s.rowMajor, s.dim);
  const Dims o = without(s.out.strides, s.dim);
  const Dims f = without(s.src.strides, s.dim);
  const auto grid = elementwise(s.index.numel());
  launch(gatherSource().kernel("scatterPairs", defines), grid, walk<2>(s.lines, {i, p}), s.index.data,
         s.index.strides[s.dim], s.rowMajor[s.dim], s.length, s.size, keys, values, s.where);
  const std::int64_t lines = numelOf(s.lines);
  const int bits = bitsOf(static_cast<std::uint64_t>(s.size));
  if (small)
    sortPairs(keys, static_cast<std::uint32_t*>(values), lines, s.length, bits);
  else
    sortPairs(keys, static_cast<std::int64_t*>(values), lines, s.length, bits);
  launch(gatherSource().kernel("scatterRuns", defines), grid, walk<2>(s.lines, {o, f}), keys, values, s.length, s.size,
         s.src.data, s.src.strides[s.dim], s.out.data, s.out.strides[s.dim]);
}

void scatterAtomic(const Scattered& s) {
  const Dims o = withZero(s.out.strides, s.dim);
  const auto w = walk<4>(s.index.shape, {s.index.strides, s.rowMajor, o, s.src.strides});
  const std::string word = itemSize(s.out.dtype) == 4 ? "uint32" : "uint64";
  launch(gatherSource().kernel("scatterAtomic", {{"ELEMENT", word}, {"INDEX", s.indexText}, {"ATOMIC", "1"}}),
         elementwise(s.index.numel()), w, s.index.data, s.src.data, s.out.data, s.out.strides[s.dim], s.size, s.where);
}

void scatterAll(std::string_view op, const LibraryCall& call, How how) {
  const Scattered s(op, call);
  if (s.index.numel() == 0) return;
  const DType t = s.out.dtype;
  how = howOf(how, t);
  const std::string type = how == How::Last ? unitType(t) : typeName(t);
  const std::string number = std::to_string(static_cast<int>(how));
  if (s.length <= kShort) return scatterShort(s, type, number);
  if (how == How::Sum && (t == DType::Int32 || t == DType::Int64)) return scatterAtomic(s);
  if (s.size <= INT32_MAX) return scatterSorted<std::uint32_t>(s, type, number);
  scatterSorted<std::uint64_t>(s, type, number);
}

}  // namespace

void gather(const LibraryCall& call) {
  const ArrayView x = atLeast1d(call.inputs[0]);
  const ArrayView index = atLeast1d(call.inputs[1]);
  const ArrayView& out = call.outputs[0];
  const std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  const auto d = static_cast<std::size_t>(dim);
  const std::string indices = indexType("gather", index);
  if (index.numel() == 0) return;
  const Dims lines = withZero(x.strides, d);
  launch(gatherSource().kernel("gather", {{"ELEMENT", unitType(x.dtype)}, {"INDEX", indices}}),
         elementwise(index.numel()), walk<2>(index.shape, {index.strides, lines}), index.data, x.data, out.data,
         x.strides[d], x.shape[d], expectIndices(call, "gather", IndexRange::Elements, dim, x.shape[d]));
}

void scatter(const LibraryCall& call) { scatterAll("scatter", call, How::Last); }
void scatter_add(const LibraryCall& call) { scatterAll("scatter_add", call, How::Sum); }
void scatter_combine(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  attrs.integer();
  const std::int64_t kind = attrs.integer();
  scatterAll("scatter_reduce", call, kind == 0 ? How::Product : kind == 1 ? How::Least : How::Greatest);
}

namespace {

const Registered here{
    {"gather", &gather}, {"scatter", &scatter}, {"scatter_add", &scatter_add}, {"scatter_combine", &scatter_combine}};

}  // namespace

}  // namespace tandem::cuda::lib
