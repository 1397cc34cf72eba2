// Attention for AVX2.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <utility>

#include "runtime/lib/attention/attention.h"
#include "runtime/lib/matmul/gemm_kernel.h"
#include "runtime/lib/matmul/half_rows.h"

#pragma GCC target("avx2,fma")

namespace tandem::lib::avx2 {
namespace {

// clang-format off
#include "runtime/lib/matmul/gemm_body.h"
#include "runtime/lib/attention/attention_body.h"
#include "runtime/lib/vectors_avx2.h"
// clang-format on

}  // namespace

AttentionForwardFn<float> attentionForward(float) { return attentionForwardChunk<Floats, float>; }
AttentionForwardFn<double> attentionForward(double) { return attentionForwardChunk<Doubles, double>; }
AttentionForwardFn<float, BFloat16> attentionForward(BFloat16) { return attentionForwardChunk<Floats, BFloat16>; }
AttentionBackwardFn<float> attentionBackward(float) { return attentionBackwardChunk<Floats>; }
AttentionBackwardFn<double> attentionBackward(double) { return attentionBackwardChunk<Doubles>; }

}  // namespace tandem::lib::avx2
