// The arithmetic of orthogonal polynomials for AVX-512.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <limits>

#include "runtime/lib/functions/polynomials_kernel.h"

#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512dq")

namespace tandem::lib::avx512 {
namespace {

using Vector = __m512d;
using Integers = std::int64_t __attribute__((vector_size(sizeof(Vector))));
constexpr int kVectors = 2;
Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
bool any(Integers x) { return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(x)) != 0; }

#include "runtime/lib/functions/polynomials_body.h"

}  // namespace

PolynomialLanes polynomialLanes() { return lanesOf(); }

}  // namespace tandem::lib::avx512
