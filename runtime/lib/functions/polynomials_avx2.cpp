// The arithmetic of orthogonal polynomials for AVX2.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <limits>

#include "runtime/lib/functions/polynomials_kernel.h"

#pragma GCC target("avx2,fma")

namespace tandem::lib::avx2 {
namespace {

using Vector = __m256d;
using Integers = std::int64_t __attribute__((vector_size(sizeof(Vector))));
constexpr int kVectors = 1;
Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
bool any(Integers x) { return _mm256_movemask_pd(reinterpret_cast<Vector>(x)) != 0; }

#include "runtime/lib/functions/polynomials_body.h"

}  // namespace

PolynomialLanes polynomialLanes() { return lanesOf(); }

}  // namespace tandem::lib::avx2
