// The matrix product for AVX2 and FMA, which every CPU we run on has.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "runtime/lib/matmul/gemm_groups.h"
#include "runtime/lib/matmul/gemm_kernel.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma")

namespace tandem::lib::avx2 {
namespace {

// clang-format off
#include "runtime/lib/matmul/gemm_body.h"
#include "runtime/lib/matmul/groups_body.h"
#include "runtime/lib/vectors_avx2.h"
// clang-format on

}  // namespace

GemmKernels<float> floatKernels() { return {gemmTile<Floats>, gemmPack<Floats>, vectorTimesMatrix<Floats>}; }
GemmKernels<double> doubleKernels() { return {gemmTile<Doubles>, gemmPack<Doubles>, vectorTimesMatrix<Doubles>}; }
void groupTile(const GroupTile& t) { chainsOfGroups<FloatChains<Floats>>(t); }
TANDEM_PANELS(Floats, float)
TANDEM_PANELS(Doubles, double)

}  // namespace tandem::lib::avx2
