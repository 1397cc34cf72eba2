// The three convolutions: forward, input gradient, weight gradient. Common sizes and the ways to compute them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/lib/half.h"
#include "runtime/lib/library.h"

namespace tandem::lib {

/// Sizes and parameters of input [n, c, h, w], weight [o, c / groups, kh, kw], output [n, o, oh, ow].
struct ConvShape {
  std::int64_t n, c, h, w;
  std::int64_t o, kh, kw;
  std::int64_t oh, ow;
  std::int64_t strideH, strideW, padH, padW, dilationH, dilationW;
  std::int64_t groups;
  // Do the channels of the input, and of the output, lie beside each other, as [n, h, w, c], in the arrays that the
  // functions below are given? Only those say no that ask for planes.
  bool inputChannels = false, outputChannels = false;
  // And those of the weight, as [o, kh, kw, c / groups]? Only patchInputGrad takes such.
  bool weightChannels = false;

  std::int64_t inputSize() const { return c * h * w; }     // of one image
  std::int64_t outputSize() const { return o * oh * ow; }  // of one image
  std::int64_t groupChannels() const { return c / groups; }
  std::int64_t groupOutputs() const { return o / groups; }
  std::int64_t weightSize() const { return o * groupChannels() * kh * kw; }
  /// Multiply-adds of one image.
  std::int64_t imageWork() const { return oh * ow * weightSize(); }
};

/// Is each output position made of the same position of the input, and each of these of one? The padding of the output
/// of a transposed convolution is positions that no window sees.
inline bool isPointwise(const ConvShape& s) {
  return s.kh == 1 && s.kw == 1 && s.strideH == 1 && s.strideW == 1 && s.padH == 0 && s.padW == 0 && s.oh == s.h &&
         s.ow == s.w;
}
/// Is each element of the input in one window? Those of a row are then a row of each column of the windows in turn.
inline bool covers(const ConvShape& s) {
  return s.h == s.oh * s.kh && s.w == s.ow * s.kw && s.strideH == s.kh && s.strideW == s.kw && s.padH == 0 &&
         s.padW == 0 && (s.dilationH == 1 || s.kh == 1) && (s.dilationW == 1 || s.kw == 1);
}

/// Is the gradient of the input best made of a product for all windows of an image? Where each element of the input is
/// in one window, and where there are this few channels: vectors are of channels, or of places in an image that many
/// outputs come to.
inline bool inputGradIsProduct(const ConvShape& s) {
  constexpr std::int64_t kFewChannels = 3;
  return covers(s) || s.groupChannels() <= kFewChannels;
}

/// Of an input by channels whose elements are in one window each, is the gradient a product a row of windows, made
/// where it lies, with the bits of the product of all of them?
bool inputGradByRows(const ConvShape& s);

/// The type in which elements of T are multiplied and added: bytes have the bits of those without sign.
template <class T>
using AddedAs = std::conditional_t<std::is_same_v<T, std::int8_t>, std::uint8_t, T>;

/// float32 and float64: dense arrays, no size 0. Images lie either way, with the same bits.
template <class T>
void windowForward(const ConvShape& s, const T* input, const T* weight, T* output);
template <class T>
void windowInputGrad(const ConvShape& s, const T* grad, const T* weight, T* inputGrad);
template <class T>
void windowWeightGrad(const ConvShape& s, const T* grad, const T* input, T* weightGrad);

/// Are they products in groups (matmul/gemm_groups.h), of bfloat16? By the shape alone; others are as of float32.
bool isForwardInGroups(const ConvShape& s);
bool isInputGradInGroups(const ConvShape& s);
bool isWeightGradInGroups(const ConvShape& s);
/// Such, of planes: the result is float32 if `wide`, else rounded once.
void groupsForward(const ConvShape& s, const BFloat16* input, const BFloat16* weight, void* output, bool wide);
void groupsInputGrad(const ConvShape& s, const BFloat16* grad, const BFloat16* weight, void* inputGrad, bool wide);
void groupsWeightGrad(const ConvShape& s, const BFloat16* grad, const BFloat16* input, void* weightGrad, bool wide);

/// The same of channels with a filter each.
bool servesDepthwise(const ConvShape& s);
template <class T>
void depthwiseForward(const ConvShape& s, const T* input, const T* weight, T* output);
template <class T>
void depthwiseInputGrad(const ConvShape& s, const T* grad, const T* weight, T* inputGrad);
template <class T>
void depthwiseWeightGrad(const ConvShape& s, const T* grad, const T* input, T* weightGrad);

/// Every type: patches of the input as a matrix, and a matrix product an image and group; of planes, where not each
/// output position is made of one of the input and there is one group, nor a gradient is made by rows. Forward, of
/// floating types, such products alone; of bfloat16 those that are in groups.
template <class T, class Out = T>
void patchForward(const ConvShape& s, const T* input, const T* weight, Out* output);
template <class T, class Out = T>
void patchInputGrad(const ConvShape& s, const T* grad, const T* weight, Out* inputGrad);
template <class T>
void patchWeightGrad(const ConvShape& s, const T* grad, const T* input, T* weightGrad);

}  // namespace tandem::lib
