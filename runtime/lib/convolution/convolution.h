// The three convolutions: forward, input gradient, weight gradient. Common sizes and the three ways to compute them.
#pragma once

#include <cstdint>

#include "runtime/lib/library.h"

namespace tandem::lib {

/// Sizes and parameters of input [n, c, h, w], weight [o, c / groups, kh, kw], output [n, o, oh, ow].
struct ConvShape {
  std::int64_t n, c, h, w;
  std::int64_t o, kh, kw;
  std::int64_t oh, ow;
  std::int64_t strideH, strideW, padH, padW, dilationH, dilationW;
  std::int64_t groups;

  std::int64_t inputSize() const { return c * h * w; }     // of one image
  std::int64_t outputSize() const { return o * oh * ow; }  // of one image
  std::int64_t groupChannels() const { return c / groups; }
  std::int64_t groupOutputs() const { return o / groups; }
  std::int64_t weightSize() const { return o * groupChannels() * kh * kw; }
  /// Multiply-adds of one image.
  std::int64_t imageWork() const { return oh * ow * weightSize(); }
};

/// Is each output position made of the same position of the input?
inline bool isPointwise(const ConvShape& s) {
  return s.kh == 1 && s.kw == 1 && s.strideH == 1 && s.strideW == 1 && s.padH == 0 && s.padW == 0;
}

/// float32 by oneDNN: dense arrays, no size 0. The batch, or the channels where there are more weights than elements of
/// images, are cut into pieces by size, each piece one single-threaded primitive; so bits do not depend on threads.
void convForward(const ConvShape& s, const float* input, const float* weight, float* output);
void convInputGrad(const ConvShape& s, const float* grad, const float* weight, float* inputGrad);
void convWeightGrad(const ConvShape& s, const float* grad, const float* input, float* weightGrad);

/// Channels with a filter each, at steps of 1 or 2 columns: float32, dense arrays.
bool servesDepthwise(const ConvShape& s);
void depthwiseForward(const ConvShape& s, const float* input, const float* weight, float* output);

/// Every type: patches of the input as a matrix, and a matrix product an image and group.
template <class T>
void patchForward(const ConvShape& s, const T* input, const T* weight, T* output);
template <class T>
void patchInputGrad(const ConvShape& s, const T* grad, const T* weight, T* inputGrad);
template <class T>
void patchWeightGrad(const ConvShape& s, const T* grad, const T* input, T* weightGrad);

}  // namespace tandem::lib
