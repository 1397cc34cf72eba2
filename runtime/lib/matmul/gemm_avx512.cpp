// The matrix product for AVX-512.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "runtime/lib/matmul/gemm_kernel.h"

#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq")

namespace tandem::lib::avx512 {
namespace {

// clang-format off
#include "runtime/lib/matmul/gemm_body.h"
#include "runtime/lib/vectors_avx512.h"
// clang-format on

}  // namespace

GemmKernels<float> floatKernels() { return {gemmTile<Floats>, gemmPack<Floats>, vectorTimesMatrix<Floats>}; }
GemmKernels<double> doubleKernels() { return {gemmTile<Doubles>, gemmPack<Doubles>, vectorTimesMatrix<Doubles>}; }
TANDEM_PANELS(Floats, float)
TANDEM_PANELS(Doubles, double)

}  // namespace tandem::lib::avx512
