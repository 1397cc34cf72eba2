// Shape rules of pools, columns, resampling and attention. Composites have checked the arguments and computed the
// output sizes.
#include <algorithm>

#include "ir/schema/shape_rules.h"
#include "runtime/base/attrs.h"
#include "runtime/base/error.h"

namespace tandem::rules {
namespace {

using Metas = std::span<const TensorMeta>;
using Attrs = std::span<const std::int64_t>;

/// `x` with its last dims of the sizes `size`, or, with `channelsLast`, with those in front of the one before them.
void setLastSizes(TensorMeta& m, const TensorMeta& x, DimsRef size, DType dtype, bool channelsLast) {
  m.shape = x.shape;
  std::size_t to = x.shape.size() - size.size();
  if (channelsLast) m.shape.back() = x.shape[--to];
  for (const std::int64_t n : size) m.shape[to++] = n;
  m.dtype = dtype;
}
/// Of images alone: [N, C] and the dims of windows.
bool channelsLast(const TensorMeta& x, DimsRef size, AttrReader flags) {
  const bool last = flags.boolean(false);
  if (last && x.shape.size() != size.size() + 2) fail("a pool of channels that come last is one of images");
  return last;
}

}  // namespace

void maxPool(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  for (int i = 0; i < 4; ++i) r.list();
  DimsRef size = r.list();
  const bool last = channelsLast(operands[0], size, r);
  setLastSizes(results[0], operands[0], size, operands[0].dtype, last);
  setLastSizes(results[1], operands[0], size, DType::Int64, last);
}

void maxPoolValues(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  for (int i = 0; i < 4; ++i) r.list();
  DimsRef size = r.list();
  setLastSizes(results[0], operands[0], size, operands[0].dtype, channelsLast(operands[0], size, r));
}

void avgPool(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  for (int i = 0; i < 3; ++i) r.list();
  DimsRef size = r.list();
  r.boolean(), r.integer();
  setLastSizes(results[0], operands[0], size, operands[0].dtype, channelsLast(operands[0], size, r));
}

void maxPoolGrad(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  DimsRef size = r.list();
  setLastSizes(results[0], operands[0], size, operands[0].dtype, channelsLast(operands[0], size, r));
}

void avgPoolGrad(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  DimsRef size = r.list();
  for (int i = 0; i < 4; ++i) r.list();
  r.boolean(), r.integer();
  setLastSizes(results[0], operands[0], size, operands[0].dtype, channelsLast(operands[0], size, r));
}

void unfoldWindows(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const Dims& x = operands[0].shape;
  AttrReader r(attrs);
  DimsRef kernel = r.list();
  DimsRef dilation = r.list();
  DimsRef padding = r.list();
  DimsRef stride = r.list();
  std::int64_t places = 1;
  for (std::size_t d = 0; d < 2; ++d)
    places *= (x[2 + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
  results[0].shape = {x[0], x[1] * kernel[0] * kernel[1], places};
  results[0].dtype = operands[0].dtype;
}

void foldWindows(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  DimsRef size = r.list();
  DimsRef kernel = r.list();
  const Dims& x = operands[0].shape;
  results[0].shape = {x[0], x[1] / (kernel[0] * kernel[1]), size[0], size[1]};
  results[0].dtype = operands[0].dtype;
}

void resample(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  std::int64_t dim = r.integer();
  results[0].shape = operands[0].shape;
  results[0].shape[dim] = r.integer();
  results[0].dtype = operands[0].dtype;
}

void gridSample(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  const Dims& grid = operands[1].shape;
  const DimsRef places(grid.begin() + 1, grid.end() - 1);
  results[0].shape = {operands[0].shape[0], operands[0].shape[1]};
  results[0].shape.append(places.begin(), places.end());
  results[0].dtype = operands[0].dtype;
}

void gridSampleInputGrad(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  setLastSizes(results[0], operands[0], AttrReader(attrs).list(), operands[0].dtype, false);
}

void gridSampleGridGrad(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  results[0] = operands[2];
}

/// Has a result of attention rows before heads? An attribute a result, behind causal, masked, half and bfloat, says so;
/// programs that were saved before lack them.
bool hasRowsFirst(Attrs attrs, std::size_t result) { return attrs.size() > 4 + result && attrs[4 + result] != 0; }

void attention(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const Dims& q = operands[0].shape;
  const std::size_t heads = hasRowsFirst(attrs, 0) ? 2 : 1;
  results[0].shape = {q[0], q[heads], q[3 - heads], operands[2].shape[3]};
  results[1].shape = {q[0], q[1], q[2], 2};
  results[0].dtype = operands[0].dtype;
  results[1].dtype = computeType(operands[0].dtype);
}

void attentionGrad(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  for (std::size_t i = 0; i < 3; ++i) {
    results[i].shape = operands[1 + i].shape;
    results[i].dtype = operands[1 + i].dtype;
    if (hasRowsFirst(attrs, i)) std::iter_swap(results[i].shape.begin() + 1, results[i].shape.begin() + 2);
  }
}

void attentionKeep(const OpFacts&, Metas, Attrs attrs, std::span<TensorMeta> results) {
  results[0].shape = Dims(AttrReader(attrs).list());
  results[0].dtype = DType::Bool;
}

}  // namespace tandem::rules
