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

/// The same of bfloat16 and planes, as that of the float32 values, with the same bits, in float32 if `wide`, else
/// rounded once; false, and nothing done, where that is no faster.
bool pairsForward(const ConvShape& s, const BFloat16* input, const BFloat16* weight, void* output, bool wide);
namespace avx512 {
/// On a processor that multiplies pairs (gemm.h), of windows that share what is read.
bool pairsForward(const ConvShape& s, const BFloat16* input, const BFloat16* weight, void* output, bool wide);
}  // namespace avx512

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
/// floating types, such products alone; of bfloat16 gradients only where each element of the input is in one window;
/// false if that is left to float32.
template <class T>
bool patchForward(const ConvShape& s, const T* input, const T* weight, T* output);
template <class T>
bool patchInputGrad(const ConvShape& s, const T* grad, const T* weight, T* inputGrad);
template <class T>
void patchWeightGrad(const ConvShape& s, const T* grad, const T* input, T* weightGrad);

}  // namespace tandem::lib
