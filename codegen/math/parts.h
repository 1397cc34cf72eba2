// The parts of floating-point numbers, and their neighbours: frexp and nextafter, by their bits.
#pragma once

#include "codegen/math/common.h"

namespace tandem::math {
namespace detail {

/// Mantissa in [1/2, 1) and exponent: x = mantissa 2^exponent. Zeros, infinities and NaN are their own mantissas, of
/// exponent 0.
template <class B>
Pair<B> frexp(const Val<B>& x) {
  Val<B> a = abs(x), small = a < pick(x, 0x1p-126, 0x1p-1022);
  const double up = pick(x, 0x1p24, 0x1p54);
  Val<B> scaled = bits(select(small, a * up, a));
  const std::uint64_t mantissa = x.wide() ? (1ULL << kMantissa64) - 1 : (1ULL << kMantissa32) - 1;
  Val<B> m = flt((scaled & x.word(mantissa)) | bitsOf(x, 0.5));
  Val<B> e = toFloat((scaled >> mantissaBits(x)) - x.word(x.wide() ? 1022 : 126));
  e = select(small, e - pick(x, 24, 54), e);
  Val<B> plain = (a > 0) & (a < kInf);
  return {select(plain, flipSign(m, signBit(x)), x), select(plain, e, 0)};
}

/// The number beside x in the direction of y, in a format whose numbers are `step` apart in x's bits.
/// Where x's format has a wider range: they are evenly `tiny` apart up to `normal`, and the last one is `largest`.
template <class B>
Val<B> nextAfter(const Val<B>& x, const Val<B>& y, std::uint64_t step, double normal = 0, double tiny = 0,
                 double largest = 0) {
  Val<B> a = abs(x), n = bits(a), one = x.word(step);
  Val<B> grows = ((x < y) & (x >= 0)) | ((x > y) & (x <= 0));
  Val<B> more = flt(n + one), less = flt(n - one);
  if (normal > 0) {
    more = select(a < normal, a + tiny, more);
    less = select(a <= normal, a - tiny, select(eq(a, kInf), largest, less));
  }
  Val<B> sign = select(eq(a, 0), signBit(y), signBit(x)), moved = flipSign(select(grows, more, less), sign);
  return select(eq(x, y), y, select(ne(x, x), x, select(ne(y, y), y, moved)));
}

}  // namespace detail

template <class B>
typename B::V frexp_mantissa(B& b, typename B::V x) {
  return detail::frexp(detail::Val(b, x)).hi.v;
}
/// As a float.
template <class B>
typename B::V frexp_exponent(B& b, typename B::V x) {
  return detail::frexp(detail::Val(b, x)).lo.v;
}
/// Among the numbers of `dtype`, for x and y that are such, if in a wider format.
template <class B>
typename B::V nextafter(B& b, typename B::V x, typename B::V y, DType dtype) {
  const detail::Val<B> from(b, x), to(b, y);
  if (dtype == DType::Float16) return detail::nextAfter(from, to, 1 << 13, 0x1p-14, 0x1p-24, 65504).v;
  return detail::nextAfter(from, to, dtype == DType::BFloat16 ? 1 << 16 : 1).v;
}

}  // namespace tandem::math
