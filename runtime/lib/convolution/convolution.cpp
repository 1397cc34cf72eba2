// conv2d, conv2d_input_grad, conv2d_weight_grad: reads the attributes, settles empty sizes, chooses by dtype.
#include "runtime/lib/convolution/convolution.h"

#include <cstring>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

ConvShape convShape(DimsRef input, DimsRef weight, DimsRef output, AttrReader& attrs) {
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  DimsRef dilation = attrs.list();
  std::int64_t groups = attrs.integer();
  return {input[0],  input[1],  input[2],  input[3],   weight[0],  weight[2],   weight[3],   output[2],
          output[3], stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1], groups};
}

/// Does the input end a step or more behind the last window? An output padding as wide as the step makes that of a
/// transposed convolution; oneDNN has no such convolution.
bool endsBehindWindows(const ConvShape& s) {
  return s.h + s.padH - (s.oh - 1) * s.strideH - (s.kh - 1) * s.dilationH > s.strideH ||
         s.w + s.padW - (s.ow - 1) * s.strideW - (s.kw - 1) * s.dilationW > s.strideW;
}

// With this few input channels a group, gradients by patches are several times faster than oneDNN's.
constexpr std::int64_t kFewChannels = 3;
/// But not where each channel has a filter of its own, for which oneDNN has kernels.
bool byPatches(const ConvShape& s) {
  if (endsBehindWindows(s)) return true;
  const bool depthwise = s.groups > 1 && s.groupChannels() == 1 && s.groupOutputs() == 1;
  return s.groupChannels() <= kFewChannels && !depthwise;
}

// So are forwards of sums as short as this, where oneDNN's result has to be brought into our layout; and those whose
// input is its own patches.
constexpr std::int64_t kShortSum = 64;
bool forwardByPatches(const ConvShape& s) {
  return isPointwise(s) || endsBehindWindows(s) || (byPatches(s) && s.groupChannels() * s.kh * s.kw <= kShortSum);
}

/// A dense float32 copy of a dense array of a half type.
template <class T>
float* wideCopy(const ArrayView& x, const Scratch<float>& to) {
  widenAll(x.as<T>(), to.data(), x.numel());
  return to.data();
}

/// Runs `single(x, y, out)` on float32, widening half types and rounding once; `other(x, y, out)` on the rest.
template <class Single, class Other>
void compute(const LibraryCall& call, bool empty, Single single, Other other) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  if (empty) {
    std::memset(out.data, 0, static_cast<std::size_t>(out.numel()) * itemSize(out.dtype));
    return;
  }
  Contiguous x(call.inputs[0]);
  Contiguous y(call.inputs[1]);
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<T, float>) {
      single(x.as<float>(), y.as<float>(), out.as<float>());
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      Scratch<float> wideX(x.view().numel());
      Scratch<float> wideY(y.view().numel());
      Scratch<float> wideOut(out.numel());
      single(wideCopy<T>(x.view(), wideX), wideCopy<T>(y.view(), wideY), wideOut.data());
      narrowAll(wideOut.data(), out.as<T>(), out.numel());
    } else {
      other(x.as<T>(), y.as<T>(), out.as<T>());
    }
  });
}

}  // namespace

void conv2d(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  ConvShape s = convShape(call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape, attrs);
  compute(
      call, s.weightSize() == 0,
      [&](auto* x, auto* y, auto* out) {
        if (servesDepthwise(s)) return depthwiseForward(s, x, y, out);
        forwardByPatches(s) ? patchForward(s, x, y, out) : convForward(s, x, y, out);
      },
      [&](auto* x, auto* y, auto* out) { patchForward(s, x, y, out); });
}

void conv2d_input_grad(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  DimsRef inputShape = attrs.list();
  ConvShape s = convShape(inputShape, call.inputs[1].shape, call.inputs[0].shape, attrs);
  compute(
      call, s.outputSize() == 0 || s.weightSize() == 0,
      [&](auto* x, auto* y, auto* out) { byPatches(s) ? patchInputGrad(s, x, y, out) : convInputGrad(s, x, y, out); },
      [&](auto* x, auto* y, auto* out) { patchInputGrad(s, x, y, out); });
}

void conv2d_weight_grad(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  DimsRef weightShape = attrs.list();
  ConvShape s = convShape(call.inputs[1].shape, weightShape, call.inputs[0].shape, attrs);
  compute(
      call, s.n * s.outputSize() == 0 || s.inputSize() == 0,
      [&](auto* x, auto* y, auto* out) { byPatches(s) ? patchWeightGrad(s, x, y, out) : convWeightGrad(s, x, y, out); },
      [&](auto* x, auto* y, auto* out) { patchWeightGrad(s, x, y, out); });
}

}  // namespace tandem::lib
