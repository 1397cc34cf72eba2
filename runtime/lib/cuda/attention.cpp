// attention, its gradient, and which elements its dropout keeps: of half types by cuDNN where it is allowed and has an
// engine (cudnn_attention.h), else by kernels of our own.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/attrs.h"
#include "runtime/device/cuda/queue.h"
#include "runtime/lib/cuda/cudnn_attention.h"
#include "runtime/lib/cuda/foreign.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kAttention("attention", kAttentionText);

enum class Pass : int { Forward, Numbers, Keys, Rows };  // PASS of the text

/// The struct Attention of attention.cu.
struct Plan {
  const void *query, *key, *value, *grad;
  const void* mask;
  const void* dropKey;
  std::int64_t batch, heads, sharedHeads, rows, keys, width, valueWidth, causal;
  std::int64_t queryStrides[4], keyStrides[4], valueStrides[4], gradStrides[4], maskStrides[4];
  std::int64_t resultStrides[3][4];
  double scale, dropScale;
  std::uint64_t below;
};

void setStrides(std::int64_t* to, const ArrayView& x) {
  for (std::size_t d = 0; d < 4; ++d) to[d] = x.strides[d];
}
/// The results that have rows as [B, H, rows, width], wherever their memory has the heads.
std::vector<ArrayView> resultsOf(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  for (int i = 0; i < 4; ++i) attrs.boolean(false);  // causal, masked, half, bfloat
  std::vector<ArrayView> results(call.outputs.begin(), call.outputs.end() - (call.outputs.size() == 2 ? 1 : 0));
  for (ArrayView& x : results)
    if (attrs.boolean(false)) {
      std::swap(x.shape[1], x.shape[2]);
      std::swap(x.strides[1], x.strides[2]);
    }
  return results;
}

/// Of how small a random word an element is dropped.
std::uint64_t boundOf(double p) { return static_cast<std::uint64_t>(std::ceil(p * 0x1p32)); }

struct Problem {
  Plan plan{};
  int mask = 0;  // MASK of the text
  DType dtype;

  /// Query, key and value are operands from `first` on; `extras` the first of a mask and a key of dropout.
  Problem(const LibraryCall& call, std::size_t first, std::size_t extras) : dtype(call.inputs[first].dtype) {
    const ArrayView& q = call.inputs[first];
    const ArrayView& k = call.inputs[first + 1];
    const ArrayView& v = call.inputs[first + 2];
    plan.query = q.data, plan.key = k.data, plan.value = v.data;
    plan.batch = q.shape[0], plan.heads = q.shape[1], plan.rows = q.shape[2], plan.width = q.shape[3];
    plan.sharedHeads = k.shape[1], plan.keys = k.shape[2], plan.valueWidth = v.shape[3];
    setStrides(plan.queryStrides, q);
    setStrides(plan.keyStrides, k);
    setStrides(plan.valueStrides, v);
    std::size_t next = 0;
    for (const ArrayView& result : resultsOf(call)) setStrides(plan.resultStrides[next++], result);
    AttrReader attrs(call.attrs);
    plan.causal = attrs.boolean() ? 1 : 0;
    if (attrs.boolean()) {
      const ArrayView& m = call.inputs[extras++];
      mask = m.dtype == DType::Bool ? 1 : 2;
      plan.mask = m.data;
      setStrides(plan.maskStrides, m);
    }
    plan.scale = std::bit_cast<double>(call.scalars[0]);
    const auto p = std::bit_cast<double>(call.scalars[1]);
    if (extras < call.inputs.size()) plan.dropKey = call.inputs[extras].data;
    plan.below = boundOf(p);
    plan.dropScale = p < 1 ? 1 / (1 - p) : 0;
  }

  [[nodiscard]] std::int64_t tile() const { return dtype == DType::Float64 ? 32 : 64; }
  [[nodiscard]] std::int64_t wide(std::int64_t columns) const { return columns <= 64 ? 64 : 128; }
  /// Blocks for results of so many heads, lines and columns.
  [[nodiscard]] Grid grid(std::int64_t heads, std::int64_t lines, std::int64_t columns) const {
    const std::int64_t across = std::max<std::int64_t>(1, (columns + wide(columns) - 1) / wide(columns));
    return blocks(plan.batch * heads * ((lines + tile() - 1) / tile()) * across, 256);
  }
  [[nodiscard]] const Function& kernel(const char* name, Pass pass, std::int64_t columns) const {
    return kAttention.kernel(name, {{"PASS", std::to_string(static_cast<int>(pass))},
                                    {"ELEMENT", typeName(dtype)},
                                    {"TILE", std::to_string(tile())},
                                    {"WIDE", std::to_string(wide(columns))},
                                    {"MASK", std::to_string(mask)},
                                    {"DROPS", plan.dropKey != nullptr ? "1" : "0"}});
  }
};

/// Attention that cuDNN may compute: operands that were converted from a half type, without dropout, and no size 0.
struct Half {
  AttentionOperands operands;

