// conv2d, conv2d_input_grad, conv2d_weight_grad: reads the attributes, settles empty sizes, chooses by dtype.
#include "runtime/lib/convolution/convolution.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

ConvShape convShape(DimsRef input, DimsRef weight, DimsRef output, AttrReader attrs) {
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  DimsRef dilation = attrs.list();
  std::int64_t groups = attrs.integer();
  return {input[0],  input[1],  input[2],  input[3],   weight[0],  weight[2],   weight[3],   output[2],
          output[3], stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1], groups};
}

/// A dense float32 copy of a dense array of a half type.
template <class T>
float* wideCopy(const ArrayView& x, const Scratch<float>& to) {
  widenAll(x.as<T>(), to.data(), x.numel());
  return to.data();
}

/// The same array with its dims in the order [n, h, w, c], and the other way.
ArrayView reordered(const ArrayView& x, const std::array<std::size_t, 4>& order) {
  ArrayView y{x.data, x.dtype, {}, {}};
  for (const std::size_t d : order) y.shape.push_back(x.shape[d]), y.strides.push_back(x.strides[d]);
  return y;
}
ArrayView channelsInnermost(const ArrayView& x) { return reordered(x, {0, 2, 3, 1}); }
/// The result with its channels second; they lie where the flag says, for which `attrs` begin with the stride.
ArrayView resultOf(const LibraryCall& call, AttrReader attrs) {
  for (int list = 0; list < 3; ++list) attrs.list();
  attrs.integer(), attrs.boolean(true), attrs.boolean(false);  // groups, and flags of GPUs
  return attrs.boolean(false) ? reordered(call.outputs[0], {0, 3, 1, 2}) : call.outputs[0];
}

/// Are these images, whose channels lie beside each other, read or written as they lie? Functions for planes get
/// copies.
bool liesByChannels(const ArrayView& x, bool served) {
  return served && isFloating(x.dtype) && !x.contiguous() && channelsInnermost(x).contiguous();
}

/// Dense memory for a result: its own, or, for planes of one that lies otherwise, such that is copied to it.
class DenseResult {
 public:
  DenseResult(const ArrayView& out, bool channels)
      : out_(out), asIs_(channels || out.contiguous()),
        planes_(asIs_ ? 0 : out.numel() * static_cast<std::int64_t>(itemSize(out.dtype))) {}
  template <class T>
  T* as() const {
    return asIs_ ? out_.as<T>() : reinterpret_cast<T*>(planes_.data());
  }
  void finish() const {
    if (!asIs_) copyArray({planes_.data(), out_.dtype, out_.shape, contiguousStrides(out_.shape)}, out_);
  }

 private:
  const ArrayView& out_;
  bool asIs_;
  Scratch<unsigned char> planes_;
};

/// Which of the operands and the result lie with their channels innermost, and are taken so.
struct ByChannels {
  bool first, second, out;
};

/// Runs `inGroups(x, y, out, wide)` on bfloat16 if so told; `floating(x, y, out)` on float32 and float64, widening half
/// types and rounding once unless the result is wide; `other(x, y, out)` on the rest.
template <class Floating, class Other, class InGroups>
void compute(const LibraryCall& call, const ArrayView& out, const ByChannels& channels, bool empty, Floating floating,
             Other other, bool groups, InGroups inGroups) {
  if (out.numel() == 0) return;
  if (empty) {
    std::memset(out.data, 0, static_cast<std::size_t>(out.numel()) * itemSize(out.dtype));
    return;
  }
  const Contiguous x(channels.first ? channelsInnermost(call.inputs[0]) : call.inputs[0]);
  const Contiguous y(channels.second ? channelsInnermost(call.inputs[1]) : call.inputs[1]);
  const DenseResult to(out, channels.out);
  withType(x.view().dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_floating_point_v<T>) {
      floating(x.as<T>(), y.as<T>(), to.as<T>());
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      const bool wide = out.dtype == DType::Float32;
      if constexpr (std::is_same_v<T, BFloat16>)
        if (groups) return inGroups(x.as<T>(), y.as<T>(), to.as<T>(), wide);
      Scratch<float> wideX(x.view().numel());
      Scratch<float> wideY(y.view().numel());
      Scratch<float> wideOut(wide ? 0 : out.numel());
      float* const sums = wide ? to.as<float>() : wideOut.data();
      floating(wideCopy<T>(x.view(), wideX), wideCopy<T>(y.view(), wideY), sums);
      if (!wide) narrowAll(sums, to.as<T>(), out.numel());
    } else {
      using U = AddedAs<T>;
      other(x.as<U>(), y.as<U>(), to.as<U>());
    }
  });
  to.finish();
}

}  // namespace

