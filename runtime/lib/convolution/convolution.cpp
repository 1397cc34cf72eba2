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

// With this few input channels a group, gradients of the input are faster by patches: vectors are of channels, or of
// places in an image that many outputs come to.
constexpr std::int64_t kFewChannels = 3;
/// And where no two windows see the same element.
bool inputGradByPatches(const ConvShape& s) {
  const bool apart = s.strideH >= s.kh && s.strideW >= s.kw;
  return apart || s.groupChannels() <= kFewChannels;
}

/// A dense float32 copy of a dense array of a half type.
template <class T>
float* wideCopy(const ArrayView& x, const Scratch<float>& to) {
  widenAll(x.as<T>(), to.data(), x.numel());
  return to.data();
}

/// Do the channels of images of a half or floating type lie beside each other, so that vectors of them are read in
/// place?
bool readsChannels(const ConvShape& s, const ArrayView& x) {
  constexpr std::int64_t most = 64 / sizeof(float);  // lanes of any vector
  return isFloating(x.dtype) && servesDepthwise(s) && s.c % most == 0 && x.strides[1] == 1 && x.strides[3] == s.c &&
         x.strides[2] == s.w * s.c && (s.n == 1 || x.strides[0] == s.inputSize());
}
ArrayView channelsInnermost(const ArrayView& x) {
  const auto moved = [](const Dims& d) { return Dims{d[0], d[2], d[3], d[1]}; };
  return {x.data, x.dtype, moved(x.shape), moved(x.strides)};
}

/// Runs `floating(x, y, out)` on float32 and float64, widening half types and rounding once, unless `pairs(x, y, out)`
/// did it with bfloat16; `other(x, y, out)` on the rest.
template <class Floating, class Other, class Pairs>
void compute(const LibraryCall& call, const ArrayView& first, bool empty, Floating floating, Other other, Pairs pairs) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  if (empty) {
    std::memset(out.data, 0, static_cast<std::size_t>(out.numel()) * itemSize(out.dtype));
    return;
  }
  Contiguous x(first);
  Contiguous y(call.inputs[1]);
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_floating_point_v<T>) {
      floating(x.as<T>(), y.as<T>(), out.as<T>());
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      if constexpr (std::is_same_v<T, BFloat16>)
        if (pairs(x.as<T>(), y.as<T>(), out.as<T>())) return;
      Scratch<float> wideX(x.view().numel());
      Scratch<float> wideY(y.view().numel());
      Scratch<float> wideOut(out.numel());
      floating(wideCopy<T>(x.view(), wideX), wideCopy<T>(y.view(), wideY), wideOut.data());
      narrowAll(wideOut.data(), out.as<T>(), out.numel());
    } else {
      other(x.as<T>(), y.as<T>(), out.as<T>());
    }
  });
}

}  // namespace

void conv2d(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const ArrayView& input = call.inputs[0];
  ConvShape s = convShape(input.shape, call.inputs[1].shape, call.outputs[0].shape, attrs);
  const bool channels = readsChannels(s, input);
  compute(
      call, channels ? channelsInnermost(input) : input, s.weightSize() == 0,
      [&](auto* x, auto* y, auto* out) {
        if (servesDepthwise(s)) return depthwiseForward(s, x, y, out, channels);
        isPointwise(s) ? void(patchForward(s, x, y, out)) : windowForward(s, x, y, out);
      },
      [&](auto* x, auto* y, auto* out) { patchForward(s, x, y, out); },
      [&](auto* x, auto* y, auto* out) {
        if (servesDepthwise(s)) return false;
        return isPointwise(s) ? patchForward(s, x, y, out) : pairsForward(s, x, y, out);
      });
}

void conv2d_input_grad(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  DimsRef inputShape = attrs.list();
  ConvShape s = convShape(inputShape, call.inputs[1].shape, call.inputs[0].shape, attrs);
  compute(
      call, call.inputs[0], s.outputSize() == 0 || s.weightSize() == 0,
      [&](auto* x, auto* y, auto* out) {
        if (servesDepthwise(s)) return depthwiseInputGrad(s, x, y, out);
        inputGradByPatches(s) ? void(patchInputGrad(s, x, y, out)) : windowInputGrad(s, x, y, out);
      },
      [&](auto* x, auto* y, auto* out) { patchInputGrad(s, x, y, out); },
      [&](auto* x, auto* y, auto* out) { return !servesDepthwise(s) && covers(s) && patchInputGrad(s, x, y, out); });
}

void conv2d_weight_grad(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  DimsRef weightShape = attrs.list();
  ConvShape s = convShape(call.inputs[1].shape, weightShape, call.inputs[0].shape, attrs);
  compute(
      call, call.inputs[0], s.n * s.outputSize() == 0 || s.inputSize() == 0,
      [&](auto* x, auto* y, auto* out) {
        servesDepthwise(s) ? depthwiseWeightGrad(s, x, y, out) : windowWeightGrad(s, x, y, out);
      },
      [&](auto* x, auto* y, auto* out) { patchWeightGrad(s, x, y, out); }, [](auto*, auto*, auto*) { return false; });
}

}  // namespace tandem::lib