  static std::optional<Half> of(const LibraryCall& call, std::size_t first, std::size_t extras) {
    AttrReader attrs(call.attrs);
    const bool causal = attrs.boolean();
    const bool masked = attrs.boolean();
    const bool half = attrs.boolean(false);
    const bool bfloat = attrs.boolean(false);
    if ((!half && !bfloat) || call.inputs.size() > extras + (masked ? 1 : 0)) return {};
    for (std::size_t k = 0; k < first + 3; ++k)
      if (call.inputs[k].numel() == 0) return {};
    return Half{{call.inputs[first], call.inputs[first + 1], call.inputs[first + 2],
                 masked ? &call.inputs[extras] : nullptr, causal, std::bit_cast<double>(call.scalars[0]),
                 half ? DType::Float16 : DType::BFloat16}};
  }
};

/// Makes a call of operands of a half type in float32, and rounds what comes of it.
void callWidened(LibraryFn fn, const LibraryCall& call) {
  std::vector<std::unique_ptr<ForeignCopy>> converted;
  std::vector<std::unique_ptr<Workspace>> memory;
  std::vector<ArrayView> inputs, outputs;
  auto inFloat32 = [](const ArrayView& x, void* data) -> ArrayView {
    return {data, DType::Float32, x.shape, contiguousStrides(x.shape)};
  };
  for (const ArrayView& x : call.inputs) {
    if (isHalf(x.dtype)) converted.push_back(std::make_unique<ForeignCopy>(x, DType::Float32));
    inputs.push_back(isHalf(x.dtype) ? inFloat32(x, converted.back()->data()) : x);
  }
  for (const ArrayView& y : call.outputs) {
    if (isHalf(y.dtype))
      memory.push_back(std::make_unique<Workspace>(static_cast<std::size_t>(y.numel()) * sizeof(float)));
    outputs.push_back(isHalf(y.dtype) ? inFloat32(y, memory.back()->as()) : y);
  }
  fn({inputs, outputs, call.attrs, call.scalars, call.line});
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (isHalf(call.outputs[k].dtype)) cuda::copyArray(outputs[k], call.outputs[k]);
}

}  // namespace

void attention(const LibraryCall& call) {
  if (call.outputs[1].numel() == 0) return;
  if (const auto half = Half::of(call, 0, 3);
      half && cudnnAttention(half->operands, resultsOf(call)[0], call.outputs[1]))
    return;
  if (isHalf(call.outputs[0].dtype)) return callWidened(attention, call);
  const Problem p(call, 0, 3);
  launch(p.kernel("forward", Pass::Forward, p.plan.valueWidth), p.grid(p.plan.heads, p.plan.rows, p.plan.valueWidth),
         p.plan, call.outputs[0].data, call.outputs[1].data);
}

/// Inputs (grad, query, key, value, output, stats, extras...).
void attention_grad(const LibraryCall& call) {
  if (const auto half = Half::of(call, 1, 6);
      half && cudnnAttentionGrad(half->operands, call.inputs[0], call.inputs[4], call.inputs[5], resultsOf(call)))
    return;
  if (isHalf(call.outputs[0].dtype)) return callWidened(attention_grad, call);
  Problem p(call, 1, 6);
  p.plan.grad = call.inputs[0].data;
  setStrides(p.plan.gradStrides, call.inputs[0]);
  const std::int64_t lines = p.plan.batch * p.plan.heads * p.plan.rows;
  const Workspace numbers(static_cast<std::size_t>(3 * lines) * itemSize(p.dtype));
  if (lines > 0)
    launch(p.kernel("rowNumbers", Pass::Numbers, 1), elementwise(lines), p.plan, view(call.inputs[4]),
           view(call.inputs[5]), numbers.as());
  if (call.outputs[0].numel() > 0)
    launch(p.kernel("backwardRows", Pass::Rows, p.plan.width), p.grid(p.plan.heads, p.plan.rows, p.plan.width), p.plan,
           numbers.as(), call.outputs[0].data);
  const std::int64_t widest = std::max(p.plan.width, p.plan.valueWidth);
  if (call.outputs[1].numel() + call.outputs[2].numel() > 0)
    launch(p.kernel("backwardKeys", Pass::Keys, widest), p.grid(p.plan.sharedHeads, p.plan.keys, widest), p.plan,
           numbers.as(), call.outputs[1].data, call.outputs[2].data);
}

void attention_keep(const LibraryCall& call) {
  const std::int64_t n = call.outputs[0].numel();
  const Function& kernel = kAttention.kernel(
      "keepAll", {{"PASS", "4"}, {"ELEMENT", "float"}, {"TILE", "64"}, {"WIDE", "64"}, {"MASK", "0"}, {"DROPS", "0"}});
  launch(kernel, elementwise(n), call.inputs[0].data, boundOf(std::bit_cast<double>(call.scalars[0])),
         call.outputs[0].data, n);
}

namespace {
const Registered here{
    {"attention", &attention}, {"attention_grad", &attention_grad}, {"attention_keep", &attention_keep}};
}  // namespace

}  // namespace tandem::cuda::lib
