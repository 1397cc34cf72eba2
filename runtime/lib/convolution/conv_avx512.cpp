// The inner loops of convolutions for AVX-512.
#include <cstdint>
#include <immintrin.h>
#include <utility>

#include "runtime/lib/convolution/conv_kernel.h"
#include "runtime/lib/matmul/gemm_kernel.h"

#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq")

namespace tandem::lib::avx512 {
namespace {

// clang-format off
#include "runtime/lib/vectors_avx512.h"
#include "runtime/lib/convolution/conv_body.h"
// clang-format on

}  // namespace

ConvKernels<float> convKernels(float) { return convKernelsOf<Floats>(); }
ConvKernels<double> convKernels(double) { return convKernelsOf<Doubles>(); }

}  // namespace tandem::lib::avx512
