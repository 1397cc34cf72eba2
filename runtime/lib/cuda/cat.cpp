// cat: contiguous inputs are joined by one kernel, kRuns at a time; of others each is copied into its part.
#include <algorithm>
#include <vector>

#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kMovement("movement", kMovementText);
constexpr std::size_t kRuns = 64;

struct Runs {
  std::int64_t count = 0;
  std::int64_t ends[kRuns] = {};
  const void* from[kRuns] = {};
};

/// Of contiguous inputs, in every block of the output that ends with the dim.
void joinRuns(const std::vector<const ArrayView*>& inputs, const ArrayView& out, std::size_t d) {
  const auto item = static_cast<std::int64_t>(itemSize(out.dtype));
  Dims lengths;
  std::vector<const void*> addresses{out.data};
  for (const ArrayView* x : inputs) {
    lengths.push_back(numelOf(DimsRef(x->shape).subspan(d)));
    addresses.push_back(x->data);
  }
  const std::int64_t unit = unitOf(item, lengths, addresses);
  const std::int64_t wide = unit / item;
  const std::int64_t outer = numelOf(DimsRef(out.shape).first(d));
  const std::int64_t block = numelOf(DimsRef(out.shape).subspan(d)) / wide;
  const Function& kernel = kMovement.kernel("joinRuns", {{"ELEMENT", unitType(unit)}, {"RUNS", std::to_string(kRuns)}});
  std::int64_t first = 0;
  for (std::size_t i = 0; i < inputs.size();) {
    Runs runs;
    std::int64_t width = 0;
    for (; i < inputs.size() && runs.count < static_cast<std::int64_t>(kRuns); ++i, ++runs.count) {
      width += lengths[i] / wide;
      runs.ends[runs.count] = width;
      runs.from[runs.count] = inputs[i]->data;
    }
    launch(kernel, elementwise(outer * width), runs, outer, width, block, first, out.data);
    first += width;
  }
}

}  // namespace

void cat(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(out.shape.size()));
  const auto d = static_cast<std::size_t>(dim);
  // An empty operand adds nothing; one of shape [0] need not even have the others' rank.
  std::vector<const ArrayView*> inputs;
  for (const ArrayView& x : call.inputs)
    if (x.numel() != 0) inputs.push_back(&x);
  if (std::ranges::all_of(inputs, [](const ArrayView* x) { return x->contiguous(); })) return joinRuns(inputs, out, d);
  std::int64_t at = 0;
  for (const ArrayView* x : inputs) {
    copyArray(*x, {out.as<unsigned char>() + static_cast<std::size_t>(at * out.strides[d]) * itemSize(out.dtype),
                   out.dtype, x->shape, out.strides});
    at += x->shape[d];
  }
}

namespace {

const Registered here{{"cat", &cat}};

}  // namespace

}  // namespace tandem::cuda::lib
