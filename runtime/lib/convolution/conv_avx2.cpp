// The inner loops of convolutions for AVX2.
#include <cstdint>
#include <immintrin.h>
#include <utility>

#include "runtime/lib/convolution/conv_kernel.h"
#include "runtime/lib/matmul/gemm_kernel.h"

#pragma GCC target("avx2,fma")

namespace tandem::lib::avx2 {
namespace {

// clang-format off
#include "runtime/lib/vectors_avx2.h"
#include "runtime/lib/convolution/conv_body.h"
// clang-format on

}  // namespace

ConvKernels<float> convKernels(float) { return convKernelsOf<Floats>(); }
ConvKernels<double> convKernels(double) { return convKernelsOf<Doubles>(); }

}  // namespace tandem::lib::avx2