void conv2d(const LibraryCall& call) {
  const AttrReader attrs(call.attrs);
  const ArrayView out = resultOf(call, attrs);
  const ArrayView& input = call.inputs[0];
  ConvShape s = convShape(input.shape, call.inputs[1].shape, out.shape, attrs);
  const bool product = !servesDepthwise(s) && isPointwise(s);
  const bool groups = input.dtype == DType::BFloat16 && isForwardInGroups(s);
  const bool served = product ? s.groups == 1 : !groups;
  s.inputChannels = liesByChannels(input, served), s.outputChannels = liesByChannels(out, served);
  compute(
      call, out, {s.inputChannels, false, s.outputChannels}, s.weightSize() == 0,
      [&](auto* x, auto* y, auto* to) {
        if (servesDepthwise(s)) return depthwiseForward(s, x, y, to);
        product ? patchForward(s, x, y, to) : windowForward(s, x, y, to);
      },
      [&](auto* x, auto* y, auto* to) { patchForward(s, x, y, to); }, groups,
      [&](auto* x, auto* y, auto* to, bool wide) {
        if (!product) return groupsForward(s, x, y, to, wide);
        wide ? patchForward(s, x, y, reinterpret_cast<float*>(to)) : patchForward(s, x, y, to);
      });
}

void conv2d_input_grad(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const DimsRef inputShape = attrs.list();
  const ArrayView out = resultOf(call, attrs);
  const ArrayView& grad = call.inputs[0];
  ConvShape s = convShape(inputShape, call.inputs[1].shape, grad.shape, attrs);
  const bool groups = grad.dtype == DType::BFloat16 && isInputGradInGroups(s);
  // Where no two windows see the same element, what they see are its patches.
  const bool apart = s.strideH >= s.kh && s.strideW >= s.kw;
  const bool patches = !servesDepthwise(s) && (inputGradIsProduct(s) || (apart && !groups));
  const bool product = isPointwise(s) && s.groups == 1;
  const bool rows = patches && inputGradByRows(s) && !groups, windows = !patches && !groups;
  s.inputChannels = liesByChannels(out, windows || product || rows);
  s.outputChannels = liesByChannels(grad, windows || product || (rows && s.inputChannels));
  s.weightChannels = liesByChannels(call.inputs[1], rows && s.inputChannels);
  compute(
      call, out, {s.outputChannels, s.weightChannels, s.inputChannels}, s.outputSize() == 0 || s.weightSize() == 0,
      [&](auto* x, auto* y, auto* to) {
        if (servesDepthwise(s)) return depthwiseInputGrad(s, x, y, to);
        patches ? patchInputGrad(s, x, y, to) : windowInputGrad(s, x, y, to);
      },
      [&](auto* x, auto* y, auto* to) { patchInputGrad(s, x, y, to); }, groups,
      [&](auto* x, auto* y, auto* to, bool wide) {
        if (!patches) return groupsInputGrad(s, x, y, to, wide);
        wide ? patchInputGrad(s, x, y, reinterpret_cast<float*>(to)) : patchInputGrad(s, x, y, to);
      });
}

void conv2d_weight_grad(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const DimsRef weightShape = attrs.list();
  const ArrayView out = resultOf(call, attrs);
  const ArrayView &grad = call.inputs[0], &input = call.inputs[1];
  ConvShape s = convShape(input.shape, weightShape, grad.shape, attrs);
  const bool groups = grad.dtype == DType::BFloat16 && isWeightGradInGroups(s);
  s.outputChannels = liesByChannels(grad, !groups), s.inputChannels = liesByChannels(input, !groups);
  compute(
      call, out, {s.outputChannels, s.inputChannels, false}, s.n * s.outputSize() == 0 || s.inputSize() == 0,
      [&](auto* x, auto* y, auto* to) {
        servesDepthwise(s) ? depthwiseWeightGrad(s, x, y, to) : windowWeightGrad(s, x, y, to);
      },
      [&](auto* x, auto* y, auto* to) { patchWeightGrad(s, x, y, to); }, groups,
      [&](auto* x, auto* y, auto* to, bool wide) { groupsWeightGrad(s, x, y, to, wide); });
}

}  // namespace tandem::lib
